"""Scores, intervals and alignment, against loops and cases worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breathcast.evaluation.scores import SCORES, Score, over_cases, over_runs, score


def slow_score(predictions: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """The definitions of Pohl et al. 2022, Eqs. 6-11, with loops."""
    times, markers = truth.shape[:2]
    squares = absolute = worst = spread = steps = 0.0
    for j in range(markers):
        mean = sum(truth[k, j] for k in range(times)) / times
        for k in range(times):
            delta = math.dist(predictions[k, j], truth[k, j])
            squares += delta**2
            absolute += delta
            worst = max(worst, delta)
            spread += math.dist(truth[k, j], mean) ** 2
            if k + 1 < times:
                steps += math.dist(predictions[k + 1, j], predictions[k, j])
    return {
        "mae": absolute / (markers * times),
        "rmse": math.sqrt(squares / (markers * times)),
        "nrmse": math.sqrt(squares) / math.sqrt(spread),
        "max_error": worst,
        "jitter": steps / (markers * (times - 1)),
    }


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), times=st.integers(2, 8), markers=st.integers(1, 4), axes=st.integers(1, 3))
def test_scores_are_their_definitions(seed: int, times: int, markers: int, axes: int) -> None:
    rng = np.random.default_rng(seed)
    predictions, truth = rng.standard_normal((2, times, markers, axes))
    assert score(predictions, truth) == pytest.approx(slow_score(predictions, truth), rel=1e-12)


def test_three_dimensional_errors_are_not_divided_by_three() -> None:
    truth = np.array([[[0.0, 0, 0]], [[10.0, 0, 0]]])
    predictions = truth + np.array([1.0, 2.0, 2.0])
    found = score(predictions, truth)
    assert found["rmse"] == found["mae"] == found["max_error"] == 3.0
    assert found["nrmse"] == pytest.approx(3.0 / 5.0)
    assert found["jitter"] == 10.0


def test_what_is_missing_is_not_scored() -> None:
    rng = np.random.default_rng(0)
    predictions, truth = rng.standard_normal((2, 20, 1, 3))
    holes = truth.copy()
    holes[5, 0, 1] = holes[9, 0] = np.nan
    keep = np.delete(np.arange(20), [5, 9])
    expected = score(predictions[keep], truth[keep])
    found = score(predictions, holes)
    for name in ("mae", "rmse", "nrmse", "max_error"):
        assert found[name] == pytest.approx(expected[name], rel=1e-12)
    assert found["jitter"] == pytest.approx(score(predictions, truth)["jitter"], rel=1e-12)
    assert all(math.isnan(value) for value in score(predictions, np.full_like(truth, np.nan)).values())


def test_a_truth_that_never_moves_has_no_normalised_error() -> None:
    assert math.isnan(score(np.ones((5, 1, 3)), np.zeros((5, 1, 3)))["nrmse"])


def test_interval_over_runs_by_hand() -> None:
    found = over_runs([1.0, 2.0, 3.0, 4.0], random=True)
    assert found.mean == 2.5
    assert found.interval == pytest.approx(3.182446 * math.sqrt(5.0 / 3.0) / 2.0, rel=1e-6)  # t, 3 degrees of freedom
    assert over_runs([2.0], random=True).interval is None
    assert over_runs([2.0], random=False) == Score(2.0, 0.0, 1)
    assert math.isnan(over_runs([], random=True, diverged=3).mean)


def test_interval_over_cases_by_hand() -> None:
    found = over_cases([Score(1.0, 0.3, 5), Score(3.0, 0.4, 4, 1)])
    assert found == Score(2.0, 0.25, 4, 1)
    assert over_cases([Score(1.0, 0.3, 5), Score(3.0, None, 1)]).interval is None


def test_json_has_null_where_there_is_no_number() -> None:
    assert Score(math.nan, None, 0, 2).to_dict() == {"mean": None, "interval": None, "runs": 0, "diverged": 2}
    assert list(SCORES) == ["mae", "rmse", "nrmse", "max_error", "jitter"]
