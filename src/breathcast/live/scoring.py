"""How good the forecasts of a session have been: errors beside no prediction, a region, and a test for drift."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from breathcast.forecasters.method import Array, samples
from breathcast.live.safety import Cause, Finding
from breathcast.live.settings import SessionSettings

_FEWEST_S = 5.0  # s of errors before anything is said of them
_BET = 0.9  # what the test for drift stakes on each block; more finds a break sooner and a slow drift later


@dataclass(frozen=True, slots=True)
class Score:
    """Of each horizon, over the last seconds; NaN where too little is known."""

    rmse: Array
    no_prediction: Array
    radius: Array


class Scorer:
    """Compares each forecast with what was measured when its time had come.

    The error of a forecast is the root mean square, over the markers, of the distance in space. For the region the
    largest distance of any marker counts.
    """

    def __init__(self, settings: SessionSettings) -> None:
        """Nothing has been forecast."""
        self._steps = np.array(settings.steps())
        markers, dimension = settings.shape
        count, keep = len(self._steps), int(self._steps.max()) + 1
        window = samples(settings.error_window_s, settings.rate)
        self._limits, self._level, self._asked = settings.limits, settings.region_level, settings.horizons_ms
        self._fewest = min(window, samples(_FEWEST_S, settings.rate))
        self._issued = np.full((keep, count, markers, dimension), np.nan)  # forecasts that wait for their time
        self._known = np.full((keep, markers, dimension), np.nan)  # positions, which are what no prediction forecasts
        self._row = 0  # periods so far
        self._errors = np.full((3, count, window), np.nan)  # squared: forecast, no prediction; largest distance
        self._scored = np.zeros(count, dtype=np.int64)
        self.drift = DriftTest(settings)

    def add(self, forecasts: Array, position: Array, measured: bool) -> None:
        """One period: its forecasts, (horizon, marker, dimension) with NaN where there is none, and its position."""
        keep, count = len(self._known), len(self._steps)
        if measured:
            then = (self._row - self._steps) % keep
            self._score(self._issued[then, np.arange(count)], self._known[then], position)
        self._issued[self._row % keep] = forecasts
        self._known[self._row % keep] = position if measured else np.nan
        self._row += 1

    def _score(self, forecasts: Array, before: Array, truth: Array) -> None:
        forecast = ((forecasts - truth) ** 2).sum(axis=2)
        nothing = ((before - truth) ** 2).sum(axis=2)
        both = np.stack([forecast.mean(axis=1), nothing.mean(axis=1), np.sqrt(forecast.max(axis=1))])
        due = np.flatnonzero(np.isfinite(both).all(axis=0))
        if not len(due):
            return
        self._errors[:, due, self._scored[due] % self._errors.shape[2]] = both[:, due]
        self._scored[due] += 1
        self.drift.add(due, both[0, due], both[1, due])

    def score(self) -> Score:
        """Running errors and regions."""
        full = min(int(self._scored.max()), self._errors.shape[2])
        if full < self._fewest:
            nothing = np.full(len(self._steps), np.nan)
            return Score(nothing, nothing, nothing)
        recent = self._errors[:, :, :full]
        enough = self._scored >= self._fewest
        with np.errstate(invalid="ignore"):
            sums = np.where(np.isnan(recent[:2]), 0.0, recent[:2]).sum(axis=2)
            roots = np.sqrt(sums / np.minimum(np.maximum(self._scored, 1), full))
        roots[:, ~enough] = np.nan
        return Score(roots[0], roots[1], np.where(enough, self._radius(recent[2]), np.nan))

    def _radius(self, largest: Array) -> Array:
        """The smallest distance that the wanted share of the errors, and one more to come, stayed within."""
        known = np.minimum(self._scored, largest.shape[1])
        rank = np.minimum(np.ceil(self._level * (known + 1)).astype(np.int64), np.maximum(known, 1)) - 1
        ordered = np.sort(largest, axis=1)  # NaN, where nothing was scored yet, goes to the end
        return np.asarray(ordered[np.arange(len(known)), rank])

    def findings(self, score: Score) -> list[Finding]:
        """What is wrong with the errors."""
        found = self.drift.findings()
        if self._limits.region_mm is not None:
            for k in np.flatnonzero(score.radius > self._limits.region_mm):
                told = f"{score.radius[k]:.3g} mm, more than {self._limits.region_mm:g} mm, {self._asked[k]:g} ms ahead"
                found.append(Finding(Cause.REGION, f"the region is {told}"))
        for k in np.flatnonzero(score.rmse > score.no_prediction):
            told = f"{score.rmse[k]:.3g} mm against {score.no_prediction[k]:.3g} mm, {self._asked[k]:g} ms ahead"
            found.append(Finding(Cause.WORSE, f"lately worse than no prediction: {told}"))
        return found

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that the next score depends on."""
        own = {"issued": self._issued, "known": self._known, "errors": self._errors, "scored": self._scored}
        copies: dict[str, NDArray[Any]] = {key: value.copy() for key, value in own.items()}
        return copies | {"row": np.array(self._row), "drift": self.drift.state()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `state` gave."""
        self._issued[...], self._known[...] = state["issued"], state["known"]
        self._errors[...], self._scored[...] = state["errors"], state["scored"]
        self._row = int(state["row"])
        self.drift.restore(state["drift"])


class DriftTest:
    """Whether forecasts have become worse than `ratio` times no prediction: a sequential test by betting.

    Squared errors are averaged over blocks of some seconds, so that the phases of a breath even out: A of the
    forecasts, B of no prediction. Each block is a bet on D = (A - r²B) / (A + r²B), which lies between -1 and 1: a
    capital K becomes max(1, K (1 + 0.9 D)). As long as no block is expected to have D > 0, K exceeds 1/α only after
    1/α blocks on average, or later (an e-detector: Shin, Ramdas and Rinaldo 2023), whatever the errors are distributed
    like and however they depend on each other. 1/α follows from the wanted time between false alarms, for all horizons
    together.
    """

    def __init__(self, settings: SessionSettings) -> None:
        """The capital is 1."""
        self._on, self._asked = settings.drift.on, settings.horizons_ms
        self._weight = settings.drift.ratio**2
        self._ratio = settings.drift.ratio
        self._block = samples(settings.drift.block_s, settings.rate)
        count = len(self._asked)
        blocks = settings.drift.false_alarm_h * 3600 / settings.drift.block_s
        self._limit = math.log(max(2.0, blocks * count))
        self._sums = np.zeros((3, count))  # forecast, no prediction, how many
        self._capital = np.zeros(count)  # its logarithm

    def add(self, due: NDArray[np.int64], forecast: Array, nothing: Array) -> None:
        """Squared errors of the horizons `due`."""
        self._sums[0, due] += forecast
        self._sums[1, due] += self._weight * nothing
        self._sums[2, due] += 1
        for k in np.flatnonzero(self._sums[2] >= self._block):
            a, b, _ = self._sums[:, k]
            bet = (a - b) / (a + b) if a + b > 0 else 0.0
            self._capital[k] = max(0.0, self._capital[k] + math.log1p(_BET * bet))
            self._sums[:, k] = 0.0

    def findings(self) -> list[Finding]:
        """The alarm, if there is one."""
        if not self._on:
            return []
        return [
            Finding(
                Cause.DRIFT,
                f"errors have grown beyond {self._ratio:g} times those of no prediction, {self._asked[k]:g} ms ahead",
            )
            for k in np.flatnonzero(self._capital > self._limit)
        ]

    def reset(self) -> None:
        """An operator has looked: begin again."""
        self._sums[...] = 0.0
        self._capital[...] = 0.0

    def state(self) -> NDArray[Any]:
        """Everything that the next bet depends on."""
        return np.vstack([self._sums, self._capital])

    def restore(self, state: NDArray[Any]) -> None:
        """Go on from what `state` gave."""
        self._sums[...], self._capital[...] = state[:3], state[3]
