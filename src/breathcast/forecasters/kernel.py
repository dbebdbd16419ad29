"""Kernel ridge regression on delay coordinates, recursive and of bounded size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from breathcast.forecasters.delay import DelayLearner, DelayMethod
from breathcast.forecasters.method import Task, whole
from breathcast.forecasters.ridge import recursion


@dataclass(frozen=True)
class KernelRegression(DelayMethod):
    """y(t+h) = y(t) + Wᵀ [x, φ(x)], recursive ridge on a window and on what landmarks it is like.

    κ(x, x') = exp(-‖x - x'‖² / 2 ℓ²), ℓ = `width`. A window becomes a landmark when the span of those there are misses
    more than `novelty` of it (Engel et al. 2004), up to `landmarks`; φ are its coordinates in an orthonormal basis of
    that span, so that the penalty is the norm of the function.
    """

    name: ClassVar[str] = "kernel"
    title: ClassVar[str] = "Kernel regression"

    lags: int = 8  # how many, at most
    components: int = 9  # principal components of the coordinates
    memory: float = 100.0  # s, in which a pair loses its weight to 1/e
    penalty: float = 0.1  # s of data that the penalty outweighs, where a number of unit size is learned from
    width: float = 0.7  # ℓ, in units of the first component's spread
    landmarks: int = 150
    novelty: float = 0.02  # of 1

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        self.require(memory=self.memory, penalty=self.penalty, width=self.width, novelty=self.novelty)
        object.__setattr__(self, "landmarks", whole(f"{self.name}: landmarks", self.landmarks, 1))

    def learner(self, task: Task) -> KernelLearner:
        """Return a fresh learner."""
        return KernelLearner(self, task)


class KernelLearner(DelayLearner):
    """Learns with each pair, and gathers landmarks."""

    def __init__(self, method: KernelRegression, task: Task) -> None:
        """Lay out the triangles."""
        from breathcast.kernels.delay import Landmarks, Ridge

        special = recursion(method, task) | {"width": float(method.width), "novelty": float(method.novelty)}
        super().__init__(method, task, method.settings(task, **special))
        size, depth = method.landmarks, len(self.x)
        m = depth + size
        self.x = np.zeros(m)
        self._ridge = Ridge(np.zeros((m, m)), np.zeros((m, task.width)), np.zeros(2, dtype=np.int64))
        self._landmarks = Landmarks(np.zeros((size, depth)), np.zeros((size, size)), np.zeros(1, dtype=np.int64))
        self.arrays |= self._ridge._asdict()
        self.arrays |= {f"landmark_{key}": value for key, value in self._landmarks._asdict().items()}

    def run(self, *given: Any) -> None:
        """Call the kernel."""
        from breathcast.kernels.delay import advance_kernel

        advance_kernel(self.settings, self.axes, self._ridge, self._landmarks, self.x, self.d, *given)
