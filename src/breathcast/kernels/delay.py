"""Forecasts of displacements from delay coordinates: recursive ridge regression, a kernel machine, nearest neighbours.

All of them describe the window that ends at t by the same numbers (`_embed`), and learn y(s + h) - y(s), the way from
the sample a window ends with. Sums run over contiguous rows: so they are vectorised without another order of addition.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from breathcast.kernels.jit import jit


class Embedding(NamedTuple):
    """Which numbers describe a window."""

    lags: Any  # (L) int64, samples back from the newest
    weights: Any  # (L), of each lag
    place: float  # weight of where the newest sample is
    pace: float  # weight of how far it has come since `pace_lag` samples
    pace_lag: int
    window: int  # samples, the newest included, that all this reads


class Settings(NamedTuple):
    """What stays constant over a recording."""

    embedding: Embedding
    horizon: int  # h, samples ahead
    delayed: bool  # learn a target when it is measured or, as published, h samples before that
    forgetting: float  # √λ, by which the past is scaled down with each pair that is learned
    penalty: float  # δ, on the squares of the weights; it is not forgotten
    width: float  # ℓ, of the Gaussian kernel
    novelty: float  # squared distance of a window from the span of the landmarks that makes it one of them
    neighbours: int  # k
    stretch: float  # b, to which a remembered motion may be enlarged, or 1/b to which it may be shrunk
    stiffness: float  # what stretching costs
    stride: int  # one pair in so many is remembered by the analog


class Ridge(NamedTuple):
    """Rᵀ R = Σ λ^age x xᵀ + δ I and Rᵀ z = Σ λ^age x dᵀ: the weights are R⁻¹ z, and are never formed."""

    root: Any  # R (m, m), upper triangular
    moment: Any  # z (m, p)
    counts: Any  # (2) int64: pairs learned; rows of the penalty put back


class Landmarks(NamedTuple):
    """The windows that the kernel machine compares with."""

    points: Any  # (M, d)
    root: Any  # U (M, M), upper triangular, Uᵀ U = κ(points, points)
    counts: Any  # (1) int64


class Library(NamedTuple):
    """A ring of pairs that were seen."""

    points: Any  # (d, N), a pair a column
    squares: Any  # (N), ‖point‖²
    targets: Any  # (N, p)
    counts: Any  # (2) int64: pairs remembered; pairs that could have been


@jit
def covariance(series, clean, origin, last):
    """Covariance of the measured samples origin..last-1, (p, p)."""
    p = series.shape[1]
    mean, total = series[0] * 0.0, 0
    for t in range(origin, last):
        if clean[t] > 0:
            total += 1
            mean += series[t]
    mean /= max(total, 1)
    matrix = mean.reshape(p, 1) * mean.reshape(1, p) * 0.0
    for t in range(origin, last):
        if clean[t] > 0:
            for i in range(p):
                for j in range(p):
                    matrix[i, j] += (series[t, i] - mean[i]) * (series[t, j] - mean[j])
    return matrix / max(total, 1)


@jit
def _embed(embedding, axes, series, t, x):
    """The window that ends at t, in components: past minus now for each lag, then the place, then the pace."""
    components, p = axes.shape
    count = embedding.lags.shape[0]
    for i in range(components):
        now, before = 0.0, 0.0
        for j in range(p):
            now += axes[i, j] * series[t, j]
            before += axes[i, j] * series[t - embedding.pace_lag, j]
        for lag in range(count):
            past = 0.0
            for j in range(p):
                past += axes[i, j] * series[t - embedding.lags[lag], j]
            x[lag * components + i] = embedding.weights[lag] * (past - now)
        x[count * components + i] = embedding.place * now
        x[(count + 1) * components + i] = embedding.pace * (now - before)


@jit
def _whole(settings, series, clean, origin, s):
    """Whether the pair of the window that ends at s and its target was really measured."""
    window, target = settings.embedding.window, s + settings.horizon
    return s - window + 1 >= origin and clean[s] >= window and target < series.shape[0] and clean[target] >= 1


@jit
def _target(settings, series, s, d):
    """The way from sample s to its target."""
    for j in range(series.shape[1]):
        d[j] = series[s + settings.horizon, j] - series[s, j]


@jit
def _rotate(ridge, x, d):
    """Append the row [x, d] to [R, z] and bring R back to a triangle by Givens rotations; x and d are used up."""
    root, moment = ridge.root, ridge.moment
    m, p = moment.shape
    for k in range(m):
        if x[k] == 0.0:
            continue
        size = math.sqrt(root[k, k] ** 2 + x[k] ** 2)
        c, s = root[k, k] / size, x[k] / size
        for j in range(k, m):
            a, b = root[k, j], x[j]
            root[k, j] = c * a + s * b
            x[j] = c * b - s * a
        for j in range(p):
            a, b = moment[k, j], d[j]
            moment[k, j] = c * a + s * b
            d[j] = c * b - s * a


@jit
def _learn(settings, ridge, x, d):
    """Forget a little, put back what was forgotten of the penalty (one weight's share at a time), learn the pair."""
    root, moment = ridge.root, ridge.moment
    m, p = moment.shape
    if ridge.counts[0] == 0:
        for k in range(m):
            root[k, k] = math.sqrt(settings.penalty)
    g = settings.forgetting
    for k in range(m):
        for j in range(k, m):
            root[k, j] *= g
        for j in range(p):
            moment[k, j] *= g
    _rotate(ridge, x, d)
    if g < 1.0:
        x[:] = 0.0
        d[:] = 0.0
        x[ridge.counts[1]] = math.sqrt(m * (1.0 - g * g) * settings.penalty)
        _rotate(ridge, x, d)
        ridge.counts[1] = (ridge.counts[1] + 1) % m
    ridge.counts[0] += 1


@jit
def _answer(ridge, x, out):
    """out += xᵀ R⁻¹ z, by Rᵀ a = x; x is used up."""
    root, moment = ridge.root, ridge.moment
    m, p = moment.shape
    for k in range(m):
        a = x[k] / root[k, k]
        if a == 0.0:
            continue
        for j in range(k + 1, m):
            x[j] -= a * root[k, j]
        for j in range(p):
            out[j] += a * moment[k, j]


@jit
def advance_ridge(settings, axes, ridge, x, d, series, clean, origin, first, last, speak, out):
    """Learn from the samples first..last-1 and, from `speak` on, forecast h samples beyond each.

    axes (components, p); x (m) and d (p) are overwritten; the others are those of `Learner.advance`, `out` of one run.
    """
    embedding = settings.embedding
    for t in range(first, last):
        speaks = t >= speak and t - embedding.window + 1 >= origin
        if speaks and not settings.delayed and ridge.counts[0] > 0:
            _embed(embedding, axes, series, t, x)
            out[t - first] = series[t]
            _answer(ridge, x, out[t - first])
        s = t - settings.horizon if settings.delayed else t
        if _whole(settings, series, clean, origin, s):
            _embed(embedding, axes, series, s, x)
            _target(settings, series, s, d)
            _learn(settings, ridge, x, d)
        if speaks and settings.delayed and ridge.counts[0] > 0:
            _embed(embedding, axes, series, t, x)
            out[t - first] = series[t]
            _answer(ridge, x, out[t - first])


@jit
def _likeness(settings, landmarks, x, depth):
    """Fill x[depth:] with φ, Uᵀ φ = κ(points, x[:depth]); return the part of κ(x, x) = 1 that the landmarks miss."""
    used, root = landmarks.counts[0], landmarks.root
    scale = -0.5 / settings.width**2
    for i in range(used):
        distance = 0.0
        for j in range(depth):
            distance += (x[j] - landmarks.points[i, j]) ** 2
        x[depth + i] = math.exp(scale * distance)
    missed = 1.0
    for i in range(used):
        a = x[depth + i] / root[i, i]
        x[depth + i] = a
        missed -= a * a
        for j in range(i + 1, used):
            x[depth + j] -= a * root[i, j]
    x[depth + used :] = 0.0
    return missed


@jit
def _keep_landmark(settings, landmarks, x, depth, missed):
    """Make the window a landmark if the others miss it, and there is room."""
    used = landmarks.counts[0]
    if used < landmarks.points.shape[0] and missed > settings.novelty:
        landmarks.points[used] = x[:depth]
        landmarks.root[:used, used] = x[depth : depth + used]
        landmarks.root[used, used] = x[depth + used] = math.sqrt(missed)
        landmarks.counts[0] += 1


@jit
def advance_kernel(settings, axes, ridge, landmarks, x, d, series, clean, origin, first, last, speak, out):
    """The same as `advance_ridge` on [x, φ(x)]: what a window is, and what it is like."""
    embedding, depth = settings.embedding, landmarks.points.shape[1]
    for t in range(first, last):
        speaks = t >= speak and t - embedding.window + 1 >= origin
        if speaks and not settings.delayed and ridge.counts[0] > 0:
            _embed(embedding, axes, series, t, x)
            _likeness(settings, landmarks, x, depth)
            out[t - first] = series[t]
            _answer(ridge, x, out[t - first])
        s = t - settings.horizon if settings.delayed else t
        if _whole(settings, series, clean, origin, s):
            _embed(embedding, axes, series, s, x)
            _keep_landmark(settings, landmarks, x, depth, _likeness(settings, landmarks, x, depth))
            _target(settings, series, s, d)
            _learn(settings, ridge, x, d)
        if speaks and settings.delayed and ridge.counts[0] > 0:
            _embed(embedding, axes, series, t, x)
            _likeness(settings, landmarks, x, depth)
            out[t - first] = series[t]
            _answer(ridge, x, out[t - first])


@jit
def _remember(settings, library, axes, x, series, s):
    """Put a pair where the oldest was."""
    turn = library.counts[1] % settings.stride
    library.counts[1] += 1
    if turn != 0:
        return
    place = library.counts[0] % library.squares.shape[0]
    library.counts[0] += 1
    _embed(settings.embedding, axes, series, s, x)
    library.points[:, place] = x
    library.squares[place] = (x**2).sum()
    _target(settings, series, s, library.targets[place])


@jit
def _stretched(settings, own, square, product):
    """How much to stretch a remembered motion, and the squared distance that is then left, stretching included."""
    stiffness = settings.stiffness
    b = (product + stiffness) / (square + stiffness)
    b = min(max(b, 1.0 / settings.stretch), settings.stretch)
    return b, max(own - 2.0 * b * product + b * b * square, 0.0) + stiffness * (b - 1.0) ** 2


@jit
def _compare(settings, library, x, products, nearest):
    """Fill `nearest` with [distance, place, stretch] of the k nearest, nearest first; return how many there are."""
    n = min(library.counts[0], library.squares.shape[0])
    products[:n] = 0.0
    for j in range(x.shape[0]):
        for i in range(n):
            products[i] += x[j] * library.points[j, i]
    own, found = (x**2).sum(), 0
    for i in range(n):
        b, distance = _stretched(settings, own, library.squares[i], products[i])
        if found < settings.neighbours:
            found += 1
        elif distance >= nearest[found - 1, 0]:
            continue
        k = found - 1
        while k > 0 and nearest[k - 1, 0] > distance:
            nearest[k] = nearest[k - 1]
            k -= 1
        nearest[k, 0], nearest[k, 1], nearest[k, 2] = distance, i, b
    return found


@jit
def _recall(settings, library, axes, x, products, nearest, series, t, out):
    """out = y(t) + the mean of where the nearest windows went, weighted by how near they are."""
    _embed(settings.embedding, axes, series, t, x)
    found = _compare(settings, library, x, products, nearest)
    farthest, total = nearest[found - 1, 0] + 1e-12, 0.0
    out[:] = 0.0
    for k in range(found):
        weight = math.exp(-2.0 * nearest[k, 0] / farthest)
        total += weight
        for j in range(out.shape[0]):
            out[j] += weight * nearest[k, 2] * library.targets[int(nearest[k, 1]), j]
    for j in range(out.shape[0]):
        out[j] = series[t, j] + out[j] / total


@jit
def advance_analog(settings, axes, library, x, products, nearest, series, clean, origin, first, last, speak, out):
    """Remember the pairs of the samples first..last-1 and, from `speak` on, forecast from the most alike windows."""
    window = settings.embedding.window
    for t in range(first, last):
        speaks = t >= speak and t - window + 1 >= origin
        if speaks and not settings.delayed and library.counts[0] > 0:
            _recall(settings, library, axes, x, products, nearest, series, t, out[t - first])
        s = t - settings.horizon if settings.delayed else t
        if _whole(settings, series, clean, origin, s):
            _remember(settings, library, axes, x, series, s)
        if speaks and settings.delayed and library.counts[0] > 0:
            _recall(settings, library, axes, x, products, nearest, series, t, out[t - first])
