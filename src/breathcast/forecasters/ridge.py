"""Recursive ridge regression on displacements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from breathcast.forecasters.delay import DelayLearner, DelayMethod
from breathcast.forecasters.method import Task


@dataclass(frozen=True)
class RidgeRegression(DelayMethod):
    """y(t+h) = y(t) + Wᵀ x, W = argmin Σ λ^age ‖d - Wᵀ x‖² + δ ‖W‖², d the displacement from the window's end.

    λ = exp(-1 / `memory`) and δ = `penalty`, both in samples, so that a faster camera weighs the same seconds. What is
    kept is the triangle R of a QR decomposition, rotated with each pair; the part of the penalty that a pair forgets
    is put back, so that nothing degrades over hours, however little moves.
    """

    name: ClassVar[str] = "ridge"
    title: ClassVar[str] = "Recursive ridge regression"

    fade: float = 1.5  # s, in which the weight of a lag falls to 1/e
    lags: int = 15  # how many, at most
    components: int = 9  # principal components of the coordinates
    memory: float = 100.0  # s, in which a pair loses its weight to 1/e
    penalty: float = 0.05  # s of data that the penalty outweighs, where a number of unit size is learned from

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        self.require(memory=self.memory, penalty=self.penalty)

    def learner(self, task: Task) -> RidgeLearner:
        """Return a fresh learner."""
        return RidgeLearner(self, task)


def recursion(method: Any, task: Task) -> dict[str, float]:
    """√λ and δ from `memory` and `penalty`."""
    forgetting = math.exp(-0.5 / (method.memory * task.rate))
    return {"forgetting": forgetting, "penalty": method.penalty * task.rate}


class RidgeLearner(DelayLearner):
    """Learns with each pair."""

    def __init__(self, method: RidgeRegression, task: Task) -> None:
        """Lay out the triangle."""
        from breathcast.kernels.delay import Ridge

        super().__init__(method, task, method.settings(task, **recursion(method, task)))
        m = len(self.x)
        self._ridge = Ridge(np.zeros((m, m)), np.zeros((m, task.width)), np.zeros(2, dtype=np.int64))
        self.arrays |= self._ridge._asdict()

    def run(self, *given: Any) -> None:
        """Call the kernel."""
        from breathcast.kernels.delay import advance_ridge

        advance_ridge(self.settings, self.axes, self._ridge, self.x, self.d, *given)
