"""Parquet: a table of numbers with the column names of any other table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from breathcast.errors import BreathcastError
from breathcast.recordings.about import About, understand
from breathcast.recordings.clock import Floats, Samples, recording_from
from breathcast.recordings.columns import lay_out
from breathcast.recordings.options import Options
from breathcast.recordings.recording import Recording
from breathcast.recordings.text import load, plain

if TYPE_CHECKING:
    import polars as pl

ABOUT = "about"  # in our own files, a column with one text: what the recording is
MOST_VALUES = 300_000_000


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is named .parquet or begins like one."""
    return path.suffix.lower() == ".parquet" or head.startswith(b"PAR1")


def read(path: Path, options: Options) -> Recording:
    """Read the columns of numbers; a date or duration is a time in s as well."""
    table = _open(path)
    names = [name for name in table.collect_schema() if name != ABOUT]
    layout = lay_out(names, options, path)
    wanted = [names[index] for index in layout.wanted]
    frame = _collect(table, path, wanted)
    times, positions = layout.apply(np.column_stack([_floats(frame[name], path) for name in wanted]))
    about = _about(table, path)
    samples = Samples(
        file=path,
        positions=positions,
        times=times,
        markers=layout.markers,
        name=about.name or path.stem,
        rate=about.rate,
        notes=[*about.notes, *layout.notes],
        labels=about.labels,
    )
    return recording_from(samples, options.rate)


def _open(path: Path) -> pl.LazyFrame:
    """The table, nothing but its schema read yet."""
    import polars as pl

    table = pl.scan_parquet(BytesIO(load(path)))
    rows = int(_collect(table.select(pl.len()), path).item())
    columns = len(table.collect_schema())
    if rows * columns > MOST_VALUES:
        cure = "split the file"
        raise BreathcastError(f"is too large: {rows} rows and {columns} columns", file=path, cure=cure)
    return table


def _collect(table: pl.LazyFrame, path: Path, columns: Sequence[str] = ()) -> pl.DataFrame:
    """Read the columns of these names, or all."""
    import polars as pl

    try:
        with _silent_parser():
            # As a selector, since as a mere text a name like "*" would be a pattern.
            return (table.select(pl.selectors.by_name(*dict.fromkeys(columns))) if columns else table).collect()
    except (Exception, pl.exceptions.PanicException) as error:  # a torn file makes the parser give up in many ways
        cure = "check that it was copied completely and is Parquet"
        raise BreathcastError(f"cannot be read as Parquet ({plain(str(error))})", file=path, cure=cure) from error


@contextmanager
def _silent_parser() -> Iterator[None]:
    """Keep the parser, when it meets a damaged page, from writing its own trace to the terminal: the error says it."""
    try:
        terminal = os.dup(2)
    except OSError:  # no standard error: nothing to silence
        yield
        return
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def _floats(column: pl.Series, path: Path) -> Floats:
    """A column as numbers; moments and durations as seconds from the first."""
    import polars as pl

    name, column = column.name, column.alias("column")  # polars takes some names for patterns, even of a series
    if column.dtype.is_temporal() and column.dtype != pl.Time:
        kind = pl.Duration("us") if isinstance(column.dtype, pl.Duration) else pl.Datetime("us")
        ticks = column.cast(kind, strict=False).to_physical()
        column = (ticks - (ticks.drop_nulls().min() or 0)) / 1e6
    if not (column.dtype.is_numeric() or column.dtype == pl.Null):
        problem = f"the column {plain(name)!r} holds {column.dtype}, not numbers"
        raise BreathcastError(problem, file=path, cure="convert the column to numbers")
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _about(table: pl.LazyFrame, path: Path) -> About:
    """What a file of ours says about itself."""
    import polars as pl

    if table.collect_schema().get(ABOUT) != pl.String:
        return About()
    first = _collect(table.head(1), path, [ABOUT])[ABOUT].to_list()
    return understand((first[0] or "").splitlines()) if first else About()
