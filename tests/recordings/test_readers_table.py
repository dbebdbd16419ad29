"""CSV, TSV and other delimited text."""

from __future__ import annotations

import numpy as np
import pytest

from breathcast.errors import BreathcastError
from breathcast.recordings.reading import parse_columns, read
from tests.recordings.reader_files import one, said

POSITIONS = np.array([[0.5, 1, -2], [1.5, 2, -3], [2.5, 3, -4]])


@pytest.mark.parametrize(
    "text",
    [
        "t,x,y,z\n0,0.5,1,-2\n0.1,1.5,2,-3\n0.2,2.5,3,-4\n",
        "t;x;y;z\r\n0;0,5;1;-2\r\n0,1;1,5;2;-3\r\n0,2;2,5;3;-4\r\n",
        "t\tx\ty\tz\r0\t0.5\t1\t-2\r0.1\t1.5\t2\t-3\r0.2\t2.5\t3\t-4\r",
        "  t x   y z\n0 0,5 1 -2\n0,1   1,5 2 -3\n 0,2 2,5 3 -4",
        't,x,y,z\n0,"0,5",1,-2\n"0,1","1,5",2,-3\n"0,2","2,5",3,-4\n',
        '"t" , "x" , "y" , "z"\n0 , 0.5 , 1 , -2\n0.1 , 1.5 , 2 , -3\n0.2 , 2.5 , 3 , -4\n',
        "# a comment\n\nt,x,y,z\n0,.5,1.,-2\n# another\n1e-1,+1.5,2,-3\n\n0.2,2.5,3,-4\n",
        "time [ms],x [mm],y [mm],z [mm]\n0,0.5,1,-2\n100,1.5,2,-3\n200,2.5,3,-4\n",
        "Time (s),pos_x_cm,pos_y_cm,pos_z_cm\n0,0.05,0.1,-0.2\n0.1,0.15,0.2,-0.3\n0.2,0.25,0.3,-0.4\n",
        "z,frame,y,x,timestamp_us\n-2,1,1,0.5,0\n-3,2,2,1.5,100000\n-4,3,3,2.5,200000\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_one_table_in_many_hands(tmp_path, text, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode(encoding))
    recording = one(path)
    np.testing.assert_allclose(recording.positions, POSITIONS[:, None, :])
    np.testing.assert_allclose(recording.times, [0, 0.1, 0.2])
    assert (recording.rate, recording.name) == (10.0, "a")


@pytest.mark.parametrize(
    ("header", "markers"),
    [
        ("t,x1,y1,z1,x2,y2,z2", ("marker 1", "marker 2")),
        ("t,LAC_x,LAC_y,LAC_z,UAC_x,UAC_y,UAC_z", ("LAC", "UAC")),
        ("t,x LAC,y LAC,z LAC,x xiphoid,y xiphoid,z xiphoid", ("LAC", "xiphoid")),
        ("t,posAX,posAY,posAZ,posBX,posBY,posBZ", ("posA", "posB")),
        ("t,a.x.mm,a.y.mm,a.z.mm,b.x.mm,b.y.mm,b.z.mm", ("a mm", "b mm")),
        ("t,left x [cm],left y [cm],left z [cm],right x [cm],right y [cm],right z [cm]", ("left", "right")),
        ("t,X,Y,Z,index,phase,flag", ("marker 1",)),
    ],
)
def test_markers_are_recognised_by_the_names_of_their_columns(tmp_path, header, markers):
    path = tmp_path / "a.csv"
    path.write_text(header + "\n0,1,2,3,4,5,6\n0.1,1,2,3,4,5,6\n")
    recording = one(path)
    assert recording.markers == markers
    scale = 10 if "cm" in header else 1
    np.testing.assert_array_equal(recording.positions[0].ravel(), scale * np.arange(1, 1 + 3 * len(markers)))
    assert "columns: time = t" in said(recording)


def test_a_time_and_one_more_column_are_a_trace(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time_s,amplitude_cm\n0,1\n0.04,2\n")
    recording = one(path)
    assert (recording.markers, recording.rate, recording.dimension) == (("amplitude",), 25.0, 1)
    assert recording.positions.ravel().tolist() == [10, 20]


def test_what_is_assumed_is_said(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,x,y,z\n0,1,2,3\n0.1,1,2,3\n")
    assert said(one(path)).splitlines() == [
        "columns: time = t, marker 1 = x y z",
        "the unit of the time 't' is not stated: s assumed",
        "the unit of the positions is not stated: mm assumed",
        "rate 10 Hz from the usual step of the clock, 0.1 s",
    ]


def test_a_given_unit_and_rate_are_used_and_said(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y,z\n1,2,3\n4,5,6\n")
    recording = one(path, unit="m", rate=30)
    assert recording.positions[0].tolist() == [[1000, 2000, 3000]]
    assert recording.times.tolist() == [0, 1 / 30]
    assert "unit m as given" in recording.notes
    assert "rate 30 Hz as given" in recording.notes


def test_a_map_of_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("clock,alpha,beta,gamma,left side\n0,1,2,3,4\n100,1,2,3,4\n")
    recording = one(path, columns={"time_ms": "clock", "belly": ["alpha", "gamma"], "chest": ["beta", "left side"]})
    assert (recording.rate, recording.markers) == (10.0, ("belly", "chest"))
    assert recording.positions[0].tolist() == [[1, 3], [2, 4]]
    recording = one(path, columns=parse_columns('time_ms=clock,belly=alpha gamma,chest=beta "left side"'))
    assert recording.positions[0].tolist() == [[1, 3], [2, 4]]


def test_a_table_without_names_needs_a_map_by_number(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("0,1,2,3\n0.1,4,5,6\n")
    with pytest.raises(BreathcastError, match="has the columns 1, 2, 3, 4") as caught:
        read(path)
    assert "--columns 'time=1,marker 1=2 3 4'" in str(caught.value)
    recording = one(path, columns={"time": ["1"], "m": ["2", "3", "4"]})
    assert recording.positions.tolist() == [[[1, 2, 3]], [[4, 5, 6]]]


def test_one_column_with_decimal_commas(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x_mm\n1,5\n2,5\n")
    assert one(path, rate=10).positions.ravel().tolist() == [1.5, 2.5]


def test_the_decimal_mark_can_be_stated(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t;x;y;z\n0;1;2;3\n1;1.500;2;3\n")
    assert one(path).positions[1, 0, 0] == 1.5
    with pytest.raises(BreathcastError, match=r"'1\.500' is not a number"):
        read(_longer(path), decimal=",")


def _longer(path):
    path.write_text("t;x;y;z\n" + "".join(f"{i};1.500;2;3\n" for i in range(9)))
    return path


@pytest.mark.parametrize("absent", ["", "nan", "NaN", "-", "NA", "null"])
def test_missing_fields_are_missing_samples(tmp_path, absent):
    path = tmp_path / "a.csv"
    path.write_text(f"t,x,y,z\n0,1,2,3\n0.1,1,{absent},3\n0.2,1,2,3\n")
    recording = one(path)
    assert recording.missing[:, 0].tolist() == [False, True, False]
    assert "1 sample without all coordinates in the file, marked missing" in recording.notes


def test_a_row_of_nothing_but_tabs_is_a_missing_sample(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("x\ty\n1\t2\n\t\n1\t2\n")
    assert one(path, rate=10).missing[:, 0].tolist() == [False, True, False]


def test_a_torn_last_line_is_dropped_and_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,x,y,z\n0,1,2,3\n0.1,1,2,3\n0.2,1")
    recording = one(path)
    assert len(recording) == 2
    assert "1 damaged line (line 4: 2 fields instead of 4)" in recording.notes


def test_a_last_line_that_may_be_cut_short_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,x,y,z\n0,1,2,3\n0.1,1,2,3")  # of 3.25, perhaps
    assert "line 3, the last, has no line break at its end: it may be cut short" in one(path).notes
    path.write_text("t,x,y,z\n0,1,2,3\n0.1,1,2,3\n")
    assert not [note for note in one(path).notes if "cut short" in note]


def test_columns_that_are_not_clear_are_an_error_with_their_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("# from the left camera\n\nt,p,q\n0,1,2\n")
    with pytest.raises(BreathcastError, match=r"a\.csv, line 3: has the columns t, p, q; it is not clear") as refused:
        one(path)
    assert refused.value.cure


def test_a_damaged_line_amid_the_file_is_a_marked_gap(tmp_path):
    rows = [f"{i / 10},{i},2,3" for i in range(40)]
    rows[20], rows[30] = "2.0,1,2", "3.0,oops,2,3"
    path = tmp_path / "a.csv"
    path.write_text("t,x,y,z\n" + "\n".join(rows))
    recording = one(path)
    assert np.flatnonzero(recording.missing[:, 0]).tolist() == [20, 30]
    assert "2 damaged lines (line 22: 3 fields instead of 4; line 32: 'oops' is not a number)" in recording.notes


def test_without_a_clock_a_damaged_line_keeps_its_place(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y,z\n" + "1,2,3\n" * 20 + "1,2\n" + "1,2,3\n" * 20)
    recording = one(path, rate=10)
    assert np.flatnonzero(recording.missing[:, 0]).tolist() == [20]


def test_latin_1_is_read_with_a_note(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("t,Zwerchfell à droite x,Zwerchfell à droite y\n0,1,2\n1,1,2\n".encode("latin-1"))
    recording = one(path)
    assert recording.markers == ("Zwerchfell à droite",)
    assert "not UTF-8 text (line 1): read as Latin-1" in recording.notes


def test_the_comments_of_others_are_not_believed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("# name: Jane Miller\n# rate_hz: 50\nt,x\n0,1\n0.1,2\n")
    recording = one(path)
    assert (recording.name, recording.rate) == ("a", 10.0)


@pytest.mark.parametrize(
    ("text", "problem", "options"),
    [
        ("", "is empty", {}),
        (" \n\t\n", "is empty", {}),
        ("# only\n# comments\n", "holds no data", {}),
        ("t,x,y,z\n", "holds no sample", {}),
        ("x,y,z\n1,2,3\n", "no time column and no rate", {}),
        ("t,time,x\n0,1,2\n", "which of them is the time", {}),
        ("t,a,b\n0,1,2\n", "which of them hold the positions", {}),
        ("t,x,x\n0,1,2\n", "which x belongs to which marker", {}),
        ("t,x1,y1,z1,x2,y2\n0,1,2,3,4,5\n", "differ in their number of coordinates", {}),
        ("t,x\n0,1\n1,a\n2,b\n3,c\n", "line 3: 'a' is not a number", {}),
        ("t,x_cm\n0,1\n", "states cm, but the unit given is mm", {"unit": "mm"}),
        ("t,x\n0,1\n", "the unit 'furlong' is not known", {"unit": "furlong"}),
        ("t,x\n0,1\n", "the rate is -1", {"rate": -1}),
        ("t,x\n0,1\n", "the decimal mark is ';'", {"decimal": ";"}),
        ("t,x\n0,1\n", "no columns named 'y'", {"columns": {"time": "t", "m": "y"}}),
        ("t,x,x\n0,1,2\n", "has 2 columns named 'x'", {"columns": {"time": "t", "m": "x"}}),
        ("t,x\n0,1\n", "names no marker", {"columns": {"time": "t"}}),
        ("t,x\n0,1\n", "gives no column for 'm'", {"columns": {"time": "t", "m": []}}),
        ("t,x\n0,1\n", "more than one column for the time", {"columns": {"time": ["t", "x"], "m": "x"}}),
        ("t,x\n0,1\n", "unit of 'time_years' is not known", {"columns": {"time_years": "t", "m": "x"}}),
        ("t\0,x\n0,1\n", "is not text", {}),
    ],
)
def test_what_cannot_be_read_is_an_error_with_a_cure(tmp_path, text, problem, options):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(BreathcastError, match=problem) as caught:
        read(path, **options)
    assert caught.value.cure


def test_broken_utf_16_is_an_error_that_names_the_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("t,x\n0,1\n".encode("utf-16") + b"\x00\xd8\n")
    with pytest.raises(BreathcastError, match="UTF-16"):
        read(path)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("time=t,marker 1=x1 y1 z1", {"time": ["t"], "marker 1": ["x1", "y1", "z1"]}),
        (' a = "LAC x" "LAC,y" , b=1 2', {"a": ["LAC x", "LAC,y"], "b": ["1", "2"]}),
    ],
)
def test_columns_can_be_written_in_one_line(text, columns):
    assert parse_columns(text) == columns


@pytest.mark.parametrize("text", ["", ",", "time", "time=", "=x", "a=x,a=y"])
def test_a_line_of_columns_that_says_nothing_is_an_error(text):
    with pytest.raises(BreathcastError, match="the map of columns") as caught:
        parse_columns(text)
    assert "time=t,marker 1=x1 y1 z1" in str(caught.value)


def test_a_large_table_is_read_fast(tmp_path):
    rows = np.column_stack([np.arange(200_000) / 30, np.random.default_rng(0).normal(size=(200_000, 6))])
    path = tmp_path / "a.csv"
    np.savetxt(path, rows, fmt="%.6f", delimiter=";", header="t;x1;y1;z1;x2;y2;z2", comments="")
    text = path.read_text().replace(".", ",")
    path.write_text(text[:-20])
    recording = one(path)
    assert recording.positions.shape == (199_999, 2, 3)
    np.testing.assert_allclose(recording.positions[5].ravel(), rows[5, 1:], atol=1e-6)
    assert "line 200001" in said(recording)
