"""The gradient of the loss of one step, by going back through time and by finite differences.

Both treat a network whose weights change from step to step. "The gradient with respect to W_a" is then the sum, over
all steps, of the derivative with respect to the W_a of that step: what moves when all of them get the same increment,
and what real-time recurrent learning computes while the weights change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.reference.common import Array, Named, central_difference

WeightsHistory = Sequence[tuple[Array, Array]]  # (W_a, W_b) as used at each step


def states_through(U_history: Array, x0: Array, weights_history: WeightsHistory) -> list[Array]:
    """[x_0, x_1, ..., x_T]: step k makes x_{k+1} from x_k and U_history[k] with its own weights."""
    states = [x0]
    for u, (W_a, W_b) in zip(U_history, weights_history, strict=True):
        states.append(np.tanh(W_a @ states[-1] + W_b @ u))
    return states


def loss_of_last_step(
    U_history: Array, y_target: Array, x0: Array, weights_history: WeightsHistory, W_c: Array
) -> float:
    """1/2 ||y* - W_c x_T||^2."""
    e = y_target - W_c @ states_through(U_history, x0, weights_history)[-1]
    return 0.5 * float(e @ e)


def bptt_gradient(U_history: Array, y_target: Array, x0: Array, weights_history: WeightsHistory, W_c: Array) -> Named:
    """Back-propagation through all T steps from x0; W_c is that of the last step, where the loss is."""
    states = states_through(U_history, x0, weights_history)
    e = y_target - W_c @ states[-1]
    grad_a = np.zeros_like(weights_history[-1][0])
    grad_b = np.zeros_like(weights_history[-1][1])
    dx = -W_c.T @ e  # dL / dx_T
    for k in reversed(range(len(U_history))):
        dz = dx * (1.0 - states[k + 1] ** 2)
        grad_a += np.outer(dz, states[k])
        grad_b += np.outer(dz, U_history[k])
        dx = weights_history[k][0].T @ dz  # dL / dx_k
    return {"W_a": grad_a, "W_b": grad_b, "W_c": -np.outer(e, states[-1])}


def finite_difference_gradient(
    U_history: Array,
    y_target: Array,
    x0: Array,
    weights_history: WeightsHistory,
    W_c: Array,
    *,
    increment: float = 1e-6,
) -> Named:
    """The same by central differences. For a network with constant weights pass [(W_a, W_b)] * T."""

    def loss(add_a: Array | float, add_b: Array | float, read: Array) -> float:
        shifted = [(W_a + add_a, W_b + add_b) for W_a, W_b in weights_history]
        return loss_of_last_step(U_history, y_target, x0, shifted, read)

    W_a, W_b = weights_history[0]
    return {
        "W_a": central_difference(lambda shift: loss(shift, 0.0, W_c), np.zeros_like(W_a), increment),
        "W_b": central_difference(lambda shift: loss(0.0, shift, W_c), np.zeros_like(W_b), increment),
        "W_c": central_difference(lambda read: loss(0.0, 0.0, read), W_c, increment),
    }
