"""What is written is read back bit for bit, without any option; a file appears whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.io import loadmat

from breathcast.errors import BreathcastError
from breathcast.recordings.reading import read_all
from breathcast.recordings.recording import Recording
from breathcast.recordings.writing import WRITERS, write
from tests.extmarker import FOLDER, needs_recordings
from tests.recordings.reader_files import one, sine

TABLES = [".csv", ".tsv", ".parquet", ".mat"]

coordinates = st.floats(allow_infinity=False, allow_nan=False) | st.just(float("nan"))
names = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1, max_size=150).filter(
    lambda n: n == n.strip()
)


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    shape = (draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    rate = draw(st.floats(0.01, 1000))
    jitter = draw(arrays(np.float64, shape[0] - 1, elements=st.floats(0.85, 1.4)))
    return Recording(
        draw(arrays(np.float64, shape, elements=coordinates)),
        rate,
        times=np.concatenate([[0.0], np.cumsum(jitter / rate)]) if draw(st.booleans()) else None,
        markers=draw(st.lists(names, min_size=shape[1], max_size=shape[1], unique=True)),
        name=draw(st.text(max_size=20)),
        notes=draw(st.lists(st.text(max_size=20), max_size=3)),
        labels=draw(st.lists(names, max_size=2)),
    )


def assert_same(found: Recording, written: Recording) -> None:
    assert found.positions.tobytes() == np.where(np.isnan(written.positions), np.nan, written.positions).tobytes()
    assert found.positions.shape == written.positions.shape
    assert found.times.tobytes() == written.times.tobytes()
    assert found.rate == written.rate
    assert found.markers == written.markers


@pytest.mark.parametrize("ending", TABLES)
@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recording=recordings())
def test_a_round_trip_is_exact(tmp_path, ending, recording):
    path = tmp_path / f"a{ending}"
    write(recording, path)
    assert_same(one(path), recording)


@pytest.mark.parametrize("ending", WRITERS)
def test_what_is_known_of_a_recording_travels_along(tmp_path, ending):
    recording = sine(
        markers=1, name="Jörg's 1st: day", notes=["a gap\nmarked", "rate 10 Hz"], labels=["cough", "other"]
    )
    path = tmp_path / f"a{ending}"
    write(recording, path)
    found = one(path)
    assert_same(found, recording)
    assert (found.name, found.labels) == (recording.name, recording.labels)
    assert found.notes[:2] == ("a gap marked", "rate 10 Hz")
    # A second journey adds nothing.
    write(found, path)
    assert one(path).notes == found.notes


@pytest.mark.parametrize("ending", TABLES)
def test_missing_samples_stay_missing(tmp_path, ending):
    positions = sine().positions.copy()
    positions[3], positions[5, 1], positions[7, 0, 2], positions[-1] = np.nan, np.nan, np.nan, np.nan
    recording = Recording(positions, 10)
    path = tmp_path / f"a{ending}"
    write(recording, path)
    found = one(path)
    assert_same(found, recording)
    np.testing.assert_array_equal(found.missing, recording.missing)


def test_the_header_says_what_the_table_holds(tmp_path):
    path = tmp_path / "a.csv"
    write(sine(2, 1, name="monday", labels=["regular"], notes=["simulated"]), path)
    *head, first, _ = path.read_text().splitlines()
    assert head == [
        "# breathcast recording; positions in mm, times in s, an empty field or nan is missing",
        "# name: monday",
        "# rate_hz: 10.0",
        "# label: regular",
        "# note: simulated",
        "time_s,marker 1 x_mm,marker 1 y_mm,marker 1 z_mm",
    ]
    assert first.startswith("0.0,0.0,1.42")


def test_matlab_finds_the_usual_names(tmp_path):
    path = tmp_path / "a.mat"
    write(sine(5), path)
    found = loadmat(path)
    assert found["positions"].shape == (5, 2, 3)
    assert found["rate"].item() == 10
    assert found["times"].shape == (5, 1)
    assert [cell.item() for cell in found["markers"].ravel()] == ["marker 1", "marker 2"]


@pytest.mark.parametrize(
    ("recording", "name", "problem"),
    [
        (sine(), "a.txt", "one 3-D marker"),
        (sine(markers=1, dimension=1), "a.txt", "one 3-D marker"),
        (Recording(np.full((4, 1, 3), np.nan), 10), "a.txt", "without missing samples"),
        (sine(), "a.vxp", r"cannot write files that end in '\.vxp'"),
        (sine(), "a", "cannot write files that end in ''"),
        (sine(dimension=4), "a.csv", "not 4 coordinates"),
        (sine(0), "a.csv", "no sample"),
        (sine(), "no/such/folder/a.csv", "No such file"),
        (Recording(np.zeros((3, 2, 3)), 10, markers=["a", "a"]), "a.csv", "same name"),
        (Recording(np.zeros((3, 1, 3)), 10, markers=["a\nb"]), "a.csv", "cannot be written"),
        (Recording(np.zeros((3, 1, 3)), 10, markers=["a" * 300]), "a.csv", "a...' cannot be written"),
        (Recording(np.zeros((3, 1, 3)), 10, markers=[" a"]), "a.mat", "cannot be written"),
        (Recording(np.zeros(3), 10, times=[0, 0.2, 0.1]), "a.csv", "do not increase"),
        (Recording(np.zeros(3), 10, times=[0, 0.1, 0.4]), "a.csv", "leave out samples"),
        (Recording(np.zeros(3), 10, times=[0, 0.05, 0.1]), "a.csv", "contradict its rate"),
        (Recording(np.zeros(3), 10, times=[0, np.nan, 0.2]), "a.csv", "do not increase"),
    ],
)  # fmt: skip
def test_what_a_file_cannot_hold_is_refused(tmp_path, recording, name, problem):
    with pytest.raises(BreathcastError, match=problem) as caught:
        write(recording, tmp_path / name)
    assert caught.value.cure
    assert caught.value.file == tmp_path / name
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    write(sine(3), path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", _full)
    with pytest.raises(BreathcastError, match="No space left") as caught:
        write(sine(30), path)
    assert caught.value.file == path
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def _full(_: int) -> None:
    raise OSError(28, "No space left on device")


def test_a_file_is_replaced(tmp_path):
    path = tmp_path / "a.csv"
    write(sine(3), path)
    write(sine(30), path)
    assert len(one(path)) == 30
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(BreathcastError, match="cannot be written"):
        write(sine(), tmp_path / "a.csv")


@needs_recordings
@pytest.mark.parametrize("ending", TABLES)
def test_real_recordings_are_converted_exactly(tmp_path, ending):
    for recording in read_all([FOLDER]):
        path = Path(tmp_path / f"a{ending}")
        write(recording, path)
        found = one(path)
        assert_same(found, recording)
        assert (found.name, found.labels) == (recording.name, recording.labels)
