"""Inspection measures what was put in, and has an answer for anything."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from breathcast.recordings import simulation
from breathcast.recordings.inspection import Inspection, inspect
from breathcast.recordings.patterns import Trace
from breathcast.recordings.recording import Recording
from breathcast.recordings.simulation import PATTERNS, cohort, simulate


def breathing(period: float, rate: float, amplitude: float = 10.0, duration: float = 90.0) -> NDArray[np.float64]:
    """Breaths of one shape along the direction (2, 1, 2) / 3, (time, 1, 3)."""
    times = np.arange(round(duration * rate)) / rate
    trace = amplitude * np.sin(np.pi * times / period) ** 4
    return np.asarray(trace[:, None, None] * np.array([2.0, 1.0, 2.0]) / 3.0)


def plain(inspection: Inspection) -> dict[str, Any]:
    """Through JSON and back; fails on anything that JSON does not know, such as NaN."""
    return json.loads(json.dumps(inspection.to_dict(), allow_nan=False))  # type: ignore[no-any-return]


@pytest.mark.parametrize("rate", [3.33, 10.0, 30.0, 100.0])
@pytest.mark.parametrize("period", [2.0, 4.0, 6.5, 20.0])
def test_period_and_amplitude_of_even_breaths(rate: float, period: float) -> None:
    noise = 0.1 * np.random.default_rng(0).standard_normal((round(90 * rate), 1, 3))
    found = inspect(Recording(breathing(period, rate) + noise, rate))
    assert found.period is not None
    assert found.amplitude is not None
    assert found.period.median == pytest.approx(period, rel=0.02)
    assert found.amplitude.median == pytest.approx(10.0, rel=0.25 if period == 2.0 else 0.05)
    assert found.period.spread < 0.03 * period


@pytest.mark.parametrize(
    ("pattern", "error"), [("regular", 0.05), ("shift", 0.05), ("drift", 0.05), ("irregular", 0.1)]
)
@pytest.mark.parametrize("seed", range(4))
def test_period_of_simulated_breathing(pattern: str, error: float, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    traces: list[Trace] = []

    class Spy(Trace):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            traces.append(self)

    monkeypatch.setattr(simulation, "Trace", Spy)
    found = inspect(simulate(pattern, seed=seed, duration=240.0, dropout=0.02))
    breaths = np.diff(traces[0].times[1::3])  # every breath of these has three strokes, the first one an inhalation
    assert found.period is not None
    assert found.period.median == pytest.approx(np.median(breaths), rel=error)


def test_the_marker_that_moves_most_tells_the_breathing() -> None:
    positions = np.concatenate([0.2 * breathing(4.0, 10.0), breathing(4.0, 10.0, 12.0)], axis=1)
    found = inspect(Recording(positions, 10.0, markers=["still", "moving"]))
    assert found.breathing_marker == "moving"
    assert found.amplitude is not None
    assert found.amplitude.median == pytest.approx(12.0, rel=0.05)


@pytest.mark.parametrize("rate", [2.0, 5.0, 10.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_noise_is_not_breathing(rate: float, seed: int) -> None:
    found = inspect(Recording(np.random.default_rng(seed).standard_normal((900, 2, 3)), rate))
    assert found.period is None
    assert found.amplitude is None
    assert "no breathing was found" in found.remarks


def test_breaths_with_a_gap_do_not_count() -> None:
    """Every other inhalation is lost: what is left looks like breaths of twice the length, and must not count."""
    positions = breathing(4.0, 10.0)
    times = np.arange(len(positions)) / 10.0
    positions[np.abs(times % 8.0 - 2.0) < 1.0] = np.nan
    positions[times < 16.0] = breathing(4.0, 10.0)[times < 16.0]
    found = inspect(Recording(positions, 10.0))
    assert found.period is not None
    assert found.period.median == pytest.approx(4.0, rel=0.02)
    assert found.period.spread < 0.1


def test_drift_of_even_breaths() -> None:
    times = np.arange(1800) / 10.0
    positions = breathing(4.3, 10.0, duration=180.0) + times[:, None, None] / 60.0 * np.array([3.0, 0.0, -1.5])
    drift = inspect(Recording(positions, 10.0)).markers[0].drift
    np.testing.assert_allclose(np.array(drift, float), [3.0, 0.0, -1.5], atol=0.15)


def test_drift_of_simulated_breathing() -> None:
    minutes = np.arange(1200) / 600.0
    errors = []
    for seed in range(8):
        settling, calm = simulate("drift", seed=seed), simulate("regular", seed=seed)
        added = (settling.positions - calm.positions).reshape(1200, -1)
        truth = np.polyfit(minutes, added, 1)[0]
        drifts = [[m.drift for m in inspect(recording).markers] for recording in (settling, calm)]
        errors.append(np.subtract(*np.array(drifts, float)).ravel() - truth)
    assert np.abs(errors).max() < 0.6  # mm a minute; the drifts are 1.5 to 4
    assert np.sqrt(np.mean(np.square(errors))) < 0.2


def test_gaps_are_listed_exactly() -> None:
    positions = simulate(duration=30.0).positions.copy()
    positions[50:57, 1] = np.nan
    positions[120, 2, 0] = np.nan  # one coordinate is enough
    positions[290:, 0] = np.nan
    found = inspect(Recording(positions, 10.0, markers=["a", "b", "c"]))
    assert [dataclasses.astuple(gap) for gap in found.gaps] == [
        ("a", 29.0, 1.0, 10),
        ("b", 5.0, 0.7, 7),
        ("c", 12.0, 0.1, 1),
    ]
    assert [marker.missing for marker in found.markers] == [10, 7, 1]


def test_gaps_of_a_simulation_are_its_dropouts() -> None:
    recording = simulate(seed=3, dropout=0.1)
    found = inspect(recording)
    again = np.zeros_like(recording.missing)
    for gap in found.gaps:
        assert gap.marker is not None
        first = np.searchsorted(recording.times, gap.start)
        again[first : first + gap.samples, recording.markers.index(gap.marker)] = True
    np.testing.assert_array_equal(again, recording.missing)
    assert [marker.missing for marker in found.markers] == recording.missing.sum(axis=0).tolist()


def test_holes_in_the_clock_are_gaps() -> None:
    times = np.delete(np.arange(100) / 10.0, [*range(30, 35), 60])
    found = inspect(Recording(np.sin(times), 10.0, times=times))
    assert [(gap.marker, gap.samples) for gap in found.gaps] == [(None, 5), (None, 1)]
    np.testing.assert_allclose([gap.start for gap in found.gaps], [3.0, 6.0])  # type: ignore[arg-type]
    np.testing.assert_allclose([gap.length for gap in found.gaps], [0.5, 0.1])
    assert found.clock.jitter_max == pytest.approx(0.0, abs=1e-9)  # a hole is not jitter


def test_clock_of_six_and_seven_camera_frames() -> None:
    frames = np.concatenate([[0], np.cumsum(np.tile([6, 6, 7], 100))])
    found = inspect(Recording(np.sin(frames / 60.0), 10.0, times=frames / 60.0))
    assert found.clock.step == pytest.approx(0.1)
    assert found.clock.rate == pytest.approx(60 * 3 / 19)
    assert found.clock.jitter_max == pytest.approx(1000.0 / 60.0)
    assert found.clock.jitter_std == pytest.approx(1000.0 / 60.0 * np.sqrt(2.0) / 3.0)
    assert found.gaps == ()
    assert any("9.474 Hz, not at 10 Hz" in remark for remark in found.remarks)


def test_a_clock_that_runs_backwards_is_said() -> None:
    times = np.arange(600) / 10.0
    times[200] = 0.04
    found = inspect(Recording(breathing(4.0, 10.0, duration=60.0), 10.0, times=times))
    assert found.clock.backwards == 1
    assert any("backwards" in remark for remark in found.remarks)
    assert found.period is not None
    assert found.period.median == pytest.approx(4.0, rel=0.02)


def test_range_and_mean_per_axis() -> None:
    positions = np.zeros((4, 1, 3))
    positions[:, 0, 0], positions[:, 0, 1], positions[:, 0, 2] = [1, 2, 3, np.nan], np.nan, [-5, 5, 5, 5]
    (marker,) = inspect(Recording(positions, 10.0)).markers
    assert marker.range == (2.0, None, 10.0)
    assert marker.mean == (2.0, None, 2.5)


def test_a_bad_row_makes_two_jumps() -> None:
    positions = simulate(seed=1).positions.copy()
    positions[600] = 0.0
    found = inspect(Recording(positions, 10.0))
    assert found.jumps == 6  # three markers, there and back
    np.testing.assert_allclose(found.jump_times, [60.0] * 3 + [60.1] * 3)
    clean = inspect(simulate(seed=1))
    assert found.period == clean.period or (found.period and clean.period)
    assert found.period is not None
    assert clean.period is not None
    assert found.period.median == pytest.approx(clean.period.median, rel=0.02)


def test_only_the_first_ten_jumps_are_timed() -> None:
    found = inspect(Recording(np.tile([0.0, 100.0], 20), 10.0))
    assert found.jumps == 39
    np.testing.assert_allclose(found.jump_times, np.arange(1, 11) / 10.0)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("rate", [10.0, 60.0])
def test_no_breathing_pattern_is_taken_for_a_bad_row(pattern: str, rate: float) -> None:
    assert sum(inspect(simulate(pattern, seed=seed, rate=rate)).jumps for seed in range(4)) == 0


def test_metres_are_suspected() -> None:
    recording = simulate(seed=1)
    assert inspect(recording).remarks == ()
    found = inspect(Recording(recording.positions / 1000.0, 10.0))
    assert any("millimetres" in remark for remark in found.remarks)
    assert found.period is not None


def test_every_member_of_the_cohort_has_a_breathing() -> None:
    for person in cohort(seed=5):
        found = inspect(person)
        assert found.period is not None, person.name
        assert (found.period.median > 12.0) == (person.labels == ("deep",))
        assert found.labels == person.labels
        assert found.notes == person.notes
        plain(found)


def test_to_dict_is_plain_and_complete() -> None:
    found = inspect(simulate(seed=2, dropout=0.05, duration=40.0))
    report = plain(found)
    assert set(report) == {field.name for field in dataclasses.fields(Inspection)}
    assert report["markers"][0]["name"] == "lower abdomen"
    assert report["gaps"][0]["samples"] == found.gaps[0].samples
    assert report["samples"] == 400
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.samples = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    "positions",
    [
        np.empty((0, 3, 3)),
        np.array([1.0]),
        np.array([1.0, 2.0]),
        np.array([np.nan]),
        np.full((400, 2, 3), np.nan),
        np.full((400, 2, 3), 5.0),
        np.random.default_rng(0).standard_normal((300, 50, 3)),
        np.full((400, 1, 1), np.nan) + np.where(np.arange(400) == 7, 0.0, np.nan)[:, None, None],
        np.linspace(0.0, 1e308, 400),
        np.tile([-1.7e308, 1.7e308], 200),
        np.where(np.arange(400) == 100, 1e300, 0.0),
        3e306 + 1e305 * np.sin(np.arange(400.0))[:, None, None] * np.ones((1, 1, 3)),
    ],
)
def test_odd_recordings_have_an_answer(positions: NDArray[np.float64]) -> None:
    found = inspect(Recording(positions, 10.0))
    assert found.period is None
    plain(found)


@pytest.mark.parametrize("time", [-np.inf, np.inf, np.nan, -1e308])
def test_an_odd_time_has_an_answer(time: float) -> None:
    times = np.arange(60) / 10
    times[40] = time
    found = inspect(Recording(np.where(np.arange(60) % 2 == 0, 0.0, 50.0), 10.0, times=times))
    assert found.jumps > 10
    assert plain(found)["jump_times"][0] is not None


@given(
    positions=arrays.arrays(
        np.float64,
        st.tuples(st.integers(0, 120), st.integers(1, 3), st.integers(1, 3)),
        elements=st.floats(allow_infinity=False),
    ),
    rate=st.floats(1e-3, 1e4),
    clock=st.none() | st.lists(st.floats(), min_size=120, max_size=120),
)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_whatever_is_recorded_there_is_an_answer(
    positions: NDArray[np.float64], rate: float, clock: list[float] | None
) -> None:
    times = None if clock is None else clock[: len(positions)]
    report = plain(inspect(Recording(positions, rate, times=times)))
    assert len(report["markers"]) == positions.shape[1]
