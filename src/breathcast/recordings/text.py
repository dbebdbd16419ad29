"""From the bytes of a text file to numbers: encoding, lines, fields, and the damaged lines by number."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from breathcast.errors import BreathcastError
from breathcast.recordings.about import About, understand
from breathcast.recordings.clock import Floats, counted

if TYPE_CHECKING:
    import polars as pl

LARGEST = 2_000_000_000  # bytes
MISSING = ("", "nan", "-", "na", "n/a", "null")
MOST_DAMAGED = 0.05  # share of lines; a single damaged line is always survived
SPACE = " "  # as a delimiter: any run of blanks and tabs


@dataclass(frozen=True)
class Text:
    """The lines of a text file that are neither blank nor comments.

    lines    what they say
    numbers  where they stand in the file, from 1
    about    what the comments of a file of ours say about it
    """

    file: Path
    lines: pl.Series
    numbers: pl.Series
    about: About
    notes: list[str]

    def line(self, index: int) -> str:
        """One line, blanks at its ends removed; empty beyond the last."""
        return str(self.lines[index]).strip() if index < len(self.lines) else ""

    def sample(self) -> list[str]:
        """The first lines, enough to see how the file is written."""
        return [str(line) for line in self.lines[:50]]


def load(file: Path) -> bytes:
    """All bytes of a file, or an error that says why not."""
    try:
        if file.is_dir() or (file.exists() and not file.is_file()):
            raise BreathcastError("is not a file", file=file, cure="name a file of a recording")
        size = file.stat().st_size
        if size > LARGEST:
            cure = "split the file, or convert it to Parquet"
            raise BreathcastError(f"is too large ({size / 1e9:.1f} GB)", file=file, cure=cure)
        data = file.read_bytes()
    except BreathcastError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        cure = "check the path and that you may read it"
        raise BreathcastError(f"cannot be opened: {reason}", file=file, cure=cure) from error
    if not data.strip():
        raise BreathcastError("is empty", file=file, cure="check that it was copied completely")
    return data


def load_text(file: Path) -> Text:
    """Read a text file; lines that start with # are comments."""
    import polars as pl

    text, notes = _decode(load(file), file)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    comments = [line.strip()[1:].strip() for line in re.findall(r"^[ \t]*#.*$", text, re.MULTILINE)]
    lines = pl.Series("line", [text]).str.split("\n").explode()
    # A line of tabs alone is a row of missing fields, not a blank one.
    kept = ~lines.str.contains(r"^[^\S\t]*$") & ~lines.str.contains(r"^\s*#")
    if not kept.any():
        raise BreathcastError("holds no data", file=file, cure="check that it was copied completely")
    if kept[-1]:  # a number that was cut short still is one: nobody else would notice
        notes.append(f"line {len(lines)}, the last, has no line break at its end: it may be cut short")
    numbers = pl.Series("number", np.arange(1, len(lines) + 1)).filter(kept)
    return Text(file, lines.filter(kept), numbers, understand(comments), notes)


def first_lines(head: bytes) -> list[str]:
    """The non-blank lines of the beginning of a file, however it is encoded; to recognise a format."""
    encoding = _marked_encoding(head) or "latin-1"
    lines = [line.strip() for line in re.split(r"[\r\n]+", head.decode(encoding, errors="replace"))]
    return [line for line in lines if line and not line.startswith("#")]


def fields_of(line: str, delimiter: str) -> list[str]:
    """The fields of one line, without quotes and blanks at their ends."""
    if delimiter == SPACE:
        line = SPACE.join(line.split())
    try:
        row = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return [line]
    return [field.strip() for field in row] or [""]


def is_number(field: str) -> bool:
    """Whether a field can stand for a coordinate: a number with a decimal point or comma, or a mark for missing."""
    return (
        field.lower() in MISSING
        or re.fullmatch(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", field, re.ASCII) is not None
    )


def find_delimiter(first: str, following: Sequence[str]) -> str:
    """How the fields are parted, by the first line of a table and those that follow: `;`, tab, comma or blanks."""
    lines = following or [first]
    for delimiter in (";", "\t"):
        if sum(delimiter in line for line in lines) > len(lines) / 2:
            return delimiter
    # In "0,1 2,5 3,7" each piece between blanks is a number, so the commas are decimal; in "0.1, 2.5, 3.7" it is not.
    # A single piece, "0,1", is one number only if the first line names a single column.
    pieces = [line.split() for line in lines]
    blanks = [all(map(is_number, row)) and (len(row) > 1 or "," not in first) for row in pieces]
    if sum(blanks) > len(lines) / 2 or not any("," in line for line in lines):
        return SPACE
    return ","


def parse_numbers(
    text: Text, start: int, delimiter: str, width: int, wanted: Sequence[int], decimal: str | None = None
) -> Floats:
    """The wanted columns of the lines from `start`, (line, column); a missing field is NaN.

    A line that has not `width` fields becomes a row of NaN, a field that is no number becomes NaN; a note names the
    lines, and too many of them are an error. `decimal` None lets most of the fields decide between comma and point.
    """
    rows = _split(text.lines[start:], delimiter)
    counts = rows.list.len().to_numpy()
    whole = np.flatnonzero(counts == width)
    good = rows.gather(whole)
    columns = [good.list.get(index).str.strip_chars() for index in wanted]
    decimal = decimal or _decimal_mark(columns)
    values = np.full((len(rows), len(wanted)), np.nan)
    torn = np.flatnonzero(counts != width).tolist()
    damage = {row: f"{counted(int(counts[row]), 'field')} instead of {width}" for row in torn}
    for target, column in enumerate(columns):
        values[whole, target], wrong = _to_floats(column, decimal)
        for index in np.flatnonzero(wrong):
            damage.setdefault(int(whole[index]), f"{plain(column[int(index)])!r} is not a number")
    _report(text, start, damage, len(rows))
    return values


def plain(text: str) -> str:
    """A piece of a file as a message can show it: short, printable."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text[:41])
    return shown if len(text) <= 40 else shown[:40] + "..."


def _decode(data: bytes, file: Path) -> tuple[str, list[str]]:
    encoding = _marked_encoding(data) or "utf-8"
    try:
        return data.decode(encoding), []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        if encoding == "utf-16":
            cure = "save the file as UTF-8"
            raise BreathcastError("is not sound UTF-16 text", file=file, line=line, cure=cure) from error
    return data.removeprefix(codecs.BOM_UTF8).decode("latin-1"), [f"not UTF-8 text (line {line}): read as Latin-1"]


def _marked_encoding(data: bytes) -> str | None:
    """The encoding that a byte order mark at the start of the file announces."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else None


def _split(lines: pl.Series, delimiter: str) -> pl.Series:
    """The fields of each line as a list; lines with quotes take the slower way."""
    import polars as pl

    if lines.str.contains('"', literal=True).any():
        return pl.Series("line", [fields_of(line, delimiter) for line in lines], dtype=pl.List(pl.String))
    if delimiter == SPACE:
        lines = lines.str.replace_all(r"\s+", SPACE).str.strip_chars()
    return lines.str.split(delimiter)


def _decimal_mark(columns: Sequence[pl.Series]) -> str:
    """The mark that most fields have; a field with the other one is then no number, and reported."""
    commas, points = (
        sum(int(column.str.contains(mark, literal=True).sum()) for column in columns) for mark in (",", ".")
    )
    return "," if commas > points else "."


def _to_floats(column: pl.Series, decimal: str) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """The numbers of a column, NaN where none is; and where a field is neither a number nor a mark for missing."""
    import polars as pl

    absent = column.is_null() | column.str.to_lowercase().is_in(MISSING)
    if decimal == ",":
        # A point is no part of a number here ("1.234,5"): such a field must fail, not become another number.
        column = column.str.replace_all(".", "?", literal=True).str.replace(",", ".", literal=True)
    numbers = column.cast(pl.Float64, strict=False)
    wrong = numbers.is_null() & ~absent
    return numbers.fill_null(float("nan")).to_numpy(), wrong.fill_null(False).to_numpy()


def _report(text: Text, start: int, damage: dict[int, str], total: int) -> None:
    """Note the damaged lines by number; too many are an error that names the first."""
    if not damage:
        return
    where = {int(text.numbers[start + index]): reason for index, reason in sorted(damage.items())}
    first, reason = next(iter(where.items()))
    if len(damage) > max(1, MOST_DAMAGED * total) or len(damage) == total:
        raise BreathcastError(
            f"{reason} ({len(damage)} of {total} lines are damaged)",
            file=text.file,
            line=first,
            cure="mend or remove the damaged lines, or state how the file is written (format, columns, decimal)",
        )
    shown = "; ".join(f"line {line}: {reason}" for line, reason in list(where.items())[:5])
    text.notes.append(f"{counted(len(damage), 'damaged line')} ({shown}{'; ...' if len(damage) > 5 else ''})")
