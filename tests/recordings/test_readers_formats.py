"""Varian .vxp, motion-phantom text, MATLAB and Parquet."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from breathcast.errors import BreathcastError
from breathcast.recordings.reading import read
from tests.recordings.reader_files import mat, one, said, vxp, vxp_rows


def test_a_vxp_file_is_a_trace_in_mm(tmp_path):
    path = tmp_path / "a.vxp"
    path.write_bytes(vxp(vxp_rows(30)))
    recording = one(path)
    assert (recording.positions.shape, recording.rate) == ((30, 1, 1), 30.0)
    np.testing.assert_allclose(recording.positions[:3, 0, 0], [0, 1.25, 2.5])
    assert said(recording).splitlines() == [
        "the phase that the file gives is not kept",
        "amplitude times the Scale_factor 10 is in mm",
        "rate 30 Hz, as the file states",
        "the clock starts at 1 s; times count from there",
    ]


def test_vxp_version_1_5_has_fewer_columns_and_no_rate(tmp_path):
    layout = "amplitude,phase,timestamp,validflag,ttlin,mark"
    rows = [row.rpartition(",")[0] for row in vxp_rows(30)]
    path = tmp_path / "a.vxp"
    path.write_bytes(vxp(rows, Version="1.5", Data_layout=layout, Samples_per_second=None))
    recording = one(path)
    assert len(recording) == 30
    assert recording.rate == 30.0
    assert "rate 30 Hz from the usual step of the clock" in said(recording)


def test_the_layout_line_names_the_columns(tmp_path):
    path = tmp_path / "a.vxp"
    path.write_bytes(vxp([f"{33 * i},0,0.{i}" for i in range(9)], Data_layout="timestamp,validflag,amplitude"))
    np.testing.assert_allclose(one(path).positions.ravel(), np.arange(9))


def test_what_the_system_calls_invalid_is_missing(tmp_path):
    rows = vxp_rows(30)
    rows[3], rows[4], rows[5] = (rows[i].replace(",0,0,", f",{flag},0,") for i, flag in ((3, -1), (4, -2), (5, 1)))
    path = tmp_path / "a.vxp"
    path.write_bytes(vxp(rows))
    recording = one(path)
    assert np.flatnonzero(recording.missing[:, 0]).tolist() == [3, 4]
    assert "2 samples not valid by validflag (-2, -1)" in recording.notes


def test_frames_that_the_camera_lost_are_a_gap(tmp_path):
    rows = vxp_rows(60)
    del rows[20:25]
    path = tmp_path / "a.vxp"
    path.write_bytes(vxp(rows))
    recording = one(path)
    assert len(recording) == 60
    assert np.flatnonzero(recording.missing[:, 0]).tolist() == [20, 21, 22, 23, 24]


@pytest.mark.parametrize("name", ["a.vxp", "miller42 first.vxp"])
def test_the_patient_is_not_told(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(vxp(vxp_rows(30)))
    recording = one(path)
    told = repr((recording.name, recording.notes, recording.labels, recording.markers)).lower()
    assert "miller42" not in told
    assert "2007" not in told


def test_a_rate_that_the_timestamps_contradict_is_not_believed(tmp_path):
    path = tmp_path / "a.vxp"
    path.write_bytes(vxp(vxp_rows(30), Samples_per_second="15"))
    recording = one(path)
    assert recording.rate == 30
    assert "the header states 15 samples a second, which the timestamps contradict" in recording.notes


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (vxp(vxp_rows(9)).replace(b"[Data]", b""), r"no line \[Data\]"),
        (vxp(vxp_rows(9), Data_layout=None), "Data_layout"),
        (vxp(vxp_rows(9), Scale_factor=None), "Scale_factor"),
        (vxp(vxp_rows(9), Scale_factor="0"), "Scale_factor"),
        (vxp([]), "no sample"),
        (vxp(["1,2,3"] * 9), r"3 fields instead of 7 \(9 of 9 lines"),
    ],
)
def test_a_vxp_file_that_cannot_be_read(tmp_path, content, problem):
    path = tmp_path / "a.vxp"
    path.write_bytes(content)
    with pytest.raises(BreathcastError, match=problem) as caught:
        read(path)
    assert caught.value.cure


def test_a_missing_scale_factor_is_healed_by_the_unit(tmp_path):
    path = tmp_path / "a.vxp"
    path.write_bytes(vxp(vxp_rows(9), Scale_factor=None, Version="1.7"))
    recording = one(path, unit="cm")
    assert recording.positions[1, 0, 0] == 1.25
    assert "version '1.7' is not known" in said(recording)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "# made by a phantom\n",
        "motion file 7\n",
        "t x y z\n",
        "t[s] x[mm] y[mm] z[mm]\n",
        "Time_s X_mm Y_mm Z_mm\n",
    ],
)
@pytest.mark.parametrize("blank", [" ", "\t", "   "])
def test_phantom_text(tmp_path, header, blank):
    path = tmp_path / "a.txt"
    path.write_text(header + "\n".join(blank.join([f"{i / 20}", f"{i}", "2", "-3.5"]) for i in range(20)))
    recording = one(path)
    assert (recording.positions.shape, recording.rate) == ((20, 1, 3), 20.0)
    assert recording.positions[4].tolist() == [[4, 2, -3.5]]
    assert "unit" in said(recording)


def test_phantom_text_in_cm(tmp_path):
    path = tmp_path / "a.dat"
    path.write_text("0,0 1,5 2 3\n0,1 1,5 2 3\n")
    assert one(path, unit="cm").positions[0].tolist() == [[15, 20, 30]]
    path.write_text("t[s] x[cm] y[cm] z[cm]\n0 1.5 2 3\n0.1 1.5 2 3\n")
    assert one(path).positions[0].tolist() == [[15, 20, 30]]


@pytest.mark.parametrize("text", ["x y z t\n1 2 3 0\n", "1 2 3\n4 5 6\n", "a poem\n"])
def test_other_text_is_not_taken_for_a_phantom_file(tmp_path, text):
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(BreathcastError) as caught:
        read(path, format="phantom")
    assert 'format="csv"' in str(caught.value)


def test_our_variables_from_matlab(tmp_path):
    positions = np.arange(60.0).reshape(10, 2, 3)
    names = np.array(["LAC", "UAC"], dtype=object)
    path = tmp_path / "a.mat"
    path.write_bytes(mat(positions=positions, rate=10.0, markers=names))
    recording = one(path)
    np.testing.assert_array_equal(recording.positions, positions)
    assert (recording.markers, recording.rate) == (("LAC", "UAC"), 10.0)
    assert "the unit of the positions is not stated: mm assumed" in recording.notes
    path.write_bytes(mat(positions=positions, times=np.arange(10) / 10))
    assert one(path, unit="cm").positions[0, 0, 1] == 10


def test_matlab_drops_a_last_dimension_of_one(tmp_path):
    path = tmp_path / "a.mat"
    path.write_bytes(mat(positions=np.arange(20.0).reshape(10, 2), rate=10, markers=np.array(["a", "b"], dtype=object)))
    assert one(path).positions.shape == (10, 2, 1)
    path.write_bytes(mat(positions=np.arange(60).reshape(10, 6), rate=10, markers=np.array(["a ", "bc"])))
    recording = one(path)
    assert recording.positions.shape == (10, 2, 3)
    assert recording.markers == ("a", "bc")


@pytest.mark.parametrize("kind", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_lone_array_from_matlab(tmp_path, kind, turned):
    array = np.arange(60).reshape(10, 6).astype(kind)
    path = tmp_path / "a.mat"
    path.write_bytes(mat(data=array.T if turned else array, comment="of last week", settings={"gain": 2}))
    with pytest.raises(BreathcastError, match="no rate"):
        read(path)
    recording = one(path, rate=20)
    np.testing.assert_array_equal(recording.positions, array.reshape(10, 2, 3))
    assert f"the array data is {'6 × 10' if turned else '10 × 6'}: the longer side taken as time" in recording.notes
    recording = one(path, columns={"time_ms": "1", "belly": "4"})
    assert recording.positions.ravel().tolist() == list(range(3, 60, 6))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "v7.3"),
        (b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n", "v7.3"),
        (b"something else", "not a MATLAB v5 or v7 file"),
        (mat(a=np.zeros((5, 3)), b=np.zeros((5, 3))), r"which variable holds the positions \(a, b\)"),
        (mat(a="text"), "which variable"),
        (mat(a=np.zeros((9, 4))), "4 columns are not x, y, z"),
        (mat(positions=np.zeros((9, 2, 3)), markers=np.array(["a"], dtype=object)), "for 1 markers"),
        (mat(positions=np.zeros((9, 2, 3)), rate="fast"), "rate is not one positive number"),
        (mat(positions=np.zeros((9, 2, 3)), times=np.zeros(3)), "3 times for 9 positions"),
        (mat(positions=np.zeros((9, 2, 3), complex)), "which variable"),
        (mat(positions=np.zeros((9, 2, 3)))[:-9], "damaged"),
    ],
)
def test_a_mat_file_that_cannot_be_read(tmp_path, content, problem):
    path = tmp_path / "a.mat"
    path.write_bytes(content)
    with pytest.raises(BreathcastError, match=problem) as caught:
        read(path, rate=10)
    assert caught.value.cure


def test_a_foreign_parquet_table(tmp_path):
    moments = pl.datetime_range(pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 1, 0, 0, 1), "100ms", eager=True)
    frame = pl.DataFrame(
        {"timestamp": moments, "x": range(11), "y": 1.5, "z": pl.Series([None] + [2.0] * 10), "s": "a"}
    )
    path = tmp_path / "a.parquet"
    frame.write_parquet(path)
    recording = one(path, unit="cm")
    assert (recording.rate, recording.positions.shape) == (10.0, (11, 1, 3))
    assert recording.positions[3].tolist() == [[30, 15, 20]]
    assert recording.missing[:, 0].tolist() == [True] + [False] * 10


def test_column_names_are_not_patterns(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"*": [0.0, 0.1], "^x.*$": [1.0, 2.0], "x": [3.0, 4.0]}).write_parquet(path)
    assert one(path, columns={"time": "*", "m": "^x.*$"}).positions.ravel().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        (pl.DataFrame({"t": ["a"], "x": [1.0]}), "holds String, not numbers"),
        (pl.DataFrame({"a": [1]}), "which of them hold the positions"),
        (pl.DataFrame({"t": [], "x": []}, schema={"t": pl.Float64, "x": pl.Float64}), "no sample"),
        (pl.DataFrame({"t": [[1.0]], "x": [1.0]}), "not numbers"),
    ],
)
def test_a_parquet_table_that_cannot_be_read(tmp_path, frame, problem):
    path = tmp_path / "a.parquet"
    frame.write_parquet(path)
    with pytest.raises(BreathcastError, match=problem) as caught:
        read(path)
    assert caught.value.cure


def test_a_torn_parquet_file(tmp_path):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"t": [0.0, 0.1], "x": [1.0, 2.0]}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BreathcastError, match="cannot be read as Parquet"):
        read(path)
