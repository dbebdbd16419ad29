"""Where tasks are done: workers of Dask, on this machine or many. docs/scaling.md says how far that goes."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import logging
import pickle
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from breathcast.errors import BreathcastError
from breathcast.recordings.recording import Recording
from breathcast.studies import remote
from breathcast.studies.executors import Job
from breathcast.studies.tasks import Task
from breathcast.studies.work import Outcome, perform
from breathcast.version import __version__

if TYPE_CHECKING:
    from dask_jobqueue import SLURMCluster
    from distributed import Client, Future

_AHEAD = 2  # tasks at the scheduler for each that can be done at once, so that no worker waits for the next
_REACH = 10.0  # s until a scheduler that does not answer at all counts as not there
_ANSWER = 60.0  # s until one that did counts as gone: a busy one may take its time
_LOOK = 2.0  # s between looks at how many workers there are
_PATIENCE = 60.0  # s without any worker until that is an error
_KEPT = "what is done is kept: run the study again with the same folder"


class DaskCluster:
    """The workers of a Dask scheduler that is there already; they may come and go."""

    def __init__(self, address: str, *, work: remote.Work = perform, patience: float = _PATIENCE) -> None:
        """`address` as the scheduler prints it; without any worker for `patience` seconds it is given up."""
        _need("distributed", "threadpoolctl")
        self.address = address
        self._work = work
        self._patience = patience

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Task, Outcome]]:
        """Do them; Dask does again what a dead worker had."""
        client = self._connect()
        flight = _Flight(client, self.address, self._work, self._patience, self._tend)
        try:
            yield from flight.run(jobs)
        finally:
            flight.end()

    def _connect(self) -> Client:
        return _client(self.address, self.address)

    def _tend(self) -> None:
        """Called now and then while tasks are done."""


class SlurmJobs(DaskCluster):
    """Workers that are jobs of SLURM, and a scheduler for them in this process."""

    def __init__(self, workers: int, *, work: remote.Work = perform, **settings: Any) -> None:
        """`settings` as for dask_jobqueue.SLURMCluster, and before those in its configuration file."""
        _need("distributed", "dask_jobqueue", "threadpoolctl")
        super().__init__("the scheduler in this process", work=work, patience=float("inf"))  # jobs queue for days
        if shutil.which("sbatch") is None:
            raise BreathcastError(
                "there is no sbatch here", cure="run this on a machine from which SLURM jobs can be submitted"
            )
        self._workers = workers
        self._settings = _with_defaults(settings)
        self._cluster: SLURMCluster | None = None

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Task, Outcome]]:
        """Do them. The jobs of SLURM stay for the next stage of a study, but not after an error or Ctrl-C."""
        waiting = iter(jobs)
        first = next(waiting, None)
        if first is None:  # nothing to do is no reason to queue
            return
        try:
            yield from super().run(_chain(first, waiting))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the jobs; when the process ends, Dask does so too."""
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.close(timeout=_REACH)

    def _connect(self) -> Client:
        cluster = self._started()
        try:
            with _muted("tornado.application"):  # it would print a traceback beside our error
                cluster.sync(_submit, cluster, self._workers)
        except (RuntimeError, ValueError, OSError) as error:
            self.close()
            raise BreathcastError(
                f"SLURM takes no job: {error}", cure="mend the settings in ~/.config/dask/jobqueue.yaml"
            ) from error
        return _client(cluster, self.address)

    def _tend(self) -> None:
        """Replace jobs that ended, say at their walltime; those that never began are not submitted for ever."""
        if self._cluster is not None:
            self._cluster.scale(self._workers)

    def _started(self) -> SLURMCluster:
        if self._cluster is None:
            from dask_jobqueue import SLURMCluster

            try:
                self._cluster = SLURMCluster(job_cls=_job_class(), **self._settings)
            except (RuntimeError, ValueError, TypeError, OSError) as error:
                raise BreathcastError(
                    f"the settings for SLURM do not work: {error}",
                    cure="mend ~/.config/dask/jobqueue.yaml; see the documentation of dask-jobqueue",
                ) from error
        return self._cluster


def slurm(workers: int, **settings: Any) -> SlurmJobs:
    """So many workers as jobs of SLURM.

    Queue, account, memory, walltime and the like are read from dask-jobqueue's own configuration file,
    ~/.config/dask/jobqueue.yaml; where it says nothing a job has one core and 2 GB.
    """
    return SlurmJobs(workers, **settings)


def _need(*modules: str) -> None:
    """An error now rather than after the recordings are read."""
    for module in modules:
        if find_spec(module) is None:
            raise BreathcastError(
                f"a cluster needs the package {module.replace('_', '-')}",
                cure='pip install "breathcast[cluster]"',
            )


def _with_defaults(settings: dict[str, Any]) -> dict[str, Any]:
    import dask
    import dask_jobqueue  # noqa: F401 - reads the configuration file

    def told(key: str, otherwise: Any) -> Any:
        return settings.get(key) or dask.config.get(f"jobqueue.slurm.{key.replace('_', '-')}", None) or otherwise

    cores = told("cores", 1)
    return settings | {
        "cores": cores,
        "memory": told("memory", "2GB"),
        "processes": told("processes", cores),  # a task is one thread's work
        # Others on a login node have schedulers too: take any free port.
        "scheduler_options": {"dashboard_address": ":0", **told("scheduler_options", {})},
    }


def _job_class() -> Any:
    from dask_jobqueue.slurm import SLURMJob
    from distributed.core import Status

    class Submitted(SLURMJob):  # type: ignore[misc]
        """A job that says so when sbatch refuses it: else its cluster could not be closed."""

        async def start(self) -> None:
            try:
                await super().start()
            except Exception:
                self.status = Status.failed
                raise

    return Submitted


@contextmanager
def _muted(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


async def _submit(cluster: SLURMCluster, workers: int) -> None:
    """Have sbatch called, and pass on its error."""
    cluster.scale(workers)
    await cluster


async def _gather(client: Client, futures: list[Future]) -> list[bytes]:
    """All results in one exchange with the scheduler."""
    found: list[bytes] = await client.gather(futures, asynchronous=True)
    return found


def _chain(first: Job, others: Iterator[Job]) -> Iterator[Job]:
    yield first
    yield from others


def _client(target: Any, address: str) -> Client:
    from distributed import Client

    try:
        return Client(target, timeout=_REACH, set_as_default=False, name="breathcast")
    except (OSError, ValueError, TimeoutError) as error:
        problem = f"there is no Dask scheduler at {address}: {error}"
    # What is left of the client stops its loop when it is collected, under a lock that starting the next one holds too:
    # if that happened in the middle of a start, neither would ever end. So it goes now, and no error may keep it.
    gc.collect()
    cure = "start one with `dask scheduler`, and give the address that it prints, as in tcp://name:8786"
    raise BreathcastError(problem, cure=cure)


@dataclass
class _Flying:
    key: str
    task: Task
    future: Future
    part: Future  # the recording: kept at the scheduler as long as a task in flight needs it


class _Flight:
    """Tasks at the scheduler, until each has come back."""

    def __init__(
        self, client: Client, address: str, work: remote.Work, patience: float, tend: Callable[[], None]
    ) -> None:
        self._client, self._address, self._work = client, address, work
        self._patience, self._tend = patience, tend
        self._flying: dict[str, _Flying] = {}  # by the key of the future
        self._landed: SimpleQueue[str] = SimpleQueue()
        self._parts: WeakValueDictionary[str, Future] = WeakValueDictionary()  # by the key of the future
        self._last: Future | None = None  # the one before is likely the next too
        self._room = 0  # tasks that can be done at once
        self._looked = self._manned = time.monotonic()

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Task, Outcome]]:
        """Keep the workers busy, and yield what comes back as it does."""
        waiting, more = iter(jobs), True
        self._look()
        while more or self._flying:
            while more and len(self._flying) < _AHEAD * self._room:
                job = next(waiting, None)
                more = job is not None
                if job is not None:
                    with self._reachable():
                        self._send(*job)
            if not more and not self._flying:
                return
            yield from self._wait()
            self._attend()

    def end(self) -> None:
        """Leave: Dask drops what nobody waits for. What a worker is at it finishes in vain."""
        self._flying.clear()
        self._last = None
        with suppress(Exception, CancelledError):  # a scheduler that is gone needs no goodbye
            self._client.close(timeout=_REACH)

    def _send(self, task: Task, recording: Recording) -> None:
        part = self._part(recording)
        # First come, first served: the longest tasks of a study are sent first, so that none is left over at its end.
        # Dask tells kinds of tasks, and how long they take, by what stands before the last hyphen.
        key = f"{task.methods[0].name}-{task.stage}-{task.key}"
        packed = pickle.dumps((self._work, task), protocol=5)
        future = self._client.submit(remote.job, __version__, packed, part, key=key, fifo_timeout=0)
        self._flying[key] = _Flying(key, task, future, part)
        future.add_done_callback(lambda future: self._landed.put(future.key))

    def _part(self, recording: Recording) -> Future:
        """The recording at the scheduler, sent unless it is there; workers hand it on among themselves."""
        import dask

        content = pickle.dumps(recording, protocol=5)
        key = f"recording-{hashlib.blake2b(content, digest_size=12).hexdigest()}"
        part = self._last = self._parts.get(key)
        if part is None:
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):  # once each is right
                part = self._last = self._client.submit(remote.carry, content, key=key)
            self._parts[key] = part
        return part

    def _wait(self) -> Iterator[tuple[Task, Outcome]]:
        """What has come back, all of it at once; nothing after a while without."""
        keys = []
        with suppress(Empty):
            keys.append(self._landed.get(timeout=_LOOK))
            while True:
                keys.append(self._landed.get_nowait())
        landed = [self._flying[key] for key in keys if key in self._flying]
        for flying, packed in zip(landed, self._fetch(landed), strict=True):
            del self._flying[flying.key]
            outcome: Outcome = pickle.loads(packed)
            yield flying.task, outcome

    def _fetch(self, landed: Sequence[_Flying]) -> list[bytes]:
        """What the tasks found. Dask does a task again whose result was lost with its worker: that may take long."""
        from distributed import KilledWorker

        futures = [flying.future for flying in landed]
        while futures:
            for flying in landed:
                if flying.future.status == "error":
                    self._explain(flying)
            loop = self._client.loop.asyncio_loop
            gathering = asyncio.run_coroutine_threadsafe(_gather(self._client, futures), loop)
            try:
                while not gathering.done():
                    wait([gathering], timeout=_LOOK)
                    self._attend()
                with self._reachable():
                    return gathering.result()
            except KilledWorker:  # lost with its worker, and the next ones died of it
                continue
            finally:
                gathering.cancel()
        return []

    def _explain(self, flying: _Flying) -> None:
        """Raise what became of a task that is no outcome: `perform` turns all errors of a task into one."""
        from distributed import KilledWorker

        with self._reachable():
            error = flying.future.exception(timeout=_ANSWER)
        what = f"{flying.task.title} on {flying.task.recording}"
        if isinstance(error, BreathcastError):
            raise error
        if isinstance(error, KilledWorker):
            raise BreathcastError(
                f"{error.allowed_failures + 1} workers died, at last on {what}",
                cure=f"is there enough memory for a worker? See its log; {_KEPT}",
            ) from error
        raise BreathcastError(
            f"a worker could not begin {what}: {type(error).__name__}: {error}",
            cure=f"install breathcast {__version__}, with all it needs, on the machines of scheduler and workers",
        ) from error

    def _attend(self) -> None:
        """Now and then: see who is there, and have the missing ones replaced."""
        if time.monotonic() - self._looked > _LOOK:
            self._look()
            self._tend()

    def _look(self) -> None:
        """How many tasks can be done at once; an error where none can for long."""
        with self._reachable():
            threads = self._client.sync(self._client.scheduler.ncores, callback_timeout=_ANSWER)
        self._looked, self._room = time.monotonic(), sum(threads.values())
        if self._room:
            self._manned = self._looked
        elif self._looked - self._manned > self._patience:
            raise BreathcastError(
                f"{self._address} has had no worker for {self._patience:.0f} s",
                cure=f"start some on any machine: dask worker ADDRESS --nthreads 1; {_KEPT}",
            )

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        """Whatever Dask raises in here because its scheduler is gone is said in our words."""
        from distributed.client import ClosedClientError

        try:
            yield
        except (OSError, TimeoutError, CancelledError, ClosedClientError) as error:
            raise BreathcastError(
                f"the Dask scheduler at {self._address} is gone, or has dropped the tasks",
                cure=f"start it and its workers again; {_KEPT}",
            ) from error
