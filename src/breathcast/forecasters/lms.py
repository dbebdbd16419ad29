"""Least mean squares, plain and normalised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from breathcast.forecasters.method import Array, Learner, Method, Task


@dataclass(frozen=True)
class LMS(Method):
    """LMS (Widrow and Hoff 1960) as in Pohl et al. 2022: y = W u from W = 0, W ← W - η ΔW, ΔW = -e uᵀ clipped at τ."""

    name: ClassVar[str] = "lms"
    title: ClassVar[str] = "LMS"
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "learning_rate": (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2),
        "history": (1.0, 3.0, 5.0, 7.0, 9.0),
    }

    history: float = 3.0  # L, seconds of the past in the input
    learning_rate: float = 0.01  # η
    clip: float = 2.0  # τ, largest norm of the gradient

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        self.require(history=self.history, learning_rate=self.learning_rate, clip=self.clip)

    def learner(self, task: Task) -> Learner:
        """Return a fresh learner."""
        return LinearLearner(task, self.history, self.learning_rate, clip=self.clip)


@dataclass(frozen=True)
class NLMS(Method):
    """Normalised LMS: W ← W + μ e uᵀ / (ε + ‖u‖²), stable for 0 < μ < 2 whatever the size of the input."""

    name: ClassVar[str] = "nlms"
    title: ClassVar[str] = "Normalised LMS"
    grid: ClassVar[Mapping[str, Sequence[float]]] = {
        "learning_rate": (0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
        "history": (1.0, 3.0, 5.0, 7.0, 9.0),
    }

    history: float = 3.0  # L, seconds of the past in the input
    learning_rate: float = 0.2  # μ
    epsilon: float = 1e-6  # ε

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        self.require(history=self.history, learning_rate=self.learning_rate, epsilon=self.epsilon)

    def learner(self, task: Task) -> Learner:
        """Return a fresh learner."""
        return LinearLearner(task, self.history, self.learning_rate, epsilon=self.epsilon)


class LinearLearner(Learner):
    """A linear filter that learns at every sample."""

    def __init__(
        self, task: Task, history: float, learning_rate: float, *, clip: float = np.inf, epsilon: float | None = None
    ) -> None:
        """Start from W = 0; `epsilon` given makes it the normalised kind."""
        from breathcast.kernels.linear import Settings

        self.window = task.samples(history)
        delayed = task.feedback == "delayed"
        self.reach = self.window + (task.horizon if delayed else 0)
        self._settings = Settings(
            history=self.window,
            horizon=task.horizon,
            delayed=delayed,
            normalised=epsilon is not None,
            learning_rate=float(learning_rate),
            clip=float(clip),
            epsilon=float(epsilon or 0.0),
        )
        self._weights = np.zeros((len(task.runs), task.width * self.window + 1, task.width))
        self._work = np.zeros((1, task.width))
        self._updates = np.zeros(len(task.runs), dtype=np.int64)

    def advance(
        self, series: Array, clean: NDArray[np.int64], origin: int, first: int, last: int, speak: int, out: Array
    ) -> None:
        """Call the kernel."""
        from breathcast.kernels.linear import advance

        weights, updates, work = self._weights, self._updates, self._work
        advance(self._settings, weights, updates, work, series, clean, origin, first, last, speak, out)

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of the weights and of the count of updates."""
        return {"weights": self._weights.copy(), "updates": self._updates.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Put saved arrays in place."""
        self._weights[...] = state["weights"]
        self._updates[...] = state["updates"]
