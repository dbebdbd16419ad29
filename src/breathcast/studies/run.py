"""Running a study: choose hyper-parameters, then test; what is done already is never done again."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from breathcast.errors import BreathcastError
from breathcast.files import undisturbed
from breathcast.recordings.recording import Recording
from breathcast.studies.executors import Executor
from breathcast.studies.selection import Choice, choose, chosen, survivors
from breathcast.studies.spec import Spec, from_mapping
from breathcast.studies.store import Store
from breathcast.studies.tasks import Source, Stage, Task, fingerprint, screening_tasks, selection_tasks, test_tasks
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


Done = dict[str, dict[Stage, tuple[int, int]]]  # by method and stage: tasks done, and tasks so far as they are known


@dataclass(frozen=True)
class Results:
    """What a study has found so far."""

    spec: Spec
    recordings: tuple[str, ...]
    selection: pl.DataFrame
    choices: list[Choice]
    test: pl.DataFrame
    test_tasks: list[Task]
    progress: Done
    failures: list[dict[str, Any]]

    @property
    def missing(self) -> dict[Stage, int]:
        """Tasks still to do."""
        found: dict[Stage, int] = {}
        for part in self.progress.values():
            for stage, (done, total) in part.items():
                found[stage] = found.get(stage, 0) + total - done
        return found


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
    recordings = _shortened(spec, recordings)
    sources = [Source.of(recording) for recording in recordings]
    spec.members([source.name for source in sources])  # an error now rather than after hours
    store.describe(description(spec, recordings))
    for entry in spec.method:  # before the workers start: processes that compile the same kernel would race
        entry.base().warm_up(spec.form)
    for stage, tasks in stages(spec, sources, store):
        _do(tasks, stage, recordings, store, executor, report, retry)
    return results(store)


def stages(spec: Spec, sources: Sequence[Source], store: Store) -> Iterator[tuple[Stage, list[Task]]]:
    """The tasks of one stage after the other; those of a stage follow from what the store then holds of the last."""
    screening = list(screening_tasks(spec, sources))
    if screening:
        yield "screening", screening
    unknown = {(task.title, task.recording, horizon) for task in store.missing(screening) for horizon in task.horizons}
    kept = survivors(spec, store.scores("screening", screening))
    selection = list(selection_tasks(spec, sources, {cell: kept[cell] for cell in kept if cell not in unknown}))
    yield "selection", selection
    choices = choose(spec, store.scores("selection", selection))
    yield "test", list(test_tasks(spec, sources, chosen(choices)))


def results(store: Store) -> Results:
    """What the store holds of its study; computes nothing."""
    told = store.description()
    spec, sources = from_mapping(told["spec"]), [Source(r["name"], r["hash"]) for r in told["recordings"]]
    tasks = dict(stages(spec, sources, store))
    selection = store.scores("selection", tasks["selection"])
    return Results(
        spec,
        tuple(source.name for source in sources),
        selection,
        choose(spec, selection),
        store.scores("test", tasks["test"]),
        tasks["test"],
        _progress(spec, len(sources), store, tasks),
        store.failures([task for stage in tasks.values() for task in stage]),
    )


def _progress(spec: Spec, recordings: int, store: Store, tasks: Mapping[Stage, Sequence[Task]]) -> Done:
    """A task is known once the stage before it is done; until then what is to come is counted by the cells."""
    known = {stage: _count(listed) for stage, listed in tasks.items()}
    there = {stage: _count([task for task in listed if store.done(task)]) for stage, listed in tasks.items()}
    found: Done = {}
    for entry in spec.method:
        ready, cells = True, recordings * len(spec.ahead)
        found[entry.title] = {}
        for stage in tasks:
            done, total = there[stage].get(entry.title, 0), known[stage].get(entry.title, 0)
            later = stage == "test" or (stage == "selection" and spec.screens(entry))
            found[entry.title][stage] = (done, total if ready or not later else cells)
            ready = ready and done == total
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
                "markers": list(r.markers),
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
    for task, outcome in executor.run((task, _beginning(by_name[task.recording], task.end)) for task in missing):
        with undisturbed():
            store.put(task, outcome)
        progress.done[task.title] += 1
        progress.computed += 1
        report(progress)


def _shortened(spec: Spec, recordings: Sequence[Recording]) -> list[Recording]:
    """The recordings as the study uses them."""
    names = [recording.name for recording in recordings]
    if unknown := [name for name in spec.lengths if name not in names]:
        cure = f"the recordings are {', '.join(names)}"
        raise BreathcastError(f"lengths names {unknown[0]!r}, but there is no such recording", cure=cure)
    return [_beginning(recording, spec.lengths.get(recording.name)) for recording in recordings]


def _beginning(recording: Recording, end: float | None) -> Recording:
    """A recording up to `end` s: a selection sees nothing after its validation part."""
    if end is None or round(end * recording.rate) >= len(recording):
        return recording
    last = round(end * recording.rate)
    return Recording(
        recording.positions[:last],
        recording.rate,
        times=recording.times[:last],
        markers=recording.markers,
        name=recording.name,
        labels=recording.labels,
        notes=[*recording.notes, f"only the first {end:g} s are used"],
    )


def _count(tasks: Sequence[Task]) -> dict[str, int]:
    found: dict[str, int] = {}
    for task in tasks:
        found[task.title] = found.get(task.title, 0) + 1
    return found
