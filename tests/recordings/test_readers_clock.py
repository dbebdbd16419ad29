"""The judgement of a clock: rate, order, repeats, gaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breathcast.errors import BreathcastError
from breathcast.recordings.clock import Samples, recording_from
from breathcast.recordings.recording import Recording
from tests.recordings.reader_files import said


def judged(
    times: object, positions: object = None, rate: float | None = None, stated: float | None = None
) -> Recording:
    clock = np.asarray(times, dtype=float)
    values = np.arange(len(clock)) if positions is None else np.asarray(positions)
    samples = Samples(Path("a.csv"), values.astype(float)[:, None, None], clock, ("m",), "a", rate=stated)
    return recording_from(samples, rate)


def test_a_clean_clock_needs_no_repair():
    recording = judged(np.arange(20) / 10)
    assert recording.rate == 10
    assert recording.notes == ("rate 10 Hz from the usual step of the clock, 0.1 s",)
    np.testing.assert_array_equal(recording.times, np.arange(20) / 10)


@pytest.mark.parametrize(
    ("times", "rate"),
    [
        (np.round(np.arange(100) * 1000 / 30) / 1000, 30),  # whole milliseconds
        (np.arange(100) / 29.97, 30),
        (np.arange(100) * 0.3, 3.33),
        (np.arange(100) * 0.08, 12.5),
        (np.arange(100) * 7.0, 0.143),
        (np.cumsum([6, 6, 6, 6, 7] * 20) / 60, 9.67),
        (np.cumsum([2, 2, 2, 2, 2, 2, 2, 3] * 20) / 64, 30),
    ],
)
def test_the_rate_is_rounded_sensibly(times, rate):
    assert judged(times).rate == pytest.approx(rate)


def test_a_gap_is_marked_and_said():
    times = np.delete(np.arange(200) / 10, [123, 124, 125])
    recording = judged(times, np.delete(np.arange(200), [123, 124, 125]))
    assert len(recording) == 200
    assert np.flatnonzero(recording.missing[:, 0]).tolist() == [123, 124, 125]
    np.testing.assert_allclose(recording.times, np.arange(200) / 10)
    assert "3 samples missing in 1 gap (12.2-12.6 s), marked" in recording.notes


def test_jitter_below_half_a_period_is_no_gap():
    times = np.arange(50) / 10 + 0.012 * (-1.0) ** np.arange(50)
    recording = judged(times)
    assert len(recording) == 50
    assert not recording.missing.any()


def test_late_rows_are_sorted_and_said():
    order = np.arange(50)
    order[[10, 11]] = order[[11, 10]]
    recording = judged(order / 10, order)
    np.testing.assert_array_equal(recording.positions[:, 0, 0], np.arange(50))
    assert "the clock runs backwards 1 time, first after 1.1 s: rows sorted by time" in recording.notes


def test_repeated_rows_are_dropped_and_said():
    times = np.array([0, 1, 1, 2, 3]) / 10
    recording = judged(times, [0, 1, 9, 2, 3])
    assert recording.positions[:, 0, 0].tolist() == [0, 1, 2, 3]
    assert "1 row with a repeated time dropped, the first of each kept (1 with other positions)" in recording.notes


def test_every_row_twice_is_harmless():
    recording = judged(np.repeat(np.arange(20), 2) / 10, np.repeat(np.arange(20), 2))
    assert len(recording) == 20


def test_rows_without_a_time_are_dropped_and_their_gap_marked():
    times = np.arange(10) / 10
    times[4] = np.nan
    recording = judged(times)
    assert len(recording) == 10
    assert recording.missing[4, 0]
    assert "1 row without a readable time dropped" in recording.notes


def test_infinite_positions_are_missing():
    recording = judged(np.arange(4) / 10, [0, np.inf, 2, 3])
    assert recording.missing[:, 0].tolist() == [False, True, False, False]
    assert "1 infinite value marked missing" in recording.notes


def test_a_clock_that_does_not_start_at_zero_is_said():
    assert "the clock starts at 1000 s; times count from there" in judged(1000 + np.arange(10) / 10).notes


def test_an_irregular_clock_is_said():
    assert "the clock is irregular" in said(judged(np.cumsum([0.1, 0.1, 0.1, 0.02] * 10)))


def test_a_given_rate_comes_before_a_stated_one():
    recording = judged(np.arange(10) / 10, rate=10.5, stated=10)
    assert recording.rate == 10.5
    assert "rate 10.5 Hz as given, although the file states 10 Hz" in recording.notes
    assert "the clock does not keep to that rate" in said(recording)


@pytest.mark.parametrize(
    ("times", "rate", "problem"),
    [
        ([], None, "no sample"),
        ([0], None, "one sample has no rate"),
        ([np.nan, np.inf], None, "no sample"),
        (np.arange(10) / 10, 30.0, "rate is said to be 30 Hz"),
        (np.tile(np.arange(20), 2) / 10, None, "starts again"),
        (np.concatenate([np.arange(40), np.arange(40) + 0.5]) / 10, None, "starts again"),
        (np.repeat(np.arange(10), 5), None, "repeat the time"),
        ([0, 0.1, 0.2, 1e9], None, "jumps by 1e+09 s after 0.2 s"),
        ([-1e308, 0, 1e308], None, "usual step"),
        ([0, 5e-324], None, "usual step"),
    ],
)
def test_a_clock_beyond_repair_is_an_error_with_a_cure(times, rate, problem):
    with pytest.raises(BreathcastError, match=problem.replace("+", r"\+")) as caught:
        judged(times, rate=rate)
    assert caught.value.cure
    assert caught.value.file == Path("a.csv")


clocks = st.one_of(
    st.lists(st.floats(), max_size=30),
    st.lists(st.integers(0, 60), max_size=40).map(lambda steps: np.cumsum(steps) / 60),
    st.permutations(range(30)).map(lambda order: np.array(order) / 30),
)


@settings(deadline=None, max_examples=300)
@given(clocks, st.none() | st.sampled_from([1.0, 10.0, 30.0]))
def test_any_clock_gives_a_uniform_recording_or_an_error(times, rate):
    try:
        recording = judged(times, rate=rate)
    except BreathcastError as error:
        assert error.cure
        return
    steps = np.diff(recording.times)
    assert (steps > 0).all()
    assert (steps * recording.rate < 1.5).all()
    # What is uniform is left alone.
    again = judged(recording.times, recording.positions[:, 0, 0], stated=recording.rate)
    assert again.positions.tobytes() == recording.positions.tobytes()
    assert again.times.tobytes() == recording.times.tobytes()
    # Every value that was measured is a value of the file; none is made up.
    assert set(recording.positions[~np.isnan(recording.positions)]) <= set(range(len(times)))
