"""CSV, TSV and other delimited text: any delimiter, decimal mark and column names."""

from __future__ import annotations

from pathlib import Path

from breathcast.errors import BreathcastError
from breathcast.recordings.clock import Samples, recording_from
from breathcast.recordings.columns import lay_out
from breathcast.recordings.options import Options
from breathcast.recordings.recording import Recording
from breathcast.recordings.text import (
    fields_of,
    find_delimiter,
    first_lines,
    is_number,
    load_text,
    parse_numbers,
)


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is named like a table, or is a text that begins with several numbers a line."""
    if path.suffix.lower() in {".csv", ".tsv"}:
        return True
    first, *following = first_lines(head)[:20] or [""]
    delimiter = find_delimiter(first, following)
    rows = [fields_of(line, delimiter) for line in following]
    return path.suffix.lower() in {".txt", ".dat"} and any(sum(map(is_number, row)) > 1 for row in rows)


def read(path: Path, options: Options) -> Recording:
    """Read a table whose first line names the columns; without names they are called 1, 2, ... ."""
    text = load_text(path)
    first, *following = text.sample()
    delimiter = find_delimiter(first, following)
    names = fields_of(first, delimiter)
    if "\0" in first:
        cure = "save it as UTF-8 text, or state its format"
        raise BreathcastError("is not text, or UTF-16 without a byte order mark", file=path, cure=cure)
    has_names = not all(map(is_number, names))
    if not has_names:
        names = [str(number) for number in range(1, len(names) + 1)]
    layout = lay_out(names, options, path, int(text.numbers[0]))
    values = parse_numbers(text, int(has_names), delimiter, len(names), layout.wanted, options.decimal)
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
