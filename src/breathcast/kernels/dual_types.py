"""How the memory of the dual form is laid out; q is padded as in network_types."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Real = NDArray[Any]  # float64 or float32
BLOCK = 16  # steps between two matrix products


class DualSettings(NamedTuple):
    """What stays constant over a recording."""

    rule: int
    units: int  # of q, those that are there
    history: int  # L, samples in a window
    horizon: int  # h, samples ahead
    delayed: bool  # learn a target when it is measured or, as published, h samples before that
    before: bool  # RTRL: read the forecast from the state before the newest input
    learning_rate: float
    clip: float  # τ, on the norm of the whole gradient
    tail: float  # the backward sum ends at a term whose squared size is below this part of the sum
    credit_rate: float  # DNI: the step size of A


class Work(NamedTuple):
    """Memory of one run: N windows, J of them in sight. Arrays that a rule does not use have size zero."""

    recurrent: (
        Real  # UORO (2, q, q): W_a and θ̃_a, transposed; RTRL (depth, q, q): W_a of the last steps; else (1, q, q)
    )
    readout: Real  # (p, q)
    states: Real  # (N + 1, q) x before each step
    slopes: Real  # (N, q) φ'
    coefficients: Real  # (N, q) a_k
    terms: Real  # (N, q) UORO: the left factors of θ̃ as they entered it
    shrunk: Real  # (N, q) UORO: the same as they are now
    fade: NDArray[np.float64]  # (2, N) UORO: how far each term has shrunk, and how much of it has gone into W
    sight: Real  # (J, q) W_b [1, u] of the windows in sight, with the weights of now
    traced: Real  # (J, q) UORO: θ̃_b [1, u] of them
    gram: Real  # (J N) the part of G that a product needs, side by side
    deltas: Real  # (depth + 3, q) the left factors of the gradient, the newest step first; then zeros
    own: Real  # (depth, q) SnAp-1: the diagonal of W_a of the last steps
    credit: Real  # (q + p + 1, q) DNI: A
    feature: Real  # (q + p + 1) DNI: [x, y*, 1] of the step before
    gradient: Real  # (q, q) of W_a
    vectors: Real  # (8, q)
    output: Real  # (2, p) y, e
