"""A server that is killed at any moment: all that it acknowledged is in the journal, and it goes on from there."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from breathcast.live import again
from breathcast.live.journal import Journal
from tests.live.feeding import METHOD, RATE, positions
from tests.live.running import Lines, Process, message

KILLS = int(os.environ.get("BREATHCAST_KILLS", "8"))
RESUME_S = 2.0
ROWS = positions(300)

CONFIG = f"""
[[session]]
name = "one"
method = "{METHOD}"
markers = 2
rate = {RATE}
horizons_ms = [200, 500]
checkpoint_samples = 40
limits = {{stale_ms = 60000, deadline_ms = 20000, latch = false}}

[[session]]
name = "two"
method = "{METHOD}"
markers = 2
rate = {RATE}
"""


def row(n: int) -> Any:
    turn = n % (2 * len(ROWS) - 2)
    return ROWS[min(turn, 2 * len(ROWS) - 2 - turn)]


class Feeder(threading.Thread):
    """Sends as fast as the server takes it, and keeps what it acknowledged."""

    def __init__(self, server: Process, session: str, first: int) -> None:
        super().__init__()
        self.acknowledged: list[Any] = []
        self._lines, self._session, self._first = Lines(server), session, first

    def run(self) -> None:
        n = self._first
        try:
            while True:
                self._lines.send(message(row(n), 5 + n / RATE, self._session))
                answer = self._lines.next()
                if answer is None:
                    break
                self.acknowledged.append(answer)
                n += 1
        except (OSError, ValueError):
            pass  # killed in the middle of a line
        finally:
            self._lines.close()


@pytest.mark.slow
def test_killed_at_random_moments_under_load(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text(CONFIG)
    rng = np.random.default_rng(0)
    recorded = dict.fromkeys(("one", "two"), 0)
    for _ in range(KILLS):
        server = Process("--config", file, "--data", tmp_path / "journals")
        try:
            feeders = [Feeder(server, name, recorded[name]) for name in recorded]
            for feeder in feeders:
                feeder.start()
            while not all(feeder.acknowledged for feeder in feeders):
                assert all(feeder.is_alive() for feeder in feeders)
                time.sleep(0.005)
            time.sleep(rng.uniform(0.0, 0.6))
        finally:
            server.kill()
        for feeder, name in zip(feeders, recorded, strict=True):
            feeder.join(10)
            recorded[name] = check(tmp_path / "journals" / name, feeder.acknowledged)
    assert recorded["one"] > 40  # a checkpoint was taken, so that a resume from one was tried
    for name in recorded:
        begun = time.perf_counter()
        session = again.resume(tmp_path / "journals" / name)
        assert time.perf_counter() - begun < RESUME_S
        session.close()
        assert again.verify(tmp_path / "journals" / name).ok


def check(folder: Path, acknowledged: list[Any]) -> int:
    """Every forecast that came out is in the journal, bit for bit; the number of samples in it."""
    journal = Journal.open(folder)
    try:
        steps = {step.n: step for step in journal.steps(acknowledged[0]["sample"] - 1)}
        for output in acknowledged:
            step = steps[output["sample"]]
            assert (step.sequence, step.state, step.verdict) == (output["sequence"], output["state"], output["verdict"])
            assert output["verdict"] == "taken"
            for k, forecast in enumerate(output["forecasts"]):
                if forecast["position"] is not None:
                    assert step.forecasts is not None
                    assert step.forecasts[k].tolist() == forecast["position"]
        return journal.counts()[0]
    finally:
        journal.close()
