"""Evaluation: alignment, the two feedback modes, diverged runs, selection and comparison."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

import breathcast as bc
from breathcast.evaluation.selection import grid, select
from breathcast.forecasters.persistence import RepeatLearner


def ramp(seconds: float = 20.0, rate: float = 10.0) -> bc.Recording:
    """One marker that moves 1 mm a sample along one axis."""
    positions = np.zeros((round(seconds * rate), 1, 3))
    positions[:, 0, 2] = np.arange(len(positions))
    return bc.Recording(positions, rate, name="ramp")


def breathing(seconds: float = 40.0, seed: int = 0) -> bc.Recording:
    t = np.arange(round(seconds * 10)) / 10
    noise = 0.1 * np.random.default_rng(seed).standard_normal((len(t), 2, 3))
    return bc.Recording(5 * np.sin(1.7 * t)[:, None, None] * np.arange(1, 7).reshape(2, 3) + noise, 10.0, name="sim")


class PerfectLearner(RepeatLearner):
    """Knows the truth beyond the ramp: what it has seen, continued."""

    def __init__(self, steps: int) -> None:
        super().__init__(0)
        self.steps = steps

    def advance(self, series, clean, origin, first, last, speak, out) -> None:
        out[:] = series[first:last]
        out[..., 2] += self.steps


@dataclass(frozen=True)
class Perfect(bc.Persistence):
    def learner(self, task):
        return PerfectLearner(task.horizon)


class ExplodingLearner(RepeatLearner):
    def advance(self, series, clean, origin, first, last, speak, out) -> None:
        out[:] = series[first:last]
        out[0, 120 - first :] = np.inf if first < 120 < last else out[0, 120 - first :]


@dataclass(frozen=True)
class Exploding(bc.Persistence):
    """The first run of each call diverges."""

    random = True

    def learner(self, task):
        return ExplodingLearner(0)


@pytest.mark.parametrize("feedback", ["delayed", "immediate"])
@pytest.mark.parametrize("steps", [1, 3, 17])
def test_on_a_ramp_no_prediction_is_off_by_exactly_the_horizon(steps: int, feedback: str) -> None:
    result = bc.evaluate(bc.Persistence(), ramp(), horizon=steps / 10, feedback=feedback, test_start=5.0)
    assert result.scores["rmse"].mean == result.scores["mae"].mean == result.scores["max_error"].mean == steps
    perfect = bc.evaluate(Perfect(), ramp(), horizon=steps / 10, feedback=feedback, test_start=5.0)
    assert perfect.scores["rmse"].mean == perfect.scores["max_error"].mean == 0.0
    early = bc.evaluate(bc.RepeatTarget(), ramp(), horizon=steps / 10, feedback="immediate", test_start=5.0)
    assert early.scores["rmse"].mean == 1.0  # y(t + h - 1), whatever the horizon


def test_predictions_stand_beside_their_truth() -> None:
    recording = breathing()
    result = bc.evaluate(bc.Persistence(), recording, horizon=0.5, test_start=10.0)
    np.testing.assert_array_equal(result.truth, recording.positions[5:])
    np.testing.assert_array_equal(result.predictions[0], recording.positions[:-5])
    np.testing.assert_array_equal(result.times, recording.times[5:])
    assert result.test.sum() == len(recording) - 100
    np.testing.assert_allclose(result.loss, 0.5 * ((result.predictions[0] - result.truth) ** 2).sum(axis=(1, 2)))


def test_the_stream_gives_what_evaluation_scores() -> None:
    recording = breathing()
    method = bc.UORO(hidden=5, history=0.5, training=10.0)
    result = bc.evaluate(method, recording, horizon=0.5, runs=3, seed=4, test_start=20.0)
    stream = method.start(rate=10, markers=2, horizons=[0.5], seed=4)
    live = np.array([stream.update(sample)[0].position for sample in recording.positions])
    np.testing.assert_array_equal(live[:-5], result.predictions[0])
    assert result.predictions.shape == (3, len(recording) - 5, 2, 3)
    assert not np.array_equal(result.predictions[0], result.predictions[1])


def test_the_number_of_workers_does_not_change_a_bit() -> None:
    method, recording = bc.UORO(hidden=5, history=0.5, training=10.0), breathing()
    one, many = (
        bc.evaluate(method, recording, horizon=0.5, runs=11, test_start=20.0, workers=workers) for workers in (1, 3)
    )
    np.testing.assert_array_equal(one.predictions, many.predictions)
    assert one.scores == many.scores


def test_immediate_feedback_says_so() -> None:
    recording = breathing()
    honest = bc.evaluate(bc.LMS(training=10.0), recording, horizon=0.5, test_start=20.0)
    early = bc.evaluate(bc.LMS(training=10.0), recording, horizon=0.5, feedback="immediate", test_start=20.0)
    assert honest.warning is None
    assert early.warning == early.to_dict()["warning"] == "uses targets before they can be measured"


def test_a_diverged_run_is_counted_and_left_out() -> None:
    result = bc.evaluate(Exploding(), breathing(), horizon=0.5, runs=4, test_start=5.0, workers=1)
    assert result.diverged.tolist() == [True, False, False, False]
    assert result.scores["rmse"].diverged == 1
    assert result.scores["rmse"].runs == 3
    assert np.isfinite(result.predictions).all()
    assert np.isfinite(result.loss).all()


def test_missing_truth_is_not_scored_and_missing_input_is_marked() -> None:
    recording = breathing()
    positions = recording.positions.copy()
    positions[300:303] = np.nan
    holed = bc.Recording(positions, 10.0)
    result = bc.evaluate(bc.LMS(history=0.4, training=10.0), holed, horizon=0.5, test_start=20.0)
    assert np.isfinite(result.predictions).all()
    assert result.imputed[302]
    assert not result.imputed[299]
    assert all(np.isfinite(score.mean) for score in result.scores.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 0.5, "test_start": 60.0}, "lasts 40.0 s"),
        ({"horizon": 0.01}, "shorter than half a sample"),
        ({"horizon": -1.0}, "horizon is -1.0"),
        ({"horizon": 3.0, "test_start": 1.0}, "before a forecast for it can be issued"),
        ({"horizon": 0.5, "runs": 0}, "runs is 0"),
        ({"horizon": 0.5, "feedback": "later", "test_start": 5.0}, "no feedback 'later'"),
    ],
)
def test_errors_say_what_to_do(options: dict, message: str) -> None:
    with pytest.raises(bc.BreathcastError, match=message) as caught:
        bc.evaluate(bc.Persistence(), breathing(), **options)
    assert "What to do" in str(caught.value)


def test_the_grid_has_every_combination_once() -> None:
    points = list(grid(bc.UORO()))
    assert len(points) == len(set(points)) == 150
    assert len(list(grid(bc.RTRL()))) == 192
    assert len(list(grid(bc.LMS()))) == 35
    assert len(list(grid(bc.LinearRegression()))) == 9


def test_selection_takes_the_lowest_error_and_never_looks_past_its_end() -> None:
    recording = breathing()
    candidates = [bc.LMS(history=0.5, training=5.0, learning_rate=rate) for rate in (1e-6, 0.01, 1e-5)]
    chosen = select(candidates, recording, horizon=0.5, start=10.0, end=20.0)
    assert chosen.learning_rate == 0.01
    changed = recording.positions.copy()
    changed[200:] = 1e6
    assert select(candidates, bc.Recording(changed, 10.0), horizon=0.5, start=10.0, end=20.0) == chosen
    same = [bc.LMS(history=0.5, training=5.0, clip=clip) for clip in (1e8, 1e9)]
    assert select(same, recording, horizon=0.5, start=10.0, end=20.0) == same[0]


def test_comparison_has_every_case_and_is_json() -> None:
    methods = [bc.Persistence(), bc.UORO(hidden=4, history=0.5, training=10.0)]
    recordings = [breathing(seed=seed) for seed in (0, 1)]
    recordings[1].name = "other"
    seen: list[tuple[int, int, str]] = []
    result = bc.compare(
        methods,
        recordings,
        horizons=[0.2, 0.5],
        runs=2,
        test_start=20.0,
        progress=lambda done, total, what: seen.append((done, total, what)),
    )
    assert [(c.method.name, c.recording, c.horizon) for c in result.cases] == [
        (m.name, r.name, h) for m in methods for r in recordings for h in (0.2, 0.5)
    ]
    assert [done for done, _, _ in seen] == list(range(1, 9))
    alone = bc.evaluate(methods[1], recordings[1], horizon=0.5, runs=2, test_start=20.0)
    assert result.cases[-1].scores == alone.scores
    mean = result.average(methods[1], score="rmse", horizon=0.5).mean
    assert mean == pytest.approx(np.mean([c.scores["rmse"].mean for c in result.cases[5::2]]))
    json.dumps(result.to_dict(), allow_nan=False)
    assert {trace.recording for trace in result.traces} == {"sim", "other"}
    assert set(result.traces[0].forecasts) == {"persistence", "uoro"}


def test_methods_and_recordings_of_one_name_are_told_apart() -> None:
    methods = [bc.LMS(history=0.5, training=10.0), bc.LMS(history=1.0, training=10.0), bc.Persistence()]
    result = bc.compare([*methods, methods[0]], [breathing(seed=0), breathing(seed=1)], horizons=[0.5], test_start=20.0)
    assert [recording.name for recording in result.recordings] == ["sim", "sim (2)"]
    assert list(result.traces[1].forecasts) == ["lms(history=0.5)", "lms(history=1.0)", "persistence"]
    assert [entry["label"] for entry in result.to_dict()["methods"]] == list(result.traces[0].forecasts)
    assert len(result.cases) == 6
