"""How fast the kernels are, as ratios within one run: `make bench`, which gives NumPy one thread.

Against a plain NumPy transcription of the published algorithm, and against what the memory and arithmetic of the
machine allow. Nothing here is asserted: a number that depends on the machine is no test.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

import breathcast as bc
from benchmarks.transcription import rtrl_call, uoro_call
from breathcast.forecasters.method import Task

SAMPLES, WIDTH, RATE = 1500, 9, 10.0


def best(work: Callable[[], object], repeats: int = 15) -> float:
    """Seconds of the fastest of several calls, after one that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def series() -> np.ndarray:
    """Breathing of unit spread, as the kernels see it."""
    positions = bc.simulate("regular", duration=SAMPLES / RATE, rate=RATE, seed=0).positions.reshape(SAMPLES, WIDTH)
    return np.ascontiguousarray((positions - positions.mean(axis=0)) / positions.std(axis=0))


def per_step(method: bc.Method, *, horizon: int = 5, feedback: str = "immediate", runs: int = 1) -> float:
    """Microseconds a step and run."""
    samples, clean = series(), np.arange(1, SAMPLES + 1)
    learner = method.learner(Task(RATE, WIDTH, horizon, feedback, 0, tuple(range(runs))))
    stop = SAMPLES - (horizon if feedback == "immediate" else 0)
    out = np.full((runs, stop, WIDTH), np.nan)
    start = learner.state()

    def work() -> None:
        learner.restore(start)
        learner.advance(samples, clean, 0, 0, stop, 0, out)

    return 1e6 * best(work) / (stop * runs)


@numba.njit
def _sweep(a: np.ndarray, b: np.ndarray) -> None:
    for j in range(a.shape[0]):
        for i in range(a.shape[1]):
            a[j, i] = a[j, i] * 0.999999
            b[j, i] = b[j, i] * 0.999999


def memory_limit(q: int, history: int) -> float:
    """Microseconds to read and write the weights and the trace of UORO once."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, q + 1 + WIDTH * history, q))
    return 1e6 * best(lambda: [_sweep(a, b) for _ in range(200)]) / 200


def arithmetic_rate() -> float:
    """Multiply-adds a microsecond of a large matrix product of the tuned library, on one core."""
    a, b = np.random.default_rng(0).standard_normal((2, 512, 512))
    return 512**3 / (1e6 * best(lambda: a @ b))


def rtrl_terms(method: bc.RTRL) -> int:
    """How many past steps the backward gradient reaches in the last step of a run, and so its multiply-adds."""
    learner = method.learner(Task(RATE, WIDTH, 5, "immediate"))
    stop = SAMPLES - 5
    learner.advance(series(), np.arange(1, SAMPLES + 1), 0, 0, stop, 0, np.empty((1, stop, WIDTH)))
    state = learner.state()
    depth, last = state["past_slope"].shape[1], int(state["clock"][0, 0]) - 1
    carried, total = state["readout"][0].sum(axis=0), 0.0
    for back in range(min(depth, last)):
        slot = (last - back) % depth
        delta = carried * state["past_slope"][0, slot]
        total += float(delta @ delta)
        if delta @ delta <= 1e-28 * total:
            return back + 1
        carried = delta @ state["past_recurrent"][0, slot]
    return depth


def fresh(code: str, cache: str) -> float:
    """Seconds that a statement takes in a new interpreter with its own cache of compiled code."""
    timed = f"import time; t = time.perf_counter()\n{code}\nprint(time.perf_counter() - t)"
    run = subprocess.run(
        [sys.executable, "-c", timed],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        check=True,
        capture_output=True,
        text=True,
    )
    return float(run.stdout)


def main() -> None:
    """Print all of it."""
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, ",
        end="",
    )
    print(f"numpy {np.__version__}, numba {numba.__version__}; one core unless said otherwise; µs a step\n")
    first = (
        "import breathcast as bc; bc.UORO().start(rate=10, markers=3, horizons=[0.5]).extend([[[0.0] * 3] * 3] * 400)"
    )
    with tempfile.TemporaryDirectory() as cache:
        print(f"import breathcast: {fresh('import breathcast', cache):.2f} s")
        print(f"first forecast ever, compilation included: {fresh(first, cache):.1f} s")
        print(f"first forecast of a process, from the cache: {fresh(first, cache):.2f} s\n")

    uoro, rtrl = bc.UORO(hidden=90, history=9.0), bc.RTRL(hidden=55, history=5.5)
    slow = 1e6 * best(uoro_call(90, 90, series(), 300)) / 300
    fast, limit = per_step(uoro), memory_limit(90, 90)
    print(f"UORO, q=90, L=90, 9 coordinates: {fast:.1f}; NumPy transcription {slow:.0f}, ratio {slow / fast:.1f}")
    print(f"  reading and writing W and θ̃ once takes {limit:.1f}: {100 * limit / fast:.0f} % of the memory limit")
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        begin = time.perf_counter()
        for part in [pool.submit(per_step, uoro, runs=4) for _ in range(cores)]:
            part.result()
        together = time.perf_counter() - begin
    begin = time.perf_counter()
    per_step(uoro, runs=4)
    alone = time.perf_counter() - begin
    print(f"  {cores} batches of 4 runs on {cores} cores take {together / alone:.2f} × the time of one batch on one")

    slow = 1e6 * best(rtrl_call(55, 55, series(), 40), 3) / 40
    fast, terms = per_step(rtrl), rtrl_terms(rtrl)
    rows = 55 + 1 + WIDTH * 55
    work = terms * (55 * 55 + rows * 55) + 4 * rows * 55
    print(f"RTRL, q=55, L=55, 9 coordinates: {fast:.1f}; NumPy transcription {slow:.0f}, ratio {slow / fast:.1f}")
    rate = arithmetic_rate()
    share = 100 * work / rate / fast
    print(f"  {terms} terms, {work} multiply-adds; a matrix product makes {rate:.0f} a µs: {share:.0f} % of that limit")

    print("\nall methods with their defaults: immediate; delayed at 0.5 s and at 2.0 s")
    for name, cls in bc.METHODS.items():
        method = cls()
        early = per_step(method)
        late = [per_step(method, horizon=h, feedback="delayed") for h in (5, 20)]
        print(f"  {name:<12} {early:8.1f} {late[0]:8.1f} {late[1]:8.1f}")


if __name__ == "__main__":
    main()
