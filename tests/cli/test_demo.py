from __future__ import annotations

from pathlib import Path

import pytest

import breathcast as bc
from breathcast.forecasters.table import METHODS
from breathcast.recordings import simulation
from tests.cli.calling import call, read_json


def test_demo_writes_everything_and_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(seed: int) -> list[bc.Recording]:
        return [bc.simulate("regular", duration=64.0, rate=10.0, markers=1, seed=seed, name="small")]

    monkeypatch.setattr(simulation, "cohort", small)
    result = call("demo", "-o", tmp_path / "demo", "--runs", "1", "--seed", "3")
    assert result.code == 0
    assert "RMSE mm by horizon" in result.out
    assert str(tmp_path / "demo" / "report.html") in result.err
    made = sorted(str(path.relative_to(tmp_path / "demo")) for path in (tmp_path / "demo").rglob("*.*"))
    assert made == ["recordings/small.csv", "report.html", "results.json"]
    data = read_json(tmp_path / "demo" / "results.json")
    assert [method["method"] for method in data["methods"]] == list(METHODS)
    assert (data["feedback"], data["seed"], data["horizons_s"]) == ("delayed", 3, [0.1, 0.5, 1.0, 2.0])
    again = call("demo", "-o", tmp_path / "demo", "--runs", "1", "--seed", "3", "--json", "-")  # replaces all
    assert again.json["methods"] == data["methods"]


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("")
    result = call("demo", "-o", tmp_path / "demo")
    assert (result.code, result.out) == (1, "")
    assert "cannot be made" in result.err
