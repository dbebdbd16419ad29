"""Means, intervals and influence against cases worked out by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl
import pytest

from breathcast.evaluation.scores import SCORES
from breathcast.studies import statistics
from breathcast.studies.run import Results
from breathcast.studies.spec import Spec
from breathcast.studies.work import SELECTION, TEST
from tests.studies.small import small

T2 = 4.302652729911275  # 97.5 % point of Student's t, 2 degrees of freedom


def results(test: list[dict[str, Any]], selection: list[dict[str, Any]] = (), spec: Spec | None = None) -> Results:  # type: ignore[assignment]
    return Results(
        spec or small(),
        ("one", "two"),
        pl.DataFrame(list(selection), schema=SELECTION),
        [],
        pl.DataFrame(test, schema=TEST),
        [],
        {},
        [],
    )


def runs(title: str, recording: str, horizon: float, values: list[float], diverged: int = 0) -> list[dict[str, Any]]:
    base = {"title": title, "recording": recording, "horizon": horizon, "seconds": 1.0, "steps": 10}
    good = [base | {"run": i, "diverged": False} | dict.fromkeys(SCORES, v) for i, v in enumerate(values)]
    return good + [base | {"run": 9, "diverged": True} | dict.fromkeys(SCORES, math.nan)] * diverged


TEST_ROWS = [
    *runs("uoro", "one", 0.2, [1.0, 2.0, 3.0]),  # mean 2, σ 1
    *runs("uoro", "one", 0.5, [4.0, 4.0, 7.0]),  # mean 5, σ √3
    *runs("uoro", "two", 0.2, [1.0, 1.0, 1.0]),  # mean 1, σ 0
    *runs("uoro", "two", 0.5, [2.0, 4.0, 6.0], diverged=1),  # mean 4, σ 2
    *runs("lms", "one", 0.2, [3.0]),
    *runs("lms", "one", 0.5, [4.0]),
]


def row(frame: pl.DataFrame, **where: object) -> dict[str, Any]:
    found = frame.filter(*(pl.col(name) == value for name, value in where.items()))
    assert len(found) == 1
    return found.row(0, named=True)


@pytest.mark.parametrize("score", SCORES)
def test_the_mean_over_recordings_and_horizons_and_its_interval(score: str) -> None:
    """Δμ_I = √(Σ Δμ²) / (|I| |H|), with Δμ = t σ / √n of each recording and horizon."""
    found = row(statistics.averages(results(TEST_ROWS)), title="uoro", group="all", score=score)
    halves = [T2 * deviation / math.sqrt(3) for deviation in (1.0, math.sqrt(3), 0.0, 2.0)]
    assert found["mean"] == pytest.approx((2 + 5 + 1 + 4) / 4)
    assert found["interval"] == pytest.approx(math.sqrt(sum(half**2 for half in halves)) / 4)
    assert (found["cells"], found["runs"], found["diverged"]) == (4, 3, 1)


def test_groups_and_horizons() -> None:
    found = results(TEST_ROWS)
    assert row(statistics.averages(found), title="uoro", group="first", score="mae")["mean"] == pytest.approx(3.5)
    at = row(statistics.by_horizon(found), title="uoro", group="all", score="rmse", horizon=0.5)
    assert at["mean"] == pytest.approx(4.5)
    assert at["interval"] == pytest.approx(T2 / math.sqrt(3) * math.sqrt(3 + 4) / 2)


def test_a_method_without_chance_has_no_interval_and_an_unfinished_one_says_so() -> None:
    found = row(statistics.averages(results(TEST_ROWS)), title="lms", group="all", score="rmse")
    assert (found["mean"], found["interval"], found["cells"]) == (3.5, 0.0, 2)


def test_a_cell_in_which_every_run_diverged_leaves_no_mean() -> None:
    rows = [*runs("uoro", "one", 0.2, [1.0, 2.0]), *runs("uoro", "two", 0.2, [], diverged=2)]
    found = row(statistics.averages(results(rows)), title="uoro", group="all", score="rmse")
    assert math.isnan(found["mean"]) and found["diverged"] == 2


def test_one_run_has_no_known_interval() -> None:
    found = row(statistics.averages(results(runs("uoro", "one", 0.2, [1.0]))), title="uoro", group="all", score="mae")
    assert found["interval"] is None


def setting(hidden: int, rate: float, recording: str, nrmse: float, **more: Any) -> dict[str, Any]:
    method = {"method": "uoro", "hidden": hidden, "learning_rate": rate, "history": 0.5}
    base = {"title": "uoro", "recording": recording, "horizon": 0.2, "settings": json.dumps(method)}
    return base | {"runs": 3, "diverged": 0, "nrmse": nrmse, "seconds": 3.0, "steps": 1000} | more


def test_influence_is_the_lowest_that_a_value_allows_on_each_recording() -> None:
    """Units and rate: (3, .05) 1 and 3, (3, .1) 4 and 2, (6, .05) 3 and 3, (6, .1) 1 and 1, of which one diverged."""
    selection = [
        setting(3, 0.05, "one", 1.0),
        setting(3, 0.05, "two", 3.0),
        setting(3, 0.1, "one", 4.0),
        setting(3, 0.1, "two", 2.0),
        setting(6, 0.05, "one", 3.0),
        setting(6, 0.05, "two", 3.0),
        setting(6, 0.1, "one", 1.0, diverged=1),
        setting(6, 0.1, "two", 1.0),
    ]
    found = statistics.influence(results([], selection))
    best = {(r["parameter"], r["value"]): r["nrmse"] for r in found.iter_rows(named=True)}
    assert best == {
        ("hidden", 3): 1.5,  # 1 of the first and 2 of the second recording
        ("hidden", 6): 2.0,  # 3 and 1
        ("learning_rate", 0.05): 2.0,  # 1 and 3
        ("learning_rate", 0.1): 2.5,  # 4, since the other diverged, and 1
    }
    relative = statistics.relative_influence(found)
    assert row(relative, parameter="hidden")["deviation"] == pytest.approx(0.25)
    assert row(relative, parameter="learning_rate")["deviation"] == pytest.approx(0.25)
    assert row(relative, parameter="learning_rate")["highest"] == 2.5


def test_a_value_that_is_not_done_on_every_recording_is_left_out() -> None:
    found = statistics.influence(results([], [setting(3, 0.05, "one", 1.0)]))
    assert len(found) == 0


def test_cost_of_a_step() -> None:
    selection = [setting(3, 0.05, "one", 1.0), setting(3, 0.1, "two", 1.0, seconds=1.0, steps=3000)]
    found = row(statistics.step_times(results([], selection)), title="uoro")
    assert (found["hidden"], found["history"], found["microseconds"]) == (3, 0.5, 1000.0)
