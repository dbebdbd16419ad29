"""Linear regression as published: fitted once, on the first part of the recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from breathcast.forecasters.method import Array, Learner, Method, Scale, Task


@dataclass(frozen=True)
class LinearRegression(Method):
    """Multivariate linear regression (Pohl et al. 2022): y = W u, least squares on the first `training` seconds.

    With up to 811 unknowns and about 450 rows the fit is the least-norm one, W = Yᵀ U (Uᵀ U)⁺, on displacements from
    the first sample in mm, not normalised; singular values of Uᵀ U below size · ε · largest count as zero. Its large
    errors at long horizons are a property of this method. It uses no target before it is measured.
    """

    name: ClassVar[str] = "linear"
    title: ClassVar[str] = "Linear regression"
    scale: ClassVar[Scale] = "displacement"
    grid: ClassVar[Mapping[str, Sequence[float]]] = {"history": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0)}

    training: float = 54.0  # s at the start of a recording on which it is fitted; no forecast of its own before
    history: float = 1.0  # L, seconds of the past in the input

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        self.require(history=self.history)

    def learner(self, task: Task) -> Learner:
        """Return a fresh learner."""
        return RegressionLearner(task, self.history, task.samples(self.training))


def least_norm(U: Array, Y: Array) -> Array:
    """W (m + 1, p) of least norm that minimises ‖U W - Y‖, with the pseudo-inverse of Uᵀ U cut as in the 2022 study.

    Computed from U itself: its singular values are the roots of those of Uᵀ U, without the rounding of the product.
    """
    left, values, right = np.linalg.svd(U, full_matrices=False)
    kept = values**2 > U.shape[1] * np.finfo(float).eps * values[0] ** 2
    return np.ascontiguousarray(right[kept].T @ ((left[:, kept].T @ Y) / values[kept, None]))


class RegressionLearner(Learner):
    """Waits for the training part, fits once, and forecasts from then on."""

    def __init__(self, task: Task, history: float, training: int) -> None:
        """`training` in samples."""
        self.window = task.samples(history)
        self.reach = max(training, self.window)
        self._task, self._training = task, training
        self._weights = np.zeros((task.width * self.window + 1, task.width))
        self._fitted = np.zeros(1, dtype=np.int64)

    def advance(
        self, series: Array, clean: NDArray[np.int64], origin: int, first: int, last: int, speak: int, out: Array
    ) -> None:
        """Fit when the last sample of the training part is in; forecast from that sample on."""
        from breathcast.kernels.linear import predict

        known = origin + self._training - 1
        if first <= known < last:
            self._fit(series[origin : known + 1], clean[origin : known + 1])
        earliest = origin if self._task.feedback == "immediate" else known  # as published, also inside that part
        begin = max(first, earliest, origin + self.window - 1)
        if self._fitted[0] and begin < last:
            predict(self._weights, series, self.window, begin, last, out[0, begin - first :])
            out[1:] = out[0]  # every run is the same

    def _fit(self, series: Array, clean: NDArray[np.int64]) -> None:
        L, h = self.window, self._task.horizon
        newest = np.arange(L - 1, len(series) - h)
        newest = newest[(clean[newest] >= L) & (clean[newest + h] >= 1)]
        if len(newest) == 0:
            return  # not one whole pair of window and target: there is nothing to fit, and it stays without forecast
        windows = np.lib.stride_tricks.sliding_window_view(series, L, axis=0).transpose(0, 2, 1)[newest - L + 1]
        U = np.hstack([windows.reshape(len(newest), -1), np.ones((len(newest), 1))])
        self._weights[...] = least_norm(U, series[newest + h])
        self._fitted[0] = 1

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of the weights and of whether they are fitted."""
        return {"weights": self._weights.copy(), "fitted": self._fitted.copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Put saved weights in place."""
        self._weights[...] = state["weights"]
        self._fitted[...] = state["fitted"]
