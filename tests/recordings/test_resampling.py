"""Resampling keeps what was measured, bridges no gap, and says what it did."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breathcast.errors import BreathcastError
from breathcast.recordings.recording import Recording
from breathcast.recordings.resampling import resample
from breathcast.recordings.simulation import simulate


def test_own_rate_changes_no_bit() -> None:
    recording = simulate("talking", seed=1, dropout=0.1, rate=49.0)
    again = resample(recording, 49.0)
    np.testing.assert_array_equal(again.positions, recording.positions)
    np.testing.assert_array_equal(again.times, recording.times)


def test_own_rate_changes_no_bit_when_the_times_are_rounded_differently() -> None:
    recording = simulate(seed=1, dropout=0.1)
    rounded = Recording(recording.positions, 10.0, times=0.1 * np.arange(len(recording)))
    assert (rounded.times != recording.times).any()
    np.testing.assert_array_equal(resample(rounded, 10.0).positions, recording.positions)


def test_a_third_of_the_rate_takes_every_third_sample() -> None:
    recording = simulate(rate=30.0, seed=2, dropout=0.05)
    np.testing.assert_array_equal(resample(recording, 10.0).positions, recording.positions[::3])


def test_three_times_the_rate_keeps_every_measurement() -> None:
    recording = simulate(rate=10.0, seed=2, dropout=0.05)
    dense = resample(recording, 30.0)
    assert len(dense) == 3 * (len(recording) - 1) + 1
    np.testing.assert_array_equal(dense.positions[::3], recording.positions)


@given(
    steps=st.lists(st.floats(0.051, 0.149), min_size=2, max_size=40),
    rate=st.floats(0.7, 97.0),
    slope=st.floats(-50.0, 50.0),
    start=st.floats(-5.0, 5.0),
)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_a_straight_motion_stays_straight_on_any_clock(
    steps: list[float], rate: float, slope: float, start: float
) -> None:
    times = start + np.concatenate([[0.0], np.cumsum(steps)])
    dense = resample(Recording(3.0 + slope * times, 10.0, times=times), rate)
    assert dense.rate == rate
    np.testing.assert_allclose(np.diff(dense.times), 1.0 / rate, rtol=1e-6)
    assert dense.times[0] == times[0]
    assert times[-1] - 1.0 / rate - 1e-5 < dense.times[-1] <= times[-1] + 1e-6
    np.testing.assert_allclose(dense.positions[:, 0, 0], 3.0 + slope * dense.times, atol=1e-4)


def test_breathing_is_followed_within_the_noise() -> None:
    fine = simulate(rate=40.0, seed=3, noise=0.0).positions
    coarse = simulate(rate=10.0, seed=3, noise=0.0)
    error = resample(coarse, 40.0).positions - fine[: 4 * (len(coarse) - 1) + 1]
    assert np.sqrt(np.mean(error**2)) < 0.02
    assert np.abs(error).max() < 0.3


def test_one_lost_sample_is_a_gap_and_not_bridged() -> None:
    values = np.arange(10.0)
    values[4] = np.nan
    dense = resample(Recording(values, 10.0), 100.0).positions[:, 0, 0]
    lost = np.isnan(dense)
    np.testing.assert_array_equal(np.flatnonzero(lost), np.arange(31, 50))  # both neighbours themselves are kept
    np.testing.assert_allclose(dense[~lost], (np.arange(91) / 10.0)[~lost])


def test_max_gap_says_what_may_be_bridged() -> None:
    values = np.arange(20.0)
    values[4], values[10:12] = np.nan, np.nan
    dense = resample(Recording(values, 10.0), 10.0, max_gap=0.2 + 1e-9)
    np.testing.assert_array_equal(np.flatnonzero(dense.missing[:, 0]), [10, 11])
    assert dense.positions[4, 0, 0] == pytest.approx(4.0)


def test_a_hole_in_the_clock_becomes_missing_samples() -> None:
    times = np.delete(np.arange(50) / 10.0, np.arange(20, 27))
    recording = Recording(np.sin(times), 10.0, times=times, markers=["a"], name="x", notes=["read"], labels=["cough"])
    whole = resample(recording, 10.0)
    np.testing.assert_array_equal(np.flatnonzero(whole.missing[:, 0]), np.arange(20, 27))
    np.testing.assert_array_equal(whole.positions[~whole.missing[:, 0]], recording.positions)
    assert (whole.name, whole.markers, whole.labels, whole.notes[0]) == ("x", ("a",), ("cough",), "read")
    assert "7 of 50 marker positions are missing" in whole.notes[1]


def test_jitter_of_the_clock_is_not_a_gap() -> None:
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.choice([6.0, 7.0], 300)) / 60.0
    assert not resample(Recording(np.sin(times), 10.0, times=times), 10.0).missing.any()


def test_a_coordinate_may_be_missing_alone() -> None:
    positions = np.random.default_rng(0).standard_normal((20, 2, 3))
    positions[5, 1, 2] = np.nan
    lost = np.isnan(resample(Recording(positions, 10.0), 20.0).positions)
    assert {(int(m), int(d)) for _, m, d in np.argwhere(lost)} == {(1, 2)}


def test_a_sample_touches_only_its_neighbourhood() -> None:
    values = np.random.default_rng(1).standard_normal(30)
    other = values.copy()
    other[12] += 1.0
    changed = resample(Recording(values, 10.0), 40.0).positions != resample(Recording(other, 10.0), 40.0).positions
    assert set(np.flatnonzero(changed[:, 0, 0])) == set(range(45, 52))  # between samples 11 and 13


@pytest.mark.parametrize("values", [[], [1.0], [np.nan], [np.nan, np.nan, np.nan]])
def test_next_to_nothing_stays_next_to_nothing(values: list[float]) -> None:
    dense = resample(Recording(np.array(values), 10.0), 10.0)
    np.testing.assert_array_equal(dense.positions[:, 0, 0], values)


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
def test_an_impossible_rate_is_refused(rate: float) -> None:
    with pytest.raises(BreathcastError, match="rate"):
        resample(simulate(duration=1.0), rate)


@pytest.mark.parametrize("gap", [0.0, -1.0, np.nan])
def test_an_impossible_gap_is_refused(gap: float) -> None:
    with pytest.raises(BreathcastError, match="gap"):
        resample(simulate(duration=1.0), 10.0, max_gap=gap)


@pytest.mark.parametrize("times", [[0.0, 0.1, 0.1], [0.0, 0.2, 0.1], [0.0, np.nan, 0.2], [np.nan, 0.1, 0.2]])
def test_a_clock_that_does_not_run_is_refused(times: list[float]) -> None:
    with pytest.raises(BreathcastError, match="clock") as refused:
        resample(Recording(np.zeros(3), 10.0, times=times), 10.0)
    assert refused.value.cure


def test_one_time_out_of_all_proportion_does_not_fill_the_memory() -> None:
    with pytest.raises(BreathcastError, match="clock"):
        resample(Recording(np.zeros(3), 10.0, times=[0.0, 0.1, 1e12]), 10.0)


@pytest.mark.parametrize("rate", [1e8, 1e300])
def test_a_rate_beyond_all_memory_is_refused(rate: float) -> None:
    with pytest.raises(BreathcastError, match="too many samples"):
        resample(simulate(duration=1.0), rate)
