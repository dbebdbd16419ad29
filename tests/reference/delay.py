"""Slow, obvious references of the methods on delay coordinates and of the ways to weigh experts.

Written from the equations: everything is solved anew from all pairs, nothing is recursive. A series is (n, p), and the
pairs are those that delayed feedback gives by time t: windows that end at s, targets y(s + h), s + h <= t.
"""

from __future__ import annotations

import numpy as np

from tests.reference.common import Array

PLACE, PACE = 0.6, 2.0


def principal_axes(training: Array, components: int) -> Array:
    """The leading axes, largest entry positive, divided by the spread along the first."""
    variances, vectors = np.linalg.eigh(np.cov(training.T, bias=True))
    axes = vectors[:, ::-1][:, :components].T
    axes = np.array([axis * np.sign(axis[np.abs(axis).argmax()]) for axis in axes])
    return axes / np.sqrt(variances[-1])


def describe(series: Array, axes: Array, s: int, lags: Array, fade: float, pace_lag: int) -> Array:
    """[w_l (c(s - l) - c(s)) for all lags, place, pace], with c the components."""
    weights = np.sqrt(np.diff(lags, prepend=0)) * np.exp(-lags / fade)
    weights /= np.linalg.norm(weights)
    now = axes @ series[s]
    parts = [w * (axes @ series[s - lag] - now) for lag, w in zip(lags, weights, strict=True)]
    return np.concatenate([*parts, PLACE * now, PACE * (now - axes @ series[s - pace_lag])])


def ridge(X: Array, D: Array, query: Array, forgetting: float, penalty: float) -> Array:
    """W = (Σ λ^age x xᵀ + P)⁻¹ Σ λ^age x dᵀ, read at the query.

    P is the penalty: with each pair it loses its share 1 - λ in all weights, and gets m times that back in one of them,
    the weights taking turns.
    """
    m = X.shape[1]
    gram, cross = penalty * np.eye(m), np.zeros((m, D.shape[1]))
    for n, (x, d) in enumerate(zip(X, D, strict=True)):
        gram = forgetting * gram + np.outer(x, x)
        cross = forgetting * cross + np.outer(x, d)
        if forgetting < 1.0:
            gram[n % m, n % m] += m * (1.0 - forgetting) * penalty
    return query @ np.linalg.solve(gram, cross)


def gaussian(a: Array, b: Array, width: float) -> Array:
    """κ of all rows of a with all rows of b."""
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(axis=2) / (2.0 * width**2))


def likeness(landmarks: Array, X: Array, width: float) -> Array:
    """φ(x) for each row: κ(x, landmarks) in the orthonormal basis that Cholesky's decomposition gives."""
    if len(landmarks) == 0:
        return np.zeros((len(X), 0))
    root = np.linalg.cholesky(gaussian(landmarks, landmarks, width))
    return np.linalg.solve(root, gaussian(landmarks, X, width)).T


def gather(X: Array, width: float, novelty: float, most: int) -> list[Array]:
    """Which landmarks there were after each row: a row becomes one if the span of those before misses enough of it."""
    landmarks, history = np.zeros((0, X.shape[1])), []
    for x in X:
        missed = 1.0 - (likeness(landmarks, x[None], width) ** 2).sum()
        if len(landmarks) < most and missed > novelty:
            landmarks = np.vstack([landmarks, x])
        history.append(landmarks)
    return history


def kernel(X: Array, D: Array, query: Array, *, width: float, novelty: float, most: int, recursion: dict) -> Array:
    """Ridge on [x, φ(x)], φ of a row having zeros for landmarks that came after it."""
    history = gather(X, width, novelty, most)
    rows = np.zeros((len(X), X.shape[1] + most))
    for row, x, landmarks in zip(rows, X, history, strict=True):
        row[: len(x)] = x
        row[len(x) : len(x) + len(landmarks)] = likeness(landmarks, x[None], width)[0]
    last = np.zeros(rows.shape[1])
    last[: len(query)] = query
    last[len(query) : len(query) + len(history[-1])] = likeness(history[-1], query[None], width)[0]
    return ridge(rows, D, last, **recursion)


def analog(X: Array, D: Array, query: Array, *, neighbours: int, stretch: float, stiffness: float) -> Array:
    """The mean of where the nearest went, each stretched to what fits best."""
    b = (X @ query + stiffness) / ((X**2).sum(axis=1) + stiffness)
    b = np.clip(b, 1.0 / stretch, stretch)
    q = ((query - b[:, None] * X) ** 2).sum(axis=1) + stiffness * (b - 1.0) ** 2
    nearest = np.argsort(q)[:neighbours]
    w = np.exp(-2.0 * q[nearest] / q[nearest].max())
    return (w * b[nearest]) @ D[nearest] / w.sum()


def stack(F: Array, D: Array, prior: Array, forgetting: float, strength: float) -> Array:
    """Weights (K) from forecasts F (n, K, p) and targets D (n, p): ridge towards the prior ones."""
    n, K, p = F.shape
    ages = forgetting ** np.arange(n)[::-1]
    rows, targets = F.transpose(0, 2, 1).reshape(n * p, K), D.ravel()
    scale = np.repeat(ages, p)
    gram = rows.T @ (scale[:, None] * rows)
    c = strength * np.trace(gram) / K / ages.sum()
    return np.linalg.solve(gram + c * np.eye(K), rows.T @ (scale * targets) + c * prior)


def match_regret(F: Array, D: Array, prior: Array) -> Array:
    """Weights after all losses ½ ‖d - Σ w f‖², of slope g_k = ⟨Σ w f - d, f_k⟩: w ∝ r, r ← max(0, r + ⟨g, w⟩ - g)."""
    K = F.shape[1]
    r, w = np.zeros(K), prior
    for f, d in zip(F, D, strict=True):
        g = f @ (w @ f - d)
        r = np.maximum(0.0, r + g @ w - g)
        w = r / r.sum() if r.sum() > 0 else prior
    return w


def weigh(F: Array, D: Array, prior: Array, forgetting: float, rate: float) -> Array:
    """w ∝ w₀ exp(-η L / mean loss), L the sum of squared errors with forgetting."""
    ages = forgetting ** np.arange(len(F))[::-1]
    losses = ((F - D[:, None]) ** 2).sum(axis=2)
    L = ages @ losses
    mean = ages @ losses.mean(axis=1) / ages.sum()
    w = prior * np.exp(-rate * L / mean)
    return w / w.sum()
