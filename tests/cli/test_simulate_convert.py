from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import breathcast as bc
from tests.cli.calling import call, recording


def read(path: Path) -> bc.Recording:
    found = bc.read(path)
    assert isinstance(found, bc.Recording)
    return found


def test_the_cohort_is_the_one_of_the_library(tmp_path: Path) -> None:
    result = call("simulate", "-o", tmp_path, "--duration", "5", "--rate", "20", "--seed", "3")
    assert result.code == 0
    assert len(result.out.splitlines()) == 10
    for expected in bc.cohort(duration=5.0, rate=20.0, seed=3):
        found = read(tmp_path / f"{expected.name}.csv")
        np.testing.assert_array_equal(found.positions, expected.positions)
        assert found.labels == expected.labels
        assert f"{expected.name}.csv  {expected.labels[0]}" in result.out


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "mat"])
def test_one_pattern(tmp_path: Path, ending: str) -> None:
    flags = ["--pattern", "coughing", "--duration", "5", "--markers", "1", "--noise", "0", "--dropout", "0.1"]
    listed = call("simulate", "-o", tmp_path / "new", *flags, "--to", ending, "--json", "-").json["recordings"]
    expected = bc.simulate("coughing", duration=5.0, markers=1, noise=0.0, dropout=0.1)
    np.testing.assert_array_equal(read(Path(listed[0]["file"])).positions, expected.positions)
    assert listed[0]["labels"] == ["coughing"]


def test_the_help_names_every_pattern() -> None:
    words = " ".join(call("simulate", "--help").out.split())
    assert all(pattern in words for pattern in bc.PATTERNS)


def test_convert_keeps_every_bit(file: Path, tmp_path: Path) -> None:
    for ending in ("parquet", "mat", "tsv"):
        assert call("convert", file, tmp_path / f"one.{ending}").code == 0
        np.testing.assert_array_equal(read(tmp_path / f"one.{ending}").positions, read(file).positions)


def test_convert_says_what_was_assumed(tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_text("t;a;b;c\n" + "".join(f"{n};{n},5;0;0\n" for n in range(30)))
    flags = ["--columns", "time=t,tumour=a b c", "--unit", "cm"]
    result = call("convert", tmp_path / "raw.csv", tmp_path / "out.csv", *flags)
    assert result.code == 0
    assert "unit cm" in result.err
    assert read(tmp_path / "out.csv").positions[1, 0, 0] == 15.0
    assert read(tmp_path / "out.csv").markers == ("tumour",)


def test_convert_a_folder_and_another_rate(folder: Path, tmp_path: Path) -> None:
    assert call("convert", folder, tmp_path / "new", "--to", "parquet", "--resample", "5").code == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["one.parquet", "two.parquet"]
    assert read(tmp_path / "new" / "two.parquet").rate == 5.0


def test_names_from_inside_a_file_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for n in range(2):
        bc.write(recording("../../evil/name"), tmp_path / "in" / f"{n}.csv")
    assert call("convert", tmp_path / "in", tmp_path / "out").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_errors(folder: Path, file: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    for code, line, words in [
        (1, ["simulate", "-o", tmp_path, "--pattern", "yodelling"], ["yodelling", "regular"]),
        (1, ["simulate", "-o", tmp_path, "--rate", "0"], ["rate"]),
        (1, ["simulate", "-o", tmp_path / "taken"], ["cannot be made"]),
        (2, ["simulate"], ["--output"]),
        (2, ["simulate", "-o", tmp_path, "--markers", "2"], ["--pattern"]),
        (2, ["simulate", "-o", tmp_path, "--to", "doc"], ["--to", "csv, tsv, parquet, mat"]),
        (1, ["convert", file, file], ["is a file that is read"]),
        (1, ["convert", file, folder], ["is a file that is read"]),
        (1, ["convert", folder, folder], ["is a file that is read"]),
        (1, ["convert", folder, tmp_path / "x.csv"], ["holds 2 recordings", "folder"]),
        (1, ["convert", file, tmp_path / "x.doc"], ["'.doc'", ".parquet"]),
        (1, ["convert", file, tmp_path / "no" / "x.csv"], ["mkdir"]),
        (1, ["convert", file, tmp_path / "x.txt"], ["phantom"]),
        (1, ["convert", file, tmp_path / "x.csv", "--resample", "-1"], ["rate"]),
        (1, ["convert", tmp_path / "none.csv", tmp_path / "x.csv"], ["none.csv"]),
        (2, ["convert", file], ["OUT"]),
        (2, ["convert", file, tmp_path / "x", "--to", "doc"], ["--to"]),
    ]:
        result = call(*line)
        assert (result.code, result.out) == (code, ""), line
        for word in words:
            assert word in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
