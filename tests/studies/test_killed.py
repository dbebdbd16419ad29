"""A study killed at any moment goes on, and ends with the same bytes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import breathcast as bc
from breathcast.studies.run import results
from breathcast.studies.store import Store
from tests.studies.small import SMALL, recordings, tables

MOMENTS = 20
STUDY = SMALL.replace("grid.hidden = [3, 6]", "grid.hidden = [3, 4, 5, 6, 7, 8]").replace(
    "horizons = [0.2, 0.5]", "horizons = { first = 0.1, last = 1.0, step = 0.1 }"
)


def begin(place: Path, folder: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "breathcast", "study", "run", "small.toml", "-o", folder, "--workers", "2"]
    return subprocess.Popen(
        command, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )


def written(folder: Path) -> int:
    return sum(1 for kind in ("selection", "test") for _ in (folder / kind).rglob("*.parquet"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings, the study, and what it gives when nobody disturbs it."""
    place = tmp_path_factory.mktemp("killed")
    (place / "recordings").mkdir()
    for recording in recordings():
        bc.write(recording, place / "recordings" / f"{recording.name}.csv")
    (place / "small.toml").write_text(STUDY)
    process = begin(place, "whole")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()
    return place


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_bytes(place: Path) -> None:
    chance, folder = random.Random(4), place / "killed"
    total = written(place / "whole")
    kills = 0
    while kills < MOMENTS:
        before = written(folder)
        process = begin(place, "killed")
        # Some kills before the first task of this start is done, the others after one to a few more are.
        more = chance.choice([0, 1, 1, 2, 3])
        deadline = time.monotonic() + 120
        while written(folder) < min(before + more, total - 1) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(chance.random() * (2.0 if more == 0 else 0.05))
        ended = process.poll()
        os.killpg(process.pid, signal.SIGKILL)  # the workers too: the machine went down
        process.communicate(timeout=60)
        assert ended in (None, 0)
        kills += 1
        if ended == 0:
            break
    assert kills >= MOMENTS / 2, "the study ended before it was killed often enough"
    assert results(Store(folder)).missing["test"] >= 0  # readable at any moment
    process = begin(place, "killed")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()
    assert written(folder) == total
    assert tables(Store(folder)) == tables(Store(place / "whole"))
    assert not list(folder.rglob("*.tmp"))


def test_when_only_the_parent_is_killed_its_workers_end_too(place: Path) -> None:
    process = begin(place, "orphans")
    deadline = time.monotonic() + 120
    while not written(place / "orphans"):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    process.kill()
    process.communicate(timeout=60)  # ends only when the last process that holds its standard error has ended
    assert results(Store(place / "orphans")).missing["test"] > 0


def test_ctrl_c_finishes_what_is_being_written_and_says_how_to_go_on(place: Path) -> None:
    process = begin(place, "stopped")
    deadline = time.monotonic() + 120
    while not written(place / "stopped"):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "to go on:" in said.decode() and "study run small.toml -o stopped" in said.decode()
    assert "Traceback" not in said.decode()
    assert not list((place / "stopped").rglob("*.tmp"))
