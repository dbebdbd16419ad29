"""Sessions for tests, and what feeds them: quick to learn, and on a clock of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import breathcast as bc
from breathcast.live.core import Core
from breathcast.live.engine import Engine
from breathcast.live.journal import Journal
from breathcast.live.model import Output, Sample
from breathcast.live.session import Session
from breathcast.live.settings import SessionSettings

RATE = 10.0
START = 1_000_000.0  # s, when a test's clock begins
METHOD = "lms(history=1,training=3)"


def settings(name: str = "one", **changes: Any) -> SessionSettings:
    basis: dict[str, Any] = {
        "name": name,
        "method": METHOD,
        "markers": 2,
        "rate": RATE,
        "horizons_ms": (200.0, 500.0),
        "drift": {"on": False},
        "checkpoint_samples": 50,
    }
    return SessionSettings.model_validate(basis | changes)


def positions(count: int = 200, seed: int = 0, markers: int = 2) -> NDArray[np.float64]:
    return bc.simulate("regular", duration=count / RATE, rate=RATE, markers=markers, seed=seed).positions


def samples(rows: Iterable[NDArray[np.float64]], first: int = 0, source: str = "test") -> Iterator[Sample]:
    for n, row in enumerate(rows, first):
        yield Sample(np.array(row), START + n / RATE, 5.0 + n / RATE, source)


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> float:
        return self.time


class Fed:
    """A session on a test's clock: each sample arrives at its own time."""

    def __init__(self, folder: Path | None = None, **changes: Any) -> None:
        self.clock = Clock()
        chosen = settings(**changes)
        journal = None if folder is None else Journal.create(folder, chosen, START)
        counts = (0, 0, 0) if journal is None else journal.counts()
        self.session = Session(Core(chosen), journal, counts=counts, now=self.clock)

    def push(self, sample: Sample) -> Output:
        self.clock.time = max(self.clock.time, sample.time_arrival)
        return self.session.push(sample)

    def run(self, rows: Iterable[Any], first: int = 0) -> list[Output]:
        return [self.push(sample) for sample in samples(rows, first)]

    def tick(self, seconds: float) -> Output | None:
        self.clock.time += seconds
        return self.session.tick()


def engine_with(folder: Path | None, *names: str, **changes: Any) -> Engine:
    engine = Engine(folder)
    for name in names:
        engine.create(settings(name, **changes))
    return engine


def shifted(sample: Sample, seconds: float) -> Sample:
    """The same sample, measured and arriving later."""
    device = None if sample.time_device is None else sample.time_device + seconds
    return Sample(sample.positions, sample.time_arrival + seconds, device, sample.source)
