from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import breathcast as bc
from tests.cli.calling import LABEL, call, read_json
from tests.recordings.reader_files import LAST, extmarker_group, extmarker_rows

METHOD = ("--method", "uoro(hidden=4,history=0.5,training=5)", "--test-start", "10")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_table_is_what_evaluate_gives(file: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"f.{ending}"
    result = call("forecast", file, *METHOD, "--horizon", "0.3", "-o", out)
    assert result.code == 0
    assert "Root mean square error" in result.out
    table = pl.read_csv(out) if ending == "csv" else pl.read_parquet(out)
    recording = bc.read(file)
    assert isinstance(recording, bc.Recording)
    method = bc.UORO(hidden=4, history=0.5, training=5.0)
    truth = bc.evaluate(method, recording, horizon=0.3, test_start=10.0)
    marker = recording.markers[1]
    np.testing.assert_array_equal(table["time_s"], truth.times)
    np.testing.assert_array_equal(table[f"{marker} z forecast_mm"], truth.predictions[0, :, 1, 2])
    np.testing.assert_array_equal(table[f"{marker} z truth_mm"].fill_null(np.nan), truth.truth[:, 1, 2])
    error = (table[f"{marker} z forecast_mm"] - table[f"{marker} z truth_mm"]).fill_null(np.nan)
    np.testing.assert_array_equal(table[f"{marker} z error_mm"].fill_null(np.nan), error)
    np.testing.assert_array_equal(table["learned"], truth.learned[0])
    np.testing.assert_array_equal(table["imputed"], truth.imputed)
    np.testing.assert_array_equal(table["scored"], truth.test)
    assert table["horizon_s"].unique().to_list() == [pytest.approx(0.3)]
    assert table["feedback"].unique().to_list() == ["delayed"]


def test_json_alone_for_a_pipe(file: Path, tmp_path: Path) -> None:
    data = call("forecast", file, *METHOD, "-o", tmp_path / "f.csv", "--json", "-").json
    assert data["scores"]["rmse"]["interval"] is None  # one run of a random method
    assert data["file"].endswith("f.csv")


def test_the_marker_files_of_one_recording_are_forecast_together(tmp_path: Path) -> None:
    rows = extmarker_rows(list(range(0, 1800, 6)))
    files = extmarker_group(tmp_path, [*rows, LAST])
    out = tmp_path / "f.csv"
    data = call("forecast", *files, "--method", "persistence", "--test-start", "10", "-o", out, "--json", "-").json
    assert {"LAC x forecast_mm", "UAC x forecast_mm", "UCC x forecast_mm"} < set(pl.read_csv(out).columns)
    assert "the last row (0;0;0;0;0) dropped, as in the published studies" in data["notes"]


def test_what_was_assumed_and_what_stands_in_for_forecasts_is_said(file: Path, tmp_path: Path) -> None:
    result = call("forecast", file, "--method", "lms(history=15,training=5)", *METHOD[2:], "-o", tmp_path / "f.csv")
    assert "  - unit mm, as the column names state\n" in result.err
    assert "% of what is scored came before the method had a forecast of its own" in result.err


def test_where_nothing_can_be_scored_the_forecast_is_written_and_it_is_said(tmp_path: Path) -> None:
    trace = np.sin(np.arange(200.0))
    trace[100:] = np.nan
    bc.write(bc.Recording(trace, 10.0), tmp_path / "half.csv")
    flags = ("--method", "persistence", "--test-start", "11", "-o", tmp_path / "f.csv")
    result = call("forecast", tmp_path / "half.csv", *flags)
    assert result.code == 0
    assert "Nothing could be scored: from 11 s on the truth is missing." in result.err
    assert pl.read_csv(tmp_path / "f.csv")["marker 1 x forecast_mm"].null_count() == 0


def test_immediate_feedback_is_labelled_everywhere(file: Path, tmp_path: Path) -> None:
    flags = (*METHOD, "--feedback", "immediate", "-o", tmp_path / "f.csv")
    assert LABEL in call("forecast", file, *flags).out
    assert call("forecast", file, *flags, "--json", tmp_path / "f.json").code == 0
    assert read_json(tmp_path / "f.json")["warning"] == LABEL
    assert pl.read_csv(tmp_path / "f.csv")["feedback"].unique().to_list() == [f"immediate ({LABEL})"]


def test_errors(folder: Path, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "f.csv"
    for code, flags, words in [
        (1, [file, "-o", tmp_path / "f.txt"], [".csv or .parquet"]),
        (1, [file, "-o", tmp_path / "no" / "f.csv"], ["mkdir"]),
        (1, [file, "-o", file], ["is a file that is read"]),
        (1, [folder, "-o", out], ["holds 2 recordings"]),
        (1, [file, folder / "two.csv", "-o", out], ["Error: there are 2 recordings", "ExtMarker"]),
        (1, [file, "-o", out], ["--test-start"]),
        (1, [tmp_path / "none.csv", "-o", out], ["none.csv"]),
        (2, [file], ["--output"]),
        (2, [file, "-o", out, "--method", "all"], ["there is no method 'all'"]),
        (2, [file, "-o", out, "--method", "lms,rtrl"], ["one of"]),
        (2, [file, "-o", out, "--horizon", "-1"], ["--horizon", "positive"]),
        (2, [file, "-o", out, "--horizon", "soon"], ["--horizon"]),
    ]:
        result = call("forecast", *flags)
        assert (result.code, result.out) == (code, ""), flags
        for word in words:
            assert word in " ".join(result.err.split())
        assert not out.exists()
