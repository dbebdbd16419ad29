"""Read recordings from files and folders of any known format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from breathcast.errors import BreathcastError
from breathcast.recordings import extmarker, matlab, parquet, phantom, table, vxp
from breathcast.recordings.options import Columns, Options, parse_columns
from breathcast.recordings.recording import Recording

__all__ = ["FORMATS", "Format", "detect", "parse_columns", "read", "read_all"]

HEAD = 65536  # bytes that tell the format


@dataclass(frozen=True)
class Format:
    """How one format is recognised and read.

    recognises  whether a file, by its path and its first bytes, has this format
    read        makes the Recording
    options     what a user may state about such a file, beside the rate
    """

    recognises: Callable[[Path, bytes], bool]
    read: Callable[[Path, Options], Recording]
    options: frozenset[str] = frozenset()


# The first format that recognises a file is taken. To add one: a file with `recognises` and `read`, and a line here.
FORMATS: dict[str, Format] = {
    "mat": Format(matlab.recognises, matlab.read, frozenset({"columns", "unit"})),
    "parquet": Format(parquet.recognises, parquet.read, frozenset({"columns", "unit"})),
    "vxp": Format(vxp.recognises, vxp.read, frozenset({"unit"})),
    "extmarker": Format(extmarker.recognises, extmarker.read),
    "phantom": Format(phantom.recognises, phantom.read, frozenset({"unit", "decimal"})),
    "csv": Format(table.recognises, table.read, frozenset({"columns", "unit", "decimal"})),
}
FORMATS["tsv"] = FORMATS["csv"]


def read(
    path: str | Path,
    *,
    format: str | None = None,
    columns: Columns | None = None,
    unit: str | None = None,
    rate: float | None = None,
    decimal: str | None = None,
) -> Recording | list[Recording]:
    """Read a file (a Recording) or a folder (a list of them, in the order of the file names).

    format   one of FORMATS; found from the file itself unless given
    columns  which column holds what, {"time": "t", "marker 1": ["x1", "y1", "z1"]}
    unit     of the positions, where the file does not state it: mm, cm, m or um
    rate     samples per second (Hz)
    decimal  the decimal mark of a text file, "." or ","
    """
    options = Options(columns, unit, rate, decimal)
    recordings = _read_files(_files(Path(path), format), format, options)
    return recordings if _is_folder(Path(path)) else recordings[0]


def read_all(
    paths: Iterable[str | Path],
    *,
    format: str | None = None,
    columns: Columns | None = None,
    unit: str | None = None,
    rate: float | None = None,
    decimal: str | None = None,
) -> list[Recording]:
    """Read any mix of files and folders into one list; a file named twice is read once. Options as for `read`."""
    options = Options(columns, unit, rate, decimal)
    files = {file.absolute(): file for path in paths for file in _files(Path(path), format)}
    return _read_files(list(files.values()), format, options)


def detect(path: Path) -> str | None:
    """The name of the format of a file; None if it has none of ours."""
    head = b""  # if it cannot be opened, the reader will say what is wrong
    with suppress(OSError, ValueError):
        if path.is_file():  # a pipe would wait for ever
            with path.open("rb") as file:
                head = file.read(HEAD)
    return next((name for name, entry in FORMATS.items() if entry.recognises(path, head)), None)


def _is_folder(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return path.is_dir()
    return False


def _files(path: Path, format: str | None) -> list[Path]:
    """The files of recordings that a path means, sorted; a folder's other files, such as README.md, are passed over."""
    if format is not None and format not in FORMATS:
        raise BreathcastError(f"the format {format!r} is not known", cure=f"give one of {', '.join(FORMATS)}")
    if not _is_folder(path):
        return [path]
    try:
        visible = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    except OSError as error:
        cure = "check that you may read the folder"
        raise BreathcastError(f"cannot be listed: {error.strerror}", file=path, cure=cure) from error
    found = [file for file in visible if detect(file)]
    if not found:
        cure = f"name a folder with recordings; known formats: {', '.join(FORMATS)}"
        raise BreathcastError("holds no recording of a known format", file=path, cure=cure)
    return found


def _read_files(files: Sequence[Path], format: str | None, options: Options) -> list[Recording]:
    """Read each file, but ExtMarker files of one code in one folder as one recording."""
    groups: dict[object, list[Path]] = {}
    kinds: dict[object, str] = {}
    for file in files:
        name = format or detect(file)
        if name is None:
            raise _unrecognised(file)
        key = (file.absolute().parent, extmarker.told_by(file).code) if name == "extmarker" else file
        groups.setdefault(key, []).append(file)
        kinds[key] = name
    return [_read_group(sorted(group), kinds[key], options) for key, group in groups.items()]


def _read_group(files: list[Path], name: str, options: Options) -> Recording:
    entry = FORMATS[name]
    if unused := sorted(options.given - entry.options - {"rate"}):
        problem = f"{name} files state their {' and '.join(unused)} themselves"
        raise BreathcastError(problem, file=files[0], cure=f"leave out {' and '.join(unused)}")
    try:
        return extmarker.read_group(files, options) if name == "extmarker" else entry.read(files[0], options)
    except MemoryError as error:
        raise BreathcastError("needs more memory than there is", file=files[0], cure="split the file") from error


def _unrecognised(file: Path) -> BreathcastError:
    with suppress(OSError, ValueError):
        if file.exists():
            cure = f"give the format, one of {', '.join(FORMATS)}"
            return BreathcastError("has no format that is known", file=file, cure=cure)
    return BreathcastError("does not exist", file=file, cure="check the path")
