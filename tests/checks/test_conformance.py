"""Every method × every check; and methods that break a promise are found out."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import pytest

from breathcast import METHODS, Method, Persistence, Stream
from breathcast.checks import CHECKS, check_method
from breathcast.checks.conformance import breathing
from breathcast.forecasters.persistence import RepeatLearner

SMALL = {"hidden": 4, "history": 0.6, "training": 3.0}


def small(name: str) -> Method:
    """The method with little to compute, so that the suite also runs with compilation off."""
    method = METHODS[name]()
    return method.replace(**{key: value for key, value in SMALL.items() if key in method.hyperparameters()})


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", METHODS)
def test_small(name: str, check: str) -> None:
    CHECKS[check](small(name))


@pytest.mark.parametrize("name", ["uoro", "rtrl", "snap1", "dni", "fixed"])
def test_adam(name: str) -> None:
    check_method(small(name).replace(optimizer="adam", learning_rate=0.01))


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_defaults(name: str) -> None:
    check_method(METHODS[name]())


def immediate(method: Method, positions: np.ndarray) -> np.ndarray:
    stream = Stream(method, rate=10.0, markers=3, horizons=[0.5], feedback="immediate")
    return stream.extend(positions).positions


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("persistence", "linear")])
def test_immediate_feedback_looks_into_the_future(name: str) -> None:
    positions = breathing(small(name))
    changed = positions.copy()
    t = len(positions) - 30
    changed[t + 1 :] += 10.0
    before, after = immediate(small(name), positions), immediate(small(name), changed)
    assert not np.array_equal(before[:, : t + 1], after[:, : t + 1])


class Peeking(RepeatLearner):
    """Counts what it was given, and lets it show in the forecast."""

    def advance(self, series, clean, origin, first, last, speak, out) -> None:
        out[:] = series[first:last] + (series[last - 1] - series[0]).sum() * 1e-9


class Growing(RepeatLearner):
    """Keeps all that it was ever given."""

    def __init__(self) -> None:
        super().__init__(0)
        self.kept: list[np.ndarray] = []

    def advance(self, series, clean, origin, first, last, speak, out) -> None:
        self.kept.append(series[first:last].copy())
        out[:] = series[first:last]


@dataclass(frozen=True)
class Bad(Persistence):
    learner_class = Peeking

    def learner(self, task):
        return self.learner_class(0) if self.learner_class is Peeking else self.learner_class()


@dataclass(frozen=True)
class Hoarder(Bad):
    learner_class = Growing


def test_a_method_that_looks_ahead_is_found_out() -> None:
    with pytest.raises(AssertionError, match="the_future_changes_nothing"):
        check_method(Bad())


def test_a_method_that_keeps_everything_is_found_out() -> None:
    with pytest.raises(AssertionError, match="grew"):
        CHECKS["memory_is_bounded"](Hoarder())


@pytest.mark.parametrize(
    ("kernel", "count", "fine"), [("linear.a", 1, True), ("linear.a", 2, False), ("dual.a", 2, True)]
)
def test_a_kernel_of_two_signatures_is_found_out(monkeypatch, kernel: str, count: int, fine: bool) -> None:
    compiled = {f"breathcast.kernels.{kernel}": count}
    monkeypatch.setattr("breathcast.checks.conformance.compiled_signatures", lambda: compiled)
    with nullcontext() if fine else pytest.raises(AssertionError, match="more than one signature"):
        CHECKS["kernels_compile_once"](small("persistence"))
