"""The notes of several recordings, or of several files of one, with nothing said twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_NAMED = 3  # parts that are called by name


def merged(notes: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Each note once, with the names of the parts it is about unless that is all of them."""
    about: dict[str, list[str]] = {}
    parts = 0
    for name, said in notes:
        parts += 1
        for note in dict.fromkeys(said):
            about.setdefault(note, []).append(name)
    return [note if len(names) == parts else f"{_called(names)}: {note}" for note, names in about.items()]


def _called(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
