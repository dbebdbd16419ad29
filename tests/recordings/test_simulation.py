"""Simulated breathing does what each pattern says, is the same for the same seed, and is as hard as the real thing."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from breathcast.errors import BreathcastError
from breathcast.recordings.patterns import Stroke, Trace
from breathcast.recordings.simulation import PATTERNS, cohort, simulate

SI, LR, AP = 0, 1, 2
QUIET = ("regular", "shift", "drift")  # one seed gives these the same breaths


def centred(pattern: str, seed: int, **options: float) -> NDArray[np.float64]:
    positions = simulate(pattern, seed=seed, noise=0.0, **options).positions  # type: ignore[arg-type]
    return positions - positions.mean(axis=0)


def no_prediction(positions: NDArray[np.float64], steps: int) -> float:
    """RMSE (mm) of repeating the last position, over time and markers."""
    return float(np.sqrt((np.subtract(positions[steps:], positions[:-steps]) ** 2).sum(axis=2).mean()))


def band_power(trace: NDArray[np.float64], rate: float, low: float, high: float) -> float:
    power = np.abs(np.fft.rfft(trace * np.hanning(len(trace)))) ** 2
    frequencies = np.fft.rfftfreq(len(trace), 1.0 / rate)
    return float(power[(frequencies >= low) & (frequencies < high)].sum() / power[1:].sum())


def longest_rest(trace: NDArray[np.float64], rate: float, band: float) -> float:
    """The longest time (s) that a trace stays within `band` mm of where it is at the start of that time."""
    best = start = 0
    for i in range(len(trace)):
        while np.ptp(trace[start : i + 1]) > band:
            start += 1
        best = max(best, i + 1 - start)
    return best / rate


@pytest.mark.parametrize("pattern", PATTERNS)
def test_says_what_it_is(pattern: str) -> None:
    recording = simulate(pattern, duration=20.0, rate=10.0, seed=4)
    assert recording.positions.shape == (200, 3, 3)
    assert recording.labels == (pattern,)
    assert recording.name == f"sim-{pattern}-4"
    assert recording.markers == ("lower abdomen", "upper abdomen", "chest")
    assert any("simulated" in note and "seed 4" in note for note in recording.notes)
    assert not recording.missing.any()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_same_seed_same_breathing_and_another_seed_another(pattern: str) -> None:
    first, again, other = (simulate(pattern, seed=seed, dropout=0.05).positions for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert np.nanmean(np.abs(first - other)) > 0.5


@pytest.mark.parametrize("pattern", PATTERNS)
def test_breathing_does_not_depend_on_rate_or_duration(pattern: str) -> None:
    slow = simulate(pattern, rate=10.0, duration=90.0, seed=3, noise=0.0).positions
    fast = simulate(pattern, rate=30.0, duration=90.0, seed=3, noise=0.0).positions
    longer = simulate(pattern, rate=10.0, duration=150.0, seed=3, noise=0.0).positions
    np.testing.assert_allclose(fast[::3], slow, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(longer[:900], slow, rtol=0.0, atol=1e-9)


def test_noise_is_added_to_the_same_breathing() -> None:
    clean = simulate("talking", seed=5, noise=0.0).positions
    errors = simulate("talking", seed=5, noise=0.3).positions - clean
    assert np.std(errors) == pytest.approx(0.3, rel=0.03)
    assert abs(np.mean(errors)) < 0.02
    assert abs(np.corrcoef(errors[1:, 0, 0], errors[:-1, 0, 0])[0, 1]) < 0.1


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("seed", range(4))
def test_motion_is_continuous_and_plausible(pattern: str, seed: int) -> None:
    rate = 200.0
    positions = simulate(pattern, rate=rate, duration=60.0, seed=seed, noise=0.0).positions
    assert np.isfinite(positions).all()
    speeds = np.linalg.norm(np.diff(positions, axis=0), axis=2) * rate
    assert speeds.max() < 300.0  # a jump of 1.5 mm between two samples would fail
    ranges = np.ptp(positions, axis=0).max(axis=0)
    assert 2.0 < ranges[SI] < 60.0
    assert 0.5 < ranges[LR] < 12.0
    assert 6.0 < ranges[AP] < 80.0


@given(
    seed=st.integers(0, 2**40),
    markers=st.integers(1, 8),
    rate=st.floats(0.5, 120.0),
    duration=st.floats(0.01, 40.0),
    pattern=st.sampled_from(list(PATTERNS)),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_any_request_is_met(seed: int, markers: int, rate: float, duration: float, pattern: str) -> None:
    recording = simulate(pattern, seed=seed, markers=markers, rate=rate, duration=duration)
    assert recording.positions.shape == (max(1, round(duration * rate)), markers, 3)
    assert np.isfinite(recording.positions).all()
    assert np.abs(recording.positions).max() < 400.0


@pytest.mark.parametrize("seed", range(5))
def test_markers_move_together_as_on_a_chest(seed: int) -> None:
    positions = centred("regular", seed)
    variances = np.linalg.svd(positions.reshape(len(positions), -1), compute_uv=False) ** 2
    assert variances[0] / variances.sum() > 0.85  # the real calm ones: 0.92 to 0.98
    assert variances[1] / variances.sum() > 0.003  # and yet not one line: 0.01 to 0.05
    ranges = np.ptp(positions, axis=0)
    assert ranges[0].argmax() == AP
    assert (ranges[:, LR] < ranges.max(axis=1)).all()
    abdomen = np.corrcoef(positions[:, 0].T)
    assert abdomen[SI, AP] < -0.5  # the lower abdomen rises and moves towards the feet
    assert np.corrcoef(positions[:, 1].T)[SI, AP] > 0.5  # the upper abdomen rises and moves towards the head


def test_rib_cage_follows_the_abdomen() -> None:
    lags = []
    for seed in range(8):
        positions = centred("regular", seed, rate=50.0)
        abdomen, chest = positions[:, 0, AP], positions[:, 2, AP]
        shifts = range(-50, 51)
        match = [np.dot(abdomen[50:-50], chest[50 + k : len(chest) - 50 + k]) for k in shifts]
        lags.append(shifts[int(np.argmax(match))] / 50.0)
    assert 0.1 < np.mean(lags) < 0.8
    assert len(set(lags)) > 3


def test_paths_are_loops() -> None:
    """Hysteresis: breathing in, a marker takes another way than breathing out, so that its path encloses an area."""
    shares = []
    for seed in range(10):
        x, y = centred("regular", seed, rate=50.0)[:, 0, [SI, AP]].T
        area = 0.5 * abs(np.sum(x[:-1] * np.diff(y) - y[:-1] * np.diff(x)))
        shares.append(area / (np.ptp(x) * np.ptp(y)) / 20.0)  # of the box around the path, in each of some 20 breaths
    assert np.mean(shares) > 0.02


def test_no_prediction_is_as_hard_as_on_the_real_recordings() -> None:
    """The five calm real recordings have a mean RMSE of 0.51, 2.30, 4.20 and 6.52 mm."""
    errors = [[no_prediction(simulate(seed=seed).positions, k) for k in (1, 5, 10, 20)] for seed in range(24)]
    np.testing.assert_allclose(np.mean(errors, axis=0), [0.51, 2.30, 4.20, 6.52], rtol=0.15)


def test_shift_moves_the_same_breaths_to_another_place() -> None:
    moved = simulate("shift", seed=1, noise=0.0).positions - simulate("regular", seed=1, noise=0.0).positions
    speeds = np.linalg.norm(np.diff(moved, axis=0), axis=2).max(axis=1) * 10.0
    assert np.mean(speeds > 1e-6) < 0.1  # nearly always it lies still
    assert np.linalg.norm(np.ptp(moved, axis=0), axis=1).min() > 1.0
    assert np.linalg.norm(np.ptp(moved, axis=0), axis=1).max() < 12.0


def test_drift_settles_the_same_breaths_one_way() -> None:
    moved = simulate("drift", seed=1, noise=0.0).positions - simulate("regular", seed=1, noise=0.0).positions
    distance = np.linalg.norm(moved - moved[0], axis=2)
    assert (np.diff(distance, axis=0) > 0).all()
    per_minute = distance[600].mean()
    assert 1.0 < per_minute < 5.0
    assert (distance[1199] - distance[599] < distance[600]).all()  # it slows down


@pytest.mark.parametrize("seed", range(4))
def test_apnoea_holds_the_breath(seed: int) -> None:
    held = longest_rest(centred("apnoea", seed)[:, 0, AP], 10.0, band=2.5)
    assert 7.5 < held < 25.0
    assert longest_rest(centred("regular", seed)[:, 0, AP], 10.0, band=2.5) < 7.0


@pytest.mark.parametrize("seed", range(4))
def test_laughter_shakes_at_three_to_six_hertz(seed: int) -> None:
    laugh, calm = (centred(pattern, seed, rate=30.0)[:, 0, AP] for pattern in ("laughing", "regular"))
    assert band_power(laugh, 30.0, 2.5, 7.0) > 5.0 * band_power(calm, 30.0, 2.5, 7.0)


@pytest.mark.parametrize("seed", range(4))
def test_coughs_are_fast_and_rare(seed: int) -> None:
    cough, calm = (np.abs(np.diff(centred(pattern, seed)[:, 0, AP])) for pattern in ("coughing", "regular"))
    assert cough.max() > 2.0 * calm.max()
    assert np.mean(cough > calm.max()) < 0.1


@pytest.mark.parametrize("seed", range(4))
def test_speech_takes_air_quickly_and_gives_it_slowly(seed: int) -> None:
    speeds = np.diff(centred("talking", seed)[:, 1, AP])
    assert np.percentile(speeds, 98) > 1.3 * -np.percentile(speeds, 2)


@pytest.mark.parametrize("seed", range(4))
def test_deep_breaths_are_deep_and_slow(seed: int) -> None:
    deep, calm = centred("deep", seed), centred("regular", seed)
    assert np.ptp(deep[:, 2, SI]) > 3.0 * np.ptp(calm[:, 2, SI])
    assert band_power(deep[:, 2, AP], 10.0, 0.03, 0.1) > 0.7


def test_irregular_breaths_differ_more_than_regular_ones() -> None:
    def depth_cv(pattern: str, seed: int) -> float:
        trace = centred(pattern, seed, duration=300.0)[:, 0, AP]
        depths = [np.ptp(part) for part in np.split(trace, 20)]  # 15 s hold two breaths or more
        return float(np.std(depths) / np.mean(depths))

    pairs = np.array([[depth_cv(pattern, seed) for pattern in ("irregular", "regular")] for seed in range(6)])
    assert (pairs[:, 0] > pairs[:, 1]).all()
    assert pairs[:, 1].mean() < 0.2


def test_dropouts_have_the_share_asked_for_and_come_per_marker() -> None:
    recording = simulate(duration=1800.0, seed=6, dropout=0.1)
    missing = recording.missing
    np.testing.assert_allclose(missing.mean(axis=0), 0.1, atol=0.025)
    assert np.isnan(recording.positions[missing]).all()  # a lost marker loses all coordinates
    assert abs(np.corrcoef(missing[:, 0], missing[:, 1])[0, 1]) < 0.1
    edges = np.flatnonzero(np.diff(missing[:, 0].astype(int)))
    lengths = np.diff(edges)[0 if missing[edges[0] + 1, 0] else 1 :: 2]
    assert lengths.min() >= 2  # 0.2 s
    assert lengths.mean() == pytest.approx(6.0, rel=0.2)
    present = ~missing
    np.testing.assert_array_equal(recording.positions[present], simulate(duration=1800.0, seed=6).positions[present])


def test_dropouts_do_not_depend_on_rate_or_duration() -> None:
    for seed in range(20):
        slow = simulate(rate=10.0, duration=30.0, seed=seed, dropout=0.3).missing
        fast = simulate(rate=30.0, duration=40.0, seed=seed, dropout=0.3).missing
        np.testing.assert_array_equal(fast[:900:3], slow)


def test_cohort_is_named_labelled_and_quick() -> None:
    started = time.perf_counter()
    people = cohort(duration=120.0, seed=1)
    assert time.perf_counter() - started < 1.0
    assert len(people) == 10
    assert {person.labels[0] for person in people} == set(PATTERNS)
    assert [person.name for person in people[:3]] == ["sim-01-regular", "sim-02-regular", "sim-03-irregular"]
    assert len({person.name for person in people}) == 10
    assert sum(person.missing.any() for person in people) == 1
    starts = np.array([np.nanstd(person.positions[:, 0], axis=0) for person in people])
    assert len(np.unique(starts.round(6), axis=0)) == 10  # ten different people


def test_cohort_follows_seed_and_rate() -> None:
    first, again, other = cohort(duration=20.0, seed=1), cohort(duration=20.0, seed=1), cohort(duration=20.0, seed=2)
    assert all(np.array_equal(a.positions, b.positions, equal_nan=True) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0].positions, other[0].positions)
    assert {len(person) for person in cohort(duration=20.0, rate=25.0)} == {500}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pattern": "snoring"}, "regular, irregular"),
        ({"duration": 0.0}, "duration"),
        ({"duration": np.nan}, "duration"),
        ({"rate": -1.0}, "rate"),
        ({"rate": np.inf}, "rate"),
        ({"duration": 1e8, "rate": 1e3}, "samples"),
        ({"markers": 0}, "markers"),
        ({"seed": -1}, "seed"),
        ({"noise": -0.1}, "noise"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_impossible_requests_are_refused_with_a_cure(options: dict[str, object], words: str) -> None:
    with pytest.raises(BreathcastError, match=words) as refused:
        simulate(**options)  # type: ignore[arg-type]
    assert refused.value.cure


def test_trace_goes_from_level_to_level_and_rests_low() -> None:
    trace = Trace([Stroke(2.0, 1.0, 3.0, 1.0), Stroke(3.0, 0.5, -1.0, 2.5), Stroke(1.0, 0.5, -1.0)], -1.0, 5.0)
    np.testing.assert_allclose(
        trace.at(np.array([-2.0, -1.0, 1.0, 4.0, 5.0, 9.0]))[:, 0], [0.0, 0.0, 1.0, 0.5, 0.5, 0.5]
    )
    np.testing.assert_allclose(trace.at(np.array([-1.0, 1.0, 4.0]))[:, 1], [0.0, 3.0, -1.0])
    assert trace.at(np.array([0.0]))[0, 0] == pytest.approx(0.5)  # half-way, n = 1
    middle = trace.at(np.array([2.5]))[0, 0]
    assert middle == pytest.approx(0.5 + 0.5 * np.cos(np.pi / 4) ** 5)
