from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from breathcast.evaluation.compare import Comparison
from breathcast.reports.tables import Cell, Row, Table, horizon_table, recording_table, scores_table, settings_table
from breathcast.reports.terminal import bullets, show


def drawn(table: Table, width: int, terminal: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, highlight=False, markup=False)
    show(table, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_every_table_fits_and_loses_nothing(comparison: Comparison, width: int) -> None:
    plain = replace(comparison, recordings=comparison.recordings[:1])
    for table in (scores_table(plain), horizon_table(plain), recording_table(plain)):
        text = drawn(table, width)
        assert max(map(len, text.splitlines())) <= width
        squeezed = text.replace(" ±", "±")
        for row in table.rows:
            for cell in row.cells:
                assert cell.text.replace(" ±", "±") in squeezed


def test_words_are_wrapped(comparison: Comparison) -> None:
    text = drawn(settings_table(comparison.methods), 40)
    assert max(map(len, text.splitlines())) <= 40
    assert "learning_rate" in text


def test_means_stand_below_means_and_the_best_has_a_star() -> None:
    rows = (Row("a", (Cell("10.25 ±0.10"),)), Row("b", (Cell("9.50", best=True),)), Row("c", (Cell("diverged"),)))
    lines = [line.rstrip() for line in drawn(Table("t", ("", "RMSE"), rows), 80).splitlines()]
    assert lines[2].index(".") == lines[3].index(".")
    assert "*9.50" in lines[3]


def test_colours_only_in_a_terminal(immediate: Comparison) -> None:
    assert "\x1b" not in drawn(scores_table(immediate), 80)
    assert "\x1b" in drawn(scores_table(immediate), 80, terminal=True)
    assert "(uses targets before they can be measured)" in drawn(scores_table(immediate), 80)


def test_bullets() -> None:
    console = Console(file=io.StringIO(), width=20, markup=False)
    bullets(["a [b] long line that wraps"], console, "Notes")
    bullets([], console, "Nothing")
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == ["Notes", "- a [b] long line", "  that wraps"]
