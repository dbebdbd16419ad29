"""Write recordings so that reading gives them back, bit for bit; a file appears whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from breathcast.errors import BreathcastError
from breathcast.files import replace_file
from breathcast.recordings.about import describe
from breathcast.recordings.clock import check_times
from breathcast.recordings.columns import AXES, LONGEST_NAME, column_names
from breathcast.recordings.parquet import ABOUT
from breathcast.recordings.recording import Recording
from breathcast.recordings.text import plain

if TYPE_CHECKING:
    import polars as pl

LARGEST_MAT = 2**31  # bytes of one array in a .mat file v5


def write(recording: Recording, path: str | Path) -> None:
    """Write a .csv, .tsv, .parquet, .mat or phantom .txt file, as the path ends; an existing file is replaced."""
    path = Path(path)
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        cure = f"let the file name end in {', '.join(WRITERS)}"
        raise BreathcastError(f"cannot write files that end in {path.suffix!r}", file=path, cure=cure)
    try:
        _check(recording)
        data = writer(recording)
    except BreathcastError as error:
        raise BreathcastError(error.problem, file=path, cure=error.cure) from error
    replace_file(path, data)


def _check(recording: Recording) -> None:
    """Refuse what no format of ours could give back."""
    if len(recording) == 0:
        raise BreathcastError("the recording has no sample", cure="record for longer")
    names = recording.markers
    longest = LONGEST_NAME - len(" x_mm")
    bad = [name for name in names if not name.isprintable() or name != name.strip() or not 0 < len(name) <= longest]
    if bad or len(set(names)) < len(names):
        problem = f"the marker name {plain(bad[0])!r} cannot be written" if bad else "two markers have the same name"
        cure = f"give each marker its own name, at most {longest} characters, no line breaks, no blanks at its ends"
        raise BreathcastError(problem, cure=cure)
    check_times(recording.times, recording.rate)


def _table(recording: Recording) -> pl.DataFrame:
    """One row a sample: the time in s, then the coordinates in mm under names that say so; null where missing."""
    import polars as pl

    if recording.dimension > len(AXES):
        cure = "write a .mat file"
        raise BreathcastError(f"a table has x, y, z at most, not {recording.dimension} coordinates", cure=cure)
    names = [name for marker in recording.markers for name in column_names(marker, recording.dimension)]
    flat = recording.positions.reshape(len(recording), -1)
    columns = {"time_s": recording.times, **dict(zip(names, flat.T, strict=True))}
    return pl.DataFrame(columns).fill_nan(None)


def _comments(lines: list[str]) -> bytes:
    return "".join(f"# {line}\n" for line in lines).encode()


def _delimited(separator: str) -> Callable[[Recording], bytes]:
    def text(recording: Recording) -> bytes:
        return _comments(describe(recording)) + _table(recording).write_csv(separator=separator).encode()

    return text


def _phantom(recording: Recording) -> bytes:
    if recording.positions.shape[1:] != (1, 3) or np.isnan(recording.positions).any():
        cure = "write a .csv file, or choose one 3-D marker and a stretch without missing samples"
        raise BreathcastError("a motion phantom takes one 3-D marker without missing samples", cure=cure)
    rows = _table(recording).write_csv(separator=" ", include_header=False)
    about = [*describe(recording), f"marker: {recording.markers[0]}", "t x y z"]
    return _comments(about) + rows.encode()


def _parquet(recording: Recording) -> bytes:
    import polars as pl

    file = BytesIO()
    about = pl.lit("\n".join(describe(recording))).alias(ABOUT)  # a constant column takes next to no room
    _table(recording).with_columns(about).write_parquet(file)
    return file.getvalue()


def _mat(recording: Recording) -> bytes:
    from scipy.io import savemat

    if recording.positions.nbytes >= LARGEST_MAT:
        raise BreathcastError("the recording is too large for a .mat file", cure="write a .parquet file")
    file: Any = BytesIO()
    variables = {
        "positions": recording.positions,
        "times": recording.times[:, None],
        "rate": recording.rate,
        "markers": np.array([*recording.markers, None], dtype=object)[:-1, None],
        "about": "\n".join(describe(recording)),
    }
    savemat(file, variables, do_compression=True)
    data: bytes = file.getvalue()
    return data


WRITERS: dict[str, Callable[[Recording], bytes]] = {
    ".csv": _delimited(","),
    ".tsv": _delimited("\t"),
    ".parquet": _parquet,
    ".mat": _mat,
    ".txt": _phantom,
}
