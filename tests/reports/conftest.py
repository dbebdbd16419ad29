from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import breathcast as bc
from breathcast.evaluation.compare import Comparison
from breathcast.forecasters.method import Feedback
from breathcast.studies.run import Results, results, run
from breathcast.studies.store import Store
from tests.studies.small import Here, small
from tests.studies.small import recordings as small_recordings

METHODS = (
    bc.UORO(hidden=4, history=0.5, training=5.0),
    bc.LMS(history=0.5, training=5.0),
    bc.LMS(history=1.0, training=5.0),
    bc.Persistence(),
    bc.RepeatTarget(),
)
HOSTILE = '<script>alert("1")</script>&\'</table> [bold]'


def recordings() -> list[bc.Recording]:
    kept = bc.simulate("regular", duration=20.0, markers=2, dropout=0.03, name="one")
    hostile = bc.Recording(
        kept.positions[::-1, :1], 10.0, name=HOSTILE, markers=[HOSTILE], notes=[HOSTILE], labels=[HOSTILE]
    )
    return [kept, hostile]


def made(feedback: Feedback) -> Comparison:
    return bc.compare(METHODS, recordings(), horizons=(0.2, 0.5), feedback=feedback, runs=2, test_start=10.0, workers=1)


@pytest.fixture(scope="session")
def comparison() -> Comparison:
    return made("delayed")


@pytest.fixture(scope="session")
def immediate() -> Comparison:
    return made("immediate")


Study = tuple[Results, Store]


def studied(folder: Path, **changes: Any) -> Study:
    """A small study that is finished, one of its recordings with a hostile name."""
    plain, second = small_recordings()
    hostile = bc.Recording(
        second.positions, second.rate, name=HOSTILE, markers=["a", HOSTILE], notes=[HOSTILE], labels=[HOSTILE]
    )
    store = Store(folder)
    return run(small(**changes), [plain, hostile], store, Here()), store


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return studied(tmp_path_factory.mktemp("delayed"))


@pytest.fixture(scope="session")
def immediate_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return studied(tmp_path_factory.mktemp("immediate"), feedback="immediate")


@pytest.fixture(scope="session")
def begun_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The small study before its first task is done."""
    store = Store(tmp_path_factory.mktemp("begun"))
    with pytest.raises(KeyboardInterrupt):
        run(small(), small_recordings(), store, Here(stop=0))
    return results(store), store
