"""Where a task of a study spends its processor time: one of selection and one of test, as studies.work does them."""

from __future__ import annotations

import cProfile
import pstats
import time
from dataclasses import replace
from typing import Any

import breathcast as bc
from benchmarks.measuring import RATE, empty_caches
from breathcast.studies.spec_file import published_spec
from breathcast.studies.tasks import Source, Task, selection_tasks, test_tasks
from breathcast.studies.work import perform

# the functions whose time, with all that they call, makes a part; no part calls another
PARTS = {
    "kernel": ("uoro_run", "terms_run"),
    "weights drawn, W_b,0 U": ("_start",),
    "signs drawn": ("_signs",),
    "Gram matrix": ("_gram",),
    "scores": ("score_runs", "over_runs"),
    "memory for a chunk of runs": ("work_for", "_begin"),
    "forecasts back to mm": ("_finish",),
}


def tasks(name: str, runs: int, horizons: int) -> tuple[Task, Task, bc.Recording]:
    """The selection task with the largest networks, and the test of one of them, on a simulated recording."""
    recording = bc.simulate("regular", duration=130.0, rate=RATE, seed=0)
    spec = published_spec("pohl2022").with_methods([name])
    entry = spec.method[0]
    first = next(selection_tasks(spec, [Source.of(recording)]))
    chosen = {(entry.title, recording.name, h): first.methods[-1] for h in spec.ahead}
    test = next(test_tasks(spec, [Source.of(recording)], chosen))
    return (
        replace(first, horizons=first.horizons[:horizons], runs=min(first.runs, runs)),
        replace(test, runs=runs),
        recording,
    )


def spent(task: Task, recording: bc.Recording) -> dict[str, float]:
    """Seconds of processor time by part, and in all."""
    task.methods[0].warm_up(task.form)
    empty_caches()
    profile = cProfile.Profile(time.thread_time)
    profile.enable()
    outcome = perform(task, recording)
    profile.disable()
    if outcome.failure:
        raise RuntimeError(outcome.failure)
    stats: Any = pstats.Stats(profile)
    found = dict.fromkeys(PARTS, 0.0)
    for (_, _, function), (_, _, _, cumulative, _) in stats.stats.items():
        for part, names in PARTS.items():
            if function in names:
                found[part] += cumulative
    found["the rest"] = stats.total_tt - sum(found.values())
    return found | {"in all": stats.total_tt}


def measure(names: tuple[str, ...] = ("uoro", "rtrl"), *, runs: int = 100, horizons: int = 3) -> dict[str, Any]:
    """By method and stage."""
    found = {}
    for name in names:
        selection, test, recording = tasks(name, runs, horizons)
        for task in (selection, test):
            method: Any = task.methods[0]
            size = f"q={method.hidden}, L={method.history:g} s, {len(task.methods)} settings, {task.runs} runs"
            found[f"{name}, {task.stage}: {size}"] = spent(task, recording)
    return found
