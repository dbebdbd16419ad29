"""Tables as Markdown, for a page in a repository or a lab book."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from breathcast.reports.tables import Cell, Table
from breathcast.version import NOTICE


def tables_page(tables: Iterable[Table], remarks: Iterable[str]) -> str:
    """Tables one below the other, after what a reader must know."""
    said = "".join(f"- {line}\n" for line in (NOTICE, *remarks))
    return "\n".join([said, *(markdown(table) for table in tables)])


def markdown(table: Table) -> str:
    """The table with its caption and its warning; the best of a column is in bold."""
    said = f" ({table.warning})" if table.warning else ""
    rule = ["---", *("---" if table.words else "---:" for _ in table.columns[1:])]
    rows = [[_plain(row.head), *(_cell(cell) for cell in row.cells)] for row in table.rows]
    return f"**{table.caption}**{said}\n\n" + "\n".join(_line(row) for row in (table.columns, rule, *rows)) + "\n"


def _line(fields: Sequence[str]) -> str:
    return f"| {' | '.join(fields)} |"


def _cell(cell: Cell) -> str:
    return f"**{_plain(cell.text)}**" if cell.best else _plain(cell.text)


def _plain(text: str) -> str:
    """A bar would begin another column."""
    return text.replace("|", "\\|")
