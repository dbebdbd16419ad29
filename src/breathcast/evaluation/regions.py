"""Regions that hold the true position with a stated probability: conformal prediction under delayed feedback.

The region of a marker is a ball around its forecast, and the joint region is balls of one radius around all of them.
A radius is issued with the forecast, h samples ahead, from errors that have been measured by then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from breathcast.errors import BreathcastError
from breathcast.evaluation.evaluate import Evaluation
from breathcast.forecasters.method import Array, samples

LEVELS = (0.5, 0.8, 0.9, 0.95)
_MEMORY = 120.0  # s of errors whose quantile is taken
_STEP = 0.2  # γ for each horizon of errors: how fast the radius is corrected by what was covered
_WORST = 20.0  # s, of the worst window that is reported


@dataclass(frozen=True)
class Regions:
    """The radii that went with the forecasts of an evaluation: row n belongs to its time `times[n]`."""

    level: float  # probability
    radius: Array  # (N, marker), mm
    joint: Array  # (N), mm
    covered: NDArray[np.bool_]  # (N, marker), whether the truth was inside; False where it is missing
    all_covered: NDArray[np.bool_]  # (N), whether all markers were inside the joint region
    known: NDArray[np.bool_]  # (N), whether all markers were measured
    test: NDArray[np.bool_]  # (N), which rows are scored
    rate: float

    def coverage(self, *, joint: bool = False) -> float:
        """Share of the test part in which the region held the truth."""
        return float(self._hits(joint).mean())

    def worst(self, seconds: float = _WORST, *, joint: bool = False) -> float:
        """The lowest coverage in any window of so many seconds of the test part."""
        hits = self._hits(joint)
        width = min(samples(seconds, self.rate), len(hits))
        sums = np.concatenate([[0.0], np.cumsum(hits)])
        return float((sums[width:] - sums[:-width]).min() / width)

    def mean_radius(self, *, joint: bool = False) -> float:
        """Mean radius over the test part, mm."""
        return float((self.joint if joint else self.radius)[self.test].mean())

    def _hits(self, joint: bool) -> Array:
        rows = self.test & self.known
        hits: Array = np.asarray(self.all_covered[rows] if joint else self.covered[rows].mean(axis=1), dtype=np.float64)
        return hits


def regions(evaluation: Evaluation, level: float = 0.9, *, run: int = 0) -> Regions:
    """The regions of one run of an evaluation, as they would have been issued with its forecasts.

    radius = e^θ × the `level` quantile of the errors of the last two minutes; when an error is known, h samples after
    its forecast, θ ← θ + γ (miss - (1 - level)). So over T known errors the share of misses differs from 1 - level by
    θ_T / (γ T), whatever the errors are. The radius is finite as soon as one error is known, h samples after the first
    of the recording: so it is finite for every forecast that a method has learned to make. Immediate feedback uses
    targets before they can be measured, and so would its regions: that is refused.
    """
    if not 0.0 < level < 1.0:
        raise BreathcastError(f"the level is {level}", cure="give a probability between 0 and 1")
    if evaluation.feedback != "delayed":
        raise BreathcastError("these forecasts used targets before they could be measured", cure="use delayed feedback")
    errors = np.linalg.norm(evaluation.predictions[run] - evaluation.truth, axis=2)
    own = evaluation.learned[run]
    step = _STEP / evaluation.steps
    memory = samples(_MEMORY, evaluation.rate)
    balls = [_radii(errors[:, m], own, evaluation.steps, level, step, memory) for m in range(errors.shape[1])]
    radius, together = np.stack(balls, axis=1), errors.max(axis=1)
    joint = _radii(together, own, evaluation.steps, level, step, memory)
    return Regions(
        level=level,
        radius=radius,
        joint=joint,
        covered=np.asarray(errors <= radius),
        all_covered=np.asarray(together <= joint),
        known=np.isfinite(together),
        test=evaluation.test,
        rate=evaluation.rate,
    )


def coverage_table(evaluations: Iterable[Evaluation], levels: Iterable[float] = LEVELS) -> list[dict[str, float]]:
    """For each level, pooled over the forecasts of all evaluations: coverage, worst window, mean radius (mm)."""
    evaluations = list(evaluations)
    rows = []
    for level in levels:
        found = [regions(evaluation, level) for evaluation in evaluations]
        counts = np.array([int((one.test & one.known).sum()) for one in found], dtype=np.float64)
        row = {"level": level}
        for joint, head in ((False, ""), (True, "joint_")):
            row[f"{head}coverage"] = float(np.average([one.coverage(joint=joint) for one in found], weights=counts))
            row[f"{head}worst"] = min(one.worst(joint=joint) for one in found)
            row[f"{head}radius"] = float(np.average([one.mean_radius(joint=joint) for one in found], weights=counts))
        rows.append(row)
    return rows


def _radii(errors: Array, own: NDArray[np.bool_], steps: int, level: float, step: float, memory: int) -> Array:
    """One radius a row, from the errors of rows at least `steps` before it; NaN errors were never measured."""
    radii = np.full(len(errors), np.inf)  # as long as not one error is known
    scores: list[float] = []
    theta, learned = 0.0, False
    for n in range(len(errors)):
        past = n - steps  # its target is the newest sample
        if past >= 0 and math.isfinite(errors[past]):
            if own[past] and not learned:  # what stood in for the method before tells nothing about it
                learned, scores, theta = True, [], 0.0
            elif math.isfinite(radii[past]):
                theta += step * (float(errors[past] > radii[past]) - (1.0 - level))
            scores.append(float(errors[past]))
            del scores[:-memory]
        if scores:
            radii[n] = math.exp(theta) * _quantile(scores, level)
    return radii


def _quantile(scores: list[float], level: float) -> float:
    """The smallest score that covers `level` of one score more than there are; the largest if none does."""
    ordered = np.sort(np.asarray(scores))
    return float(ordered[min(math.ceil(level * (len(ordered) + 1)) - 1, len(ordered) - 1)])
