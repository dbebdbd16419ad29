"""Simulated breathing: markers on a chest that moves as real ones do, at any rate, the same for the same seed.

docs/simulation.md explains the model, names its sources and compares it with real recordings.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from breathcast.errors import BreathcastError
from breathcast.recordings.patterns import BEHAVIOURS, Breather, Trace, breathe, change_posture
from breathcast.recordings.recording import Recording

PATTERNS: Mapping[str, str] = MappingProxyType({name: how.description for name, how in BEHAVIOURS.items()})
"""Ways to breathe that `simulate` knows, with a line on each."""

NOISE = 0.05  # mm in each coordinate: what the calm real recordings show above 3.5 Hz

# How far the skin moves in a usual breath, as a share of the antero-posterior motion of the lower abdomen: rounded
# from the calm real recordings. The lower abdomen moves towards the feet, the places above it towards the head.
_NAMES = ("lower abdomen", "upper abdomen", "chest")
_PLACES = (0.0, 0.5, 1.0)  # 0 moves with the abdomen alone, 1 with the rib cage alone
_SHARES = ((-0.20, 0.36, 0.22), (0.04, 0.05, 0.03), (1.00, 0.60, 0.25))  # superior-inferior, left-right, AP

_COHORT = ("regular", "regular", "irregular", "deep", "talking", "laughing", "coughing", "apnoea", "shift", "drift")
_LOST = 1  # the member of the cohort whose markers get lost now and then

_Array = NDArray[np.float64]


def simulate(
    pattern: str = "regular",
    *,
    duration: float = 120.0,
    rate: float = 10.0,
    markers: int = 3,
    seed: int = 0,
    noise: float = NOISE,
    dropout: float = 0.0,
    name: str | None = None,
) -> Recording:
    """Positions (mm) of markers on somebody who breathes in this pattern, one of `PATTERNS`.

    Coordinates are superior-inferior, left-right and antero-posterior. The motion is a function of continuous time
    that depends on the seed alone: another rate or duration samples the same motion, and the "regular", "shift" and
    "drift" patterns of one seed are the same breaths of the same person.

    duration   s
    rate       Hz
    noise      standard deviation of the camera's error in each coordinate, mm
    dropout    share of the time during which a marker is lost (NaN), in gaps of 0.2 s and longer
    """
    _check(pattern, duration, rate, markers, seed, noise, dropout)
    person, breaths, body, camera, losses = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(5))
    times = np.arange(max(1, round(duration * rate))) / rate
    positions = _chest(pattern, times, markers, person, breaths)
    positions += _posture(pattern, times, markers, body)
    positions += noise * camera.standard_normal(positions.shape)
    for marker, loss in enumerate(losses.spawn(markers)):
        positions[_lost(times, dropout, loss), marker] = np.nan
    return Recording(
        positions,
        rate,
        markers=_NAMES if markers == len(_NAMES) else (),
        name=f"sim-{pattern}-{seed}" if name is None else name,
        notes=[f"simulated: {pattern} breathing, seed {seed}, noise {noise:g} mm, dropout {100 * dropout:g} %"],
        labels=[pattern],
    )


def cohort(*, rate: float = 10.0, duration: float = 120.0, seed: int = 0) -> list[Recording]:
    """Ten people: every pattern once, the calm one twice, and there with the markers lost for 2 % of the time."""
    _check(_COHORT[0], duration, rate, 1, seed, NOISE, 0.0)
    seeds = np.random.SeedSequence(seed).generate_state(len(_COHORT))
    return [
        simulate(
            pattern,
            duration=duration,
            rate=rate,
            seed=int(seeds[i]),
            dropout=0.02 if i == _LOST else 0.0,
            name=f"sim-{i + 1:02}-{pattern}",
        )
        for i, pattern in enumerate(_COHORT)
    ]


def _check(pattern: str, duration: float, rate: float, markers: int, seed: int, noise: float, dropout: float) -> None:
    """Refuse what cannot be simulated."""
    if pattern not in PATTERNS:
        raise BreathcastError(f"no breathing pattern is called {pattern!r}", cure=f"take one of {', '.join(PATTERNS)}")
    demands = (
        ("duration", duration, "a positive number of seconds", 0 < duration < np.inf),
        ("rate", rate, "a positive number of samples per second", 0 < rate < np.inf),
        ("number of samples", duration * rate, "a duration and a rate that make at most 10⁸", duration * rate <= 1e8),
        ("number of markers", markers, "1 or more", markers >= 1),
        ("seed", seed, "a whole number, 0 or more", seed >= 0),
        ("noise", noise, "0 or a positive number of mm", 0 <= noise < np.inf),
        ("dropout", dropout, "the share of time lost, from 0 to below 1", 0 <= dropout < 1),
    )
    for what, value, wanted, met in demands:
        if not met:
            raise BreathcastError(f"the {what} is {value}", cure=f"give {wanted}")


def _chest(
    pattern: str, times: _Array, markers: int, person: np.random.Generator, breaths: np.random.Generator
) -> _Array:
    """Where breathing and the heart carry the markers of one person, mm, shape (time, marker, 3)."""
    breather = Breather(
        period=float(np.clip(5.4 * np.exp(0.15 * person.standard_normal()), 4.0, 7.5)),
        inhale=person.uniform(0.30, 0.38),
        exhale=person.uniform(0.44, 0.52),
        dwell=person.uniform(1.5, 2.5),
    )
    depth = np.clip(12.5 * np.exp(0.2 * person.standard_normal()), 8.0, 17.0)  # mm, lower abdomen, AP
    started = -breather.period * person.uniform(1.0, 2.0)  # s, so that time 0 falls anywhere in a breath
    slowness = person.uniform(0.1, 0.7)  # s, of the rib cage behind the abdomen
    pulse, pulsed = person.uniform(0.95, 1.3), person.uniform(0.0, 2.0 * np.pi)  # Hz, radians
    hurried = times + 0.12 * _wander(times, 1, person, 2.0, 10.0)[:, 0]  # nobody breathes at an even pace

    place = np.linspace(0.0, 1.0, markers) if markers > 1 else np.zeros(1)
    shares = np.stack([np.interp(place, _PLACES, axis) for axis in _SHARES], axis=1)
    gains = depth * shares * np.exp(0.12 * person.standard_normal(shares.shape))
    # Each coordinate has a lag of its own, which opens the paths into loops: hysteresis, Seppenwoolde et al. (2002).
    lags = slowness * place[:, None] + 0.1 * person.standard_normal(shares.shape)
    beats = 0.08 * np.exp(0.3 * person.standard_normal(shares.shape))  # mm
    home = np.stack([200.0 * (place - 1.0), person.normal(0.0, 5.0, markers), 75.0 + 20.0 * place], axis=1)

    trace = Trace(breathe(breaths, breather, BEHAVIOURS[pattern]), started, times[-1] + 2.0)
    phase = 2.0 * np.pi * pulse * times + pulsed
    positions = home + beats * (np.sin(phase) + 0.5 * np.sin(2.0 * phase))[:, None, None]
    for marker, axis in np.ndindex(markers, 3):
        levels = trace.at(hurried - lags[marker, axis]) @ np.array([1.0 - place[marker], place[marker]])
        positions[:, marker, axis] += gains[marker, axis] * levels
    return np.asarray(positions)


def _posture(pattern: str, times: _Array, markers: int, rng: np.random.Generator) -> _Array:
    """How the body lies, mm, shape (time, marker, 3): its unrest, and what the patterns "shift" and "drift" add."""
    settled, along = rng.uniform(6.0, 16.0), rng.standard_normal(3) * (1.0, 0.3, 1.0)
    reach = along / np.linalg.norm(along) * rng.uniform(0.7, 1.3, (markers, 1))  # a body moves nearly as one
    whole = _wander(times, 3, rng, 10.0, 200.0) * (0.3, 0.4, 0.4)
    parts = _wander(times, 3 * markers, rng, 0.6, 200.0) * 0.15
    position = whole[:, None, :] + parts.reshape(-1, markers, 3)
    if pattern == "shift":
        level = Trace(change_posture(rng), 0.0, times[-1]).at(times)[:, 0]
        position += 3.0 * reach * level[:, None, None]
    if pattern == "drift":
        position += settled * reach * -np.expm1(-times / 240.0)[:, None, None]
    return np.asarray(position)


def _wander(times: _Array, count: int, rng: np.random.Generator, shortest: float, longest: float) -> _Array:
    """Random smooth processes of unit variance, shape (time, count): sines of random periods (s), even per octave."""
    waves = 6
    total = np.zeros((len(times), count))
    for _ in range(waves):
        period = shortest * (longest / shortest) ** rng.random(count)
        total += np.sin(2.0 * np.pi * (times[:, None] / period + rng.random(count)))
    return np.asarray(total * np.sqrt(2.0 / waves))


def _lost(times: _Array, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """When a marker is out of sight: gaps of 0.2 s plus an exponential time of mean 0.4 s, after exponential waits."""
    lost = np.zeros(len(times), dtype=bool)
    now = 0.0
    while share > 0 and now <= times[-1]:
        start = now + rng.exponential(0.6 * (1.0 - share) / share)
        now = start + 0.2 + rng.exponential(0.4)
        lost[np.searchsorted(times, start) : np.searchsorted(times, now)] = True
    return lost
