"""Results out: JSON, tables and files, each file whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from breathcast.cli.waiting import say
from breathcast.errors import BreathcastError

if TYPE_CHECKING:
    from breathcast.recordings.recording import Recording

STDOUT = "-"
_NOTES = 20  # lines; `inspect` and the reports have all


def check_targets(
    targets: Iterable[str | Path | None], inputs: Sequence[Path] = (), *, made: Path | None = None
) -> None:
    """Refuse, before the work begins, files that cannot be written or that would replace what is read.

    The folder `made` need not be there yet.
    """
    seen: set[Path] = set()
    for target in targets:
        if target is None or str(target) == STDOUT:
            continue
        path, place = Path(target), Path(target).resolve()
        if place.is_dir():
            raise BreathcastError("is a folder", file=path, cure="name a file to write")
        if not place.parent.is_dir() and (made is None or place.parent != made.resolve()):
            raise BreathcastError("is in a folder that does not exist", file=path, cure=f"mkdir -p {path.parent}")
        if place in seen:
            raise BreathcastError("is named for two results", file=path, cure="name two files")
        if any(place == given.resolve() or _is_read(place, given) for given in inputs):
            raise BreathcastError("is a file that is read", file=path, cure="write to another one")
        seen.add(place)


def _is_read(path: Path, folder: Path) -> bool:
    """Whether an existing file is one of the recordings of a folder that is read."""
    if not path.is_file() or path.parent != folder.resolve():
        return False
    from breathcast.recordings.reading import detect

    return detect(path) is not None


def save(path: str | Path, content: str | bytes) -> None:
    """Write a file in one step and say so."""
    from breathcast.files import replace_file

    replace_file(Path(path), content.encode() if isinstance(content, str) else content)
    say(f"Wrote {path}")


def emit_json(data: Any, target: str | None) -> bool:
    """Write JSON where the user wants it, if so; True if standard output is taken by it."""
    if target is None:
        return False
    from breathcast.reports.plain import to_json

    text = to_json(data) + "\n"
    if target == STDOUT:
        typer.echo(text, nl=False)
        return True
    save(target, text)
    return False


def say_notes(recordings: Iterable[Recording]) -> None:
    """What the reader assumed or repaired, on standard error: nobody should have to ask for it."""
    from breathcast.recordings.notes import merged

    notes = merged((recording.name, recording.notes) for recording in recordings)
    if more := len(notes[_NOTES:]):
        notes = [*notes[:_NOTES], f"and {more} more, which `breathcast inspect` lists"]
    if notes:
        say("\n  - ".join(["What the reader assumed or repaired:", *notes]))


def make_folder(path: Path) -> None:
    """Make a folder for results, if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        cure = "name a folder that you may write to"
        raise BreathcastError(f"cannot be made: {error.strerror}", file=path, cure=cure) from error


def file_names(names: Iterable[str]) -> list[str]:
    """Names from inside files as names of files: they lead nowhere else, and each is there once."""
    return distinct(re.sub(r"[^\w.+() -]", "_", name).strip(" .") or "recording" for name in names)


def distinct(names: Iterable[str]) -> list[str]:
    """The names, the second of one name as `name (2)`."""
    found: list[str] = []
    for name in names:
        candidates = (f"{name} ({n})" if n > 1 else name for n in count(1))
        found.append(next(candidate for candidate in candidates if candidate not in found))
    return found
