"""What a worker of a cluster does with a job: refuse what another version sent, get ready once, and do the task."""

from __future__ import annotations

import os
import pickle
import platform
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from breathcast.errors import BreathcastError
from breathcast.version import __version__

if TYPE_CHECKING:
    from breathcast.forecasters.method import Form, Method
    from breathcast.recordings.recording import Recording
    from breathcast.studies.tasks import Task
    from breathcast.studies.work import Outcome

    Work = Callable[[Task, Recording], Outcome]

_ready: set[tuple[type[Method], Form]] = set()  # what this process has compiled or loaded
_settled: list[Path] = []  # where it keeps compiled kernels; empty until it has settled
_lock = threading.Lock()


def carry(content: bytes) -> bytes:
    """A recording as a task of Dask: should the workers that hold it die, Dask can make it again."""
    return content


def job(version: str, packed: bytes, content: bytes) -> bytes:
    """Do one task. All is packed, so that the scheduler in between neither unpacks nor packs it again."""
    if version != __version__:
        raise BreathcastError(
            f"the worker on {platform.node()} has breathcast {__version__}, but {version} sent the task",
            cure="install the same version on every machine and start the workers again; what is done is kept",
        )
    work: Work
    task: Task
    work, task = pickle.loads(packed)
    _get_ready(task)
    return pickle.dumps(work(task, pickle.loads(content)), protocol=5)


def _get_ready(task: Task) -> None:
    """Before the first task of a kind in a process: one thread for matrices, and kernels that no other compiles."""
    with _lock:
        if not _settled:
            _settled.append(_settle())
        for method in task.methods:
            if (type(method), task.form) not in _ready:
                with _alone(_settled[0]):
                    method.warm_up(task.form)
                _ready.add((type(method), task.form))


def _settle() -> Path:
    """One thread for matrix products, as on the cores of one machine, and a folder for compiled kernels.

    Home folders are often shared by machines of different kinds, and processes that write one cache at the same time
    spoil it: each machine has a folder of its own, and in it one process compiles at a time.
    """
    import numba
    from threadpoolctl import threadpool_limits

    # The order of sums, and so the last bit, can depend on the number of threads. Libraries that are there already are
    # told, those still to be loaded read the environment.
    threadpool_limits(limits=1)
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        folder = Path(given)
    else:
        folder = _own_folder()
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
        numba.core.config.reload_config()  # type: ignore[no-untyped-call]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _own_folder() -> Path:
    """A folder of this user and machine that lasts, or one of this process where that cannot be."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        folder = Path(home).expanduser() / "breathcast" / (platform.node() or "machine")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        return Path(tempfile.mkdtemp(prefix="breathcast-"))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """In here no other process of this machine compiles; a lock goes with the process that holds it."""
    try:
        import fcntl
    except ImportError:  # Windows, where a cluster shares no home folder
        yield
        return
    with (folder / "compiling.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
