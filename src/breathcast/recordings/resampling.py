"""Another sampling rate, without inventing what was not measured."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from breathcast.errors import BreathcastError
from breathcast.recordings.recording import Recording

SAME = 1e-6  # s: two times no further apart are one
MOST_VALUES = 100_000_000  # samples × markers × dimensions: 800 MB
MAX_GAP = 1.5  # nominal sampling periods: a clock may jitter by half a period, and one lost sample makes a gap


def resample(recording: Recording, rate: float, *, max_gap: float | None = None) -> Recording:
    """The same motion on a uniform clock of `rate` Hz that starts with the first sample.

    Each coordinate is interpolated along a straight line between the two measured neighbours in time (by
    `recording.times`), if they are no more than `max_gap` seconds apart (1.5 nominal sampling periods unless given);
    everywhere else it is missing (NaN). A sample that falls on a measured time is that measurement, bit for bit.

    There is no low-pass filter before a lower rate. Breathing holds next to nothing above 1 Hz; a filter that does not
    delay looks into the future and would flatter every forecast, and one that does adds the delay that forecasts
    are to cancel. What is measured faster than 1 Hz (noise, heart, coughs) therefore stays in the samples.

    Straight lines, because at 10 Hz they miss calm breathing by about 0.01 mm, less than the noise, and because a
    curve needs neighbours further away. Even so an interpolated sample holds the measurement after it: at a rate
    above the measured one, forecasts less than one measured period ahead are easier than in reality.
    """
    if not 0 < rate < np.inf:
        raise BreathcastError(f"the rate is {rate}", cure="give the wanted sampling rate in Hz, a positive number")
    longest = MAX_GAP / recording.rate if max_gap is None else max_gap
    if not longest > 0:
        raise BreathcastError(f"the longest gap to bridge is {longest}", cure="give a positive number of seconds")
    times = _uniform(recording, rate)
    positions = np.empty((len(times), *recording.positions.shape[1:]))
    for place in np.ndindex(positions.shape[1:]):
        positions[:, *place] = _interpolate(times, recording.times, recording.positions[:, *place], longest)
    lost = int(np.isnan(positions).any(axis=2).sum())
    note = (
        f"resampled from {recording.rate:g} to {rate:g} Hz: straight lines between samples at most {longest:g} s "
        f"apart, no filter; {lost} of {positions.shape[0] * positions.shape[1]} marker positions are missing"
    )
    return Recording(
        positions,
        rate,
        times=times,
        markers=recording.markers,
        name=recording.name,
        notes=[*recording.notes, note],
        labels=recording.labels,
    )


def _uniform(recording: Recording, rate: float) -> NDArray[np.float64]:
    """The new clock (s), from the first measured time to the last one."""
    times = recording.times
    if len(times) == 0:
        return times
    cure = "leave such samples out, or give uniform times: Recording(positions, rate)"
    runs = np.isfinite(times) & np.concatenate([[True], times[1:] > times[:-1]])
    if not runs.all():
        raise BreathcastError(f"the clock of {recording.name} does not run at sample {runs.argmin()}", cure=cure)
    span = times[-1] - times[0]
    if span > 3600.0 + 1000.0 * recording.duration:
        raise BreathcastError(f"the clock of {recording.name} runs {span:g} s for {len(times)} samples", cure=cure)
    if (span + SAME) * rate * recording.positions[0].size > MOST_VALUES:
        raise BreathcastError(f"{rate:g} Hz make too many samples of {span:g} s", cure="give a lower rate")
    return np.asarray(times[0] + np.arange(int((span + SAME) * rate) + 1) / rate)


def _interpolate(
    wanted: NDArray[np.float64], times: NDArray[np.float64], values: NDArray[np.float64], longest: float
) -> NDArray[np.float64]:
    """One coordinate at the wanted times (s); NaN where no measured neighbours are near enough."""
    present = ~np.isnan(values)
    times, values = times[present], values[present]
    if len(times) == 0:
        return np.full(len(wanted), np.nan)
    after = np.searchsorted(times, wanted)  # the first measurement at or after each wanted time
    following, preceding = np.minimum(after, len(times) - 1), np.maximum(after - 1, 0)
    between = (after > 0) & (after < len(times)) & (times[following] - times[preceding] <= longest)
    result = np.where(between, np.interp(wanted, times, values), np.nan)
    for neighbour in (following, preceding):
        measured = np.abs(times[neighbour] - wanted) <= SAME
        result[measured] = values[neighbour[measured]]
    return result
