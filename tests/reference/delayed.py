"""Delayed feedback, spelled out: a target is learned from when it has been measured, h steps after its window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.reference.common import Array, Stepper


def delayed_forecasts(
    step: Stepper,
    U: Array,
    Y: Array,
    h: int,
    signs: Array | None = None,
    *,
    learn: NDArray[np.bool_] | None = None,
) -> Array:
    """The forecast issued at each time t, the index of the newest window: an array (N, p).

    U[n] is the window of step n, and Y[n] its target, which is measured at time n + h. By time t the learner has made
    its immediate-protocol steps 0, ..., t-h and no other. The forecast at t uses the weights after step t-h and runs,
    with those weights, from the learner's own state after step t-h through the windows t-h+1, ..., t. Before any step
    it uses the initial weights and the initial state, from window 0. `signs[n]` and `learn[n]` belong to step n.

    `step` is a fresh learner of any kind; it is taken along, and has made the steps 0, ..., N-1-h at the end.

    h = 1 is the immediate protocol: the same predictions. h = 0 is that protocol read after each update.
    """
    if h < 0:
        raise ValueError("the horizon h is a number of steps, zero or more")
    forecasts = []
    for t in range(len(U)):
        n = t - h  # the step whose target has just been measured
        if n >= 0:
            sign = None if signs is None else signs[n]
            step.step(U[n], Y[n], sign, learn=True if learn is None else bool(learn[n]))
        steps_made = max(0, n + 1)
        forecasts.append(step.forecast(U[: t + 1], steps_made))
    return np.array(forecasts)
