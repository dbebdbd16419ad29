"""Motion-phantom text: a time in s and one 3-D position a line, `t x y z`, parted by blanks."""

from __future__ import annotations

from pathlib import Path

from breathcast.errors import BreathcastError
from breathcast.recordings.clock import Samples, recording_from
from breathcast.recordings.columns import column_names, lay_out
from breathcast.recordings.options import Options
from breathcast.recordings.recording import Recording
from breathcast.recordings.text import SPACE, Text, first_lines, is_number, load_text, parse_numbers

NAMES = ["t", "x", "y", "z"]
HEADER = 20  # lines before the numbers at most


def recognises(path: Path, head: bytes) -> bool:
    """Whether a .txt or .dat file has four numbers in its first line of numbers."""
    if path.suffix.lower() not in {".txt", ".dat"}:
        return False
    lines = [line.split() for line in first_lines(head)[: HEADER + 1]]
    numbers = [line for line in lines if all(map(is_number, line))]
    return bool(numbers) and len(numbers[0]) == len(NAMES)


def read(path: Path, options: Options) -> Recording:
    """Read the four columns; lines before the first four numbers are a header."""
    text = load_text(path)
    start = _first_row(text)
    names = _names(text, start)
    layout = lay_out(names, options, path, int(text.numbers[max(start - 1, 0)]))
    values = parse_numbers(text, start, SPACE, len(NAMES), layout.wanted, options.decimal)
    times, positions = layout.apply(values)
    samples = Samples(
        file=path,
        positions=positions,
        times=times,
        markers=layout.markers,
        name=text.about.name or path.stem,
        rate=text.about.rate,
        notes=[*text.about.notes, *text.notes, *layout.notes],
        labels=text.about.labels,
    )
    return recording_from(samples, options.rate)


def _first_row(text: Text) -> int:
    for index, line in enumerate(text.sample()[: HEADER + 1]):
        fields = line.split()
        if len(fields) == len(NAMES) and all(map(is_number, fields)):
            return index
    raise BreathcastError(
        "has no line of four numbers, t x y z, near its beginning",
        file=text.file,
        line=int(text.numbers[0]),
        cure='read it as a table, with format="csv" and a map of columns',
    )


def _names(text: Text, start: int) -> list[str]:
    """The names in the last line of the header if it has one for each column; they must say t x y z."""
    names = text.line(start - 1).split() if start else []
    if len(names) != len(NAMES):
        return ["time_s", *column_names(text.about.marker, 3)] if text.about.marker else NAMES
    if [name[0].lower() for name in names] != NAMES:
        raise BreathcastError(
            "names other columns than t x y z",
            file=text.file,
            line=int(text.numbers[start - 1]),
            cure='read it as a table, with format="csv" and a map of columns',
        )
    return names
