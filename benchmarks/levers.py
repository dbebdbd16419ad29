"""What each change of the arithmetic brought, against the same without it, on blocks of settings as in a study.

A block is what a selection task does: settings that share the size of the network and the window, ten horizons, ten
runs, on the first minute of a recording, scores included.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

import breathcast as bc
from benchmarks.measuring import RATE, WIDTH, best, empty_caches, kept_memory, series, steps_of
from breathcast.forecasters import dual
from breathcast.forecasters.method import Form, Task
from breathcast.forecasters.network import Network, draw_weights
from tests.reference.networks import RtrlStep

HORIZONS = tuple(h / 10 for h in range(1, 11))


def block(cls: type[Network], hidden: int, history: float, settings: int = 6) -> list[Network]:
    """The first settings of the published grid with this size and window."""
    pairs = itertools.product(cls.grid["learning_rate"], cls.grid["init_std"])
    made = [cls(hidden=hidden, history=history, learning_rate=eta, init_std=std) for eta, std in pairs]
    return made[-settings:]


def seconds(
    methods: Sequence[Network], form: Form, *, horizons: Sequence[float], runs: int, share: bool = True
) -> float:
    """Processor time of a block, with the caches as a new worker finds them; without `share` nothing is kept."""
    recording = bc.simulate("regular", duration=60.0, rate=RATE, seed=0)
    empty_caches()
    begin = time.thread_time()
    for horizon in horizons:
        for method in methods:
            if not share:
                empty_caches()
            bc.evaluate(
                method,
                recording,
                horizon=horizon,
                feedback="immediate",
                runs=runs,
                test_start=30.0,
                workers=1,
                form=form,
            )
    return time.thread_time() - begin


def a_step(methods: Sequence[Network], form: Form, *, horizons: Sequence[float] = HORIZONS, **how: Any) -> float:
    """Microseconds a step and run, all of the block counted, once: it is long enough."""
    runs = how.setdefault("runs", 10)
    steps = sum(steps_of(method, 600, round(h * RATE)) for method in methods for h in horizons)
    return 1e6 * seconds(methods, form, horizons=horizons, **how) / (steps * runs)


@contextmanager
def all_terms() -> Any:
    """RTRL adds up as many steps as it keeps."""
    before = dict(dual.TAIL)
    dual.TAIL.update(float64=0.0, float32=0.0)
    try:
        yield
    finally:
        dual.TAIL.update(before)


def textbook(method: bc.RTRL, steps: int = 6) -> float:
    """Microseconds a step of RTRL with the influence matrix of every weight."""
    samples, history = series(200), round(method.history * RATE)
    twin = _twin(method, history)
    windows = dual.Windows(b"", samples, history).matrix

    def work() -> None:
        for n in range(steps):
            twin.step(windows[n], samples[n + history])

    return 1e6 * best(work, 2) / steps


def _twin(method: bc.RTRL, history: int) -> RtrlStep:
    drawn = draw_weights(0, 0, method.hidden, 1 + WIDTH * history, WIDTH)
    return RtrlStep(*(method.init_std * W for W in drawn), method.learning_rate, method.clip)


def exactness(method: bc.RTRL, samples: np.ndarray, form: Form = "dual", at: Sequence[int] = (20, 40, 60)) -> float:
    """Largest relative error of the gradient of the dual form against the textbook's, at the steps `at` of a run.

    The gradient is read from the factors that the run leaves in its memory, not from differences of weights.
    """
    history, horizon = round(method.history * RATE), 5
    windows = dual.Windows(b"", samples, history).matrix
    twin = _twin(method, history)
    exact = {n: twin.step(windows[n], samples[n + history - 1 + horizon]).gradient for n in range(max(at) + 1)}
    return max(_deviation(method, samples[: n + history + horizon], windows, n, exact[n], form) for n in at)


def _deviation(
    method: bc.RTRL, samples: np.ndarray, windows: np.ndarray, n: int, exact: dict[str, np.ndarray], form: Form
) -> float:
    """‖ours - exact‖ / ‖exact‖ over all weights, at the last step n of a run over these samples."""
    task = Task(RATE, WIDTH, 5, "immediate", 0, (0,), form)
    out = np.full((1, len(samples) - 5, WIDTH), np.nan)
    with kept_memory() as kept:
        method.learner(task).advance(samples, np.arange(1, len(samples) + 1), 0, 0, len(samples) - 5, 0, out)
    work, q = kept[0], method.hidden
    count = int(np.argmin(work.deltas.any(axis=1)))
    deltas, past = work.deltas[:count, :q].astype(float), windows[n - np.arange(count)]
    ours = {
        "W_a": work.gradient[:q, :q],
        "W_b": deltas.T @ past,
        "W_c": -np.outer(work.output[1], work.states[n + 1, :q]),
    }
    size = np.sqrt(sum(float((g**2).sum()) for g in exact.values()))
    return float(np.sqrt(sum(float(((ours[name] - g) ** 2).sum()) for name, g in exact.items())) / size)


def measure(*, quick: bool = False) -> dict[str, dict[str, float]]:
    """Microseconds a step of each block in each form and without each lever, and the errors of the gradient."""
    horizons, runs = (HORIZONS[:2], 2) if quick else (HORIZONS, 10)
    sizes = [(10, 1.0)] if quick else [(50, 5.0), (90, 5.0)]
    found = {f"uoro, q={q}, L={L:g} s": _of(block(bc.UORO, q, L), horizons, runs) for q, L in sizes}
    q, L = (10, 1.0) if quick else (55, 5.5)
    methods = block(bc.RTRL, q, L)
    name = f"rtrl, q={q}, L={L:g} s"
    found[name] = _of(methods, horizons, runs, rtrl=True)
    published = bc.RTRL(hidden=q, history=L, learning_rate=0.1, init_std=0.02)
    found[name] |= {
        "textbook, float64": textbook(published),
        "error of the gradient, dual float64": exactness(published, series(300)),
        "error of the gradient, dual float32": exactness(published, series(300), "dual32", (20,)),
    }
    return found


def _of(methods: list[Network], horizons: Sequence[float], runs: int, *, rtrl: bool = False) -> dict[str, float]:
    """The step form shares nothing between horizons, so two of them are enough for it."""
    found = {"step, float64": a_step(methods[:2], "step", horizons=horizons[4:6] or horizons, runs=runs)}
    forms: tuple[tuple[Form, str], ...] = (("dual", "float64"), ("dual32", "float32"))
    for form, precision in forms:
        found[f"dual, {precision}"] = a_step(methods, form, horizons=horizons, runs=runs)
        apart = horizons[::4]  # nothing shared: more of them would change nothing
        found[f"dual, {precision}, nothing shared"] = a_step(methods, form, horizons=apart, runs=runs, share=False)
        full: AbstractContextManager[Any] = all_terms() if rtrl else nullcontext()
        with full:
            if rtrl:
                late = horizons[:2]
                found[f"dual, {precision}, all {dual.DEPTH[precision]} terms"] = a_step(
                    methods[:2], form, horizons=late, runs=runs
                )
    return found
