"""Whole recordings through the dual form of the kernels: what many runs and settings share is made once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Array, Learner, Task
from breathcast.forecasters.network import Network, NetworkLearner, draw_credit, draw_signs, draw_weights

LONGEST = 4096  # windows; beyond, the Gram matrix grows too large and the sums too long, and the step kernel is as fast
DEPTH = {"float64": 64, "float32": 32}  # steps that RTRL looks back at most; SnAp-1, whose terms are cheap, four times
TAIL = {"float64": 1e-24, "float32": 1e-14}  # it ends at a term whose squared size is below this part of the sum


@dataclass(frozen=True)
class Windows:
    """The windows of a series, told apart by their content, so that what follows from them can be kept."""

    key: bytes
    series: Array = field(compare=False, repr=False)
    history: int

    @property
    def matrix(self) -> Array:
        """[1, u] of every window, (N, 1 + m)."""
        flat = np.lib.stride_tricks.sliding_window_view(self.series.ravel(), self.history * self.series.shape[1])
        rows = flat[:: self.series.shape[1]]
        return np.hstack([np.ones((len(rows), 1)), rows])


@lru_cache(maxsize=4)
def _matrix(windows: Windows, precision: str) -> NDArray[Any]:
    return windows.matrix.astype(precision)


@lru_cache(maxsize=4)
def _gram(windows: Windows, precision: str) -> NDArray[Any]:
    matrix = windows.matrix
    return np.ascontiguousarray(matrix @ matrix.T, dtype=precision)


@lru_cache(maxsize=64)
def _start(windows: Windows, seed: int, run: int, units: int, precision: str) -> tuple[NDArray[Any], ...]:
    """W_a, W_b [1, u] of every window, and W_c as drawn, of padded size."""
    from breathcast.kernels.network_types import aligned, padded

    p, q = windows.series.shape[1], padded(units)
    matrix = _matrix(windows, precision)
    W_a, W_b, W_c = draw_weights(seed, run, units, matrix.shape[1], p)
    recurrent, inputs, readout = (aligned(n, q, kind=precision) for n in (q, len(matrix), p))
    recurrent[:units, :units], readout[:, :units] = W_a, W_c
    inputs[:, :units] = matrix @ W_b.T.astype(precision)
    return recurrent, inputs, readout


@lru_cache(maxsize=512)
def _signs(seed: int, run: int, units: int, blocks: int, precision: str) -> NDArray[Any]:
    from breathcast.kernels.network_types import padded

    signs = np.concatenate([draw_signs(seed, run, block, units) for block in range(blocks)])
    return np.pad(signs, ((0, 0), (0, padded(units) - units))).astype(precision)


class DualLearner(Learner):
    """The networks of all runs for one horizon; it takes one whole recording, in one call, and keeps nothing."""

    def __init__(self, method: Network, task: Task) -> None:
        """`task.form` names the precision."""
        self.window = self.reach = task.samples(method.history)
        self._method, self._task = method, task
        self._precision = "float32" if task.form == "dual32" else "float64"

    def advance(
        self, series: Array, clean: NDArray[np.int64], origin: int, first: int, last: int, speak: int, out: Array
    ) -> None:
        """Run every network over the recording; one too long for this form goes through the step kernel."""
        if first != origin or origin != 0:
            raise BreathcastError(
                "the dual form takes a whole recording in one call",
                cure="give it all to one extend, or use form='step'",
            )
        if len(series) - self.window >= LONGEST:
            NetworkLearner(self._method, self._task).advance(series, clean, origin, first, last, speak, out)
        elif len(series) - self.window >= self._task.horizon:
            self._run_all(np.ascontiguousarray(series), clean, speak, out)

    def _run_all(self, series: Array, clean: NDArray[np.int64], speak: int, out: Array) -> None:
        from breathcast.kernels import dual
        from breathcast.kernels.network_types import UORO

        method, task, kind = self._method, self._task, self._precision
        windows = Windows(hashlib.blake2b(series.tobytes()).digest(), series, self.window)
        gram, targets = _gram(windows, kind), series.astype(kind)
        noisy = method.rule == UORO
        settings, work = self._settings(), work_for(method, task, len(gram), kind)
        for r, run in enumerate(task.runs):
            W_a, start, readout = _start(windows, task.seed, run, method.hidden, kind)
            _begin(work, method, task, run)
            spread = W_a.dtype.type(method.init_std)
            work.readout[...] = spread * readout
            work.recurrent[0] = spread * (W_a.T if noisy else W_a)
            if noisy:
                blocks = -(-len(series) // 256)
                signs = _signs(task.seed, run, method.hidden, blocks, kind)[self.window - 1 :]
                dual.uoro_run(settings, work, gram, spread * start, targets, clean, signs, speak, out[r])
            else:
                dual.terms_run(settings, work, gram, spread * start, targets, clean, speak, out[r])

    def _settings(self) -> Any:
        from breathcast.kernels.dual_types import DualSettings

        method, task = self._method, self._task
        return DualSettings(
            rule=method.rule,
            units=method.hidden,
            history=self.window,
            horizon=task.horizon,
            delayed=task.feedback == "delayed",
            before=getattr(method, "readout", "after") == "before",
            learning_rate=float(method.learning_rate),
            clip=float(method.clip),
            tail=TAIL[self._precision],
            credit_rate=float(getattr(method, "credit_rate", 0.0)),
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Nothing: this form has no state between two calls."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Nothing to put in place."""


def _begin(work: Any, method: Network, task: Task, run: int) -> None:
    """What a run must find: zeros, and for DNI its first A."""
    for array in (work.recurrent, work.states, work.coefficients, work.vectors, work.gradient):
        array[...] = 0.0
    if work.credit.size:
        q, units = work.credit.shape[1], method.hidden
        drawn = draw_credit(task.seed, run, units, task.width)
        work.credit[...] = work.feature[...] = 0.0
        work.credit[:units, :units], work.credit[q:, :units] = drawn[:units], drawn[units:]
        work.feature[-1] = 1.0


def work_for(method: Network, task: Task, windows: int, precision: str) -> Any:
    """Memory for one run after the other."""
    from breathcast.kernels.dual_types import BLOCK, Work
    from breathcast.kernels.network_types import DNI, RTRL, SNAP1, UORO, aligned, padded

    q, p, rule = padded(method.hidden), task.width, method.rule
    depth = {RTRL: DEPTH[precision], SNAP1: 4 * DEPTH[precision], DNI: 1}.get(rule, 0)
    noisy = windows if rule == UORO else 0
    sight = BLOCK + task.horizon + 1

    def zeros(*shape: int) -> NDArray[Any]:
        return aligned(*shape, kind=precision)  # not astype: its copy begins anywhere

    return Work(
        recurrent=zeros({UORO: 2, RTRL: depth}.get(rule, 1), q, q),
        readout=zeros(p, q),
        states=zeros(windows + 1, q),
        slopes=zeros(windows, q),
        coefficients=zeros(windows, q),
        terms=zeros(noisy, q),
        shrunk=zeros(noisy, q),
        fade=aligned(2, noisy),
        sight=zeros(sight, q),
        traced=zeros(sight if noisy else 0, q),
        gram=zeros(sight * windows),
        deltas=zeros(depth + 3, q),
        own=zeros(depth if rule == SNAP1 else 0, q),
        credit=zeros(q + p + 1 if rule == DNI else 0, q),
        feature=zeros(q + p + 1 if rule == DNI else 0),
        gradient=zeros(0 if noisy else q, q),
        vectors=zeros(8, q),
        output=zeros(2, p),
    )
