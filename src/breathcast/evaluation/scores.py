"""The five scores of the paper, and their mean and 95 % interval over runs, recordings and horizons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from breathcast.forecasters.method import Array

_TOGETHER = 16  # runs scored at once, so that what is worked on stays in the cache
SCORES = {"mae": "mm", "rmse": "mm", "nrmse": "", "max_error": "mm", "jitter": "mm"}


@dataclass(frozen=True)
class Score:
    """A mean over runs with the half-width of its 95 % confidence interval."""

    mean: float  # nan when no run is left
    interval: float | None  # ±, or None when it is not known: one run of a random method
    runs: int  # runs in the mean
    diverged: int = 0  # runs left out because their forecasts were not finite

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; what is not a finite number becomes null."""
        mean, interval = (v if v is not None and math.isfinite(v) else None for v in (self.mean, self.interval))
        return {"mean": mean, "interval": interval, "runs": self.runs, "diverged": self.diverged}


def score(predictions: Array, truth: Array) -> dict[str, float]:
    """Score one run, from arrays (time, marker, dimension) in mm: see `score_runs`."""
    return {name: float(values[0]) for name, values in score_runs(predictions[None], truth).items()}


def score_runs(predictions: Array, truth: Array) -> dict[str, Array]:
    """Score runs, (run, time, marker, dimension) in mm, against one truth; what is missing in either is not scored.

    With δ_j(t) the distance between forecast and truth of marker j (Pohl et al. 2022, Eqs. 6-11):
    mae is the mean of δ, rmse the root of the mean of δ² (over time and markers, not coordinates), nrmse that divided
    by the root mean square distance of the truth from each marker's mean, max_error the largest δ, and jitter the mean
    distance between successive forecasts.
    """
    parts = [_score_runs(predictions[r : r + _TOGETHER], truth) for r in range(0, len(predictions), _TOGETHER)]
    return {name: np.concatenate([part[name] for part in parts] or [np.empty(0)]) for name in SCORES}


def _score_runs(predictions: Array, truth: Array) -> dict[str, Array]:
    there: NDArray[np.bool_] = np.asarray(np.isfinite(predictions).all(axis=3))
    known: NDArray[np.bool_] = np.asarray(there & ~np.isnan(truth).any(axis=2))
    errors = np.where(known, np.linalg.norm(predictions - truth, axis=3), 0.0)
    moved = there[:, 1:] & there[:, :-1]
    steps = np.where(moved, np.linalg.norm(np.diff(predictions, axis=1), axis=3), 0.0)
    count, total = known.sum(axis=(1, 2)), (errors**2).sum(axis=(1, 2))
    filled = np.where(known[..., None], truth, 0.0)
    means = filled.sum(axis=1) / np.maximum(known.sum(axis=1), 1)[..., None]
    squares = np.where(known[..., None], filled - means[:, None], 0.0) ** 2
    spread = np.sqrt(squares.sum(axis=(1, 2, 3)))
    still = spread <= 1e-9 * np.abs(filled).max(axis=(1, 2, 3), initial=0.0) * np.sqrt(count)  # rounding, no motion
    with np.errstate(invalid="ignore", divide="ignore"):  # 0 / 0 is nan: there is nothing to score
        return {
            "mae": errors.sum(axis=(1, 2)) / count,
            "rmse": np.sqrt(total / count),
            "nrmse": np.where(still, np.nan, np.sqrt(total) / spread),
            "max_error": np.where(count > 0, errors.max(axis=(1, 2), initial=0.0), np.nan),
            "jitter": np.where(count > 0, steps.sum(axis=(1, 2)) / moved.sum(axis=(1, 2)), np.nan),
        }


def over_runs(values: Sequence[float], *, random: bool, diverged: int = 0) -> Score:
    """Mean over runs, ± t σ / √n with the sample deviation σ; ± 0 for a method without chance.

    t is the 97.5 % point of Student's distribution with n - 1 degrees of freedom. The paper (Eqs. 12-13) has 1.96,
    which is right for its 300 runs (t = 1.97) and far too small for a few (n = 5: 2.78).
    """
    n = len(values)
    if n == 0:
        return Score(math.nan, None, 0, diverged)
    mean = float(np.mean(values))
    if not random:
        return Score(mean, 0.0, n, diverged)
    if n == 1:
        return Score(mean, None, n, diverged)
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(n))
    return Score(mean, half, n, diverged)


def over_cases(scores: Iterable[Score]) -> Score:
    """Mean over recordings and horizons, ± √(Σ Δ²) / count (Eq. 14); a case without any finite run makes it nan."""
    cases = list(scores)
    if not cases:
        return Score(math.nan, None, 0)
    halves = [case.interval for case in cases]
    known = [half for half in halves if half is not None]
    interval = math.sqrt(sum(half**2 for half in known)) / len(cases) if len(known) == len(cases) else None
    return Score(
        float(np.mean([case.mean for case in cases])),
        interval,
        min(case.runs for case in cases),
        sum(case.diverged for case in cases),
    )
