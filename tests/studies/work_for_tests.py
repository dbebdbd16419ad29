"""Work for workers of other processes, which import it from here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import polars as pl

from breathcast.recordings.recording import Recording
from breathcast.studies.tasks import Task
from breathcast.studies.work import Outcome, perform

LONGEST = 60.0  # s


def die(task: Task, recording: Recording) -> Outcome:
    """End as a worker does that runs out of memory."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def told(task: Task, recording: Recording) -> Outcome:
    """What the worker was given and how it works."""
    from threadpoolctl import threadpool_info

    threads = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    row = {"seed": task.seed, "samples": len(recording), "threads": threads, "cache": os.environ["NUMBA_CACHE_DIR"]}
    return Outcome(pl.DataFrame([row]))


def wait_for_file(task: Task, recording: Recording) -> Outcome:
    """Say in the folder that the title of the task names that it has begun, and wait there to be let go."""
    folder, end = Path(task.title), time.monotonic() + LONGEST
    (folder / f"begun-{task.seed}").touch()
    while task.seed > 0 and not (folder / "go").exists() and time.monotonic() < end:
        time.sleep(0.02)
    return Outcome(pl.DataFrame({"seed": [task.seed]}))


def unhurried(task: Task, recording: Recording) -> Outcome:
    """The real work, long enough to be killed in."""
    time.sleep(0.3)
    return perform(task, recording)
