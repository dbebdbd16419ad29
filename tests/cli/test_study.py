"""Studies from the command line: run, go on, look, export; published studies; what is wrong is said with its cure."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import breathcast as bc
from tests.cli.calling import LABEL, call, read_json
from tests.extmarker import FOLDER, as_published, needs_recordings
from tests.studies.small import SMALL, recordings

TABLES = {"averages": 3 * 5 * 2, "test": 4 * (4 + 1 + 1), "selection": 4 * (4 + 2), "choices": 4 * 2}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with its recordings beside it."""
    place = tmp_path_factory.mktemp("study")
    (place / "recordings").mkdir()
    for recording in recordings():
        bc.write(recording, place / "recordings" / f"{recording.name}.csv")
    (place / "small.toml").write_text(SMALL)
    return place


@pytest.fixture(scope="module")
def results(place: Path) -> Path:
    """A finished study; nobody writes here."""
    folder = place / "results"
    result = call("study", "run", place / "small.toml", "-o", folder, "--workers", 2)
    assert result.code == 0, result.err
    assert "Scores, mean over all 2 recordings" in result.out and "uoro: learning_rate" in result.out
    assert "test: 12 of 12 tasks" in result.err and f"study report {folder}" in result.err
    return folder


def test_a_finished_study_is_not_done_again(place: Path, results: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in results.rglob("*.parquet")}
    assert call("study", "run", place / "small.toml", "-o", results).code == 0
    assert {file: file.stat().st_mtime_ns for file in results.rglob("*.parquet")} == before


def test_status(results: Path) -> None:
    told = call("study", "status", results, "--json", "-").json
    assert told["missing"] == {"selection": 0, "test": 0} and told["failed"] == []
    assert {"method": "uoro", "selection": {"done": 4, "tasks": 4}, "test": {"done": 4, "tasks": 4}} in told["methods"]
    assert told["processor_hours"] > 0
    shown = call("study", "status", results).out
    assert "uoro           selection 4/4   test 4/4" in shown


def test_status_of_an_unfinished_study(place: Path, results: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(results, tmp_path / "part")
    next((tmp_path / "part" / "test").rglob("*.parquet")).unlink()
    told = call("study", "status", tmp_path / "part", "--json", "-").json
    assert told["missing"] == {"selection": 0, "test": 1}
    shown = call("study", "report", tmp_path / "part", "--formats", "svg")
    assert shown.code == 0 and "1 tasks are not done yet" in shown.out


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_export(results: Path, tmp_path: Path, table: str, ending: str) -> None:
    target = tmp_path / f"out.{ending}"
    assert call("study", "export", results, "-o", target, "--table", table).code == 0
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "arrow": pl.read_ipc}[ending]
    frame = read(target)
    assert len(frame) == TABLES[table]
    assert "seconds" not in frame.columns
    again = tmp_path / f"again.{ending}"
    call("study", "export", results, "-o", again, "--table", table)
    assert again.read_bytes() == target.read_bytes()


def test_export_with_times(results: Path, tmp_path: Path) -> None:
    assert call("study", "export", results, "-o", tmp_path / "t.csv", "--times").code == 0
    assert (pl.read_csv(tmp_path / "t.csv")["seconds"] >= 0).all()


def test_report(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "paper"
    shown = call("study", "report", results, "-o", out, "--formats", "svg", "--marker", 2, "--axis", 1, "--json", "-")
    assert shown.code == 0, shown.err
    assert (out / "report.html").stat().st_size > 1e6 and list((out / "figures").glob("*.svg"))
    assert {row["title"] for row in shown.json["averages"]} == {"uoro", "lms", "persistence"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "--formats", "gif"], "no format 'gif'"),
        (["report", "--recording", "three"], "three"),
        (["report", "--horizon", "9"], "9"),
        (["report", "--marker", "7"], "7"),
        (["export", "-o", "x.doc"], "no known ending"),
        (["export", "-o", "x.csv", "--table", "all"], "no table 'all'"),
    ],
)
def test_what_is_wrong_is_said(results: Path, arguments: list[str], said: str) -> None:
    shown = call("study", arguments[0], results, *arguments[1:])
    assert shown.code in (1, 2) and said in shown.err and "What to do" in shown.err


def test_a_folder_without_a_study(tmp_path: Path) -> None:
    for verb in (["status"], ["report"], ["export", "-o", tmp_path / "x.csv"]):
        shown = call("study", verb[0], tmp_path, *verb[1:])
        assert shown.code == 1 and "holds no study" in shown.err


def test_an_error_in_the_file_names_its_line_before_anything_runs(place: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(SMALL.replace("grid.hidden", "grid.hiden"))
    shown = call("study", "run", tmp_path / "bad.toml", "-o", tmp_path / "out")
    assert shown.code == 1 and "bad.toml, line 14" in shown.err and "hiden" in shown.err
    assert not (tmp_path / "out").exists()


def test_a_study_file_to_start_from(tmp_path: Path) -> None:
    from breathcast.studies.spec_file import published_spec, read_spec

    assert call("reproduce", "pohl2022", "--write", tmp_path / "mine.toml").code == 0
    assert read_spec(tmp_path / "mine.toml") == published_spec("pohl2022")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pohl1999"], "no published study 'pohl1999'"),
        (["pohl2022", "--methods", "uoro,gru"], "no method 'gru'"),
        (["pohl2022", "--data", "nowhere"], "nowhere"),
        (["pohl2022", "--runs-cv", "0"], "--runs-cv"),
        (["pohl2022", "--dask", "tcp://x:1", "--dask-cluster", "slurm"], "exclude"),
        (["pohl2022", "--dask-cluster", "lsf"], "no cluster 'lsf'"),
    ],
)
def test_what_is_wrong_with_a_published_study_is_said(tmp_path: Path, arguments: list[str], said: str) -> None:
    shown = call("reproduce", *arguments, "-o", tmp_path / "out")
    assert shown.code in (1, 2) and said in shown.err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_published_study_in_small_on_simulated_recordings(tmp_path: Path) -> None:
    options = ["--quick", "--methods", "uoro,lms,persistence", "--runs-cv", 2, "--runs-test", 2]
    shown = call("reproduce", "pohl2022", *options, "-o", tmp_path, "--json", "-")
    assert shown.code == 0, shown.err
    assert LABEL in (tmp_path / "report.html").read_text()
    assert "compared" not in shown.json  # the published numbers are of other people
    assert any("smaller grid" in line for line in shown.json["changed"])
    assert {row["group"] for row in shown.json["averages"]} == {"all", "regular", "irregular"}


@needs_recordings
@pytest.mark.slow
def test_the_published_study_in_small(tmp_path: Path) -> None:
    """All methods on the nine recordings, with two values of each hyper-parameter, few runs and five horizons."""
    options = ["--data", FOLDER, "--quick", "--runs-cv", 1, "--runs-test", 2]
    shown = call("reproduce", "pohl2022", *options, "-o", tmp_path / "now", "--json", tmp_path / "out.json")
    assert shown.code == 0, shown.err
    assert LABEL in shown.out and "held" in shown.out
    told = read_json(tmp_path / "out.json")
    means = {row["title"]: row["mean"] for row in told["averages"] if (row["group"], row["score"]) == ("all", "rmse")}
    without = [
        bc.evaluate(bc.Persistence(), recording, horizon=horizon, feedback="immediate").scores["rmse"].mean
        for recording in as_published()
        for horizon in (0.1, 0.6, 1.1, 1.5, 2.0)
    ]
    assert means["persistence"] == pytest.approx(sum(without) / len(without))
    assert means["rtrl"] < means["uoro"] < means["persistence"] / 2 < means["linear"]
    assert len(told["compared"]) == 3 * 5 * 5 and told["missing"] == {"selection": 0, "test": 0}
    late = call("reproduce", "pohl2022", *options, "--feedback", "delayed", "--methods", "lms", "-o", tmp_path / "late")
    assert late.code == 0 and "published with immediate feedback, ours with delayed" in late.out
