"""ExtMarker: one file for each marker of a recording, 10 Hz, with the defects of the published set survived.

A file name is CODE-MARKER-1-BREATHING-SECONDS-6.csv; the files of one recording share the date-time CODE.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from breathcast.errors import BreathcastError
from breathcast.recordings.clock import GAP, Floats, Samples, counted, recording_from, tidy
from breathcast.recordings.notes import merged
from breathcast.recordings.options import Options
from breathcast.recordings.recording import Recording
from breathcast.recordings.text import Text, fields_of, first_lines, load_text, parse_numbers

FRAMES_PER_SECOND = 60.0
COUNTER = 2**16  # where a counter of 16 bits starts again
NAMES = ["frame", "timestamp", "x", "y", "z"]
USUAL_MARKERS = 3
BREATHING = {"N": "regular", "NO": "regular", "T": "talking", "L": "laughing", "LT": "talking laughing", "O": "other"}


@dataclass(frozen=True)
class FileName:
    """What the name of a file tells."""

    code: str
    marker: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Marker:
    """One file: times (time,) in s, increasing, and positions (time, 1, 3) in mm."""

    name: str
    times: Floats
    positions: Floats
    notes: list[str] = field(default_factory=list)


def recognises(path: Path, head: bytes) -> bool:
    """Whether the first line names the columns of the set."""
    lines = first_lines(head)
    return bool(lines) and set(NAMES) <= {name.lower() for name in fields_of(lines[0], ";")}


def told_by(path: Path) -> FileName:
    """Take the code, the marker and the breathing from a file name, as far as it tells them."""
    found = re.fullmatch(r"(\d{8,14})-([^-]+)(?:-[^-]*-([A-Za-z]+))?(?:-.*)?", path.stem)
    if not found:
        return FileName(path.stem, "marker 1", ())
    return FileName(found[1], found[2], tuple(BREATHING.get((found[3] or "").upper(), "").split()))


def read(path: Path, options: Options) -> Recording:
    """Read one marker file as a recording of its own."""
    return read_group([path], options)


def read_group(paths: Sequence[Path], options: Options) -> Recording:
    """Read the marker files of one recording, markers in the order of the paths."""
    told = [told_by(path) for path in paths]
    if len({name.marker for name in told}) < len(told):
        cure = "name the files of one recording, one for each marker"
        raise BreathcastError(f"two files of {told[0].code} are of the same marker", file=paths[-1], cure=cure)
    markers = [_marker(path, name.marker) for path, name in zip(paths, told, strict=True)]
    notes = ["unit mm, as the format says"]
    if len(markers) < USUAL_MARKERS:
        notes.append(f"{counted(len(markers), 'marker file')} instead of {USUAL_MARKERS}")
    notes += merged((marker.name, marker.notes) for marker in markers)
    times, positions = _together(markers, paths[0], notes)
    samples = Samples(
        file=paths[0],
        positions=positions,
        times=times,
        markers=tuple(marker.name for marker in markers),
        name=told[0].code,
        rate=_rate(times, notes),
        rate_from=f"the usual step of the camera at {FRAMES_PER_SECOND:g} frames a second",
        notes=notes,
        labels=tuple(dict.fromkeys(label for name in told for label in name.labels)),
    )
    return recording_from(samples, options.rate)


def _marker(path: Path, name: str) -> Marker:
    text = load_text(path)
    names = [field.lower() for field in fields_of(text.line(0), ";")]
    if not set(NAMES) <= set(names):
        cure = 'the first line must be "Frame";"Timestamp";"x";"y";"z"; for other tables give format="csv"'
        raise BreathcastError("does not name the columns of ExtMarker", file=path, line=int(text.numbers[0]), cure=cure)
    rows = parse_numbers(text, 1, ";", len(names), [names.index(each) for each in NAMES])
    notes = list(text.notes)
    values = _without_last(rows, notes)
    frames = _frames(values[:, 0], notes)
    _check_timestamps(text, frames, values[:, 1], notes)
    times, positions = tidy(frames / FRAMES_PER_SECOND, values[:, None, 2:], path, notes)
    if len(times) == 0:
        raise BreathcastError("holds no sample", file=path, cure="check that it was copied completely")
    return Marker(name, times, positions, notes)


def _without_last(rows: Floats, notes: list[str]) -> Floats:
    """All rows but the last, which the published studies drop even where it is sound; the note says what is lost."""
    if len(rows) == 0:
        return rows
    last = rows[-1]
    kind = "0;0;0;0;0" if not last.any() else "a sample" if np.isfinite(last).all() else "damaged"
    notes.append(f"the last row ({kind}) dropped, as in the published studies")
    return rows[:-1]


def _frames(counted_frames: Floats, notes: list[str]) -> Floats:
    """Frames that only grow: NaN for a 0 that is not the start, and a counter of 16 bits carried on."""
    frames = counted_frames.copy()
    zeros = np.flatnonzero(frames == 0)
    zeros = zeros[zeros > 0]
    if zeros.size:
        frames[zeros] = np.nan
        notes.append(f"{counted(zeros.size, 'row')} with Frame 0 after the start: a sample without a time")
    known = np.flatnonzero(np.isfinite(frames))
    before, after = frames[known[:-1]], frames[known[1:]]
    near = 10 * FRAMES_PER_SECOND
    wraps = (before < COUNTER) & (before > COUNTER - near) & (after < near)
    if wraps.any():
        frames[known[1:]] += COUNTER * np.cumsum(wraps)
        notes.append(f"the frame counter starts again after {COUNTER - 1}: carried on")
    return frames


def _check_timestamps(text: Text, frames: Floats, timestamps: Floats, notes: list[str]) -> None:
    """Compare the timestamps (ms) with the frames, which are right everywhere in the published set."""
    exponents = int(text.lines.str.contains(r"\d[eE]\+\d").sum())
    if exponents:
        notes.append(f"{counted(exponents, 'number')} written with an exponent, like 1e+05")
    with np.errstate(all="ignore"):
        truth = frames * 1000 / FRAMES_PER_SECOND
        wrong = np.flatnonzero(np.abs(timestamps - truth) > 20)
    if wrong.size == 0:
        return
    first = int(wrong[0])
    said = f"{timestamps[first]:g} instead of {truth[first]:.0f} ms"
    line = int(text.numbers[first + 1])
    if wrong.size > 1 + len(frames) / 2:
        raise BreathcastError(
            f"the timestamps contradict the frames at 60 a second ({said})",
            file=text.file,
            line=line,
            cure='read the timestamps instead, with format="csv" and --columns "time_ms=Timestamp,marker 1=x y z"',
        )
    notes.append(f"{counted(wrong.size, 'wrong timestamp')} (line {line}: {said}): times taken from Frame / 60 s")


def _rate(times: Floats, notes: list[str]) -> float | None:
    """Samples a second by the usual number of frames from one to the next, 6 of 60, so 10 Hz; notes the other steps."""
    with np.errstate(over="ignore"):
        steps = np.diff(times) * FRAMES_PER_SECOND
        usual = float(np.median(steps)) if steps.size else 0.0
    if not 1 <= usual < 1e6:
        return None
    frames = np.rint(steps)
    uneven = frames[(frames != round(usual)) & (frames < GAP * usual)]  # a longer step is a gap, which has its own note
    if uneven.size:
        lengths = " or ".join(f"{length:g}" for length in np.unique(uneven)[:3])
        notes.append(f"{counted(uneven.size, 'step')} of {lengths} camera frames instead of {usual:.0f}, kept")
    return FRAMES_PER_SECOND / round(usual)


def _together(markers: Sequence[Marker], file: Path, notes: list[str]) -> tuple[Floats, Floats]:
    """Positions (time, marker, 3) of all files at common times (s); a marker that lacks a time is NaN there."""
    lengths = [len(marker.times) for marker in markers]
    end = min(marker.times[-1] for marker in markers)
    if len(set(lengths)) > 1:
        notes.append(f"the marker files have {', '.join(map(str, lengths))} samples: cut to the common time")
    times = np.unique(np.concatenate([marker.times for marker in markers]))
    if len(times) > 1 + 1.05 * max(lengths):
        cure = "check that the files belong together, or read each by itself"
        raise BreathcastError("the marker files do not share their frames", file=file, cure=cure)
    times = times[times <= end]
    positions = np.full((len(times), len(markers), 3), np.nan)
    for index, marker in enumerate(markers):
        kept = marker.times <= end
        positions[np.searchsorted(times, marker.times[kept]), index] = marker.positions[kept, 0]
    return times, positions
