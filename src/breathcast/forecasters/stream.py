"""A stream: samples in, one by one or many at once, and out of each the forecasts for all horizons.

It owns what all methods share: the scale, the imputation of missing samples, the window of the past, and the rule that
a forecast which a method cannot make yet is the last known position, and says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Array, Feedback, Form, Method, Task, samples, whole

_STILL = 1e-9  # a coordinate that spreads less than this part of its size does not move: that is rounding


@dataclass(frozen=True)
class Forecast:
    """Where the markers will be, `horizon` seconds after the newest sample."""

    horizon: float  # s, as asked
    position: Array  # (marker, dimension), mm
    learned: bool  # False: the method has nothing to say yet, and this is the last known position
    imputed: bool  # True: a sample in the window of the past was missing, and stands in it as last seen


@dataclass(frozen=True)
class Forecasts:
    """The forecasts issued at n samples, for R runs and H horizons."""

    positions: Array  # (R, n, H, marker, dimension), mm
    learned: NDArray[np.bool_]  # (R, n, H)
    imputed: NDArray[np.bool_]  # (n, H)


def horizon_steps(horizon: float, rate: float) -> int:
    """The number of samples nearest to a horizon; at least one."""
    if not (np.isfinite(horizon) and horizon > 0):
        raise BreathcastError(f"the horizon is {horizon} s", cure="give a positive number of seconds")
    steps = round(horizon * rate)
    if steps < 1:
        cure = f"give at least {1 / rate:.3g} s, one sample at {rate:g} Hz, or resample the recording"
        raise BreathcastError(f"the horizon {horizon:g} s is shorter than half a sample", cure=cure)
    return steps


class Stream:
    """A method at work on one recording; all state is in plain arrays and can be saved and restored bit for bit."""

    def __init__(
        self,
        method: Method,
        *,
        rate: float,
        markers: int,
        dimension: int = 3,
        horizons: Sequence[float],
        seed: int = 0,
        runs: Sequence[int] = (0,),
        feedback: Feedback = "delayed",
        form: Form = "step",
    ) -> None:
        """Make the learners; `feedback="immediate"` uses targets before they can be measured: see `extend`.

        A `form` other than "step" takes one whole recording, in one call of `extend`, and its state is not to be saved.
        """
        if not (np.isfinite(rate) and rate > 0):
            raise BreathcastError(f"the rate is {rate}", cure="give the sampling rate in Hz, a positive number")
        self.horizons = tuple(float(h) for h in np.ravel(horizons))
        self.seed, self.runs = whole("seed", seed, 0), tuple(whole("run", run, 0) for run in runs)
        markers, dimension = whole("markers", markers, 1), whole("dimension", dimension, 1)
        if not self.horizons or not self.runs:
            raise BreathcastError("no horizon or no run is asked for", cure="give at least one of each")
        if feedback not in ("delayed", "immediate"):
            raise BreathcastError(f"there is no feedback {feedback!r}", cure="use 'delayed' or 'immediate'")
        self.method, self.rate, self.feedback = method, float(rate), feedback
        self._shape = (markers, dimension)
        width = markers * dimension
        self._steps = [horizon_steps(h, rate) for h in self.horizons]
        tasks = [Task(self.rate, width, h, feedback, seed, self.runs, form) for h in self._steps]
        self._learners = [method.learner(task) for task in tasks]
        self._training = samples(method.training, rate) if method.scale in ("standard", "pooled") else 1
        self._keep = max(learner.reach for learner in self._learners) + 1
        room = max(2 * self._keep, self._training + self._keep, 512)
        self._series = np.zeros((room, width))  # raw until the scale is known, scaled from then on
        self._clean = np.zeros(room, dtype=np.int64)
        self._end = 0  # rows of the above in use
        self._origin = 0  # the row at which the recording began; negative once old samples are gone
        self._last = np.full(width, np.nan)  # the newest known value of each coordinate
        self._run_length = 0  # measured samples in a row, up to the newest
        self._scale: tuple[Array, Array] | None = None  # mean and spread

    @property
    def count(self) -> int:
        """Samples taken in since every marker was first seen."""
        return self._end - self._origin

    def update(self, position: ArrayLike) -> list[Forecast]:
        """Learn from the newest sample, (marker, dimension) in mm with NaN for missing, and forecast each horizon."""
        sample = np.asarray(position, dtype=np.float64)
        if sample.shape != self._shape and not (self._shape == (1, 1) and sample.size == 1):
            cure = f"give one sample of (marker, dimension) = {self._shape}, NaN where a marker is missing"
            raise BreathcastError(f"the position has the shape {sample.shape}", cure=cure)
        result = self.extend(sample.reshape(1, *self._shape))
        return [
            Forecast(h, result.positions[0, 0, k], bool(result.learned[0, 0, k]), bool(result.imputed[0, k]))
            for k, h in enumerate(self.horizons)
        ]

    def extend(self, positions: ArrayLike) -> Forecasts:
        """Take in many samples, (time, marker, dimension), with the same bits as one `update` after the other.

        Immediate feedback uses targets before they can be measured: then the whole recording must come in one call, and
        the last h forecasts are not made.
        """
        given = np.asarray(positions, dtype=np.float64)
        if given.shape[1:] != self._shape:
            cure = f"give (time, marker, dimension) = (n, {self._shape[0]}, {self._shape[1]})"
            raise BreathcastError(f"the positions have the shape {given.shape}", cure=cure)
        if np.isinf(given).any():
            raise BreathcastError("a position is infinite", cure="mark missing samples as NaN")
        if self.feedback == "immediate" and self._end:
            raise BreathcastError(
                "immediate feedback needs the future", cure="give the whole recording in one call of extend"
            )
        n, width = len(given), self._series.shape[1]
        out = np.full((len(self.runs), n, len(self.horizons), width), np.nan)
        known, clean = self._impute(given.reshape(n, width))
        unseen = int(np.isnan(known).any(axis=1).sum())  # samples before every marker was seen once: not part of it
        past = self.count + 1 + np.arange(n) - unseen
        imputed = np.empty((n, len(self.horizons)), dtype=np.bool_)
        for k, learner in enumerate(self._learners):
            imputed[:, k] = clean < np.clip(past, 1, learner.window)
        if n > unseen:
            self._take(known[unseen:], clean[unseen:], out[:, unseen:])
        return self._finish(out, known, imputed)

    def _impute(self, given: Array) -> tuple[Array, NDArray[np.int64]]:
        """Fill missing coordinates with the last known value; count the measured samples in a row up to each."""
        lines = np.vstack([self._last, given])
        missing = np.isnan(lines)
        source = np.maximum.accumulate(np.where(missing, 0, np.arange(len(lines))[:, None]), axis=0)
        known = np.take_along_axis(lines, source, axis=0)
        whole = ~missing[1:].any(axis=1)
        here = np.arange(1, len(lines))
        broken = np.maximum.accumulate(np.where(whole, -self._run_length, here))
        clean = np.where(broken > 0, here - broken, here + self._run_length)
        self._last = known[-1].copy()
        if len(given):
            self._run_length = int(clean[-1])
        return known[1:], clean

    def _take(self, known: Array, clean: NDArray[np.int64], out: Array) -> None:
        """Append the samples to the series, fix the scale when enough are there, and let every learner go on."""
        self._make_room(len(known))
        fresh, last = self._end, self._end + len(known)
        self._series[fresh:last] = known if self._scale is None else (known - self._scale[0]) / self._scale[1]
        self._clean[fresh:last] = clean
        self._end = last
        first = speak = fresh
        if self._scale is None:
            if self.count < self._training and self.feedback == "delayed":
                return
            self._fix_scale()
            first = self._origin  # the learners catch up; what they forecast before the scale was known does not count
            speak = first + self._training - 1 if self.feedback == "delayed" else first
        for k, (learner, h) in enumerate(zip(self._learners, self._steps, strict=True)):
            stop = last if self.feedback == "delayed" else max(first, last - h)
            rows = np.full((len(self.runs), stop - first, out.shape[3]), np.nan)
            learner.advance(self._series[:last], self._clean[:last], self._origin, first, stop, speak, rows)
            out[:, speak - fresh : stop - fresh, k] = rows[:, speak - first :]

    def _fix_scale(self) -> None:
        """Take the scale from the first samples, and bring what is stored to it."""
        start = self._series[self._origin : self._origin + self._training]
        if self.method.scale not in ("standard", "pooled"):
            centre = start[0].copy() if self.method.scale == "displacement" else np.zeros(start.shape[1])
            self._scale = (centre, np.ones(start.shape[1]))
        else:
            whole = start[self._clean[self._origin : self._origin + self._training] > 0]
            basis = whole if len(whole) > 1 else start
            spread = basis.std(axis=0)
            moves = spread > _STILL * np.abs(basis).max(axis=0)
            if self.method.scale == "pooled" and moves.any():
                spread = np.full_like(spread, np.sqrt(np.mean(np.where(moves, spread, 0.0) ** 2)))
                moves[:] = True
            self._scale = (basis.mean(axis=0), np.where(moves, spread, 1.0))
        stored = self._series[: self._end]
        stored[...] = (stored - self._scale[0]) / self._scale[1]

    def _make_room(self, n: int) -> None:
        """See that `n` rows are free, dropping what no learner can reach; memory grows only by one big `extend`."""
        if self._end + n <= len(self._series):
            return
        drop = 0 if self._scale is None else max(0, self._end - self._keep)
        room = max(len(self._series), self._end - drop + n)
        series, clean = np.zeros((room, self._series.shape[1])), np.zeros(room, dtype=np.int64)
        series[: self._end - drop] = self._series[drop : self._end]
        clean[: self._end - drop] = self._clean[drop : self._end]
        self._series, self._clean = series, clean
        self._origin -= drop
        self._end -= drop

    def _finish(self, out: Array, known: Array, imputed: NDArray[np.bool_]) -> Forecasts:
        """Bring forecasts back to mm; where there is none, or it is not finite, the last known position stands in."""
        if self._scale is not None:
            out *= self._scale[1]
            out += self._scale[0]
        learned: NDArray[np.bool_] = np.asarray(np.isfinite(out).all(axis=3))
        positions = np.where(learned[..., None], out, known[None, :, None, :])
        return Forecasts(positions.reshape(*learned.shape, *self._shape), learned, imputed)

    def _identity(self) -> str:
        """What a saved state must agree with."""
        told = [self.method.to_dict(), self.rate, self._shape, self.horizons, self.seed, self.runs, self.feedback]
        return json.dumps(told)

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of everything that the next forecast depends on: plain arrays, for `numpy.savez` for instance."""
        kept = max(0, self._end - (self._keep if self._scale is not None else self._end))
        state: dict[str, NDArray[Any]] = {
            "identity": np.array(self._identity()),
            "series": self._series[kept : self._end].copy(),
            "clean": self._clean[kept : self._end].copy(),
            "last": self._last.copy(),
            "counts": np.array([self.count, self._run_length]),
            "scale": np.array(self._scale if self._scale is not None else np.zeros((0, self._series.shape[1]))),
        }
        for k, learner in enumerate(self._learners):
            state |= {f"{k}.{key}": value for key, value in learner.state().items()}
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on, bit for bit, from a state of a stream of the same method, rate, markers, horizons and seed."""
        if str(state.get("identity")) != self._identity():
            raise BreathcastError(
                f"this state belongs to another stream: {state.get('identity')}",
                cure=f"start the stream with the same settings; this one is {self._identity()}",
            )
        if missing := sorted(self.state().keys() - state.keys()):
            raise BreathcastError(f"this state lacks {missing[0]!r}", cure="keep all that state() gives")
        stored = len(state["series"])
        room = max(len(self._series), stored)
        self._series, self._clean = np.zeros((room, self._series.shape[1])), np.zeros(room, dtype=np.int64)
        self._series[:stored], self._clean[:stored] = state["series"], state["clean"]
        self._last = np.array(state["last"])
        count, self._run_length = (int(v) for v in state["counts"])
        self._end, self._origin = stored, stored - count
        self._scale = (state["scale"][0].copy(), state["scale"][1].copy()) if len(state["scale"]) else None
        for k, learner in enumerate(self._learners):
            head = f"{k}."
            learner.restore({key[len(head) :]: value for key, value in state.items() if key.startswith(head)})
