"""What all references share: the optimiser, the records of a run, and the loop over a recording.

Everything here is plain NumPy, written from the equations and not from the package, so that the package's compiled
kernels can be checked against it. Nothing draws random numbers: weights and signs are handed in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Named = dict[str, Array]  # weights or gradients by name: "W_a", "W_b", "W_c" for a network, "W" for a linear filter
OptimizerName = Literal["sgd", "adam"]

ADAM_BETA1, ADAM_BETA2, ADAM_EPS = 0.9, 0.999, 1e-8


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the prediction made before the update, the gradient before clipping, the weights after the update."""

    prediction: Array
    gradient: Named
    weights: Named


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A whole run. Arrays have the step as their first axis; `weights["W_a"][n]` is W_a after the update of step n."""

    predictions: Array  # (N, p)
    gradients: Named  # each (N, ...), before clipping
    weights: Named  # each (N, ...), after the update
    states: Array  # (N, q): x_{n+1}; (N, 0) for a linear filter
    initial: Named  # the weights before the first step
    internals: Named  # the algorithm's own quantities after each step, when asked for

    def weights_before(self, n: int) -> Named:
        """The weights with which step n was made."""
        if n == 0:
            return self.initial
        return {name: history[n - 1] for name, history in self.weights.items()}


class Stepper(Protocol):
    """One learner: it holds its weights, its state and its influence estimates."""

    def step(self, u: Array, y_target: Array, sign: Array | None = None, *, learn: bool = True) -> Step:
        """Predict from the window u, look at the target, learn. With `learn` False only the weights stay put."""
        ...

    def forecast(self, windows: Array, steps_made: int) -> Array:
        """The forecast from the last of `windows`, of which the first `steps_made` went through `step`; no learning."""
        ...

    def weights(self) -> Named: ...

    def state(self) -> Array: ...

    def internals(self) -> Named: ...


class Optimiser:
    """Clipping by the norm of the whole gradient, then a step of gradient descent or of Adam (Kingma & Ba 2015).

    Clipping comes before Adam's moments. Its count is that of the calls made: a step at which the learner does not
    learn makes no call, so that it neither counts nor touches the moments.
    """

    def __init__(self, learning_rate: float, clip: float | None, kind: OptimizerName = "sgd") -> None:
        if kind not in ("sgd", "adam"):
            raise ValueError(f"unknown optimizer {kind!r}")
        self.learning_rate = learning_rate
        self.clip = clip
        self.kind = kind
        self.count = 0
        self.first: Named = {}
        self.second: Named = {}

    def update(self, weights: Named, gradient: Named) -> Named:
        """New weights, in new arrays."""
        gradient = clipped(gradient, self.clip)
        if self.kind == "sgd":
            return {name: weights[name] - self.learning_rate * gradient[name] for name in weights}
        self.count += 1
        updated = {}
        for name, g in gradient.items():
            m = ADAM_BETA1 * self.first.get(name, np.zeros_like(g)) + (1 - ADAM_BETA1) * g
            v = ADAM_BETA2 * self.second.get(name, np.zeros_like(g)) + (1 - ADAM_BETA2) * g**2
            self.first[name], self.second[name] = m, v
            m_hat = m / (1 - ADAM_BETA1**self.count)
            v_hat = v / (1 - ADAM_BETA2**self.count)
            updated[name] = weights[name] - self.learning_rate * m_hat / (np.sqrt(v_hat) + ADAM_EPS)
        return updated


def clipped(gradient: Named, threshold: float | None) -> Named:
    """The gradient, shortened to `threshold` if its L2 norm, all weights together, is larger (Algorithm 1, 29-31)."""
    if threshold is None:
        return gradient
    norm = float(np.linalg.norm([np.linalg.norm(g) for g in gradient.values()]))
    if norm > threshold:
        return {name: (threshold / norm) * g for name, g in gradient.items()}
    return gradient


def as_float(values: ArrayLike) -> Array:
    """A copy in float64, so that a learner never shares memory with its caller."""
    return np.array(values, dtype=np.float64)


def run(
    stepper: Stepper,
    U: Array,
    Y: Array,
    signs: Array | None = None,
    learn: NDArray[np.bool_] | None = None,
    *,
    keep_internals: bool = False,
) -> Trajectory:
    """Take `stepper` through the recording in the immediate protocol: the target of step n is known before step n+1."""
    n_steps = len(U)
    initial = {name: W.copy() for name, W in stepper.weights().items()}
    steps: list[Step] = []
    states: list[Array] = []
    internals: list[Named] = []
    for n in range(n_steps):
        sign = None if signs is None else signs[n]
        steps.append(stepper.step(U[n], Y[n], sign, learn=True if learn is None else bool(learn[n])))
        states.append(stepper.state().copy())
        if keep_internals:
            internals.append({name: value.copy() for name, value in stepper.internals().items()})

    def stacked(records: list[Named]) -> Named:
        return {name: np.array([record[name] for record in records]) for name in records[0]} if records else {}

    return Trajectory(
        predictions=np.array([s.prediction for s in steps]),
        gradients=stacked([s.gradient for s in steps]),
        weights=stacked([s.weights for s in steps]),
        states=np.array(states),
        initial=initial,
        internals=stacked(internals),
    )


def central_difference(function: Callable[[Array], float], at: Array, increment: float = 1e-6) -> Array:
    """The gradient of a scalar function of an array by central differences, entry by entry."""
    gradient = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[index] += increment
        down[index] -= increment
        gradient[index] = (function(up) - function(down)) / (2 * increment)
    return gradient
