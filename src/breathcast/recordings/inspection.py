"""What a recording holds: its clock, its gaps, how far the markers move and how the person breathes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from breathcast.recordings.recording import Recording

PERIODS = (1.5, 30.0)  # s: what counts as a breath; quiet ones last 3 to 7 s, slow deep ones about 20 s
SPEED = 300.0  # mm/s: faster is no chest; laughter reached 115 mm/s in the real recordings
STEP = 2.0  # mm: a smaller step is noise, however fast the clock
AMPLITUDES = (1.0, 100.0)  # mm: beyond, the unit is in doubt
FARTHEST = 1e9  # mm: a thousand kilometres away nothing breathes, and sums of squares still fit a number

_GRID = 20.0  # Hz: breaths are looked for on this uniform clock
_Array = NDArray[np.float64]
_NO_BREATHS: _Array = np.empty((0, 2))


@dataclass(frozen=True)
class Clock:
    """How even the time steps are; holes and steps backwards are counted apart, not averaged in."""

    step: float | None  # median, s
    rate: float | None  # 1 / mean step, Hz
    jitter_std: float | None  # standard deviation of the steps, ms
    jitter_max: float | None  # largest deviation from the median step, ms
    backwards: int  # steps that are not positive


@dataclass(frozen=True)
class Gap:
    """Samples that should be there and are not."""

    marker: str | None  # None where the clock itself has a hole
    start: float | None  # time of the first missing sample, s
    length: float  # s
    samples: int


@dataclass(frozen=True)
class MarkerMotion:
    """One marker, axis by axis; None where an axis was not measured."""

    name: str
    missing: int  # samples that lack a coordinate
    range: tuple[float | None, ...]  # largest minus smallest, mm
    mean: tuple[float | None, ...]  # mm
    drift: tuple[float | None, ...]  # mm per minute


@dataclass(frozen=True)
class Typical:
    """A median and a robust standard deviation (1.4826 times the median absolute deviation)."""

    median: float
    spread: float


@dataclass(frozen=True)
class Inspection:
    """What `inspect` found; None where a number is not defined.

    The breathing marker is the one that moves most, and period and amplitude are measured along its main direction:
    the period from the end of one inhalation to the next, the amplitude from there down to the lowest point between.
    """

    name: str
    samples: int
    duration: float  # s
    rate: float  # nominal, Hz
    clock: Clock
    markers: tuple[MarkerMotion, ...]
    gaps: tuple[Gap, ...]
    breathing_marker: str | None
    period: Typical | None  # s
    amplitude: Typical | None  # mm
    jumps: int  # steps of a marker faster than a chest moves
    jump_times: tuple[float, ...]  # the first ten, s
    labels: tuple[str, ...]
    notes: tuple[str, ...]  # what the reader assumed or repaired
    remarks: tuple[str, ...]  # what a person should look at

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings, lists and dicts, fit for JSON."""
        return dataclasses.asdict(self)


def inspect(recording: Recording) -> Inspection:
    """Measure a recording; whatever it holds, this gives an answer."""
    with np.errstate(all="ignore"):
        times = _usable_times(recording)
        mover, breaths = _breathing(recording, times)
        period, amplitude = (_typical(column) for column in breaths.T)
        jumps = _jumps(recording)
        clock, holes = _clock(recording)
        window = _window(recording.duration, period)
        markers = tuple(_motion(recording, i, times, window) for i in range(len(recording.markers)))
    return Inspection(
        name=recording.name,
        samples=len(recording),
        duration=recording.duration,
        rate=recording.rate,
        clock=clock,
        markers=markers,
        gaps=(*holes, *_missing(recording)),
        breathing_marker=None if mover is None else recording.markers[mover],
        period=period,
        amplitude=amplitude,
        jumps=len(jumps),
        jump_times=tuple(jumps[np.isfinite(jumps)][:10].tolist()),
        labels=recording.labels,
        notes=recording.notes,
        remarks=tuple(_remarks(recording, clock, markers, amplitude, len(jumps))),
    )


def _usable_times(recording: Recording) -> _Array:
    """The measured times if they run forward and stay near the nominal ones; else the nominal times."""
    times = recording.times
    runs = len(times) > 0 and np.isfinite(times).all() and (np.diff(times) > 0).all()
    if runs and times[-1] - times[0] < 10.0 * recording.duration:
        return np.asarray(times - times[0])
    return np.asarray(np.arange(len(recording)) / recording.rate)


def _clock(recording: Recording) -> tuple[Clock, list[Gap]]:
    """Jitter over the steps that are neither holes nor backwards, and the holes: steps of more than 1.5 usual ones."""
    steps = np.diff(recording.times)
    forward = steps[steps > 0]
    usual = float(np.median(forward)) if len(forward) else 1.0 / recording.rate
    even = forward[forward <= 1.5 * usual]
    skipped = np.flatnonzero((steps > 1.5 * usual) & np.isfinite(steps))
    counts = np.maximum(1, np.rint(steps[skipped] / usual).astype(int) - 1)
    clock = Clock(
        step=_finite(usual) if len(even) else None,
        rate=_finite(1.0 / np.mean(even)) if len(even) else None,
        jitter_std=_finite(1e3 * np.std(even)) if len(even) else None,
        jitter_max=_finite(1e3 * np.max(np.abs(even - usual))) if len(even) else None,
        backwards=len(steps) - len(forward),
    )
    starts = recording.times[skipped] + usual
    return clock, [Gap(None, float(t), int(n) * usual, int(n)) for t, n in zip(starts, counts, strict=True)]


def _missing(recording: Recording) -> list[Gap]:
    """Runs of samples in which a marker lacks a coordinate."""
    gaps = []
    for name, missing in zip(recording.markers, recording.missing.T, strict=True):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]])))
        for first, end in edges.reshape(-1, 2):
            count = int(end - first)
            gaps.append(Gap(name, _finite(recording.times[first]), count / recording.rate, count))
    return gaps


def _jumps(recording: Recording) -> _Array:
    """Times (s) at which a marker is too far from where it was last seen, sorted."""
    found: list[_Array] = []
    for marker, missing in enumerate(recording.missing.T):
        seen = np.flatnonzero(~missing)
        waits = np.maximum(np.diff(recording.times[seen]), 1.0 / recording.rate)
        steps = np.linalg.norm(np.diff(recording.positions[seen, marker], axis=0), axis=1)
        found.append(recording.times[seen[1:]][steps > np.maximum(SPEED * waits, STEP)])
    return np.sort(np.concatenate(found))


def _motion(recording: Recording, marker: int, times: _Array, window: float) -> MarkerMotion:
    """Range, mean and drift of each axis of one marker."""
    axes = recording.positions[:, marker].T
    present = [axis[~np.isnan(axis)] for axis in axes]
    return MarkerMotion(
        name=recording.markers[marker],
        missing=int(recording.missing[:, marker].sum()),
        range=tuple(_finite(np.ptp(axis)) if len(axis) else None for axis in present),
        mean=tuple(_finite(np.mean(axis)) if len(axis) else None for axis in present),
        drift=tuple(_drift(times, axis, window) for axis in axes),
    )


def _window(duration: float, period: Typical | None) -> float:
    """Seconds to average over so that little breathing is left: three breaths, or one when there are few."""
    if period is None:
        return 10.0
    return max(period.median, min(3.0 * period.median, duration / 5.0))


def _drift(times: _Array, values: _Array, window: float) -> float | None:
    """Slope (mm/min): the median over all pairs of windows (Theil 1950, Sen 1968), which one odd breath cannot bend."""
    present = ~np.isnan(values)
    if not present.any():
        return None
    times, values = times[present], values[present]
    which = np.floor(times / max(window, times[-1] / 300.0)).astype(int)
    counts = np.bincount(which)
    full = counts >= 0.5 * np.median(counts[counts > 0])
    moments = np.bincount(which, times)[full] / counts[full]
    means = np.bincount(which, values)[full] / counts[full]
    if len(means) < 3:
        return None
    early, late = np.triu_indices(len(means), 1)
    return _finite(60.0 * np.median((means[late] - means[early]) / (moments[late] - moments[early])))


def _breathing(recording: Recording, times: _Array) -> tuple[int | None, _Array]:
    """The marker that moves most, and its breaths as rows of period (s) and amplitude (mm)."""
    seen = ~recording.missing
    if not seen.any():
        return None, _NO_BREATHS
    spreads = np.zeros(seen.shape[1])
    for i in np.flatnonzero(seen.any(axis=0)):
        low, high = np.percentile(recording.positions[seen[:, i], i], [5, 95], axis=0)
        spreads[i] = np.sum(high - low) * seen[:, i].mean()
    mover = int(np.argmax(spreads))
    if not 0 < spreads[mover] < np.inf:
        return None, _NO_BREATHS
    rows = seen[:, mover]
    positions = recording.positions[rows, mover]
    if not np.abs(np.percentile(positions, [1, 99], axis=0)).max() < FARTHEST:  # a single wild sample does no harm
        return None, _NO_BREATHS
    return mover, _breaths(times[rows], _principal(positions))


def _principal(positions: _Array) -> _Array:
    """Motion (mm) along the direction of largest variance, shape (time,); the end of exhalation is low.

    Samples far outside the common range do not choose the direction. Breathing rests at the end of an exhalation, so
    the skewness of the signal tells which end that is.
    """
    low, high = np.percentile(positions, [1, 99], axis=0)
    common = np.clip(positions, low - (high - low), high + (high - low))
    centre = common.mean(axis=0)
    moved = (common - centre) / np.max(high - low)
    direction = np.linalg.eigh(moved.T @ moved)[1][:, -1]
    upright = -1.0 if np.mean((moved @ direction) ** 3) < 0 else 1.0
    return np.asarray((positions - centre) @ direction * upright)


def _breaths(times: _Array, trace: _Array) -> _Array:
    """Breaths as rows of period (s) and amplitude (mm): from one peak of the smoothed trace to the next.

    A peak stands out by 0.4 of the usual motion within 10 s, which must be well above the noise: white noise alone
    has a range of about three deviations. Missing samples are filled for the search alone, and breaths that hold a
    second of them are left out.
    """
    from scipy import signal

    span = times[-1] - times[0]
    if not 3.0 <= span <= len(times):  # too short, or on average more than a second from sample to sample
        return _NO_BREATHS
    grid = np.arange(times[0], times[-1], 1.0 / _GRID)
    smooth = signal.sosfiltfilt(signal.butter(2, 1.0, fs=_GRID, output="sos"), np.interp(grid, times, trace))
    usual = np.median([np.ptp(part) for part in np.array_split(smooth, max(1, len(grid) // int(10 * _GRID)))])
    noise = 1.4826 * np.median(np.abs(np.diff(trace, 2))) / np.sqrt(6.0)
    if not usual > 4.0 * noise:
        return _NO_BREATHS
    peaks, _ = signal.find_peaks(smooth, prominence=0.4 * usual, distance=int(PERIODS[0] * _GRID))
    if len(peaks) < 2:
        return _NO_BREATHS
    periods = np.diff(peaks) / _GRID
    amplitudes = smooth[peaks[:-1]] - np.minimum.reduceat(smooth, peaks)[:-1]
    after = np.clip(np.searchsorted(times, grid), 1, len(times) - 1)
    far = times[after] - times[after - 1] > 1.0
    whole = (periods >= PERIODS[0]) & (periods <= PERIODS[1]) & ~np.logical_or.reduceat(far, peaks)[:-1]
    return np.asarray(np.stack([periods, amplitudes], axis=1)[whole])


def _finite(value: float | np.floating[Any]) -> float | None:
    """A plain number, or None where it ran over."""
    return float(value) if np.isfinite(value) else None


def _typical(values: _Array) -> Typical | None:
    """Median and robust spread of two breaths or more."""
    if len(values) < 2:
        return None
    middle = float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - middle)))
    return Typical(middle, spread) if np.isfinite(spread) else None


def _remarks(
    recording: Recording, clock: Clock, markers: tuple[MarkerMotion, ...], amplitude: Typical | None, jumps: int
) -> list[str]:
    """What looks wrong, in plain words."""
    remarks = []
    if clock.rate is not None and abs(clock.rate / recording.rate - 1.0) > 0.01:
        remarks.append(f"the clock runs at {clock.rate:.4g} Hz, not at {recording.rate:g} Hz")
    if clock.backwards:
        remarks.append(f"the clock stands still or runs backwards {clock.backwards} times")
    remarks += [f"{marker.name} was never measured" for marker in markers if marker.missing == len(recording)]
    if jumps:
        remarks.append(f"{jumps} times a marker moves faster than {SPEED:g} mm/s: swapped, or a bad row?")
    if amplitude is None:
        remarks.append("no breathing was found")
    elif not AMPLITUDES[0] <= amplitude.median <= AMPLITUDES[1]:
        remarks.append(f"a breath moves the marker by {amplitude.median:.3g} mm: are the positions in millimetres?")
    return remarks
