"""Running a study: choose hyper-parameters, then test; what is done already is never done again."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from breathcast.files import undisturbed
from breathcast.recordings.recording import Recording
from breathcast.studies.executors import Executor
from breathcast.studies.selection import Choice, choose, chosen
from breathcast.studies.spec import Spec, from_mapping
from breathcast.studies.store import Store
from breathcast.studies.tasks import Source, Stage, Task, fingerprint, selection_tasks, test_tasks
from breathcast.version import __version__


@dataclass
class Progress:
    """How far a stage is."""

    stage: Stage
    total: dict[str, int]  # tasks by method
    done: dict[str, int]
    computed: int = 0  # tasks of this session
    begun: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float | None:
        """Seconds to the end of the stage at the rate of this session; tasks with the largest networks come first."""
        if not self.computed:
            return None
        missing = sum(self.total.values()) - sum(self.done.values())
        return missing * (time.monotonic() - self.begun) / self.computed


@dataclass(frozen=True)
class Results:
    """What a study has found so far."""

    spec: Spec
    recordings: tuple[str, ...]
    selection: pl.DataFrame
    choices: list[Choice]
    test: pl.DataFrame
    test_tasks: list[Task]
    progress: dict[str, dict[Stage, tuple[int, int]]]  # by method: tasks done and tasks, so far as they are known
    failures: list[dict[str, Any]]

    @property
    def missing(self) -> dict[Stage, int]:
        """Tasks still to do."""
        stages: tuple[Stage, ...] = ("selection", "test")
        return {s: sum(total - done for done, total in (part[s] for part in self.progress.values())) for s in stages}


def run(
    spec: Spec,
    recordings: Sequence[Recording],
    store: Store,
    executor: Executor,
    *,
    report: Callable[[Progress], None] = lambda progress: None,
    retry: bool = False,
) -> Results:
    """Do what is missing, and return all of it; `retry` tries failed tasks again.

    Stopped at any moment, and started again with the same folder, it goes on with what was not yet written.
    """
    sources = [Source.of(recording) for recording in recordings]
    spec.members([source.name for source in sources])  # an error now rather than after hours
    store.describe(description(spec, recordings))
    for entry in spec.method:  # before the workers start: processes that compile the same kernel would race
        entry.base().warm_up(spec.form)
    tasks = list(selection_tasks(spec, sources))
    _do(tasks, "selection", recordings, store, executor, report, retry)
    choices = choose(store.scores(tasks), spec.select)
    tests = list(test_tasks(spec, sources, chosen(choices)))
    _do(tests, "test", recordings, store, executor, report, retry)
    return results(store)


def results(store: Store) -> Results:
    """What the store holds of its study; computes nothing."""
    told = store.description()
    spec, sources = from_mapping(told["spec"]), [Source(r["name"], r["hash"]) for r in told["recordings"]]
    tasks = list(selection_tasks(spec, sources))
    selection = store.scores(tasks)
    choices = choose(selection, spec.select)
    tests = list(test_tasks(spec, sources, chosen(choices)))
    return Results(
        spec,
        tuple(source.name for source in sources),
        selection,
        choices,
        store.scores(tests),
        tests,
        _progress(spec, len(sources), store, tasks, tests),
        store.failures([*tasks, *tests]),
    )


def _progress(
    spec: Spec, recordings: int, store: Store, selection: Sequence[Task], tests: Sequence[Task]
) -> dict[str, dict[Stage, tuple[int, int]]]:
    """A test task is known once its settings are chosen; those to come are counted all the same."""
    known, there = _count(selection), _count([task for task in selection if store.done(task)])
    tested = _count([task for task in tests if store.done(task)])
    planned = _count(tests)
    cells, found = recordings * len(spec.ahead), {}
    for entry in spec.method:
        title = entry.title
        chosen_all = there.get(title, 0) == known.get(title, 0)
        found[title] = {
            "selection": (there.get(title, 0), known.get(title, 0)),
            "test": (tested.get(title, 0), planned.get(title, 0) if chosen_all else cells),
        }
    return found


def description(spec: Spec, recordings: Sequence[Recording]) -> dict[str, Any]:
    """What a reader of the results must know: spec, data, versions, when."""
    return {
        "spec": spec.to_dict(),
        "recordings": [
            {
                "name": r.name,
                "hash": fingerprint(r),
                "samples": len(r),
                "rate_hz": r.rate,
                "labels": list(r.labels),
                "notes": list(r.notes),
            }
            for r in recordings
        ],
        "versions": {
            "breathcast": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": _version("numba"),
            "polars": pl.__version__,
        },
        "machine": platform.machine(),
        "last_run": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def _do(
    tasks: Sequence[Task],
    stage: Stage,
    recordings: Sequence[Recording],
    store: Store,
    executor: Executor,
    report: Callable[[Progress], None],
    retry: bool,
) -> None:
    if retry:
        store.forget_failures(tasks)
    missing = store.missing(tasks)
    progress = Progress(stage, _count(tasks), _count(tasks))
    for task in missing:
        progress.done[task.title] -= 1
    report(progress)
    by_name = {recording.name: recording for recording in recordings}
    for task, outcome in executor.run((task, _part(by_name[task.recording], task)) for task in missing):
        with undisturbed():
            store.put(task, outcome)
        progress.done[task.title] += 1
        progress.computed += 1
        report(progress)


def _part(recording: Recording, task: Task) -> Recording:
    """The part of a recording that a task needs: a selection sees nothing after its validation part."""
    if task.end is None:
        return recording
    last = min(len(recording), round(task.end * recording.rate))
    return Recording(
        recording.positions[:last],
        recording.rate,
        times=recording.times[:last],
        markers=recording.markers,
        name=recording.name,
    )


def _count(tasks: Sequence[Task]) -> dict[str, int]:
    found: dict[str, int] = {}
    for task in tasks:
        found[task.title] = found.get(task.title, 0) + 1
    return found
