"""Results as rows of text: the terminal and the pages show the same tables, so a number is formatted here alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from breathcast.evaluation.compare import Comparison, labels
from breathcast.evaluation.evaluate import Evaluation
from breathcast.evaluation.scores import Score
from breathcast.forecasters.method import Method
from breathcast.reports.glossary import GAIN_SCORE, HYPERPARAMETERS, REFERENCE, SCORE_WORDS
from breathcast.reports.plain import gain, mean_and_interval


@dataclass(frozen=True)
class Cell:
    """One field of a table."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Row:
    """A row: its head, what the head is called where there is room, and its cells."""

    head: str
    cells: tuple[Cell, ...]
    title: str = ""
    reference: bool = False  # the row that the others are held against


@dataclass(frozen=True)
class Table:
    """A table as text; the first column is that of the row heads."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    warning: str | None = None  # shown with the caption, always
    words: bool = False  # whether the cells are words, not numbers


def part(table: Table, start: int, stop: int) -> Table:
    """The same rows with some of the columns; those of the row heads always."""
    rows = tuple(replace(row, cells=row.cells[start:stop]) for row in table.rows)
    return replace(table, columns=(table.columns[0], *table.columns[1:][start:stop]), rows=rows)


def scores_table(comparison: Comparison) -> Table:
    """Method × score, over all recordings and horizons, with the relative gain over no prediction."""
    methods = _reference_first(comparison.methods)
    columns = [[comparison.average(method, score=score) for method in methods] for score in SCORE_WORDS]
    cells = [
        _ranked(column, words.decimals, words.ranked)
        for column, words in zip(columns, SCORE_WORDS.values(), strict=True)
    ]
    heads = [words.head for words in SCORE_WORDS.values()]
    gains = _gains(comparison, methods)
    if gains:
        heads.append("vs none")
        cells.append([Cell(text) for text in gains])
    return Table(
        caption="Scores, mean over recordings and horizons",
        columns=("method", *heads),
        rows=_method_rows(methods, cells),
        warning=comparison.warning,
    )


def horizon_table(comparison: Comparison, score: str = "rmse") -> Table:
    """Method × horizon, one score, over all recordings."""
    words = SCORE_WORDS[score]

    def column(horizon: float, methods: Sequence[Method]) -> list[Score]:
        return [comparison.average(method, score=score, horizon=horizon) for method in methods]

    methods = _reference_first(comparison.methods)
    cells = [_ranked(column(h, methods), words.decimals, words.ranked) for h in comparison.horizons]
    return Table(
        caption=f"{words.head} by horizon, mean over recordings",
        columns=("method", *(f"{h:g} s" for h in comparison.horizons)),
        rows=_method_rows(methods, cells),
        warning=comparison.warning,
    )


def recording_table(comparison: Comparison, score: str = "rmse") -> Table:
    """Recording × method, one score, over all horizons."""
    words = SCORE_WORDS[score]
    methods = _reference_first(comparison.methods)
    rows = []
    for recording in comparison.recordings:
        values = [comparison.average(method, score=score, recordings=[recording.name]) for method in methods]
        rows.append(
            Row(recording.name, tuple(_ranked(values, words.decimals, words.ranked)), ", ".join(recording.labels))
        )
    names = labels(methods)
    return Table(
        caption=f"{words.head} by recording, mean over horizons",
        columns=("recording", *(names[method] for method in methods)),
        rows=tuple(rows),
        warning=comparison.warning,
    )


def evaluation_table(evaluation: Evaluation) -> Table:
    """Score by score, of one method on one recording at one horizon."""
    rows = [
        Row(words.long, (Cell(mean_and_interval(evaluation.scores[name], words.decimals)), Cell(words.unit)))
        for name, words in SCORE_WORDS.items()
    ]
    caption = f"{evaluation.method.name} on {evaluation.recording}, {evaluation.horizon:g} s ahead"
    return Table(caption, ("score", "value", ""), tuple(rows), evaluation.warning)


def settings_table(methods: Iterable[Method]) -> Table:
    """What each method was run with."""
    names = labels(methods)
    rows = [
        Row(
            names[method],
            (Cell(settings(method)), Cell("yes" if method.random else "no")),
            method.title,
        )
        for method in names
    ]
    return Table("Settings of each method", ("method", "settings", "random"), tuple(rows), words=True)


def settings(method: Method) -> str:
    """The hyper-parameters of a method in one line, with units."""
    return ", ".join(f"{key} {_valued(key, value)}" for key, value in values(method).items())


def values(method: Method) -> dict[str, Any]:
    """The hyper-parameters of a method with their values; what every method has comes last."""
    found = method.to_dict()
    del found["method"]
    return found | {"training": found.pop("training")}


def _valued(key: str, value: object) -> str:
    unit = HYPERPARAMETERS.get(key, ("", ""))[0]
    return f"{_text(value)} {unit}".strip()


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _reference_first(methods: Sequence[Method]) -> list[Method]:
    return sorted(methods, key=lambda method: method.name != REFERENCE)


def _method_rows(methods: Sequence[Method], columns: Sequence[Sequence[Cell]]) -> tuple[Row, ...]:
    names = labels(methods)
    return tuple(
        Row(names[method], tuple(cells), method.title, method.name == REFERENCE)
        for method, cells in zip(methods, zip(*columns, strict=True), strict=True)
    )


def _ranked(scores: Sequence[Score], decimals: int, ranked: bool) -> list[Cell]:
    """The cells of one column; the best of a ranked score is marked."""
    known = [score.mean for score in scores if math.isfinite(score.mean)]
    best = min(known) if ranked and len(scores) > 1 and known else math.nan
    return [Cell(mean_and_interval(score, decimals), best=score.mean == best) for score in scores]


def _gains(comparison: Comparison, methods: Sequence[Method]) -> list[str]:
    """The change of the error against no prediction, method by method; empty if that was not compared."""
    if methods[0].name != REFERENCE:
        return []
    mean: Callable[[Method], float] = lambda method: comparison.average(method, score=GAIN_SCORE).mean  # noqa: E731
    return ["reference", *(gain(mean(method), mean(methods[0])) for method in methods[1:])]


def method_table(method: Method) -> Table:
    """The hyper-parameters of a method: value, unit, meaning, and what published studies searched."""
    rows = []
    for key, value in values(method).items():
        unit, meaning = HYPERPARAMETERS.get(key, ("", ""))
        grid = ", ".join(f"{tried:g}" for tried in method.grid.get(key, ()))
        rows.append(Row(key, (Cell(_text(value)), Cell(unit), Cell(meaning), Cell(grid))))
    caption = f"{method.name}: {method.title}" + (" (random)" if method.random else "")
    return Table(caption, ("", "default", "unit", "meaning", "studies searched"), tuple(rows), words=True)
