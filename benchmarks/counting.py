"""What a step must do: its floating-point operations and the bytes it must move, counted from the equations.

A product and a sum are two operations; tanh counts as the fourteen of its rational form; what is done once a step and
not once a unit (norms from sums, the clipping) is left out. q units (without those that only fill a cache line), p
coordinates, m = p L inputs, windows [1, u] of m + 1 numbers. K is how many terms the backward sum of RTRL and SnAp-1
has, D how many terms of θ̃ have not faded away; both depend on the data and are looked up in a run.

    step form
      UORO      9 q (q + m + 1)   W -= b θ̃ (2), θ̃ ← s θ̃ + turned v (3), W_b times the next window (2), ‖θ̃‖² (2)
      RTRL      (2 K + 6) q (q + m + 1) + 2 K q²
                                  Σ δ v (2 K), its norm (2), W -= a · (2), W_b u (2); δ carried back
    dual form, at step n of a block that begins at `first`, with r windows of the block ahead
      both      2 · first · q     Σ_k a_k G_kn of earlier blocks, as a matrix product
      UORO      11 q² + 5 r q + 2 (n's share of D) q
                                  W_a, θ̃_a with W_a x', W_a x̃' and ‖θ̃_a‖²; the windows ahead; θ̃_b [1, u]
      RTRL      (4 K + 4) q² + 2 K (K + r + 1) q
                                  δ carried back (2 K), Σ δ x (2 K), norm (2), W_a -= a · (2), W_a x' (2), less where
                                  a first term needs no sum; the norm of the gradient of W_b and the windows ahead

Bytes: what is worked on and is larger than the first level of the cache is fetched once a step and written back once:
W and θ̃ in the step form; W_a, θ̃_a, or the W_a of the last K steps, and the factors of the matrix product, a
sixteenth of them each step, in the dual form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import breathcast as bc
from benchmarks.machine import Machine
from benchmarks.measuring import RATE, WIDTH, memory_after, steps_of
from breathcast.forecasters.method import Form, Task
from breathcast.kernels.dual_types import BLOCK
from breathcast.kernels.network_types import DNI, RTRL, UORO

_TANH = 14
_FAR = 1e-25  # kernels.dual._FADED


@dataclass(frozen=True)
class Work:
    """Of a step, on average over a run."""

    flops: float
    moved: float  # bytes
    held: float  # bytes, all that a step works on

    def limit(self, machine: Machine, size: int) -> tuple[float, str]:
        """The least time in µs with numbers of this size, and what it is that binds."""
        rate = machine.first if self.held <= machine.first_size else machine.second
        times = {"arithmetic": self.flops / machine.flops[size], "memory": self.moved / rate}
        name = max(times, key=lambda key: times[key])
        return 1e6 * times[name], name


def forward(q: int, p: int) -> int:
    """tanh and φ' of a step, y, e and the pull, and the step of W_c."""
    return q + _TANH * q + 2 * q + (4 * p * q + p) + (2 * p * q + p)


def ahead(steps: int) -> float:
    """Windows still ahead in the block, mean over the steps."""
    return sum(min(n // BLOCK * BLOCK + BLOCK, steps) - n - 1 for n in range(steps)) / steps


def earlier(steps: int) -> float:
    """Steps before the block, mean over the steps."""
    return sum(n // BLOCK * BLOCK for n in range(steps)) / steps


def faded(steps: int, live: float) -> float:
    """The same, of those whose term of θ̃ is among the newest `live`."""
    return sum(min(n // BLOCK * BLOCK, live) for n in range(steps)) / steps


def dual_uoro(q: int, p: int, steps: int, live: float, size: int) -> Work:
    """The dual form of UORO; `live` is D."""
    before, still, r = earlier(steps), faded(steps, live), ahead(steps)
    small = forward(q, p) + q * (2 + 2 + 2 + 17)  # the start, two inner products, and what is done to x̃, ρ0 and ρ1
    flops = 2 * before * q + 2 * still * q + 2 * still * q / BLOCK + 11 * q * q + 5 * r * q + small
    product = (before + still) * q + BLOCK * (before + still) + 3 * still * q
    moved = 4 * q * q + product / BLOCK + 4 * r * q + 3 * p * q
    held = 2 * q * q + product + 2 * BLOCK * q + p * q
    return Work(flops, size * moved, size * held)


def dual_terms(q: int, p: int, steps: int, terms: np.ndarray, size: int, *, exact: bool) -> Work:
    """The dual form of RTRL (`exact`) and SnAp-1; `terms` is K of each step, or of some of them."""
    before, r = earlier(steps), ahead(steps)
    K, K2 = float(np.mean(terms)), float(np.mean(np.square(terms, dtype=float)))
    carried = K * (3 * q + (2 * q * q if exact else q))
    summed = K * 2 * q * q + 2 * q * q + (2 * K2 + 2 * K) * q
    taken = 4 * q * q + 2 * K * q + 2 * K * r * q + K2 + K * r  # the last two: δ's factors, not once a unit
    flops = 2 * before * q + q + forward(q, p) + 2 * q + carried + summed + taken
    product = before * q + BLOCK * before
    moved = (K if exact else 1) * q * q + 4 * q * q + product / BLOCK + 2 * r * q + 3 * K * q + 3 * p * q
    held = ((K if exact else 1) + 1) * q * q + product + 2 * K * q + p * q
    return Work(flops, size * moved, size * held)


def dual_dni(q: int, p: int, steps: int, size: int) -> Work:
    """The dual form of DNI: one term, and A of q + p + 1 rows, read twice and written once."""
    base, rows = dual_terms(q, p, steps, np.ones(1), size, exact=False), q + p + 1
    credit = rows * q * 10 + 4 * q * q
    return Work(base.flops + credit, base.moved + 3 * size * rows * q, base.held + size * rows * q)


def step_form(method: bc.Method, q: int, p: int, m: int, terms: float) -> Work:
    """The step kernel: all of W, and the trace or the gradient beside it."""
    weights, rule = q * (q + m + 1), getattr(method, "rule", 0)
    flops, passes = {
        UORO: (9 * weights + 4 * q * q, 4),
        RTRL: ((2 * terms + 6) * weights + 2 * terms * q * q, 7),
        DNI: (4 * weights + 10 * q * (q + p + 1) + 4 * q * q, 3),
    }.get(rule, (9 * weights + 2 * q * q, 6))  # else SnAp-1: the trace (3), its norm (2), W (2), W_b u (2)
    arrays = 1 if rule == DNI else 2
    return Work(flops + forward(q, p), 8 * passes * weights, 8 * arrays * weights)


def linear(p: int, m: int) -> Work:
    """LMS: y = W u, ‖u‖², and W -= η ΔW."""
    return Work(4 * p * (m + 1) + 2 * (m + 1), 8 * 3 * p * (m + 1), 8 * p * (m + 1))


def live_terms(method: bc.Method, samples: np.ndarray, form: Form) -> int:
    """D at the end of a run of UORO."""
    steps = steps_of(method, len(samples), 5)
    return steps - int((memory_after(method, samples, form).fade[0, :steps] < _FAR).sum())


def backward_terms(method: bc.Method, samples: np.ndarray, form: Form, places: int = 4) -> np.ndarray:
    """K at the last step of some runs that end earlier and earlier."""
    least = round(method.history * RATE) + 40  # type: ignore[attr-defined]
    found = []
    for end in np.linspace(least, len(samples), places).astype(int):
        part = samples[:end]
        if form == "step":
            found.append(_terms_of_step(method, part))
        else:
            deltas = memory_after(method, part, form).deltas
            found.append(int(np.argmin(deltas.any(axis=1))))  # the first that is zero: beyond it are old ones
    return np.array(found)


def _terms_of_step(method: bc.Method, samples: np.ndarray) -> int:
    learner = method.learner(Task(RATE, samples.shape[1], 5, "immediate"))
    stop = len(samples) - 5
    learner.advance(samples, np.arange(1, len(samples) + 1), 0, 0, stop, 0, np.empty((1, stop, samples.shape[1])))
    state = learner.state()
    depth, last = state["past_slope"].shape[1], int(state["clock"][0, 0]) - 1
    carried, total = state["readout"][0].T @ np.ones(samples.shape[1]), 0.0
    for back in range(min(depth, last)):
        slot = (last - back) % depth
        delta = carried * state["past_slope"][0, slot]
        total += float(delta @ delta)
        if delta @ delta <= 1e-28 * total:
            return back + 1
        carried = delta @ state["past_recurrent"][0, slot]
    return depth


def of(method: bc.Method, samples: np.ndarray, form: Form) -> Work:
    """What a step of a method must do on a series."""
    p, m = samples.shape[1], WIDTH * round(getattr(method, "history", 1.0) * RATE)
    q, rule = getattr(method, "hidden", 0), getattr(method, "rule", None)
    steps, size = steps_of(method, len(samples), 5), 4 if form == "dual32" else 8
    if rule is None:
        return linear(p, m)
    if form == "step":
        terms = float(backward_terms(method, samples, form).mean()) if rule == RTRL else 0.0
        return step_form(method, q, p, m, terms)
    if rule == UORO:
        return dual_uoro(q, p, steps, live_terms(method, samples, form), size)
    if rule == DNI:
        return dual_dni(q, p, steps, size)
    return dual_terms(q, p, steps, backward_terms(method, samples, form), size, exact=rule == RTRL)
