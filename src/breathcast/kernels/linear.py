"""Linear forecasts from a window: the prediction, and least mean squares (plain and normalised), step by step.

`weights` is W transposed, (R, m + 1, p): the window first, the bias last. Windows are contiguous slices of the series.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from breathcast.kernels.jit import jit


class Settings(NamedTuple):
    """What stays constant over a recording."""

    history: int  # L, samples in a window
    horizon: int  # h, samples ahead
    delayed: bool  # learn a target when it is measured or, as published, h samples before that
    normalised: bool  # NLMS: the step is divided by ε + ‖u‖²
    learning_rate: float
    clip: float  # τ, on the norm of the gradient; LMS only
    epsilon: float  # NLMS only


@jit
def predict(weights, series, history, first, last, out):
    """out[t - first] = W [window of t, 1] for one run."""
    flat = series.ravel()
    p = series.shape[1]
    m = weights.shape[0] - 1
    for t in range(first, last):
        begin = (t - history + 1) * p
        for i in range(p):
            out[t - first, i] = weights[m, i]
        for j in range(m):
            a = flat[begin + j]
            for i in range(p):
                out[t - first, i] += weights[j, i] * a


@jit
def _learn(settings, weights, series, sample, out):
    """W += η e [u, 1]ᵀ, e the error of the forecast that was made at `sample`; `out` (1, p) is overwritten by η e."""
    p = series.shape[1]
    m = weights.shape[0] - 1
    flat = series.ravel()
    begin = (sample - settings.history + 1) * p
    window, error = 1.0, 0.0
    for j in range(m):
        window += flat[begin + j] ** 2
    for i in range(p):
        out[0, i] = series[sample + settings.horizon, i] - out[0, i]
        error += out[0, i] ** 2
    rate = settings.learning_rate
    if settings.normalised:
        rate /= settings.epsilon + window
    else:
        size = math.sqrt(error * window)
        if size > settings.clip:
            rate *= settings.clip / size
    for i in range(p):
        out[0, i] *= rate
        weights[m, i] += out[0, i]
    for j in range(m):
        a = flat[begin + j]
        for i in range(p):
            weights[j, i] += out[0, i] * a


@jit
def advance(settings, weights, updates, work, series, clean, origin, first, last, speak, out):
    """Learn from the samples first..last-1 and, from `speak` on, forecast h samples beyond each.

    The arguments are those of kernels.network; `work` is (1, p), `updates` (R) counts.
    Missing samples: nothing is learned from a window or target that holds one.
    """
    L, h = settings.history, settings.horizon
    lag = h if settings.delayed else 0
    for r in range(out.shape[0]):
        for t in range(first, last):
            s = t - lag
            if not settings.delayed and updates[r] > 0:
                predict(weights[r], series, L, t, t + 1, out[r, t - first : t - first + 1])
            if s - L + 1 >= origin and clean[s] >= L and s + h < series.shape[0] and clean[s + h] >= 1:
                predict(weights[r], series, L, s, s + 1, work)
                _learn(settings, weights[r], series, s, work)
                updates[r] += 1
            if settings.delayed and t >= speak and updates[r] > 0:
                predict(weights[r], series, L, t, t + 1, out[r, t - first : t - first + 1])
