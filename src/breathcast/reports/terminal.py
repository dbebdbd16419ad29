"""Tables in a terminal of any width, and as plain text where the output is piped."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from breathcast.reports.tables import Cell, Table, part

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable


def console() -> Console:
    """Where results go: standard output, without colours when it is piped."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def show(table: Table, target: Console | None = None) -> None:
    """Print a table, its intervals closed up and its columns in several blocks if it is too wide."""
    from rich.text import Text

    target = target or console()
    target.print(Text(table.caption, style="bold"))
    if table.warning:
        target.print(Text(f"({table.warning})", style="bold red"))
    for block in _blocks(table, target):
        target.print(_rich(block))
        target.print()


def bullets(lines: Iterable[str], target: Console | None = None, heading: str = "") -> None:
    """Print lines as a list, if there are any."""
    from textwrap import fill

    from rich.text import Text

    target = target or console()
    lines = list(lines)
    if heading and lines:
        target.print(Text(heading, style="bold"))
    for line in lines:
        target.print(Text(fill(line, target.width, initial_indent="- ", subsequent_indent="  ")))


def _blocks(table: Table, target: Console) -> list[Table]:
    """The table as it fits: whole, with its intervals closed up, or some columns at a time."""
    if table.words:
        return [table]
    for candidate in (table, _tight(table)):
        if _width(candidate, target) <= target.width:
            return [candidate]
    tight = _tight(table)
    count = len(tight.columns) - 1
    fitting = [n for n in range(1, count) if _width(part(tight, 0, n), target) <= target.width]
    size = max(fitting, default=1)
    return [part(tight, start, start + size) for start in range(0, count, size)]


def _tight(table: Table) -> Table:
    rows = (tuple(replace(cell, text=cell.text.replace(" ±", "±")) for cell in row.cells) for row in table.rows)
    return replace(table, rows=tuple(replace(row, cells=cells) for row, cells in zip(table.rows, rows, strict=True)))


def _width(table: Table, target: Console) -> int:
    from rich.measure import Measurement

    options = target.options.update(width=10_000, max_width=10_000)
    return Measurement.get(target, options, _rich(table)).maximum


def _rich(table: Table) -> RichTable:
    from rich.table import Table as RichTable
    from rich.text import Text

    gap = 2 if table.words else 1  # a column of numbers begins with the place of its star
    headed = any(table.columns)
    drawn = RichTable(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim", show_header=headed)
    drawn.add_column(table.columns[0], overflow="fold")
    texts = []
    for i, name in enumerate(table.columns[1:]):
        column = [row.cells[i] for row in table.rows]
        head, *fields = [name, *(cell.text for cell in column)] if table.words else _aligned(name, column)
        drawn.add_column(head, overflow="fold")
        texts.append(fields)
    for n, row in enumerate(table.rows):
        cells = [Text(texts[i][n], style="bold green" if cell.best else "") for i, cell in enumerate(row.cells)]
        drawn.add_row(Text(row.head), *cells, style="italic" if row.reference else None)
    return drawn


def _aligned(head: str, column: Sequence[Cell]) -> list[str]:
    """The head and the texts of a column of numbers, mean below mean; a star stands before the best."""
    parts = [cell.text.partition("±") for cell in column]
    loose = " " * any(mean.endswith(" ") for mean, _, _ in parts)
    means = [("*" if cell.best else " ") + mean.rstrip() for (mean, _, _), cell in zip(parts, column, strict=True)]
    halves = [loose + mark + half if mark else "" for _, mark, half in parts]
    room = max(map(len, halves), default=0)
    texts = [mean + half.ljust(room) for mean, half in zip(means, halves, strict=True)]
    width = max(map(len, (" " + head, *texts)))
    return [text.rjust(width) for text in (head, *texts)]
