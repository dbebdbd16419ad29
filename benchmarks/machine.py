"""What one core of this machine can reach: multiply-adds out of the cache, and bytes from its first two levels.

Measured with loops compiled as the kernels are, in the same run as the kernels, so that the share of the limit is not
a comparison with a data sheet.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measuring import best
from breathcast.kernels.jit import jit_in_any_order as jit

_SMALL, _LARGE = 16 * 2**10, 384 * 2**10  # bytes: well inside the first level, well beyond it and inside the second


@dataclass(frozen=True)
class Machine:
    """Limits of one core, by the size of a number in bytes where it matters."""

    flops: dict[int, float]  # a second
    first: float  # bytes a second, first level
    second: float  # second level
    first_size: int  # bytes, of the first level


@jit
def _polynomial(values, out, times):
    """Sixteen multiply-adds for each number that is loaded."""
    for _ in range(times):
        for i in range(values.shape[0]):
            x = values[i]
            y = x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            y = y * x + x
            out[i] = y


@jit
def _scale(values, factor, times):
    """Every number read and written."""
    for _ in range(times):
        for i in range(values.shape[0]):
            values[i] *= factor


@jit
def _sum(values, times):
    """Every number read."""
    total = values.dtype.type(0)
    for n in range(times):
        part = values.dtype.type(n)
        for i in range(values.shape[0]):
            part += values[i]
        total += part
    return total


def flop_rate(kind: type) -> float:
    """Operations a second: the better of a loop of multiply-adds and of the library's matrix product."""
    rng = np.random.default_rng(0)
    values = rng.uniform(0.1, 0.4, 2048).astype(kind)
    out, times = np.empty_like(values), 200
    loop = 32 * values.size * times / best(lambda: _polynomial(values, out, times), 15)
    a, b = rng.standard_normal((2, 384, 384)).astype(kind)
    return max(loop, 2 * 384**3 / best(lambda: a @ b, 15))


def bandwidth(size: int) -> float:
    """Bytes a second from an array of this size: the better of reading and of reading and writing."""
    values = np.ones(size // 4, dtype=np.float32)
    times, one = max(1, 2**24 // size), np.float32(1)
    both = 2 * size * times / best(lambda: _scale(values, one, times), 15)
    return max(both, size * times / best(lambda: _sum(values, times), 15))


def first_level() -> int:
    """Its size in bytes; 32 KiB where the system does not say."""
    try:
        return int(Path("/sys/devices/system/cpu/cpu0/cache/index0/size").read_text("ascii").strip().rstrip("K")) * 1024
    except (OSError, ValueError):
        return 32 * 1024


def measure() -> Machine:
    """All of it."""
    rates = {8: flop_rate(np.float64), 4: flop_rate(np.float32)}
    return Machine(rates, bandwidth(_SMALL), bandwidth(_LARGE), first_level())
