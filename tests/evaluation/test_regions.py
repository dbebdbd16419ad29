"""Regions hold what they promise, know nothing of the future, and say how wide they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

import breathcast as bc
from breathcast.evaluation.regions import LEVELS, coverage_table
from tests.extmarker import needs_recordings, recordings


def made(seconds: float = 200.0, *, horizon: float = 0.5, wilder_from: float = math.inf) -> bc.Evaluation:
    """No prediction of white noise around a place, three times as strong from some time on."""
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((round(seconds * 10), 2, 3))
    noise[np.arange(len(noise)) >= 10 * wilder_from] *= 3.0
    recording = bc.Recording(noise, 10.0, markers=("a", "b"), name="noise")
    return bc.evaluate(bc.Persistence(), recording, horizon=horizon, workers=1)


@pytest.mark.parametrize("level", LEVELS)
def test_regions_hold_their_share(level: float) -> None:
    found = bc.regions(made(), level)
    assert found.coverage() == pytest.approx(level, abs=0.02)
    assert found.coverage(joint=True) == pytest.approx(level, abs=0.02)
    assert found.worst() <= found.coverage()
    assert found.mean_radius() < found.mean_radius(joint=True)


def test_higher_levels_are_wider() -> None:
    radii = [bc.regions(made(), level).mean_radius() for level in LEVELS]
    assert radii == sorted(radii)


def test_regions_follow_when_breathing_becomes_wilder() -> None:
    found = bc.regions(made(wilder_from=120.0))
    assert found.coverage() == pytest.approx(0.9, abs=0.02)
    before, after = found.radius[(found.test.nonzero()[0][:200])], found.radius[-200:]
    assert after.mean() > 2.5 * before.mean()


def test_what_the_correction_sums_up_to_bounds_the_misses() -> None:
    """After T known errors the misses are (1 - level) T + θ / γ: recomputed from the radii alone."""
    evaluation, level = made(60.1 + 10.0, horizon=0.3), 0.8
    found = bc.regions(evaluation, level)
    errors = np.linalg.norm(evaluation.predictions[0] - evaluation.truth, axis=2)[:, 0]
    theta, gamma = 0.0, 0.2 / 3
    for n in range(4, len(errors)):
        past = n - 3
        if np.isfinite(found.radius[past, 0]):
            theta += gamma * (float(errors[past] > found.radius[past, 0]) - 0.2)
        known = np.sort(errors[: past + 1])
        quantile = known[min(math.ceil(level * (len(known) + 1)) - 1, len(known) - 1)]
        assert found.radius[n, 0] == pytest.approx(math.exp(theta) * quantile)


@pytest.mark.parametrize("horizon", [0.2, 1.0])
def test_the_future_changes_no_region(horizon: float) -> None:
    recording = bc.simulate("coughing", duration=75.0)
    t, positions = 650, recording.positions.copy()
    positions[t + 1 :] += 50.0
    changed = bc.Recording(positions, 10.0, markers=recording.markers, name="changed")
    method = bc.LMS()
    first, second = (
        bc.regions(bc.evaluate(method, r, horizon=horizon, workers=1)) for r in (recording, changed)
    )  # row n of these belongs to the forecast that was issued at sample n
    np.testing.assert_array_equal(first.radius[: t + 1], second.radius[: t + 1])
    np.testing.assert_array_equal(first.joint[: t + 1], second.joint[: t + 1])
    assert not np.array_equal(first.radius[t + 1 :], second.radius[t + 1 :])


def test_every_learned_forecast_has_a_finite_region_and_gaps_count_for_nothing() -> None:
    recording = bc.simulate("regular", duration=75.0, dropout=0.1)
    evaluation = bc.evaluate(bc.LMS(), recording, horizon=1.0, workers=1)
    found = bc.regions(evaluation)
    assert np.isfinite(found.radius[evaluation.learned[0]]).all()
    assert np.isfinite(found.joint[evaluation.learned[0]]).all()
    assert 0.8 < found.coverage() <= 1.0
    assert not found.known.all()


def test_a_level_that_is_none_and_targets_from_the_future_are_refused() -> None:
    with pytest.raises(bc.BreathcastError, match="the level is 1"):
        bc.regions(made(), 1.0)
    early = bc.evaluate(bc.LMS(), bc.simulate(duration=70.0), horizon=0.5, feedback="immediate", workers=1)
    with pytest.raises(bc.BreathcastError, match="before they could be measured"):
        bc.regions(early)


@needs_recordings
@pytest.mark.slow
@pytest.mark.parametrize("horizon", [0.1, 0.5, 1.2, 2.0])
def test_pooled_coverage_on_the_recordings(horizon: float) -> None:
    evaluations = [bc.evaluate(bc.Analog(), recording, horizon=horizon, workers=1) for recording in recordings()]
    for row in coverage_table(evaluations):
        assert row["coverage"] == pytest.approx(row["level"], abs=0.02)
        assert row["joint_coverage"] == pytest.approx(row["level"], abs=0.02)
