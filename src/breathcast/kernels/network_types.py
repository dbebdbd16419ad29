"""How the memory of a recurrent network is laid out.

`weights` is [W_a | W_b] transposed, (q + 1 + m, q): q units, a bias, m inputs. `readout` is W_c, (p, q).
Here q is the number of units rounded up to a whole cache line, and arrays begin on one: the units beyond have weights
of zero, and keep them. Every state array has a leading axis of R runs; a stream is a batch of one run, so both give
the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

FIXED, UORO, RTRL, SNAP1, DNI = range(5)  # the rule that estimates the gradient
_LINE = 8  # numbers of double precision in a cache line
_LINE_BYTES = 64
DEPTH = 128  # steps kept for the backward gradient of RTRL, of which 12-25 are used in practice


def padded(units: int) -> int:
    """Units rounded up to a whole cache line of eight numbers."""
    return -(-units // _LINE) * _LINE


def aligned(*shape: int, kind: DTypeLike = np.float64) -> NDArray[Any]:
    """Zeros that begin on a cache line: a vector of the processor then never lies across two of them."""
    size, width = int(np.prod(shape)), np.dtype(kind).itemsize
    room = np.zeros(size + _LINE_BYTES // width, dtype=kind)
    begin = -room.ctypes.data % _LINE_BYTES // width
    return room[begin : begin + size].reshape(shape)


class Settings(NamedTuple):
    """What stays constant over a recording."""

    rule: int
    units: int  # of q, those that are there
    history: int  # L, samples in a window
    horizon: int  # h, samples ahead
    delayed: bool  # learn a target when it is measured or, as published, h samples before that
    before: bool  # read the forecast from the state before the newest input (the 2022 code for RTRL)
    adam: bool
    learning_rate: float
    clip: float  # τ, on the norm of the whole gradient
    credit_rate: float  # DNI: the step size of A


class State(NamedTuple):
    """All that the networks remember; R runs. Arrays that a rule does not use have size zero."""

    weights: NDArray[np.float64]  # (R, q + 1 + m, q)
    readout: NDArray[np.float64]  # (R, p, q)
    hidden: NDArray[np.float64]  # (R, q) the learner's x
    ahead: NDArray[np.float64]  # (R, q) W_b u of the learner's next window, if clock[1] says so
    trace: NDArray[np.float64]  # (R, q + 1 + m, q) UORO: θ̃; SnAp-1: the influence matrix
    tangent: NDArray[np.float64]  # (R, q + 1) UORO: x̃, then ‖θ̃‖
    credit: NDArray[np.float64]  # (R, q + p + 1, q) DNI: A
    feature: NDArray[np.float64]  # (R, q + p + 1) DNI: [x, y*, 1] of the step before
    past_hidden: NDArray[np.float64]  # (R, DEPTH, q) RTRL: x before each of the last steps
    past_slope: NDArray[np.float64]  # (R, DEPTH, q) RTRL: φ' of those steps
    past_recurrent: NDArray[np.float64]  # (R, DEPTH, q, q) RTRL: W_a of those steps
    moments: NDArray[np.float64]  # (R, 2, q + 1 + m, q) Adam
    readout_moments: NDArray[np.float64]  # (R, 2, p, q) Adam
    clock: NDArray[np.int64]  # (R, 4) learner steps, whether `ahead` is valid, updates made, sums cut at DEPTH


class Scratch(NamedTuple):
    """Working memory, allocated once: nothing is allocated inside a step."""

    input: NDArray[np.float64]  # (q + 1 + m) v = [x, 1, window] of this step
    next: NDArray[np.float64]  # (q + 1 + m) [0, 1, window] of the next
    new: NDArray[np.float64]  # (q) x'
    slope: NDArray[np.float64]  # (q) φ'
    pull: NDArray[np.float64]  # (q) ∂L/∂x' = -W_cᵀ e
    work: NDArray[np.float64]  # (4, q)
    output: NDArray[np.float64]  # (2, p) y, e
    deltas: NDArray[np.float64]  # (DEPTH, q) RTRL: the error carried back, times φ'
    inputs: NDArray[np.float64]  # (DEPTH) RTRL: one input, at each of the steps of `deltas`
    grad: NDArray[np.float64]  # (q + 1 + m, q) RTRL and Adam
    readout_grad: NDArray[np.float64]  # (p, q) Adam
    projected: NDArray[np.float64]  # (h, q)
