"""Which files are read, and how: folders, detection, options that do not apply."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from breathcast.errors import BreathcastError
from breathcast.recordings.options import Options
from breathcast.recordings.reading import FORMATS, detect, read, read_all
from breathcast.recordings.writing import write
from tests.recordings.reader_files import extmarker, extmarker_group, extmarker_rows, mat, one, sine, vxp, vxp_rows

TABLE = "t,x,y,z\n0,1,2,3\n0.1,1,2,3\n"


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.csv", TABLE.encode(), "csv"),
        ("a.CSV", b"", "csv"),
        ("a.tsv", b"", "csv"),
        ("a.txt", TABLE.encode(), "csv"),
        ("a.txt", b"0 1 2 3\n1 1 2 3\n", "phantom"),
        ("a.dat", b"# t x y z\n0 1 2 3\n", "phantom"),
        ("a.txt", b"All rights reserved, 2024\n", None),
        ("a.vxp", b"", "vxp"),
        ("a.txt", vxp(vxp_rows(3)), "vxp"),
        ("a.mat", b"", "mat"),
        ("a.bin", mat(a=1), "mat"),
        ("a.parquet", b"", "parquet"),
        ("a.csv", b"PAR1", "parquet"),
        ("a.csv", extmarker(extmarker_rows([0])), "extmarker"),
        ("a.csv", extmarker(extmarker_rows([0])).decode().encode("utf-16"), "extmarker"),
        ("README.md", b"# title\n", None),
        ("a.png", b"\x89PNG\r\n", None),
        ("a.xlsx", b"PK\x03\x04", None),
    ],
)
def test_the_format_is_seen_in_the_content_then_in_the_name(tmp_path, name, content, format):
    path = tmp_path / name
    path.write_bytes(content)
    assert detect(path) == format


def test_a_folder_gives_its_recordings_in_order_and_passes_over_the_rest(tmp_path):
    extmarker_group(tmp_path)
    write(sine(name="second"), tmp_path / "b.parquet")
    write(sine(name="first"), tmp_path / "a.mat")
    (tmp_path / "c.vxp").write_bytes(vxp(vxp_rows(9)))
    (tmp_path / "README.md").write_text("# about")
    (tmp_path / "LICENSE.txt").write_text("All rights reserved")
    (tmp_path / ".hidden.csv").write_text("")
    (tmp_path / "sub.csv").mkdir()
    recordings = read(tmp_path)
    assert isinstance(recordings, list)
    assert [recording.name for recording in recordings] == ["201205101519", "first", "second", "c"]


def test_files_and_folders_make_one_list(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    extmarker_group(tmp_path / "sub")
    write(sine(name="one"), tmp_path / "a.csv")
    monkeypatch.chdir(tmp_path)
    recordings = read_all(["a.csv", "sub", tmp_path / "a.csv", *Path("sub").iterdir()])
    assert [recording.name for recording in recordings] == ["one", "201205101519"]
    assert read_all([]) == []


def test_a_broken_file_in_a_folder_is_an_error_that_names_it(tmp_path):
    write(sine(), tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("oops")
    with pytest.raises(BreathcastError) as caught:
        read(tmp_path)
    assert caught.value.file == tmp_path / "b.csv"


def test_two_files_of_one_marker_are_an_error(tmp_path):
    extmarker_group(tmp_path)[0].rename(tmp_path / "201205101519-UAC-2-LT-222-6.csv")
    with pytest.raises(BreathcastError, match="of the same marker"):
        read(tmp_path)


def test_a_stated_format_comes_before_what_the_file_looks_like(tmp_path):
    path = tmp_path / "a.log"
    path.write_text(TABLE)
    assert len(one(path, format="csv")) == 2
    path = extmarker_group(tmp_path)[0]
    assert one(path, format="csv", columns={"time_ms": "Timestamp", "m": ["x", "y", "z"]}).markers == ("m",)


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("absent.csv", {}, "No such file"),
        ("absent", {}, "does not exist"),
        ("nul\0.csv", {}, "cannot be opened|does not exist"),
        ("a.xlsx", {}, "no format that is known"),
        ("a.csv", {"format": "excel"}, "format 'excel' is not known"),
        ("a.vxp", {"columns": {"m": "x"}, "decimal": ","}, "vxp files state their columns and decimal themselves"),
        ("folder", {}, "no recording of a known format"),
        ("folder", {"format": "csv"}, "no recording of a known format"),
    ],
)
def test_a_wrong_path_or_option_is_an_error_with_a_cure(tmp_path, name, options, problem):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "README.md").write_text("# about")
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04")
    (tmp_path / "a.vxp").write_bytes(vxp(vxp_rows(3)))
    with pytest.raises(BreathcastError, match=problem) as caught:
        read(tmp_path / name, **options)
    assert caught.value.cure


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_no_file_is_an_error_in_every_format(tmp_path, format):
    with pytest.raises(BreathcastError):
        read(tmp_path / "absent", format=format)
    with pytest.raises(BreathcastError, match="is not a file"):
        FORMATS[format].read(tmp_path, Options())
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(BreathcastError, match="is not a file"):
            read(tmp_path / "pipe", format=format)
        assert detect(tmp_path / "pipe") is None
