"""Whole recordings through the dual form of the kernels: what many runs and settings have in common is made once."""

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
from breathcast.forecasters.network import Network, NetworkLearner, draw_signs, draw_weights

LONGEST = 4096  # windows; beyond, the Gram matrix grows too large and the sums too long, and the step kernel is as fast
DEPTH = {"float64": 64, "float32": 32}  # steps that RTRL looks back at most
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
    recurrent, inputs, readout = (aligned(n, q).astype(precision) for n in (q, len(matrix), p))
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
        from breathcast.kernels.network_types import UORO, padded

        method, task, kind = self._method, self._task, self._precision
        windows = Windows(hashlib.blake2b(series.tobytes()).digest(), series, self.window)
        gram, targets = _gram(windows, kind), series.astype(kind)
        noisy = method.rule == UORO
        settings = self._settings()
        work = _work(noisy, len(gram), padded(method.hidden), series.shape[1], task.horizon, kind)
        for r, run in enumerate(task.runs):
            W_a, start, readout = _start(windows, task.seed, run, method.hidden, kind)
            _clear(work)
            spread = W_a.dtype.type(method.init_std)
            work.readout[...] = spread * readout
            work.recurrent[0] = spread * (W_a.T if noisy else W_a)
            if noisy:
                blocks = -(-len(series) // 256)
                signs = _signs(task.seed, run, method.hidden, blocks, kind)[self.window - 1 :]
                dual.uoro_run(settings, work, gram, spread * start, targets, clean, signs, speak, out[r])
            else:
                dual.rtrl_run(settings, work, gram, spread * start, targets, clean, speak, out[r])

    def _settings(self) -> Any:
        from breathcast.kernels.dual import DualSettings

        method, task = self._method, self._task
        return DualSettings(
            units=method.hidden,
            history=self.window,
            horizon=task.horizon,
            delayed=task.feedback == "delayed",
            before=getattr(method, "readout", "after") == "before",
            learning_rate=float(method.learning_rate),
            clip=float(method.clip),
            tail=TAIL[self._precision],
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Nothing: this form has no state between two calls."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Nothing to put in place."""


def _clear(work: Any) -> None:
    """What a run must find zero."""
    for array in (work.recurrent, work.states, work.coefficients, work.vectors):
        array[...] = 0.0


def _work(noisy: bool, windows: int, q: int, p: int, horizon: int, precision: str) -> Any:
    """Memory for one run after the other."""
    from breathcast.kernels.dual import BLOCK, Work
    from breathcast.kernels.network_types import aligned

    depth = DEPTH[precision]
    sight = BLOCK + horizon + 1

    def zeros(*shape: int) -> NDArray[Any]:
        return aligned(*shape).astype(precision)

    deep = 0 if noisy else depth
    return Work(
        recurrent=zeros(2 if noisy else depth, q, q),
        readout=zeros(p, q),
        states=zeros(windows + 1, q),
        slopes=zeros(windows, q),
        coefficients=zeros(windows, q),
        terms=zeros(windows if noisy else 0, q),
        shrunk=zeros(windows if noisy else 0, q),
        fade=aligned(2, windows if noisy else 0),
        sight=zeros(sight, q),
        traced=zeros(sight + deep, q),
        gram=zeros((sight + deep) * max(windows, depth)),
        deltas=zeros(deep + 3 if deep else 0, q),
        gradient=zeros(0 if noisy else q, q),
        vectors=zeros(8, q),
        output=zeros(2, p),
    )
