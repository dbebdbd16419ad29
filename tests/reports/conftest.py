from __future__ import annotations

import pytest

import breathcast as bc
from breathcast.evaluation.compare import Comparison
from breathcast.forecasters.method import Feedback

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
