"""Slow, obvious references of the linear methods: y = W u with u = [1, window], W (p, m+1).

U (N, m+1) and Y (N, p) hold one step a row, so that the formulas of the paper, where a step is a column, read
transposed here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.reference.common import Array, Named, Optimiser, OptimizerName, Step, Trajectory, as_float, run

Learn = NDArray[np.bool_] | None


class LmsStep:
    """Least mean squares: the gradient of 1/2 ||y* - W u||^2 is -e u^T; clip it and step."""

    def __init__(
        self, W0: Array, learning_rate: float, clip: float | None = None, optimizer: OptimizerName = "sgd"
    ) -> None:
        self.W = as_float(W0)
        self.optimiser = Optimiser(learning_rate, clip, optimizer)

    def new_weights(self, gradient: Array, u: Array) -> Array:
        return self.optimiser.update({"W": self.W}, {"W": gradient})["W"]

    def step(self, u: Array, y_target: Array, sign: Array | None = None, *, learn: bool = True) -> Step:
        prediction = self.W @ u
        e = y_target - prediction
        gradient = -np.outer(e, u)
        if learn:
            self.W = self.new_weights(gradient, u)
        return Step(prediction, {"W": gradient}, self.weights())

    def weights(self) -> Named:
        return {"W": self.W}

    def state(self) -> Array:
        return np.zeros(0)

    def internals(self) -> Named:
        return {}

    def forecast(self, windows: Array, steps_made: int) -> Array:
        """W u of the newest window: a linear filter has no state to run on."""
        forecast: Array = self.W @ windows[-1]
        return forecast


class NlmsStep(LmsStep):
    """Normalised least mean squares: W += step e u^T / (eps + u.u), without clipping."""

    def __init__(self, W0: Array, step: float, eps: float) -> None:
        super().__init__(W0, learning_rate=step)
        self.step_size = step
        self.eps = eps

    def new_weights(self, gradient: Array, u: Array) -> Array:
        moved: Array = self.W - self.step_size * gradient / (self.eps + u @ u)
        return moved


def run_lms(
    U: Array,
    Y: Array,
    W0: Array,
    learning_rate: float,
    clip: float | None = None,
    *,
    learn: Learn = None,
    optimizer: OptimizerName = "sgd",
) -> Trajectory:
    """LMS over a recording."""
    return run(LmsStep(W0, learning_rate, clip, optimizer), U, Y, None, learn)


def run_nlms(U: Array, Y: Array, W0: Array, step: float, eps: float, *, learn: Learn = None) -> Trajectory:
    """Normalised LMS over a recording; the reported gradient is that of LMS, -e u^T."""
    return run(NlmsStep(W0, step, eps), U, Y, None, learn)


def fit_linear(U: Array, Y: Array) -> Array:
    """Least squares as in the 2022 study, W = Y^T U pinv(U^T U): the one of least norm when rows are too few.

    The pseudo-inverse drops singular values of U^T U at or below max(size) * eps * the largest of them.
    """
    gram = U.T @ U
    left, values, right = np.linalg.svd(gram)
    kept = values > max(gram.shape) * np.finfo(np.float64).eps * values[0]
    pseudo_inverse = (right[kept].T / values[kept]) @ left[:, kept].T
    W: Array = Y.T @ U @ pseudo_inverse
    return W
