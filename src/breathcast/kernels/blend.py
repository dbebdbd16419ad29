"""Weighing experts on line, with losses that are known h samples late: stacking, regret matching, exponential weights.

Experts and targets are displacements from the newest sample. Weights are shared by all coordinates.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from breathcast.kernels.jit import jit

STACK, REGRET, WEIGHTS = 0, 1, 2


class Settings(NamedTuple):
    """What stays constant over a recording."""

    kind: int  # STACK, REGRET or WEIGHTS
    horizon: int  # h, samples ahead
    delayed: bool
    forgetting: float  # λ
    strength: float  # stack: samples by which the prior weights outweigh what is learned
    rate: float  # weights: η
    window: int  # samples, the newest included, that must have been measured
    prior: Any  # (K), the weights before anything is learned; they sum to one


class State(NamedTuple):
    """What is remembered; K experts."""

    said: Any  # (h + 1, K, p), the displacements that the experts forecast at the last samples
    known: Any  # (h + 1, K) int64, whether they had something to say
    gram: Any  # (K, K), Σ λ^age f fᵀ
    cross: Any  # (K), Σ λ^age f d
    losses: Any  # (K), what the aggregation has summed up over the experts
    total: Any  # (2), Σ λ^age, and the same of the mean loss
    weights: Any  # (K)


@jit
def _solve(matrix, vector, out):
    """Solve a positive definite system by Cholesky's decomposition, in place."""
    n = vector.shape[0]
    for i in range(n):
        for j in range(i + 1):
            a = matrix[i, j]
            for k in range(j):
                a -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = math.sqrt(a) if i == j else a / matrix[j, j]
    for i in range(n):
        a = vector[i]
        for k in range(i):
            a -= matrix[i, k] * out[k]
        out[i] = a / matrix[i, i]
    for i in range(n - 1, -1, -1):
        a = out[i]
        for k in range(i + 1, n):
            a -= matrix[k, i] * out[k]
        out[i] = a / matrix[i, i]


@jit
def _mix(weights, said, known, d):
    """The forecast displacement: of the experts that have something to say; False if there are none."""
    total, found = 0.0, 0
    d[:] = 0.0
    for k in range(weights.shape[0]):
        if known[k]:
            found += 1
            total += weights[k]
    for k in range(weights.shape[0]):
        if known[k]:
            share = weights[k]
            if found < weights.shape[0]:
                share = weights[k] / total if total > 1e-9 else 1.0 / found
            for j in range(d.shape[0]):
                d[j] += share * said[k, j]
    return found > 0


@jit
def _stack(settings, state, said, d, matrix, vector):
    """w = argmin Σ λ^age ‖d - Σ w_k f_k‖² + c ‖w - w₀‖², c the strength times what an expert forecasts in the mean."""
    count, p = said.shape
    for k in range(count):
        state.cross[k] *= settings.forgetting
        for i in range(count):
            state.gram[k, i] *= settings.forgetting
        for j in range(p):
            state.cross[k] += said[k, j] * d[j]
            for i in range(count):
                state.gram[k, i] += said[k, j] * said[i, j]
    size = 0.0
    for k in range(count):
        size += state.gram[k, k] / count
    penalty = settings.strength * size / state.total[0] + 1e-12
    for k in range(count):
        matrix[k] = state.gram[k]
        matrix[k, k] += penalty
        vector[k] = state.cross[k] + penalty * settings.prior[k]
    _solve(matrix, vector, state.weights)


@jit
def _match_regret(settings, state, said, mixed, d):
    """Delayed regret matching+ (Flaspohler et al. 2021): w ∝ r, r ← max(0, r + ⟨g, w⟩ - g), g the slope of the loss."""
    count, p = said.shape
    mean = 0.0
    for j in range(p):
        mean += (mixed[j] - d[j]) * mixed[j]
    total = 0.0
    for k in range(count):
        slope = 0.0
        for j in range(p):
            slope += (mixed[j] - d[j]) * said[k, j]
        state.losses[k] = max(0.0, state.losses[k] + mean - slope)
        total += state.losses[k]
    for k in range(count):
        state.weights[k] = state.losses[k] / total if total > 0.0 else settings.prior[k]


@jit
def _weigh(settings, state, said, d):
    """w ∝ w₀ exp(-η L / mean loss), L the forgotten sum of each expert's squared error."""
    count, p = said.shape
    state.total[1] *= settings.forgetting
    least = math.inf
    for k in range(count):
        loss = 0.0
        for j in range(p):
            loss += (said[k, j] - d[j]) ** 2
        state.losses[k] = settings.forgetting * state.losses[k] + loss
        state.total[1] += loss / count
        least = min(least, state.losses[k])
    scale = settings.rate * state.total[0] / state.total[1] if state.total[1] > 0.0 else 0.0
    total = 0.0
    for k in range(count):
        state.weights[k] = settings.prior[k] * math.exp(-scale * (state.losses[k] - least))
        total += state.weights[k]
    for k in range(count):
        state.weights[k] /= total


@jit
def _learn(settings, state, slot, d, mixed, matrix, vector):
    """Take in the displacement d that the experts were asked for at the sample of this slot."""
    said = state.said[slot]
    state.total[0] = settings.forgetting * state.total[0] + 1.0
    if settings.kind == STACK:
        _stack(settings, state, said, d, matrix, vector)
    elif settings.kind == REGRET:
        _mix(state.weights, said, state.known[slot], mixed)
        _match_regret(settings, state, said, mixed, d)
    else:
        _weigh(settings, state, said, d)


@jit
def _listen(state, slot, experts, series, t, row):
    """Keep what the experts forecast at t as displacements; an expert without forecast says NaN."""
    for k in range(experts.shape[0]):
        state.known[slot, k] = 1
        for j in range(series.shape[1]):
            state.said[slot, k, j] = experts[k, row, j] - series[t, j]
            if not math.isfinite(state.said[slot, k, j]):
                state.known[slot, k] = 0
        if state.known[slot, k] == 0:
            state.said[slot, k] = 0.0


@jit
def advance(settings, state, mixed, matrix, vector, experts, series, clean, origin, first, last, speak, out):
    """Weigh the forecasts that the experts issued at first..last-1, (K, last - first, p), and mix them.

    `mixed` (2, p), `matrix` (K, K) and `vector` (K) are overwritten; the others are those of `Learner.advance`.
    """
    h, slots = settings.horizon, state.said.shape[0]
    for t in range(first, last):
        now = (t - origin) % slots
        _listen(state, now, experts, series, t, t - first)
        if not settings.delayed and t >= speak and _mix(state.weights, state.said[now], state.known[now], mixed[0]):
            out[t - first] = series[t] + mixed[0]
        s = t - h if settings.delayed else t
        slot = (s - origin) % slots
        measured = s - settings.window + 1 >= origin and s + h < series.shape[0]
        if measured and clean[s] >= settings.window and clean[s + h] >= 1 and state.known[slot].all():
            mixed[1] = series[s + h] - series[s]
            _learn(settings, state, slot, mixed[1], mixed[0], matrix, vector)
        if settings.delayed and t >= speak and _mix(state.weights, state.said[now], state.known[now], mixed[0]):
            out[t - first] = series[t] + mixed[0]
