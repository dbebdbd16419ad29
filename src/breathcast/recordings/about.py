"""The lines with which our own files describe themselves: as comments in text, as one text in Parquet and .mat."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from breathcast.recordings.recording import Recording

BANNER = "breathcast recording; positions in mm, times in s, an empty field or nan is missing"


@dataclass(frozen=True)
class About:
    """What a file says about itself; without the banner it says nothing, so that no foreign comment is believed."""

    name: str | None = None
    rate: float | None = None
    marker: str | None = None
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def describe(recording: Recording) -> list[str]:
    """The lines for a recording; `repr` keeps every digit of the rate."""
    return [
        BANNER,
        f"name: {_one_line(recording.name)}",
        f"rate_hz: {recording.rate!r}",
        *(f"label: {_one_line(label)}" for label in recording.labels),
        *(f"note: {_one_line(note)}" for note in recording.notes),
    ]


def understand(lines: Iterable[str]) -> About:
    """Read the lines back; a line that means nothing is passed over."""
    first, *rest = [line.strip() for line in lines] or [""]
    if first != BANNER:
        return About()
    pairs = [(key, value.strip()) for key, colon, value in (line.partition(":") for line in rest) if colon]
    said = {key: tuple(value for other, value in pairs if other == key) for key, _ in pairs}
    return About(
        name=said.get("name", (None,))[0],
        rate=_rate(said.get("rate_hz", ("",))[0]),
        marker=said.get("marker", (None,))[0],
        labels=said.get("label", ()),
        notes=said.get("note", ()),
    )


def _rate(text: str) -> float | None:
    try:
        rate = float(text)
    except ValueError:
        return None
    return rate if 0 < rate < float("inf") else None


def _one_line(text: str) -> str:
    """Without line breaks and control characters, and sure to have a UTF-8 form."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())
