"""Where tasks are done: the cores of this machine. For more machines see studies.cluster."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Protocol

from breathcast.errors import BreathcastError
from breathcast.recordings.recording import Recording
from breathcast.studies.tasks import Task
from breathcast.studies.work import Outcome, perform

Job = tuple[Task, Recording]
_AHEAD = 2  # jobs a worker has waiting, so that it never does
_TRIES = 3  # a task in flight when a worker dies is done again, up to this often
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")


class Executor(Protocol):
    """Does jobs in any order and yields each with its outcome."""

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Task, Outcome]]:
        """Start at once; stop starting when the iterator is closed."""


class Cores:
    """Processes on this machine, one thread each."""

    def __init__(self, workers: int | None = None, *, work: Callable[[Task, Recording], Outcome] = perform) -> None:
        """As many as there are cores, unless said otherwise."""
        self.workers = workers or os.cpu_count() or 1
        self._work = work

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Task, Outcome]]:
        """Do them; a worker that dies takes no result with it but that of the tasks in flight, which are done again."""
        left = [(task, recording, 1) for task, recording in jobs]
        left.reverse()
        while left:
            flying: dict[Future[Outcome], tuple[Task, Recording, int]] = {}
            workers = min(self.workers, len(left))
            context = multiprocessing.get_context("spawn")
            with _one_thread():
                pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(os.getpid(),))
                try:
                    yield from self._fly(pool, left, flying)
                except BrokenProcessPool as error:
                    left.extend(_again(flying, error))
                finally:  # after Ctrl-C nobody waits for tasks in flight
                    pool.shutdown(wait=False, cancel_futures=True)

    def _fly(
        self,
        pool: ProcessPoolExecutor,
        left: list[tuple[Task, Recording, int]],
        flying: dict[Future[Outcome], tuple[Task, Recording, int]],
    ) -> Iterator[tuple[Task, Outcome]]:
        while left or flying:
            while left and len(flying) < _AHEAD * self.workers:
                job = left.pop()
                try:
                    flying[pool.submit(self._work, job[0], job[1])] = job
                except BrokenProcessPool:
                    left.append(job)
                    raise
            finished, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in finished:
                outcome = future.result()
                yield flying.pop(future)[0], outcome


def _again(
    flying: dict[Future[Outcome], tuple[Task, Recording, int]], error: Exception
) -> Iterator[tuple[Task, Recording, int]]:
    """The tasks that a dead worker may have had, unless they have killed too many."""
    for task, recording, tries in flying.values():
        if tries == _TRIES:
            raise BreathcastError(
                f"a worker died {_TRIES} times, at last on {task.title} on {task.recording}",
                cure="is there enough memory? Use fewer workers (--workers 1); what is done is kept",
            ) from error
        yield task, recording, tries + 1


@contextmanager
def _one_thread() -> Iterator[None]:
    """What is started in here uses one thread a process: matrices this small are slower with more."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _begin(parent: int) -> None:
    """In a worker: leave Ctrl-C to the parent, and end when it ends, even by SIGKILL."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process = multiprocessing.parent_process()

    def watch() -> None:
        if process is not None:
            process.join()
        os._exit(1)

    if process is not None and process.pid == parent:
        threading.Thread(target=watch, daemon=True).start()
