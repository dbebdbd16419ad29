from __future__ import annotations

from pathlib import Path

import numpy as np

import breathcast as bc
from tests.cli.calling import call, read_json


def test_prints_what_the_file_holds_and_what_was_done(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    rows = [f"{n / 10},{np.sin(n / 8):.3f}" for n in range(300) if n not in range(100, 110)]
    rows[20] = "2.0,broken"
    path.write_text("time_s,chest_mm\n" + "\n".join(rows) + "\n")
    result = call("inspect", path, "--columns", "time=time_s,chest=chest_mm")
    assert result.code == 0
    for words in (
        "300 samples at 10 Hz = 30.0 s",
        "chest",
        "breathing",
        "drift mm/min",
        "line 22",
        "10 samples missing",
    ):
        assert words in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_several_recordings_as_json_and_as_a_page(folder: Path, tmp_path: Path) -> None:
    result = call("inspect", folder, "--json", tmp_path / "i.json", "--html", tmp_path / "i.html")
    assert result.code == 0
    found = read_json(tmp_path / "i.json")["recordings"]
    assert [entry["name"] for entry in found] == ["one", "two"]
    assert found[0]["rate"] == 10.0
    page = (tmp_path / "i.html").read_text()
    assert 'id="recording-1"' in page
    assert "Research use only" in page
    assert call("inspect", folder, "--json", "-").json["recordings"] == found


def test_a_recording_of_nothing_is_inspected_too(tmp_path: Path) -> None:
    bc.write(bc.Recording(np.full((5, 1, 3), np.nan), 10.0, name="empty"), tmp_path / "e.csv")
    result = call("inspect", tmp_path / "e.csv", "--html", tmp_path / "e.html")
    assert result.code == 0
    assert "none found" in result.out
    assert "100 % of the marker positions" in result.out
    assert call("inspect", tmp_path / "e.csv", "--json", "-").json["recordings"][0]["period"] is None


def test_errors(tmp_path: Path) -> None:
    (tmp_path / "readme.md").write_text("no recording")
    for path in (tmp_path, tmp_path / "readme.md", tmp_path / "none.csv"):
        result = call("inspect", path)
        assert (result.code, result.out) == (1, "")
        assert "What to do: " in result.err
    assert call("inspect").code == 2
