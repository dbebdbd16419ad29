from __future__ import annotations

import dataclasses
import math

import pytest

from breathcast.evaluation.compare import Comparison
from breathcast.evaluation.evaluate import IMMEDIATE_WARNING
from breathcast.evaluation.scores import Score
from breathcast.reports import plain
from breathcast.reports.glossary import SCORE_WORDS
from breathcast.reports.summary import remarks, summary
from breathcast.reports.tables import Table, horizon_table, labels, recording_table, scores_table, settings_table


def column(table: Table, name: str) -> dict[str, str]:
    place = table.columns.index(name) - 1
    return {row.head: row.cells[place].text for row in table.rows}


def test_scores_are_those_of_the_comparison(comparison: Comparison) -> None:
    table = scores_table(comparison)
    assert table.columns == ("method", "MAE mm", "RMSE mm", "nRMSE", "max mm", "jitter mm", "vs none")
    assert [row.head for row in table.rows] == ["persistence", "uoro", "lms(history=0.5)", "lms(history=1.0)", "repeat"]
    uoro = comparison.average(comparison.methods[0], score="rmse")
    assert uoro.interval is not None
    assert column(table, "RMSE mm")["uoro"] == f"{uoro.mean:.2f} ±{uoro.interval:.2f}"
    none = comparison.average(comparison.methods[3], score="rmse")
    assert column(table, "RMSE mm")["persistence"] == f"{none.mean:.2f}"
    assert column(table, "vs none")["persistence"] == "reference"
    assert column(table, "vs none")["repeat"] == "0 %"
    assert column(table, "vs none")["uoro"] == f"{100 * (uoro.mean / none.mean - 1):+.0f} %".replace("-", "−")
    assert [row.reference for row in table.rows] == [True, False, False, False, False]


def test_the_best_is_marked_but_not_of_the_jitter(comparison: Comparison) -> None:
    table = scores_table(comparison)
    for place, score in enumerate(SCORE_WORDS):
        means = [comparison.average(m, score=score).mean for m in sorted(comparison.methods, key=_reference_first)]
        marked = [row.cells[place].best for row in table.rows]
        assert marked == [mean == min(means) and score != "jitter" for mean in means]


def _reference_first(method: object) -> bool:
    return getattr(method, "name", "") != "persistence"


def test_by_horizon_and_by_recording(comparison: Comparison) -> None:
    assert horizon_table(comparison).columns == ("method", "0.2 s", "0.5 s")
    repeat = comparison.methods[-1]
    mean = comparison.average(repeat, score="mae", horizon=0.5).mean
    assert column(horizon_table(comparison, "mae"), "0.5 s")["repeat"] == f"{mean:.2f}"
    table = recording_table(comparison)
    assert [row.head for row in table.rows] == [recording.name for recording in comparison.recordings]
    mean = comparison.average(repeat, score="rmse", recordings=["one"]).mean
    assert column(table, "repeat")["one"] == f"{mean:.2f}"


def test_settings_have_units(comparison: Comparison) -> None:
    table = settings_table(comparison.methods)
    assert column(table, "settings")["lms(history=1.0)"] == "history 1 s, learning_rate 0.01, clip 2, training 5 s"
    assert column(table, "random") == dict.fromkeys(labels(comparison.methods).values(), "no") | {"uoro": "yes"}


def test_immediate_feedback_is_said(immediate: Comparison, comparison: Comparison) -> None:
    for make in (scores_table, horizon_table, recording_table):
        assert make(immediate).warning == IMMEDIATE_WARNING
        assert make(comparison).warning is None
    assert any(IMMEDIATE_WARNING in line for line in summary(immediate))
    assert not any(IMMEDIATE_WARNING in line for line in summary(comparison))


def test_runs_that_diverged_are_counted(comparison: Comparison) -> None:
    def broken(score: Score) -> Score:
        return Score(score.mean, score.interval, 1, diverged=1)

    cases = tuple(
        dataclasses.replace(case, scores={key: broken(value) for key, value in case.scores.items()})
        if case.method.name == "uoro"
        else case
        for case in comparison.cases
    )
    changed = dataclasses.replace(comparison, cases=cases)
    assert column(scores_table(changed), "RMSE mm")["uoro"].endswith("†")
    assert any("† uoro: 4 runs" in line for line in remarks(changed))


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (Score(1.234, 0.056, 5), "1.23 ±0.06"),
        (Score(1.234, 0.0, 1), "1.23"),
        (Score(1.234, None, 1), "1.23"),
        (Score(1.234, 0.0561, 3, 2), "1.23 ±0.06†"),
        (Score(math.nan, None, 0, 5), "diverged"),
        (Score(math.nan, 0.0, 1), "–"),
        (Score(1.5e9, 0.0, 1), "1.5e+09"),
    ],
)
def test_mean_and_interval(score: Score, text: str) -> None:
    assert plain.mean_and_interval(score, 2) == text


def test_gain() -> None:
    assert [plain.gain(*pair) for pair in ((1, 2), (3, 2), (2, 2), (1.9999, 2), (99, 2), (1, 0), (math.nan, 1))] == [
        "−50 %",
        "+50 %",
        "0 %",
        "0 %",
        "> +999 %",
        "–",
        "–",
    ]


def test_listed() -> None:
    assert [plain.listed(values) for values in ([1.0], [1.0, 2.5], [0.1, 2.0, 3.0])] == [
        "1",
        "1 and 2.5",
        "0.1, 2 and 3",
    ]
