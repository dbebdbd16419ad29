"""Studies on Dask: a real scheduler and real workers, some of which are killed; a fake SLURM that starts real jobs."""

from __future__ import annotations

import dataclasses
import gc
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import breathcast as bc
from breathcast.studies import cluster
from breathcast.studies.executors import Cores, Executor, Job
from breathcast.studies.run import Progress, run
from breathcast.studies.spec import Spec, from_mapping
from breathcast.studies.store import Store
from breathcast.studies.tasks import Source, Task, selection_tasks, test_tasks

distributed = pytest.importorskip("distributed", reason="distributed is not installed")
dask = pytest.importorskip("dask")

from tests.studies import work_for_tests as works  # noqa: E402
from tests.studies.dask_processes import Processes, until  # noqa: E402


def _spec() -> Spec:
    common = {"validation": [20.0, 40.0]}
    uoro = {"settings": {"history": 1.0, "training": 20.0}, "grid": {"hidden": [4, 6], "learning_rate": [0.05, 0.1]}}
    lms = {"settings": {"training": 20.0}, "grid": {"learning_rate": [0.01, 0.02], "history": [1.0]}}
    return from_mapping(
        {
            "name": "small",
            "horizons": [0.2, 0.4],
            "selection_runs": 2,
            "test_runs": 3,
            "test_start": 40.0,
            "method": [{"name": "uoro", **uoro, **common}, {"name": "lms", **lms, **common}],
        }
    )


SPEC = _spec()
RECORDINGS = [bc.simulate(p, duration=60, rate=5, seed=i, name=p) for i, p in enumerate(("regular", "irregular"))]


def study(folder: Path, executor: Executor, report: Callable[[Progress], None] = lambda progress: None) -> list[str]:
    """The stored tables of both stages as text, without what differs from run to run."""
    results = run(SPEC, RECORDINGS, Store(folder), executor, report=report)
    assert results.failures == []
    selection = list(selection_tasks(SPEC, [Source.of(recording) for recording in RECORDINGS]))
    store = Store(folder)
    stages = (selection, results.test_tasks)
    assert all(store.missing(stage) == [] for stage in stages)
    return [store.scores(stage[0].stage, stage).drop("seconds", "steps").write_ndjson() for stage in stages]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the cores of this machine find."""
    return study(tmp_path_factory.mktemp("cores"), Cores(2))


@pytest.fixture(scope="module")
def cache(pytestconfig: pytest.Config) -> Path:
    """Where the workers of all tests keep compiled kernels, from session to session: only the first ones compile."""
    return pytestconfig.cache.mkdir("kernels-of-workers")


@pytest.fixture
def processes(tmp_path: Path, cache: Path) -> Iterator[Processes]:
    started = Processes(tmp_path, cache)
    try:
        yield started
    finally:
        started.end()


def jobs(count: int, title: str = "lms") -> list[Job]:
    """Tasks that differ in their seed, on one recording."""
    recording = RECORDINGS[0]
    task = next(test_tasks(SPEC.changed(method=[{"name": "lms"}]), [Source.of(recording)], {}))
    return [(dataclasses.replace(task, seed=seed, title=title), recording) for seed in range(count)]


def test_a_killed_worker_changes_no_byte(processes: Processes, tmp_path: Path, expected: list[str]) -> None:
    address, _ = processes.scheduler()
    workers = [processes.worker(address) for _ in range(2)]

    def kill(progress: Progress) -> None:
        if progress.computed == 2:
            workers[0].kill()

    executor = cluster.DaskCluster(address, work=works.unhurried)
    assert study(tmp_path / "results", executor, kill) == expected
    assert workers[0].wait(60) == -signal.SIGKILL
    assert workers[1].poll() is None


def test_a_study_goes_on_after_its_scheduler_was_killed(
    processes: Processes, tmp_path: Path, expected: list[str]
) -> None:
    address, scheduler = processes.scheduler()
    processes.worker(address)
    done = []

    def kill(progress: Progress) -> None:
        done.append(progress.computed)
        if progress.computed == 2:
            scheduler.kill()

    with pytest.raises(bc.BreathcastError, match=r"is gone(.|\n)*what is done is kept"):
        study(tmp_path / "results", cluster.DaskCluster(address, work=works.unhurried), kill)
    assert max(done) < 6  # not even the first stage was over
    address, _ = processes.scheduler()
    processes.worker(address)
    progress: list[Progress] = []
    assert study(tmp_path / "results", cluster.DaskCluster(address), progress.append) == expected
    assert progress[0].done != {"uoro": 0, "lms": 0}


def test_a_scheduler_that_is_not_there_is_said_soon(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    address, scheduler = processes.scheduler()
    scheduler.kill()
    scheduler.wait(60)  # its port is free now
    monkeypatch.setattr(cluster, "_REACH", 0.5)
    with pytest.raises(bc.BreathcastError, match=r"no Dask scheduler at tcp(.|\n)*start one"):
        list(cluster.DaskCluster(address).run(jobs(1)))


@pytest.mark.parametrize("address", ["nonsense://there", "127.0.0.1", ""])
def test_an_address_that_is_none_is_an_error(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_REACH", 0.5)
    with pytest.raises(bc.BreathcastError, match="What to do"):
        list(cluster.DaskCluster(address).run(jobs(1)))


def test_a_scheduler_without_workers_is_an_error(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    address, _ = processes.scheduler()
    monkeypatch.setattr(cluster, "_LOOK", 0.1)
    with pytest.raises(bc.BreathcastError, match=r"has had no worker(.|\n)*dask worker"):
        list(cluster.DaskCluster(address, patience=0.5).run(jobs(1)))


def test_a_task_that_kills_its_workers_ends_the_study(processes: Processes) -> None:
    address, _ = processes.scheduler(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1")
    for _ in range(2):
        processes.worker(address)
    with pytest.raises(bc.BreathcastError, match=r"2 workers died, at last on lms on regular(.|\n)*memory"):
        list(cluster.DaskCluster(address, work=works.die).run(jobs(1)))


def test_a_worker_with_another_version_is_refused(processes: Processes, tmp_path: Path) -> None:
    old = tmp_path / "old.py"
    old.write_text("import breathcast.version\nbreathcast.version.__version__ = '0.0.9'\n", encoding="utf-8")
    address, _ = processes.scheduler()
    processes.worker(address, "--preload", str(old))
    with pytest.raises(bc.BreathcastError, match=rf"has breathcast 0\.0\.9, but {bc.__version__} sent"):
        list(cluster.DaskCluster(address).run(jobs(1)))


def test_workers_have_one_thread_a_cache_of_their_own_and_the_recording_only_once(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, _ = processes.scheduler()
    processes.worker(address)
    sent = []
    submit = distributed.Client.submit
    monkeypatch.setattr(
        distributed.Client, "submit", lambda self, *a, **k: sent.append(k["key"]) or submit(self, *a, **k)
    )
    given = jobs(9)
    found = dict(cluster.DaskCluster(address, work=works.told).run(given))
    rows = {task.seed: outcome.scores.row(0, named=True) for task, outcome in found.items()}
    assert sorted(rows) == list(range(9))
    assert {row["seed"] for row in rows.values()} == set(range(9))
    assert {(row["samples"], row["threads"]) for row in rows.values()} == {(len(RECORDINGS[0]), 1)}
    assert "breathcast" in rows[0]["cache"]
    assert len([key for key in sent if key.startswith("recording-")]) == 1
    assert {key.rpartition("-")[2] for key in sent} >= {task.key for task, _ in given}


def test_closing_takes_back_what_waits_and_few_are_sent_ahead(processes: Processes, tmp_path: Path) -> None:
    address, _ = processes.scheduler()
    processes.worker(address)
    taken: list[Task] = []

    def counted() -> Iterator[Job]:
        for task, recording in jobs(10, title=str(tmp_path)):
            taken.append(task)
            yield task, recording

    results = cluster.DaskCluster(address, work=works.wait_for_file).run(counted())
    first, _ = next(results)
    assert first.seed == 0
    until((tmp_path / "begun-1").exists, "the second task begins")
    results.close()
    assert len(taken) == 2  # two ahead for one worker; the third is taken when the first has been given back
    (tmp_path / "go").touch()
    with distributed.Client(address, set_as_default=False) as client:
        until(lambda: client.run_on_scheduler(_tasks) == 0, "the scheduler forgets the tasks")
    assert len(list(tmp_path.glob("begun-*"))) == 2


def _tasks(dask_scheduler: object) -> int:
    return len(dask_scheduler.tasks)  # type: ignore[attr-defined]


@pytest.mark.parametrize("package", ["distributed", "dask_jobqueue"])
def test_a_missing_package_is_said_at_once(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(bc.BreathcastError) as caught:
        cluster.slurm(1)
    assert caught.value.cure == 'pip install "breathcast[cluster]"'


# --- SLURM ---

_SBATCH = """#!{python}
import pathlib, subprocess, sys
folder = pathlib.Path({folder!r})
number = len(list(folder.glob("*.sh"))) + 1
script = folder / f"{{number}}.sh"
script.write_text(pathlib.Path(sys.argv[-1]).read_text())
log = (folder / f"{{number}}.log").open("wb")
job = subprocess.Popen(["bash", script], start_new_session=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
(folder / f"{{number}}.pid").write_text(str(job.pid))
print("Submitted batch job", number)
"""
_SCANCEL = """#!{python}
import os, pathlib, signal, sys
folder = pathlib.Path({folder!r})
for number in sys.argv[1:]:
    (folder / f"{{number}}.cancelled").touch()
    try:
        os.killpg(int((folder / f"{{number}}.pid").read_text()), signal.SIGTERM)
    except (OSError, ValueError):
        pass
"""


class FakeSlurm:
    """Runs each job at once, as a session of its own, and remembers it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, sbatch: str = _SBATCH) -> None:
        for name, text in (("sbatch", sbatch), ("scancel", _SCANCEL)):
            program = self.folder / name
            program.write_text(text.format(python=sys.executable, folder=str(self.folder)), encoding="utf-8")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def pids(self) -> list[int]:
        return [int(file.read_text()) for file in sorted(self.folder.glob("*.pid"))]

    def cancelled(self) -> int:
        return len(list(self.folder.glob("*.cancelled")))

    def end(self) -> None:
        for pid in self.pids():
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


@pytest.fixture
def fake_slurm(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSlurm]:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    folder = tmp_path / "slurm"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    started = FakeSlurm(folder)
    started.install()
    local = str(tmp_path / "scratch")
    told = {"jobqueue.slurm.queue": "short", "jobqueue.slurm.interface": "lo", "jobqueue.slurm.local-directory": local}
    try:
        with dask.config.set(told):
            yield started
    finally:
        started.end()


def test_a_study_on_slurm_gives_the_same_bytes(fake_slurm: FakeSlurm, tmp_path: Path, expected: list[str]) -> None:
    executor = cluster.slurm(2, walltime="00:10:00")
    try:
        assert study(tmp_path / "results", executor) == expected
        scripts = [file.read_text(encoding="utf-8") for file in sorted(fake_slurm.folder.glob("*.sh"))]
        assert len(scripts) == 2  # both stages of the study ran in the same jobs
        for line in ("#SBATCH -p short", "#SBATCH -t 00:10:00", "#SBATCH --mem=2G", "#SBATCH --cpus-per-task=1"):
            assert all(line in script for script in scripts)
        assert all("--nthreads 1" in script for script in scripts)
        assert fake_slurm.cancelled() == 0
    finally:
        executor.close()
    until(lambda: fake_slurm.cancelled() == 2, "the jobs are cancelled")


def test_a_job_that_ends_is_replaced(fake_slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_LOOK", 0.2)
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "0.2s"}):
        executor = cluster.slurm(1, work=works.told)
        try:
            results = executor.run(jobs(40))
            next(results)
            os.killpg(fake_slurm.pids()[0], signal.SIGKILL)
            assert len(list(results)) == 39
            assert len(fake_slurm.pids()) == 2
        finally:
            executor.close()


def test_an_error_ends_the_jobs(fake_slurm: FakeSlurm) -> None:
    executor = cluster.slurm(1, work=works.told)
    results = executor.run(jobs(5))
    next(results)
    results.close()  # as Ctrl-C does
    until(lambda: fake_slurm.cancelled() == 1, "the job is cancelled")


def test_nothing_to_do_starts_no_job(fake_slurm: FakeSlurm) -> None:
    assert list(cluster.slurm(3).run([])) == []
    assert fake_slurm.pids() == []


def test_what_sbatch_refuses_is_said(fake_slurm: FakeSlurm) -> None:
    fake_slurm.install(sbatch="#!/bin/sh\necho 'sbatch: error: invalid partition' >&2\nexit 1\n")
    with pytest.raises(bc.BreathcastError, match=r"invalid partition(.|\n)*jobqueue\.yaml"):
        list(cluster.slurm(1).run(jobs(1)))


@pytest.mark.filterwarnings("ignore:unclosed cluster:ResourceWarning")  # Dask's own, of one that never came to be
def test_a_setting_that_dask_jobqueue_does_not_know_is_an_error(fake_slurm: FakeSlurm) -> None:
    with pytest.raises(bc.BreathcastError, match=r"walltyme(.|\n)*jobqueue\.yaml") as caught:
        list(cluster.slurm(1, walltyme="1").run(jobs(1)))
    caught.value.__traceback__ = caught.value.__cause__ = None
    del caught
    gc.collect()


def test_without_slurm_that_is_said_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(bc.BreathcastError, match=r"no sbatch"):
        cluster.slurm(1)


def test_the_fake_jobs_are_real_processes(fake_slurm: FakeSlurm, tmp_path: Path) -> None:
    """Else the tests above would prove nothing."""
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/bash\nsleep 60\n", encoding="utf-8")
    told = subprocess.run(["sbatch", script], check=True, capture_output=True, text=True, env=dict(os.environ))
    assert told.stdout == "Submitted batch job 1\n"
    os.kill(fake_slurm.pids()[0], 0)
    subprocess.run(["scancel", "1"], check=True, env=dict(os.environ))
    assert fake_slurm.cancelled() == 1
