"""ExtMarker files: every defect that its README lists, made up and real."""

from __future__ import annotations

import numpy as np
import pytest

from breathcast.errors import BreathcastError
from breathcast.recordings.reading import read, read_all
from tests.extmarker import FOLDER, needs_recordings
from tests.recordings.reader_files import (
    HEADER,
    LAST,
    comma,
    extmarker,
    extmarker_group,
    extmarker_rows,
    one,
    said,
)

FRAMES = list(range(0, 300, 6))
SIZES = [2220, 1383, 1297, 1422, 1307, 1171, 726, 3199, 3061]


def test_the_files_of_one_code_are_one_recording(tmp_path):
    extmarker_group(tmp_path)
    (tmp_path / "README.md").write_text("# about")
    recordings = read(tmp_path)
    assert isinstance(recordings, list)
    (recording,) = recordings
    assert recording.positions.shape == (10, 3, 3)
    assert recording.markers == ("LAC", "UAC", "UCC")
    assert (recording.name, recording.labels, recording.rate) == ("201205101519", ("talking", "laughing"), 10.0)
    np.testing.assert_array_equal(recording.positions[3, 0], [3, 0.5, -1.25])
    assert "the last row (0;0;0;0;0) dropped, as in the published studies" in recording.notes
    assert "unit mm" in said(recording)


@pytest.mark.parametrize("code, labels", [("N", ("regular",)), ("NO", ("regular",)), ("O", ("other",)), ("Q", ())])
def test_the_file_name_tells_the_breathing(tmp_path, code, labels):
    path = tmp_path / f"201205101519-LAC-1-{code}-222-6.csv"
    path.write_bytes(extmarker(extmarker_rows(FRAMES)))
    assert one(path).labels == labels


def test_files_given_one_by_one_are_grouped_in_the_order_of_their_names(tmp_path):
    paths = extmarker_group(tmp_path) + extmarker_group(tmp_path, code="201205101600")
    recordings = read_all([*reversed(paths), tmp_path])
    assert [recording.name for recording in recordings] == ["201205101600", "201205101519"]
    assert all(recording.markers == ("LAC", "UAC", "UCC") for recording in recordings)


@pytest.mark.parametrize(("last", "kind"), [(LAST, LAST), ("300;5000;50;0,5;-1,25", "a sample"), ("300;50", "damaged")])
def test_the_last_row_is_dropped_whatever_it_is_and_the_note_says_what_it_was(tmp_path, last, kind):
    path = tmp_path / "201205101519-LAC-1-T-222-6.csv"
    path.write_bytes(extmarker([*extmarker_rows(FRAMES), last]))
    recording = one(path)
    assert len(recording) == len(FRAMES)
    assert f"the last row ({kind}) dropped, as in the published studies" in recording.notes


def test_timestamps_with_an_exponent_or_wrong_by_500_do_no_harm(tmp_path):
    rows = extmarker_rows(FRAMES)
    rows[10] = "60;1e+03;10;0,5;-1,25"
    rows[20] = "120;4;20;0,5;-1,25"
    for path in extmarker_group(tmp_path, [*rows, LAST]):
        assert len(one(path)) == len(FRAMES)
    (recording,) = read_all([tmp_path])
    np.testing.assert_array_equal(recording.times, np.array(FRAMES) / 60)
    assert "1 number written with an exponent" in said(recording)
    assert "1 wrong timestamp (line 22: 4 instead of 2000 ms): times taken from Frame / 60 s" in recording.notes


def test_timestamps_that_contradict_the_frames_throughout_are_an_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(extmarker([f"{6 * i};{50 * i};0;0;{i}" for i in range(50)]))
    with pytest.raises(BreathcastError, match="contradict the frames") as caught:
        read(path)
    assert caught.value.line == 3


def test_uneven_steps_of_6_and_7_frames_are_kept(tmp_path):
    frames = list(np.cumsum([6, 6, 6, 7] * 10))
    path = tmp_path / "a.csv"
    path.write_bytes(extmarker([*extmarker_rows(frames), LAST]))
    recording = one(path)
    assert (len(recording), recording.rate) == (40, 10.0)
    np.testing.assert_allclose(recording.times, (np.array(frames) - 6) / 60)
    assert not recording.missing.any()
    assert "10 steps of 7 camera frames instead of 6, kept" in recording.notes


def test_a_counter_that_starts_again_is_carried_on(tmp_path):
    frames = [(65_502 + 6 * i) % 65_536 for i in range(20)]
    rows = [f"{frame};{round((65_502 + 6 * i) * 1000 / 60)};0;0;{i}" for i, frame in enumerate(frames)]
    path = tmp_path / "a.csv"
    path.write_bytes(extmarker([*rows, LAST]))
    recording = one(path)
    np.testing.assert_array_equal(recording.positions[:, 0, 2], np.arange(20))
    assert "the frame counter starts again after 65535" in said(recording)


def test_rows_of_zeros_amid_the_file_are_missing_samples(tmp_path):
    rows = extmarker_rows(FRAMES)
    rows[7] = LAST
    path = tmp_path / "a.csv"
    path.write_bytes(extmarker([*rows, LAST]))
    recording = one(path)
    assert len(recording) == len(FRAMES)
    assert np.flatnonzero(recording.missing[:, 0]).tolist() == [7]
    assert "1 row with Frame 0 after the start" in said(recording)
    assert "1 sample missing in 1 gap" in said(recording)


def test_a_group_of_two_files_works_with_a_note(tmp_path):
    extmarker_group(tmp_path)[1].unlink()
    (recording,) = read_all([tmp_path])
    assert recording.markers == ("LAC", "UCC")
    assert "2 marker files instead of 3" in recording.notes


def test_files_of_different_length_are_cut_to_the_common_time(tmp_path):
    paths = extmarker_group(tmp_path)
    paths[1].write_bytes(extmarker([*extmarker_rows(FRAMES[:6]), LAST]))
    (recording,) = read_all([tmp_path])
    assert len(recording) == 6
    assert "the marker files have 10, 6, 10 samples: cut to the common time" in recording.notes


def test_a_line_lost_in_one_file_leaves_the_other_markers_in_place(tmp_path):
    paths = extmarker_group(tmp_path)
    rows = [*extmarker_rows(FRAMES[:10]), LAST]
    rows[4] = "24;4"
    paths[1].write_bytes(extmarker(rows))
    (recording,) = read_all([tmp_path])
    assert recording.missing[:, 1].tolist() == [i == 4 for i in range(10)]
    assert not recording.missing[:, [0, 2]].any()
    assert "UAC: 1 damaged line (line 6: 2 fields instead of 5)" in recording.notes


def test_files_that_do_not_belong_together_are_an_error(tmp_path):
    paths = extmarker_group(tmp_path)
    paths[1].write_bytes(extmarker([*extmarker_rows([frame + 3 for frame in FRAMES]), LAST]))
    with pytest.raises(BreathcastError, match="do not share their frames"):
        read(tmp_path)


def test_reordered_lines_and_columns_are_survived(tmp_path):
    rows = [f"{comma(i)};0;0;{6 * i};{100 * i}" for i in range(50)]
    rows[20], rows[21] = rows[21], rows[20]
    path = tmp_path / "201205101519-LAC-1-T-222-6.csv"
    path.write_bytes(extmarker([*rows, LAST], header="x;y;z;Frame;Timestamp", ending="\n"))
    recording = one(path)
    np.testing.assert_array_equal(recording.positions[:, 0, 0], np.arange(50))
    assert "rows sorted by time" in said(recording)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_any_usual_encoding_is_read(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(extmarker([*extmarker_rows(FRAMES), LAST]).decode().encode(encoding))
    assert len(one(path)) == len(FRAMES)


@pytest.mark.parametrize("rows", [[], [LAST], ["0;0;1;1;1"]])
def test_a_file_without_samples_is_an_error_that_names_it(tmp_path, rows):
    paths = extmarker_group(tmp_path)
    paths[1].write_bytes(extmarker(rows))
    with pytest.raises(BreathcastError) as caught:
        read(tmp_path)
    assert caught.value.file == paths[1]
    assert caught.value.cure


def test_many_damaged_lines_are_an_error_that_names_the_first(tmp_path):
    rows = extmarker_rows(FRAMES)
    rows[3:9] = ["18;300;a;b;c"] * 6
    path = tmp_path / "a.csv"
    path.write_bytes(extmarker(rows))
    with pytest.raises(BreathcastError, match=r"a\.csv, line 5: 'a' is not a number \(6 of 50 lines are damaged\)"):
        read(path)


def test_another_table_asked_for_as_extmarker_is_an_error(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t;x;y;z\n0;1;2;3\n")
    with pytest.raises(BreathcastError, match="line 1: does not name the columns") as caught:
        read(path, format="extmarker")
    assert HEADER in str(caught.value)


@needs_recordings
def test_the_nine_real_recordings():
    recordings = read(FOLDER)
    assert isinstance(recordings, list)
    assert [recording.positions.shape for recording in recordings] == [(size, 3, 3) for size in SIZES]
    assert {recording.rate for recording in recordings} == {10.0}
    assert not any(recording.missing.any() for recording in recordings)
    assert [recording.name for recording in recordings] == sorted(recording.name for recording in recordings)
    assert recordings[0].markers == ("LAC", "UAC", "UCC")
    assert recordings[5].markers == ("LAC", "LAR", "UAR")
    assert [recording.labels[0] for recording in recordings] == [
        "talking", "regular", "regular", "talking", "regular", "regular", "other", "regular", "regular",
    ]  # fmt: skip
    assert recordings[3].labels == ("talking", "laughing")
    assert recordings[7].times[-1] == pytest.approx(19_199 / 60)


@needs_recordings
def test_the_defects_of_the_real_recordings_are_reported():
    notes = [said(recording) for recording in read_all([FOLDER])]
    wrong = [int(line.split()[0]) for text in notes for line in text.splitlines() if "wrong timestamp" in line]
    assert sum(wrong) == 14
    assert sum("written with an exponent" in text for text in notes) == 4
    assert sum("the last row (0;0;0;0;0) dropped" in text for text in notes) == 5
    assert sum("the last row (a sample) dropped" in text for text in notes) == 4
    assert all("of 7 camera frames instead of 6, kept" in text for text in notes)
