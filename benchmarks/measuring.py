"""What the benchmarks of studies share: a clock that other programs do not disturb, series, and learners at work.

The clock counts the processor time of one thread, and the fastest of several repetitions stands: on a machine that
does something else as well, wall time says more about the something else.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np

import breathcast as bc
from breathcast.forecasters import dual
from breathcast.forecasters.method import Form, Task

RATE, WIDTH = 10.0, 9
FORMS: tuple[Form, ...] = ("step", "dual", "dual32")
TITLES = {"step": "step, float64", "dual": "dual, float64", "dual32": "dual, float32"}
CACHES = (dual._gram, dual._start, dual._matrix, dual._signs)


def best(work: Callable[[], object], repeats: int = 5, *, least: float = 0.0) -> float:
    """Seconds of processor time of the fastest of several calls, after one not counted; go on for `least` seconds."""
    work()
    fastest, begin, done = np.inf, time.thread_time(), 0
    while done < repeats or time.thread_time() - begin < least:
        start = time.thread_time()
        work()
        fastest = min(fastest, time.thread_time() - start)
        done += 1
    return float(fastest)


def series(samples: int) -> np.ndarray:
    """Breathing of unit spread, (n, p), as the kernels see it."""
    positions = bc.simulate("regular", duration=samples / RATE, rate=RATE, seed=0).positions.reshape(-1, WIDTH)
    return np.ascontiguousarray((positions - positions.mean(axis=0)) / positions.std(axis=0))[:samples]


def steps_of(method: bc.Method, samples: int, horizon: int) -> int:
    """How often a learner with immediate feedback learns: from each full window whose target is there."""
    return samples - horizon - round(getattr(method, "history", 1.0) * RATE) + 1


def learner_call(
    method: bc.Method, samples: np.ndarray, form: Form, *, horizon: int = 5, runs: int = 1
) -> Callable[[], None]:
    """Once through a series with all runs; what settings and horizons share is in the caches after the first time."""
    clean = np.arange(1, len(samples) + 1)
    learner = method.learner(Task(RATE, samples.shape[1], horizon, "immediate", 0, tuple(range(runs)), form))
    stop = len(samples) - horizon
    out = np.full((runs, stop, samples.shape[1]), np.nan)
    start = learner.state()

    def work() -> None:
        learner.restore(start)
        learner.advance(samples, clean, 0, 0, stop, 0, out)

    return work


def per_step(method: bc.Method, samples: np.ndarray, form: Form, *, runs: int = 2, repeats: int = 4) -> float:
    """Microseconds a step at which something is learned, and run."""
    work = learner_call(method, samples, form, runs=runs)
    return 1e6 * best(work, repeats) / (runs * steps_of(method, len(samples), 5))


@contextmanager
def kept_memory() -> Iterator[list[Any]]:
    """Collect the memory of the dual learners that run in here, to look at what they left in it."""
    kept: list[Any] = []
    original = dual.work_for

    def keeping(*args: Any) -> Any:
        kept.append(original(*args))
        return kept[-1]

    dual.work_for = keeping  # type: ignore[assignment]
    try:
        yield kept
    finally:
        dual.work_for = original


def memory_after(method: bc.Method, samples: np.ndarray, form: Form) -> Any:
    """What a run of the dual form over a series leaves in its memory."""
    with kept_memory() as kept:
        learner_call(method, samples, form)()
    return kept[0]


def empty_caches() -> None:
    """Forget what settings and horizons share."""
    for cache in CACHES:
        cache.cache_clear()


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    try:
        busy = os.getloadavg()[0]
    except OSError:
        busy = float("nan")
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": round(busy, 1),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
