"""Nearest neighbours: where the breath went when it last looked like this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from breathcast.forecasters.delay import DelayLearner, DelayMethod
from breathcast.forecasters.method import Task, samples, whole

_DENSEST = 10.0  # Hz; pairs closer in time are so alike that remembering them all only costs time


@dataclass(frozen=True)
class Analog(DelayMethod):
    """y(t+h) = y(t) + Σ_k w_k b_k d_k over the `neighbours` windows most like this one, d_k where those went.

    A remembered motion may be stretched by b in [1/`stretch`, `stretch`], to what fits best: breaths differ in depth.
    With q the squared distance that is left, plus `stiffness` (b - 1)², w is exp(-2 q / q of the farthest), over its
    sum. A ring holds the pairs of the last `memory` seconds, at most ten a second.
    """

    name: ClassVar[str] = "analog"
    title: ClassVar[str] = "Nearest neighbours"

    memory: float = 300.0  # s, of which pairs are remembered
    neighbours: int = 30
    stretch: float = 1.5  # largest factor
    stiffness: float = 1.0  # in squared units of the first component's spread

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        self.require(memory=self.memory, stretch=self.stretch - 0.999, stiffness=self.stiffness)
        object.__setattr__(self, "neighbours", whole(f"{self.name}: neighbours", self.neighbours, 1))

    def learner(self, task: Task) -> AnalogLearner:
        """Return a fresh learner."""
        return AnalogLearner(self, task)


class AnalogLearner(DelayLearner):
    """Remembers pairs in a ring."""

    def __init__(self, method: Analog, task: Task) -> None:
        """Lay out the ring."""
        from breathcast.kernels.delay import Library

        stride = max(1, round(task.rate / _DENSEST))
        special = {
            "neighbours": method.neighbours,
            "stretch": float(method.stretch),
            "stiffness": float(method.stiffness),
            "stride": stride,
        }
        super().__init__(method, task, method.settings(task, **special))
        size = samples(method.memory, task.rate / stride)
        self._library = Library(
            points=np.zeros((len(self.x), size)),
            squares=np.zeros(size),
            targets=np.zeros((size, task.width)),
            counts=np.zeros(2, dtype=np.int64),
        )
        self._products, self._nearest = np.zeros(size), np.zeros((method.neighbours, 3))
        self.arrays |= self._library._asdict()

    def run(self, *given: Any) -> None:
        """Call the kernel."""
        from breathcast.kernels.delay import advance_analog

        advance_analog(self.settings, self.axes, self._library, self.x, self._products, self._nearest, *given)
