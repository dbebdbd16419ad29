"""A study that takes a second, and an executor that does its tasks here, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import breathcast as bc
from breathcast.recordings.recording import Recording
from breathcast.studies.executors import Job
from breathcast.studies.spec import Spec
from breathcast.studies.spec_file import parse_spec
from breathcast.studies.store import Store
from breathcast.studies.tasks import Task
from breathcast.studies.work import Outcome, perform

SMALL = """\
name = "small"
recordings = ["recordings"]
horizons = [0.2, 0.5]
selection_runs = 3
test_runs = 4
test_start = 20.0

[groups]
first = [1]

[[method]]
name = "uoro"
settings = { training = 5.0, history = 0.5 }
grid.hidden = [3, 6]
grid.learning_rate = [0.05, 0.1]
validation = [10.0, 20.0]

[[method]]
name = "lms"
settings = { training = 5.0 }
grid.history = [0.5, 1.0]
validation = [10.0, 20.0]

[[method]]
name = "persistence"
"""


def small(**changes: object) -> Spec:
    return parse_spec(SMALL, Path("small.toml")).changed(**changes)


def recordings() -> list[Recording]:
    return [
        bc.simulate("regular", duration=40.0, markers=2, seed=1, name="one"),
        bc.simulate("irregular", duration=40.0, markers=2, seed=2, name="two"),
    ]


class Here:
    """Counts what it does; stops like Ctrl-C after so many tasks."""

    def __init__(self, work: Callable[[Task, Recording], Outcome] = perform, *, stop: int | None = None) -> None:
        self.work, self.stop, self.done = work, stop, 0

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Task, Outcome]]:
        for task, recording in jobs:
            if self.done == self.stop:
                raise KeyboardInterrupt
            self.done += 1
            yield task, self.work(task, recording)


def tables(store: Store) -> str:
    """All results of a finished study as text, without the times, which differ from run to run."""
    from breathcast.studies.run import results
    from breathcast.studies.statistics import averages, by_horizon

    found = results(store)
    frames = (found.selection.drop("seconds", "by_run"), found.test.drop("seconds"), averages(found), by_horizon(found))
    return "\n".join(frame.write_csv() for frame in frames)
