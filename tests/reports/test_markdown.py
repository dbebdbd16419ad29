"""Tables as Markdown."""

from __future__ import annotations

from breathcast.reports.markdown import markdown, tables_page
from breathcast.reports.tables import Cell, Row, Table
from breathcast.version import NOTICE

ROWS = (Row("lms", (Cell("1.2 ± 0.1", best=True),)), Row("a|b", (Cell("|x|"),)))
TABLE = Table("Errors", ("method", "RMSE mm"), ROWS)


def test_table() -> None:
    assert markdown(TABLE) == (
        "**Errors**\n\n| method | RMSE mm |\n| --- | ---: |\n| lms | **1.2 ± 0.1** |\n| a\\|b | \\|x\\| |\n"
    )


def test_a_warning_stands_with_the_caption() -> None:
    warned = Table("Errors", ("method", "what"), (Row("lms", (Cell("words"),)),), warning="too early", words=True)
    assert markdown(warned).startswith("**Errors** (too early)\n\n| method | what |\n| --- | --- |\n")


def test_page() -> None:
    page = tables_page([TABLE, TABLE], ["one run diverged"])
    assert page.startswith(f"- {NOTICE}\n- one run diverged\n\n**Errors**") and page.count("**Errors**") == 2
