"""Processes of this machine: a worker that dies takes nothing with it, and nobody waits for ever."""

from __future__ import annotations

import functools
import os
import signal
from pathlib import Path

import pytest

from breathcast.errors import BreathcastError
from breathcast.recordings.recording import Recording
from breathcast.studies.executors import Cores
from breathcast.studies.run import results, run
from breathcast.studies.store import Store
from breathcast.studies.tasks import Task
from breathcast.studies.work import Outcome, perform
from tests.studies.small import Here, recordings, small, tables

PLAIN = small(method=[entry.model_dump() for entry in small().method if entry.name != "uoro"])


def die_once(marker: Path, task: Task, recording: Recording) -> Outcome:
    """The first worker that gets the task of lms on the second recording is killed."""
    if task.title == "lms" and task.recording == "two" and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return perform(task, recording)


def die_always(task: Task, recording: Recording) -> Outcome:
    if task.title == "lms" and task.recording == "two":
        os.kill(os.getpid(), signal.SIGKILL)
    return perform(task, recording)


def one_thread(task: Task, recording: Recording) -> Outcome:
    del recording
    return Outcome(perform(task, recordings()[0]).scores, failure=os.environ.get("OPENBLAS_NUM_THREADS", "none"))


def test_a_worker_that_dies_costs_only_its_tasks(tmp_path: Path) -> None:
    run(PLAIN, recordings(), Store(tmp_path / "here"), Here())
    place = Cores(2, work=functools.partial(die_once, tmp_path / "died"))
    run(PLAIN, recordings(), Store(tmp_path / "cores"), place)
    assert (tmp_path / "died").exists()
    assert tables(Store(tmp_path / "cores")) == tables(Store(tmp_path / "here"))


def test_a_task_that_always_kills_its_worker_ends_the_study_with_a_cure(tmp_path: Path) -> None:
    with pytest.raises(BreathcastError, match="a worker died 3 times") as caught:
        run(PLAIN, recordings(), Store(tmp_path), Cores(1, work=die_always))
    assert "memory" in str(caught.value.cure)
    assert results(Store(tmp_path)).selection["recording"].to_list().count("one") > 0  # what was done is kept


def test_workers_use_one_thread_each(tmp_path: Path) -> None:
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    found = run(PLAIN, recordings(), Store(tmp_path), Cores(1, work=one_thread))
    assert {each["why"] for each in found.failures} == {"1"}
    assert os.environ.get("OPENBLAS_NUM_THREADS") == before
