"""The five scores of the paper, and their mean and 95 % interval over runs, recordings and horizons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from breathcast.forecasters.method import Array

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
    """Score one run, from arrays (time, marker, dimension) in mm; what is missing in either is not scored.

    With δ_j(t) the distance between forecast and truth of marker j (Pohl et al. 2022, Eqs. 6-11):
    mae is the mean of δ, rmse the root of the mean of δ² (over time and markers, not coordinates), nrmse that divided
    by the root mean square distance of the truth from each marker's mean, max_error the largest δ, and jitter the mean
    distance between successive forecasts.
    """
    there = np.asarray(np.isfinite(predictions).all(axis=2))
    known = np.asarray(there & ~np.isnan(truth).any(axis=2))
    errors = np.linalg.norm(predictions - truth, axis=2)[known]
    steps = np.linalg.norm(np.diff(predictions, axis=0), axis=2)[there[1:] & there[:-1]]
    if errors.size == 0:
        return dict.fromkeys(SCORES, math.nan)
    filled = np.where(known[:, :, None], truth, 0.0)
    means = filled.sum(axis=0) / np.maximum(known.sum(axis=0), 1)[:, None]
    spread = float(np.sqrt((np.linalg.norm(truth - means, axis=2)[known] ** 2).sum()))
    rounding = 1e-9 * float(np.abs(filled).max()) * math.sqrt(errors.size)  # a spread below it is no motion
    total = float(np.sqrt((errors**2).sum()))
    return {
        "mae": float(errors.mean()),
        "rmse": float(np.sqrt((errors**2).mean())),
        "nrmse": total / spread if spread > rounding else math.nan,
        "max_error": float(errors.max()),
        "jitter": float(steps.mean()) if steps.size else math.nan,
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
