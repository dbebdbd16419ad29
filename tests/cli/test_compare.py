from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import breathcast as bc
from tests.cli.calling import FAST, LABEL, SMALL, call, read_json, recording


def test_prints_the_tables_and_nothing_else_on_standard_output(folder: Path) -> None:
    result = call("compare", folder, *FAST)
    assert result.code == 0
    assert "Scores, mean over recordings and horizons" in result.out
    assert "RMSE mm by horizon" in result.out
    assert "0.2 s" in result.out
    for name in ("uoro", "lms", "persistence", "reference"):
        assert name in result.out
    assert "Research use only" in result.out
    assert max(map(len, result.out.splitlines())) <= 80
    assert "\x1b" not in result.out
    assert LABEL not in result.out


def test_what_the_reader_assumed_is_said_once(folder: Path) -> None:
    said = call("compare", folder, *FAST).err.splitlines()
    assert said.count("  - unit mm, as the column names state") == 1
    assert [line[:17] for line in said if "simulated" in line] == ["  - one: simulate", "  - two: simulate"]


def test_json_alone_for_a_pipe(folder: Path) -> None:
    result = call("compare", folder, *FAST, "--json", "-")
    assert result.code == 0
    data = result.json
    assert [method["method"] for method in data["methods"]] == ["uoro", "lms", "persistence"]
    assert data["horizons_s"] == [0.2, 0.5]
    assert data["warning"] is None
    assert data["versions"]["breathcast"] == bc.__version__
    assert len(data["cases"]) == 3 * 2 * 2


def test_json_and_report_as_files(folder: Path, tmp_path: Path) -> None:
    result = call("compare", folder, *FAST, "--json", tmp_path / "r.json", "--html", tmp_path / "r.html")
    assert result.code == 0
    assert "Scores" in result.out
    assert read_json(tmp_path / "r.json")["runs"] == 2
    assert "Research use only" in (tmp_path / "r.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]
    assert f"Wrote {tmp_path / 'r.html'}" in result.err


def test_the_same_seed_gives_the_same_numbers(file: Path) -> None:
    first, again, other = (
        call("compare", file, *FAST, "--json", "-", "--seed", seed).json["methods"] for seed in (1, 1, 2)
    )
    assert first == again
    assert first[0] != other[0]
    assert first[1:] == other[1:]


def test_immediate_feedback_is_labelled_everywhere(file: Path, tmp_path: Path) -> None:
    flags = (*FAST, "--feedback", "immediate")
    table = call("compare", file, *flags, "--html", tmp_path / "r.html").out
    assert table.count(f"({LABEL})") == 2  # one for each table
    assert call("compare", file, *flags, "--json", "-").json["warning"] == LABEL
    assert (tmp_path / "r.html").read_text().count(LABEL) > 8


def test_methods_can_be_there_several_times(file: Path) -> None:
    methods = "lms(history=0.5,training=5),lms(history=1,training=5)"
    result = call("compare", file, *FAST, "--methods", methods)
    assert "lms(history=0.5)" in result.out
    assert "lms(history=1.0)" in result.out


def test_recordings_of_one_name_are_told_apart(folder: Path, tmp_path: Path) -> None:
    bc.write(recording("one", seed=5), tmp_path / "other.csv")
    result = call("compare", folder / "one.csv", tmp_path / "other.csv", *FAST, "--json", "-")
    assert [entry["name"] for entry in result.json["recordings"]] == ["one", "one (2)"]


def test_a_method_that_learns_too_late_is_named(file: Path) -> None:
    said = "the last known position is scored as the forecast of: "
    for method in ("lms(history=0.5)", "lms(history=19,training=5)"):  # the scale, the window comes too late
        result = " ".join(call("compare", file, *FAST, "--methods", method).out.split())
        assert f"{said}lms (up to 100 % of a recording)" in result
    assert said not in " ".join(call("compare", file, *FAST).out.split())


def test_a_horizon_between_two_samples_is_named(file: Path) -> None:
    result = call("compare", file, *FAST, "--horizons", "0.26")
    assert "The horizon 0.26 s is 0.3 s" in result.out


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--methods", "uro"], ["--methods", "'uro'", "uoro, rtrl"]),
        (["--methods", "lms(learn=1)"], ["'learn'", "learning_rate=0.01"]),
        (["--methods", "uoro(hidden=2.5)"], ["hidden", "2.5", "whole number"]),
        (["--methods", "lms(history=long)"], ["history", "'long'", "give a number"]),
        (["--methods", "lms(history=-1)"], ["history", "-1", "positive"]),
        (["--methods", "lms(history=nan)"], ["history", "positive"]),
        (["--methods", "uoro(optimizer=x)"], ["optimizer", "sgd, adam"]),
        (["--methods", "lms(history=1"], ["parentheses"]),
        (["--methods", "lms(history)"], ["'history'", "no value"]),
        (["--methods", "lms(history=1,history=2)"], ["twice"]),
        (["--methods", "lms,lms"], ["twice"]),
        (["--methods", ""], ["no method"]),
        (["--horizons", "soon"], ["--horizons", "'soon'", "0.1,0.5,2"]),
        (["--horizons", "-1"], ["'-1'"]),
        (["--runs", "0"], ["--runs"]),
        (["--feedback", "early"], ["--feedback"]),
        (["--bogus"], ["--bogus"]),
    ],
)
def test_wrong_usage_is_2_and_says_what_there_is(file: Path, flags: list[str], words: list[str]) -> None:
    result = call("compare", file, *flags)
    assert (result.code, result.out) == (2, "")
    for word in words:
        assert word in " ".join(result.err.split())


def test_what_a_user_can_mend_is_1_with_the_cure(folder: Path, file: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("time_s,x_mm\n0.0,1\n0.1,oops\n0.2,wrong\n")
    for flags, words in [
        ([tmp_path / "none.csv"], ["none.csv"]),
        ([bad], ["bad.csv, line 3", "oops"]),
        ([file], ["one lasts 20.0 s", "--test-start"]),  # the default start of the test part is 60 s
        ([file, *FAST, "--horizons", "0.001"], ["shorter than half a sample"]),
        ([file, *FAST, "--rate", "-1"], ["rate"]),
        ([file, *FAST, "--columns", "nonsense"], ["nonsense"]),
        ([file, *FAST, "--unit", "inch"], ["inch", "mm, cm, m or um"]),
        ([file, *FAST, "--format", "doc"], ["doc", "csv"]),
        ([file, *FAST, "--json", tmp_path], ["is a folder"]),
        ([file, *FAST, "--json", file], ["is a file that is read"]),
        ([folder, *FAST, "--json", folder / "two.csv"], ["is a file that is read"]),
        ([file, *FAST, "--html", tmp_path / "no" / "r.html"], ["does not exist", "mkdir"]),
        ([file, *FAST, "--html", tmp_path / "r", "--json", tmp_path / "r"], ["two results"]),
    ]:
        result = call("compare", *flags)
        assert (result.code, result.out) == (1, ""), flags
        assert "What to do: " in result.err
        for word in words:
            assert word in result.err


def test_nobody_waits_for_an_error(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of many recordings is too short: said before anything is computed."""
    monkeypatch.setattr("breathcast.evaluation.compare.compare", lambda *_, **__: pytest.fail("too late"))
    bc.write(bc.Recording(np.zeros((30, 2, 3)), 10.0, name="short"), tmp_path / "z.csv")
    result = call("compare", folder, tmp_path / "z.csv", "--methods", SMALL, "--test-start", "10")
    assert result.code == 1
    assert "short lasts 3.0 s" in result.err


def test_a_recording_that_cannot_be_scored_is_named(tmp_path: Path) -> None:
    positions = np.zeros((200, 2, 3))
    positions[50:, 1] = np.nan
    positions[:, 0] += np.sin(np.arange(200))[:, None]
    positions[100:] = np.nan
    bc.write(bc.Recording(positions, 10.0, name="lost"), tmp_path / "lost.csv")
    result = call("compare", tmp_path / "lost.csv", *FAST)
    assert result.code == 1
    assert "lost: nothing can be scored after 10 s" in result.err
