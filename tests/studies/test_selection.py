"""Which setting a study chooses, against cases worked out by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

import breathcast as bc
from breathcast.errors import BreathcastError
from breathcast.studies.selection import RISK, choose, in_the_running, survivors
from breathcast.studies.work import SELECTION
from tests.studies.small import small

GRID = small().method[1].candidates()  # lms with a history of 0.5 s, then of 1 s


def rows(errors: list[float | None], diverged: list[int], order: tuple[int, ...] = (0, 1)) -> pl.DataFrame:
    found = [
        {
            "title": "lms",
            "recording": "one",
            "horizon": 0.5,
            "settings": json.dumps(GRID[place].to_dict()),
            "runs": 3,
            "diverged": diverged[place],
            "rmse": errors[place],
            "by_run": [errors[place]] * 3,
        }
        for place in order
    ]
    return pl.DataFrame(found, schema=SELECTION)


def test_the_lowest_mean_is_chosen() -> None:
    (choice,) = choose(small(), rows([2.0, 1.0], [0, 0]))
    assert (choice.method, choice.score, choice.ties, choice.passed_over) == (GRID[1], 1.0, 0, 0)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_equals_the_first_of_the_grid_is_chosen_whatever_the_order_of_the_tasks(order: tuple[int, ...]) -> None:
    (choice,) = choose(small(), rows([1.0, 1.0], [0, 0], order))
    assert (choice.method, choice.ties) == (GRID[0], 1)


def test_a_setting_of_which_a_run_diverged_is_passed_over() -> None:
    (choice,) = choose(small(), rows([2.0, 1.0], [0, 1]))
    assert (choice.method, choice.passed_over) == (GRID[0], 1)


@pytest.mark.parametrize("errors", [[math.nan, None], [1.0, 2.0]])
def test_where_none_is_left_nothing_is_chosen(errors: list[float | None]) -> None:
    assert choose(small(), rows(errors, [3, 2])) == []


def test_another_score_can_decide() -> None:
    frame = rows([2.0, 1.0], [0, 0]).with_columns(pl.Series("jitter", [0.1, 0.2]))
    (choice,) = choose(small(select="jitter"), frame)
    assert (choice.method, choice.score) == (GRID[0], 0.1)


def test_screening_by_hand() -> None:
    """Four runs, so the 5 % / 2 point of Student's t with 3 degrees of freedom, one-sided: 3.182.

    Against the leader the second setting loses by 1 in the mean with a deviation of 1: t = 2, it stays. The third loses
    by 1 with a deviation of 0.5: t = 4, it goes. The fourth diverged.
    """
    base = np.array([1.0, 2.0, 3.0, 4.0])
    spread = np.array([1.0, -1.0, 1.0, -1.0]) * math.sqrt(3) / 2  # deviation 1
    errors = np.array([base, base + 1 + spread, base + 1 + spread / 2])
    assert in_the_running(errors) == [0, 1]
    assert in_the_running(np.vstack([errors, [1.0, np.nan, 1.0, 1.0]])) == [0, 1]  # t with 5 % / 3 is 3.74
    assert in_the_running(np.full((3, 4), np.nan)) == []
    assert in_the_running(np.ones((3, 4))) == [0, 1, 2]  # equals all stay


def test_the_best_setting_is_given_up_at_most_as_often_as_said() -> None:
    rng = np.random.default_rng(0)
    trials, lost, kept = 2000, 0, 0
    for _ in range(trials):
        true = np.concatenate([[0.0], rng.uniform(0.0, 0.6, 19), rng.uniform(3.0, 5.0, 20)])
        errors = true[:, None] + rng.normal(size=(40, 1 + 7))[:, :8] * rng.uniform(0.2, 1.0, (40, 1))
        running = in_the_running(errors + rng.normal(size=8))
        lost += 0 not in running
        kept += len(running)
    assert lost / trials < RISK
    assert kept / trials < 35  # of 40, and it does give up


def test_survivors_are_methods_of_the_grid() -> None:
    errors = rows([1.0, 5.0], [0, 0]).with_columns(pl.Series("by_run", [[1.0, 1.1, 0.9], [5.0, 5.2, 4.9]]))
    assert survivors(small(), errors) == {("lms", "one", 0.5): [GRID[0]]}


def test_screening_needs_fewer_runs_than_the_selection() -> None:
    with pytest.raises(ValueError, match="screening_runs must be fewer"):
        small(screening_runs=3)
    assert not small(screening_runs=2).screens(small().method[1])  # lms has one run, there is nothing to save


def test_a_search_is_chosen_from_as_well() -> None:
    pytest.importorskip("optuna")
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from breathcast.studies.run import run
    from breathcast.studies.store import Store
    from tests.studies.small import Here, recordings

    entry = {
        "name": "lms",
        "settings": {"training": 5.0},
        "search": {"trials": 6, "ranges": {"history": {"low": 0.3, "high": 2.0}, "learning_rate": [0.01, 0.02]}},
        "validation": [10.0, 20.0],
    }
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        found = [run(small(method=[entry]), recordings(), Store(Path(p)), Here()) for p in (first, second)]
    assert found[0].selection.drop("seconds").equals(found[1].selection.drop("seconds"))  # the seed decides
    assert len(found[0].selection) == 6 * 2 * 2
    for choice in found[0].choices:
        cell = found[0].selection.filter(
            (pl.col("recording") == choice.recording) & (pl.col("horizon") == choice.horizon)
        )
        assert choice.score == cell["rmse"].min()
        assert isinstance(choice.method, bc.LMS) and 0.3 <= choice.method.history <= 2.0


def test_a_search_without_optuna_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from breathcast.studies import search

    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(BreathcastError, match="Optuna"):
        search._optuna()
