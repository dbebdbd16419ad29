"""From the rows of a file to a Recording: rate, order, duplicates and gaps, each decision said in a note.

Every reader hands what it found to `recording_from`; no other place judges a clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from breathcast.errors import BreathcastError
from breathcast.recordings.recording import Recording

Floats = NDArray[np.float64]

GAP = 1.5  # a step of at least so many periods hides a missing sample
MOST_FILLED = 30_000_000  # values (samples × markers × dimensions) that gaps may add: 240 MB
MOST_CONFLICTS = 0.05  # share of rows that may contradict another row of the same time


@dataclass
class Samples:
    """What a reader found in a file, row by row, before its clock is judged.

    positions  (time, marker, dimension) in mm, NaN where missing
    times      seconds, in any order and with any defect, NaN where unreadable; None where the file has no clock
    rate       Hz, as the file states it, if it does; `rate_from` says how
    """

    file: Path
    positions: Floats
    times: Floats | None
    markers: tuple[str, ...]
    name: str
    rate: float | None = None
    rate_from: str = "as the file states"
    notes: list[str] = field(default_factory=list)
    labels: tuple[str, ...] = ()


def recording_from(samples: Samples, rate: float | None = None) -> Recording:
    """Make the uniform Recording; `rate` (Hz) is what the user gave, before what the file states or its clock shows."""
    notes = list(samples.notes)
    positions = _without_infinities(samples.positions, notes)
    rate = _said_rate(rate, samples, notes)
    with np.errstate(all="ignore"):  # absurd clocks overflow; the checks below name them
        if samples.times is None:
            if rate is None:
                cure = "give the rate, for example rate=30 (--rate 30), or name the column of the time"
                raise BreathcastError("there is no time column and no rate", file=samples.file, cure=cure)
            times = np.arange(len(positions)) / rate
        else:
            times, positions = tidy(samples.times, positions, samples.file, notes)
        if len(times) == 0:
            raise BreathcastError("holds no sample", file=samples.file, cure="check that the file is complete")
        if times[0] != 0:
            notes.append(f"the clock starts at {times[0]:g} s; times count from there")
            times = times - times[0]
        rate = _rate(times, rate, samples.file, notes)
        _note_missing(positions, notes)
        times, positions = _mark_gaps(times, positions, rate, samples.file, notes)
    return Recording(
        positions,
        rate,
        times=times,
        markers=samples.markers,
        name=samples.name,
        notes=tuple(dict.fromkeys(notes)),  # a file of ours carries its notes along: none is said twice
        labels=samples.labels,
    )


@np.errstate(all="ignore")  # absurd clocks overflow; later checks name them
def tidy(times: Floats, positions: Floats, file: Path, notes: list[str]) -> tuple[Floats, Floats]:
    """Drop rows without a time, sort, drop repeated times, so that the times (s) increase."""
    known = np.isfinite(times)
    if not known.all():
        notes.append(f"{counted(int((~known).sum()), 'row')} without a readable time dropped")
        times, positions = times[known], positions[known]
    times, positions = _sort(times, positions, file, notes)
    return _drop_repeats(times, positions, file, notes)


def check_times(times: Floats, rate: float) -> None:
    """Refuse times that a reader could not take back unchanged: they must increase without a gap."""
    cure = "let the times increase at the rate of the recording, and mark missing samples with rows of NaN"
    steps = np.diff(times)
    if not np.isfinite(times).all() or (steps <= 0).any():
        raise BreathcastError("the times of the recording do not increase", cure=cure)
    if (steps * rate >= GAP).any():
        raise BreathcastError("the times of the recording leave out samples", cure=cure)
    if steps.size and _contradicts(_usual(steps), rate):
        raise BreathcastError("the times of the recording contradict its rate", cure=cure)


def counted(number: int, thing: str) -> str:
    """Say a number with its noun: 1 row, 2 rows."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _without_infinities(positions: Floats, notes: list[str]) -> Floats:
    infinite = np.isinf(positions)
    if not infinite.any():
        return positions
    notes.append(f"{counted(int(infinite.sum()), 'infinite value')} marked missing")
    return np.where(infinite, np.nan, positions)


def _said_rate(given: float | None, samples: Samples, notes: list[str]) -> float | None:
    """Say where the rate comes from, and choose what the user gave before what the file states."""
    stated = samples.rate
    if given is None:
        notes += [] if stated is None else [f"rate {stated:g} Hz, {samples.rate_from}"]
        return stated
    differs = stated is not None and stated != given
    notes.append(f"rate {given:g} Hz as given" + (f", although the file states {stated:g} Hz" if differs else ""))
    return given


def _sort(times: Floats, positions: Floats, file: Path, notes: list[str]) -> tuple[Floats, Floats]:
    """Put rows in the order of their times (rows of the same time stay in the order of the file)."""
    backwards = np.flatnonzero(np.diff(times) < 0)
    if backwards.size == 0:
        return times, positions
    order = np.argsort(times, kind="stable")
    # Rows that came late change places with a few others. A clock that started again interleaves two long stretches.
    stretch = np.concatenate([[0], np.cumsum(np.diff(times) < 0)])
    if np.count_nonzero(np.diff(stretch[order])) > 10 * backwards.size:
        raise BreathcastError(
            f"the clock starts again, first after {times[backwards[0]]:g} s, and runs over the same times",
            file=file,
            cure="split the file into one recording each",
        )
    notes.append(
        f"the clock runs backwards {counted(backwards.size, 'time')}, first after {times[backwards[0]]:g} s: "
        "rows sorted by time"
    )
    return times[order], positions[order]


def _drop_repeats(times: Floats, positions: Floats, file: Path, notes: list[str]) -> tuple[Floats, Floats]:
    """Keep the first of the rows with one time."""
    repeats = np.concatenate([[False], np.diff(times) == 0])[: len(times)]
    if not repeats.any():
        return times, positions
    where = np.flatnonzero(repeats)
    before, after = positions[where - 1], positions[where]
    same = ((before == after) | (np.isnan(before) & np.isnan(after))).all(axis=(1, 2))
    conflicts = int((~same).sum())
    if conflicts > max(1, MOST_CONFLICTS * len(times)):
        raise BreathcastError(
            f"{conflicts} of {len(times)} rows repeat the time of another row with other positions",
            file=file,
            cure="the clock is too coarse or the file holds several recordings; split the file, "
            "or map the columns without a time and give rate=",
        )
    notes.append(
        f"{counted(where.size, 'row')} with a repeated time dropped, the first of each kept"
        + (f" ({conflicts} with other positions)" if conflicts else "")
    )
    return times[~repeats], positions[~repeats]


def _rate(times: Floats, rate: float | None, file: Path, notes: list[str]) -> float:
    """Check a known rate (Hz) against the clock, or take it from the clock."""
    steps = np.diff(times)
    if steps.size == 0:
        if rate is None:
            raise BreathcastError("one sample has no rate", file=file, cure="give the rate, for example rate=30")
        return rate
    step = _usual(steps)
    if not (1e-9 < step < 1e9 and steps.min() > 0):
        cure = "check the column and the unit of the time, for example time_ms"
        raise BreathcastError(f"the usual step of the clock is {step:g} s", file=file, cure=cure)
    if rate is None:
        rate = _rounded(1 / step)
        notes.append(f"rate {rate:g} Hz from the usual step of the clock, {step:.4g} s")
    elif _contradicts(step, rate):
        raise BreathcastError(
            f"the clock steps by {step:.4g} s ({1 / step:.4g} Hz), but the rate is said to be {rate:g} Hz",
            file=file,
            cure="leave the rate out, or correct the column or the unit of the time",
        )
    elif abs(step * rate - 1) > 0.01:
        notes.append(f"the clock does not keep to that rate: its usual step is {step:.4g} s ({1 / step:.4g} Hz)")
    short = float(np.mean(steps * rate < 0.5))
    if short > 0.05:
        notes.append(f"the clock is irregular: {100 * short:.0f} % of the steps are shorter than half a period")
    return rate


def _contradicts(step: float, rate: float) -> bool:
    return not 1 / GAP < step * rate < GAP


def _usual(steps: Floats) -> float:
    """The usual step (s): the mean of those near the median, finer than a clock that counts whole milliseconds.

    The steps of a coarse clock may differ by half (6 and 9 ticks), which is still no lost sample (6 and 12).
    """
    median = float(np.sort(steps)[(len(steps) - 1) // 2])
    near = steps[(steps > 0.5 * median) & (steps < 1.75 * median)]
    return float(np.mean(near)) if near.size else median


def _rounded(rate: float) -> float:
    """A whole number of Hz where one lies within half a percent, else three significant digits."""
    whole = round(rate)
    return float(whole) if whole and abs(rate / whole - 1) < 0.005 else float(f"{rate:.3g}")


def _note_missing(positions: Floats, notes: list[str]) -> None:
    missing = int(np.isnan(positions).any(axis=(1, 2)).sum())
    if missing:
        notes.append(f"{counted(missing, 'sample')} without all coordinates in the file, marked missing")


def _said(time: float) -> str:
    return f"{round(float(time), 3):.10g}"


def _mark_gaps(times: Floats, positions: Floats, rate: float, file: Path, notes: list[str]) -> tuple[Floats, Floats]:
    """Insert rows of NaN where the clock leaves samples out, so that the rows are uniform again."""
    steps = np.diff(times)
    gaps = np.flatnonzero(steps * rate >= GAP)
    if gaps.size == 0:
        return times, positions
    periods = np.ones(len(steps))
    periods[gaps] = np.maximum(2, np.rint(steps[gaps] * rate))
    missing = float(np.sum(periods - 1))
    if not missing * positions[0].size <= MOST_FILLED:
        widest = int(gaps[np.argmax(steps[gaps])])
        raise BreathcastError(
            f"the clock jumps by {steps[widest]:g} s after {times[widest]:g} s: too many samples would be missing",
            file=file,
            cure="correct the clock, or split the file there",
        )
    spans = ", ".join(f"{_said(times[i])}-{_said(times[i + 1])} s" for i in gaps[:3])
    spans += ", ..." if gaps.size > 3 else ""
    notes.append(f"{counted(int(missing), 'sample')} missing in {counted(gaps.size, 'gap')} ({spans}), marked")
    place = np.concatenate([[0], np.cumsum(periods)]).astype(np.int64)  # where each measured row goes
    filled = np.full((place[-1] + 1, *positions.shape[1:]), np.nan)
    filled[place] = positions
    clock = np.interp(np.arange(len(filled)), place, times)
    clock[place] = times
    return clock, filled
