"""What it costs to hand out a task and to keep its result, and how far a sweep scales: the numbers of docs/scaling.md.

python -m benchmarks.scheduling                all of it, some minutes
python -m benchmarks.scheduling costs.json     the same, and keep what was measured; if the file is there, only simulate
python -m benchmarks.scheduling --brief        with fewer tasks, to see that it works

Costs are processor time, of which other programs take none away, and the least of several repetitions; the cost of
writing a result is wall time, since it is the disk that one waits for. Nothing here is asserted.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl
import psutil

import breathcast as bc
from benchmarks.sweep import Costs, Stage, limit, simulate
from breathcast.studies import tasks as tasks_module
from breathcast.studies.cluster import DaskCluster
from breathcast.studies.executors import Cores, Executor, Job
from breathcast.studies.spec import Entry, Spec
from breathcast.studies.spec_file import published_spec
from breathcast.studies.store import Store
from breathcast.studies.tasks import Source, Task, selection_tasks
from breathcast.studies.work import SELECTION, TEST, TRACE, Outcome, perform

RECORDINGS = 2500
LINE = 117e6  # bytes a second: one gigabit, less what the protocol takes; assumed, not measured
BEGIN = 3.0  # s until a new worker has loaded what it needs; assumed, not measured
IDLE = 5.0  # s of watching a scheduler that has nothing to do
MANY = 50  # workers, all in one process: what more of them cost the scheduler
WORKERS = (1, 100, 500, 1000, 2000, 5000)
SECONDS, RATE = 120.0, 10.0  # of a simulated recording; the nine of the published study last 73 to 222 s


def subject() -> bc.Recording:
    """A recording as in the published study."""
    return bc.simulate("irregular", duration=SECONDS, rate=RATE, seed=0, name="irregular")


# --- work that takes no time ---


def _table(schema: dict[str, object], rows: int, numbers: int) -> pl.DataFrame:
    """Rows of a result, with digits as incompressible as real ones."""
    rng = np.random.default_rng(0)
    columns: dict[str, list[object]] = {}
    for name, kind in schema.items():
        if kind == pl.String:
            columns[name] = [
                pickle.dumps(bc.UORO().to_dict(), 0).decode("latin-1")[:180] if name == "settings" else name
            ] * rows
        elif isinstance(kind, pl.List):
            columns[name] = list(rng.standard_normal((rows, numbers)))
        elif kind == pl.Boolean:
            columns[name] = [False] * rows
        else:
            columns[name] = list(rng.standard_normal(rows) if kind in (pl.Float64, pl.Float32) else np.arange(rows))
    return pl.DataFrame(columns, schema=schema)


_made: dict[str, Outcome] = {}


def selected(task: Task, recording: bc.Recording) -> Outcome:
    """The result of a selection task, without the work: a row a setting and horizon."""
    rows = len(task.methods) * len(task.horizons)
    return _made.setdefault(f"s{rows}", Outcome(_table(SELECTION, rows, task.runs)))


def tested(task: Task, recording: bc.Recording) -> Outcome:
    """The result of a test task: a row a run, and the trace."""
    trace = _table(TRACE, len(recording), 9)
    return _made.setdefault("t", Outcome(_table(TEST, 300, 0), trace))


def tested_without_trace(task: Task, recording: bc.Recording) -> Outcome:
    """The same with `traces = false` in the study file."""
    return _made.setdefault("n", Outcome(_table(TEST, 300, 0)))


def jobs(number: int, horizons: int, recording: bc.Recording) -> list[Job]:
    """Selection tasks of the published study; as many horizons in each as asked for."""
    before, tasks_module._HORIZONS = tasks_module._HORIZONS, horizons
    try:
        spec = published_spec("pohl2022").with_methods(["uoro"])
        kinds = list(selection_tasks(spec, [Source.of(recording)]))
    finally:
        tasks_module._HORIZONS = before
    return [(replace(kinds[n % len(kinds)], seed=n), recording) for n in range(number)]


# --- processes ---


async def farm(address: str, number: int) -> None:
    """Many workers in this one process: enough for work that takes no time."""
    from distributed import Worker

    options = {"nthreads": 1, "host": "127.0.0.1", "dashboard": False}
    workers = [await Worker(address, **options) for _ in range(number)]
    await asyncio.gather(*(worker.finished() for worker in workers))


@contextmanager
def cluster(number: int) -> Iterator[tuple[str, psutil.Process, psutil.Process]]:
    """A scheduler and workers on the loopback interface."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "scheduler.json"
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show", "--scheduler-file", str(told)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = os.environ | {"DASK_TEMPORARY_DIRECTORY": folder}
        head = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_scheduler", *options], **quiet)
        started = [head]
        try:
            while not told.exists() or not told.read_text():
                if head.poll() is not None:
                    raise SystemExit("the scheduler ended")
                time.sleep(0.1)
            address = json.loads(told.read_text())["address"]
            command = [sys.executable, "-m", "benchmarks.scheduling", "farm", address, str(number)]
            started.append(subprocess.Popen(command, env=environment, **quiet))
            from distributed import Client

            with Client(address, set_as_default=False) as client:
                client.wait_for_workers(number, timeout=120)
            yield address, psutil.Process(head.pid), psutil.Process(started[1].pid)
        finally:
            for process in reversed(started):
                process.kill()
                process.wait(60)


# --- measurements ---


@dataclass(frozen=True)
class Measured:
    """Milliseconds of processor time a task, and of wall time."""

    client: float
    scheduler: float
    worker: float
    wall: float
    idle: float = 0.0  # what the scheduler takes in a second without tasks, to hear from its workers


def _spent(process: psutil.Process | None) -> float:
    if process is None:
        return 0.0
    used = process.cpu_times()
    return float(used.user + used.system)


def measure(
    executor: Executor, work: list[Job], head: psutil.Process | None = None, hand: psutil.Process | None = None
) -> Measured:
    """Run the tasks once, and throw the results away."""
    before = time.process_time(), _spent(head), _spent(hand), time.perf_counter()
    assert sum(1 for _ in executor.run(work)) == len(work)
    after = time.process_time(), _spent(head), _spent(hand), time.perf_counter()
    return Measured(*(1e3 * (b - a) / len(work) for a, b in zip(before, after, strict=True)))


def least(measured: list[Measured]) -> Measured:
    """Of each kind of time the least."""
    return Measured(*(min(values) for values in zip(*map(astuple, measured), strict=True)))


def dask_costs(work: Callable[..., Outcome], given: list[Job], workers: int, repeats: int) -> Measured:
    """A task on Dask; the first round, in which everything is imported, is not counted."""
    with cluster(workers) as (address, head, hand):
        executor = DaskCluster(address, work=work)
        measure(executor, given[: 2 * workers])
        before, begin = _spent(head), time.perf_counter()
        time.sleep(IDLE)
        idle = (_spent(head) - before) / (time.perf_counter() - begin)
        found = [measure(executor, given, head, hand) for _ in range(repeats)]
        return least([replace(m, idle=1e3 * idle) for m in found])


def store_cost(outcome: Outcome, task: Task, number: int) -> tuple[float, float, float, int]:
    """Milliseconds to write a result: least and median of wall time, processor time; and the bytes of its files."""
    walls, begin = [], time.process_time()
    with tempfile.TemporaryDirectory(dir=".") as folder:  # on a disk: a folder for temporary files may be in memory
        store = Store(Path(folder))
        for n in range(number):
            at = time.perf_counter()
            store.put(replace(task, seed=n), outcome)
            walls.append(1e3 * (time.perf_counter() - at))
        spent = 1e3 * (time.process_time() - begin) / number
        size = sum(file.stat().st_size for file in Path(folder).rglob("*.parquet")) // number
    return min(walls), median(walls), spent, size


@dataclass(frozen=True)
class Durations:
    """Processor seconds of the tasks of one method on one recording, at one horizon."""

    selection: list[float]  # some blocks of the grid, as a study orders them: the largest networks first
    blocks: int  # how many there are
    test: float  # a network of middle size


def seconds(task: Task, recording: bc.Recording) -> float:
    """Processor time of a task."""
    begin = time.process_time()
    assert perform(task, recording).failure is None
    return time.process_time() - begin


def durations(spec: Spec, entry: Entry, recording: bc.Recording, brief: bool) -> Durations:
    """Do every fourth block of the grid at one horizon, and test a network of middle size."""
    source = Source.of(recording)
    alone = spec.changed(horizons=[1.0], method=[entry])
    entry.base().warm_up(spec.form)
    part = bc.Recording(recording.positions[: round(60 * RATE)], RATE, name=recording.name)
    tasks = list(selection_tasks(alone, [source]))
    method = tasks[len(tasks) // 2].methods[0] if tasks else entry.base()
    test = next(iter(tasks_module.test_tasks(alone, [source], {(entry.title, source.name, 1.0): method})))
    found = [seconds(task, part) for task in tasks[:: len(tasks) if brief else 4]] if tasks else []
    return Durations(found, len(tasks), seconds(test, recording))


# --- the tables ---


def row(*cells: object) -> None:
    """A line of a Markdown table."""
    print("| " + " | ".join(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells) + " |")


def head(title: str, *cells: str) -> None:
    """What a table shows, and its first two lines."""
    print(f"\n{title}\n")
    row(*cells)
    row(*("---" for _ in cells))


KINDS = (
    (1, selected, "6 rows"),
    (10, selected, "60 rows"),
    (20, selected, "120 rows"),
    (10, tested, "test"),
    (10, tested_without_trace, "test, no trace"),
)


def scheduling(recording: bc.Recording, number: int, repeats: int) -> dict[str, Measured]:
    """Costs of a task by its kind."""
    head(
        "A task that does nothing, in ms of processor time",
        "on",
        "result",
        "client",
        "scheduler",
        "worker",
        "wall",
        "idle, a second",
    )
    given = jobs(number, 10, recording)
    cores = least([measure(Cores(2, work=selected), given) for _ in range(repeats)])
    row("2 processes", "60 rows", cores.client, "-", "-", cores.wall, "-")
    found = {}
    for horizons, work, name in KINDS:
        found[name] = dask_costs(work, jobs(number, horizons, recording), 2, repeats)
        row("Dask, 2 workers", name, *astuple(found[name]))
    many = dask_costs(selected, given, MANY, repeats)
    row(f"Dask, {MANY} workers", "60 rows", *astuple(many))
    return found


def storing(recording: bc.Recording, number: int) -> dict[str, float]:
    """Milliseconds to write a result by its kind."""
    columns = ("result", "task sent", "result sent", "files", "write, ms, least", "median", "processor time")
    head("Bytes, and writing a result", *columns)
    found = {}
    for horizons, work, name in KINDS:
        task, _ = jobs(1, horizons, recording)[0]
        outcome = work(task, recording)
        least_wall, usual, processor, size = store_cost(outcome, task, number)
        found[name] = least_wall
        row(name, len(pickle.dumps(task)), len(pickle.dumps(outcome)), size, least_wall, usual, processor)
    print(f"\nA recording of {SECONDS:.0f} s: {len(pickle.dumps(recording))} bytes.")
    return found


def task_lengths(recording: bc.Recording, brief: bool) -> list[Durations]:
    """Durations of the tasks of the published study."""
    spec, found = published_spec("pohl2022").with_methods(None), []
    columns = ("method", "blocks", "mean of 10 horizons", "shortest", "longest", "test, 1 horizon")
    head("Processor seconds of a task of the published study", *columns)
    for entry in spec.method:
        found.append(durations(spec, entry, recording, brief))
        ten = [10 * s for s in found[-1].selection] or [0.0]
        row(entry.title, found[-1].blocks, sum(ten) / len(ten), min(ten), max(ten), found[-1].test)
    return found


def selection_stage(found: list[Durations], horizons: int, recordings: int) -> Stage:
    """All blocks at 20 horizons, so many in a task."""
    each = []
    for d in found:
        all_blocks = [d.selection[n * len(d.selection) // d.blocks] for n in range(d.blocks)]
        each.append(tuple(horizons * s for s in all_blocks for _ in range(20 // horizons)))
    return Stage(tuple(block for block in each if block), recordings)


def scaling(
    recording: bc.Recording,
    scheduled: dict[str, Measured],
    stored: dict[str, float],
    found: list[Durations],
    brief: bool,
) -> None:
    """Simulate the sweep with what was measured."""
    recordings = 25 if brief else RECORDINGS
    line = len(pickle.dumps(recording)) / LINE

    def costs(kind: str, slow: float = 0.0) -> Costs:
        m = scheduled[kind]
        return Costs(1e-3 * m.client, slow or 1e-3 * stored[kind], 1e-3 * m.scheduler, 1e-3 * m.worker, BEGIN, line)

    test = Stage(tuple((d.test,) * 20 for d in found), recordings)
    for title, stage, kind in (
        ("selection", selection_stage(found, 10, recordings), "60 rows"),
        ("test", test, "test"),
    ):
        columns = ("workers", "hours", "client busy", "scheduler busy", "workers busy", "")
        head(f"The {title} of {recordings} recordings, simulated", *columns)
        for workers in WORKERS:
            result = simulate(stage, workers, costs(kind))
            share = result.efficiency
            row(workers, result.seconds / 3600, result.client, result.scheduler, share, "█" * round(20 * share))

    columns = ("horizons in a task", "tasks", "mean s", "overhead, % of it", "workers at most", "held up by")
    head("The size of a selection task", *columns, "share at 1,000 workers", "on a disk of 20 ms: workers at most")
    for horizons, kind in ((1, "6 rows"), (10, "60 rows"), (20, "120 rows")):
        stage = selection_stage(found, horizons, recordings)
        number = sum(len(block) for block in stage.blocks) * recordings
        mean = sum(map(sum, stage.blocks)) / sum(map(len, stage.blocks))
        paid = costs(kind)
        overhead = 100 * (paid.client + paid.store + paid.scheduler + paid.worker) / mean
        most, server = limit(mean, paid)
        share = simulate(stage, 1000, paid).efficiency
        row(horizons, number, mean, overhead, round(most), server, share, round(limit(mean, costs(kind, 0.02))[0]))
    mean = sum(d.test for d in found) / len(found)
    for kind in ("test", "test, no trace"):
        most, server = limit(mean, costs(kind))
        print(f"\nTest tasks ({kind}): mean {mean:.3g} s, at most {most:.0f} workers ({server}).")


def measured(brief: bool) -> tuple[dict[str, Measured], dict[str, float], list[Durations]]:
    """All that the simulation builds on."""
    recording, number, repeats = subject(), 100 if brief else 200, 1 if brief else 3
    scheduled = scheduling(recording, number, repeats)
    stored = storing(recording, number // 4)
    return scheduled, stored, task_lengths(recording, brief)


def main(costs: Path | None = None, *, brief: bool = False) -> None:
    """Print all tables; what was measured before and kept in a file is read from there."""
    if costs is not None and costs.exists():
        kept = json.loads(costs.read_text(encoding="utf-8"))
        scheduled = {kind: Measured(**values) for kind, values in kept["scheduled"].items()}
        found = [Durations(**values) for values in kept["durations"]]
        scaling(subject(), scheduled, kept["stored"], found, brief)
        return
    scheduled, stored, found = measured(brief)
    if costs is not None:
        parts = {kind: asdict(m) for kind, m in scheduled.items()}
        kept = {"scheduled": parts, "stored": stored, "durations": [asdict(d) for d in found]}
        costs.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    scaling(subject(), scheduled, stored, found, brief)


if __name__ == "__main__":
    if sys.argv[1:2] == ["farm"]:
        asyncio.run(farm(sys.argv[2], int(sys.argv[3])))
    else:
        files = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")]
        main(*files, brief="--brief" in sys.argv[1:])
