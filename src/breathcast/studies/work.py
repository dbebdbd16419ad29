"""Doing one task: a table of scores, and where they are wanted forecasts over time. This is what other machines run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from breathcast.evaluation.evaluate import Evaluation, evaluate
from breathcast.evaluation.scores import SCORES
from breathcast.forecasters.method import Method, samples
from breathcast.recordings.recording import Recording
from breathcast.studies.tasks import Stage, Task

Row = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a task found: rows of scores, a trace for figures, or why it failed."""

    scores: pl.DataFrame
    trace: pl.DataFrame | None = None
    failure: str | None = None


SELECTION: dict[str, Any] = {
    "title": pl.String,
    "recording": pl.String,
    "horizon": pl.Float64,
    "settings": pl.String,  # the method as JSON
    "runs": pl.Int32,  # that gave finite forecasts
    "diverged": pl.Int32,
    **dict.fromkeys(SCORES, pl.Float64),  # means over those runs
    "by_run": pl.List(pl.Float32),  # the score that is selected by: run r of every setting has the same draws
    "seconds": pl.Float64,  # of processor time, all runs
    "steps": pl.Int64,  # of all runs: samples with a full window before them
}
TEST: dict[str, Any] = {
    "title": pl.String,
    "recording": pl.String,
    "horizon": pl.Float64,
    "settings": pl.String,
    "run": pl.Int32,
    "diverged": pl.Boolean,
    **dict.fromkeys(SCORES, pl.Float64),
    "seconds": pl.Float64,  # of this run: its share
    "steps": pl.Int64,
}
SCHEMAS: dict[Stage, dict[str, Any]] = {"screening": SELECTION, "selection": SELECTION, "test": TEST}
TRACE: dict[str, Any] = {
    "title": pl.String,
    "recording": pl.String,
    "horizon": pl.Float64,
    "time": pl.Float64,  # s, of what is forecast
    "loss": pl.Float32,  # mm², mean over runs
    "forecast": pl.List(pl.Float32),  # mm, first run, marker by marker
    "truth": pl.List(pl.Float32),
}


def perform(task: Task, recording: Recording) -> Outcome:
    """Do a task; whatever goes wrong is part of the outcome."""
    schema = SCHEMAS[task.stage]
    try:
        if task.stage == "test":
            return _test(task, recording)
        return Outcome(pl.DataFrame(list(_selection(task, recording)), schema=schema))
    except Exception as error:  # recorded, so that one bad cell does not end a study of thousands
        return Outcome(pl.DataFrame(schema=schema), failure=f"{type(error).__name__}: {error}")


def _evaluate(task: Task, method: Method, recording: Recording, horizon: float) -> tuple[Evaluation, Row]:
    begin = time.thread_time()  # not that of the process, in which a Dask worker may do other tasks beside this one
    result = evaluate(
        method,
        recording,
        horizon=horizon,
        feedback=task.feedback,
        runs=task.runs,
        seed=task.seed,
        test_start=task.start,
        test_end=task.end,
        workers=1,
        form=task.form,
    )
    runs = len(result.diverged)
    common = {
        "title": task.title,
        "recording": recording.name,
        "horizon": horizon,
        "settings": json.dumps(method.to_dict()),
        "seconds": time.thread_time() - begin,
        "steps": runs * (len(result.times) - _window(method, recording) + 1),
    }
    return result, common


def _window(method: Method, recording: Recording) -> int:
    return samples(getattr(method, "history", 1 / recording.rate), recording.rate)


def _selection(task: Task, recording: Recording) -> Iterator[Row]:
    if task.search is not None:
        from breathcast.studies.search import searched

        def trial(method: Method) -> Row:
            return _selection_row(task, method, recording, task.horizons[0])

        yield from searched(task, trial)
        return
    for horizon in task.horizons:
        for method in task.methods:
            yield _selection_row(task, method, recording, horizon)


def _selection_row(task: Task, method: Method, recording: Recording, horizon: float) -> Row:
    result, common = _evaluate(task, method, recording, horizon)
    return common | {
        "runs": result.scores["rmse"].runs,
        "diverged": int(result.diverged.sum()),
        **{score: result.scores[score].mean for score in SCORES},
        "by_run": result.by_run[task.score].tolist(),
    }


def _test(task: Task, recording: Recording) -> Outcome:
    result, common = _evaluate(task, task.methods[0], recording, task.horizons[0])
    runs = len(result.diverged)
    share = common | {"seconds": common["seconds"] / runs, "steps": common["steps"] // runs}
    rows = [
        share
        | {"run": run, "diverged": bool(result.diverged[run])}
        | {score: float(result.by_run[score][run]) for score in SCORES}
        for run in range(runs)
    ]
    trace = _trace(task, result) if task.traces else None
    return Outcome(pl.DataFrame(rows, schema=TEST), trace)


def _trace(task: Task, result: Evaluation) -> pl.DataFrame:
    """The whole recording, so that a figure of the loss shows the learning from the beginning."""
    n = len(result.times)
    flat = {"forecast": result.predictions[0].reshape(n, -1), "truth": result.truth.reshape(n, -1)}
    columns = {
        "title": [task.title] * n,
        "recording": [task.recording] * n,
        "horizon": [task.horizons[0]] * n,
        "time": result.times,
        "loss": result.loss.astype(np.float32),
        **{name: list(values.astype(np.float32)) for name, values in flat.items()},
    }
    return pl.DataFrame(columns, schema=TRACE)
