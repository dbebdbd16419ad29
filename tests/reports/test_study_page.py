"""The page of a study: what it shows is what the store says; test_pages.py has what holds for every page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from breathcast.evaluation.evaluate import IMMEDIATE_WARNING
from breathcast.evaluation.scores import SCORES
from breathcast.reports import study_page, study_time_plots
from breathcast.reports.figures import Spec
from breathcast.reports.plain import to_json
from breathcast.reports.study_page import embedded
from breathcast.reports.study_plots import family_plots, jitter_plots, relative_plots, score_plots
from breathcast.reports.study_series import cost_families, influence_families
from breathcast.reports.study_summary import remarks, summary
from breathcast.reports.study_tables import study_tables
from breathcast.reports.study_time_plots import time_plots
from breathcast.reports.study_traces import Traces
from breathcast.reports.tables import Cell, Row, Table
from breathcast.studies import statistics
from breathcast.studies.run import Results
from breathcast.studies.store import Store
from tests.reports.conftest import HOSTILE, Study, studied
from tests.reports.test_figures import unpacked, valid
from tests.reports.test_pages import Page

FIGURES = {"score-plots", "jitter-plots", "time-plot", "loss-plot", "influence-plots", "relative-plots", "cost-plots"}


def made(results: Results, store: Store) -> Page:
    return Page(study_page.study_page(results, store, None))


@pytest.fixture(scope="module")
def page(study: Study) -> Page:
    return made(*study)


def flat(found: Any) -> list[Spec]:
    """All descriptions in a tree of choices."""
    return [found] if "layout" in found else [spec for part in found.values() for spec in flat(part)]


def trace(results: Results, store: Store, title: str, recording: str, horizon: float) -> pl.DataFrame:
    return store.trace(
        next(t for t in results.test_tasks if (t.title, t.recording, t.horizons[0]) == (title, recording, horizon))
    )


def test_there_is_every_figure_and_plotly_knows_every_word(page: Page) -> None:
    assert {figure["data-source"] for figure in page.all("figure")} == FIGURES
    for key in FIGURES - {"time-plot", "loss-plot"}:
        for spec in flat(json.loads(page.blocks[key])):
            valid(spec)
    for key in ("time-plot", "loss-plot"):
        valid({"layout": json.loads(page.blocks[key])["layout"]})


def test_scores_by_group_and_score_are_the_means(study: Study) -> None:
    means = statistics.by_horizon(study[0])
    plots = score_plots(study[0], means)
    assert list(plots) == ["all", "first"]
    for group, scores in plots.items():
        assert list(scores) == list(SCORES)
        for score, spec in scores.items():
            for line in spec["data"]:
                rows = means.filter(
                    (pl.col("group") == group) & (pl.col("score") == score) & (pl.col("title") == line["name"])
                )
                assert line["x"] == [0.2, 0.5]
                assert line["y"] == rows["mean"].to_list()
                assert line["error_y"]["array"] == rows["interval"].to_list()


def test_jitter_is_against_nrmse(study: Study) -> None:
    means = statistics.by_horizon(study[0])
    plots, cut = jitter_plots(study[0], means)
    rows = means.filter((pl.col("group") == "first") & (pl.col("title") == "lms"))
    line = plots["first"]["data"][1]
    assert line["x"] == rows.filter(pl.col("score") == "nrmse")["mean"].to_list()
    assert line["y"] == rows.filter(pl.col("score") == "jitter")["mean"].to_list()
    assert cut == []


def test_means_without_some_recordings_are_hollow(study: Study) -> None:
    begun = replace(study[0], test=study[0].test.filter(pl.col("recording") == "one"))
    plots = score_plots(begun, statistics.by_horizon(begun))
    assert plots["all"]["rmse"]["data"][0]["marker"]["symbol"] == ["circle-open", "circle-open"]
    assert plots["first"]["rmse"]["data"][0]["marker"]["symbol"] == ["circle", "circle"]


def test_forecasts_over_time_are_the_traces_of_the_test_part(study: Study) -> None:
    results, store = study
    plots = time_plots(results, Traces(results, store))
    assert plots.left_out == []
    assert list(plots.forecasts["horizons"].values()) == ["0.2 s", "0.5 s"]
    packed = plots.forecasts["recordings"][1]
    place = packed["coordinates"][4]
    assert (packed["name"], place["name"]) == (HOSTILE, f"{HOSTILE} y")
    for key, horizon in (("0.2", 0.2), ("0.5", 0.5)):
        rows = trace(results, store, "uoro", HOSTILE, horizon).filter(pl.col("time") >= 20.0)
        assert packed["times"] == pytest.approx(rows["time"].to_list(), abs=5e-4)
        for text, column in ((place["truth"], "truth"), (place["lines"][key]["uoro"], "forecast")):
            np.testing.assert_allclose(unpacked(text, place["offset"]), rows[column].list.get(4), atol=0.0051)


def test_the_loss_is_in_decibels_and_of_parts_where_it_is_long(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    results, store = study
    loss = trace(results, store, "uoro", "one", 0.5)["loss"].to_numpy().astype(float)
    whole = time_plots(results, Traces(results, store)).losses["recordings"][0]
    shown = 10 ** (unpacked(whole["lines"]["0.5"]["uoro"], 0.0) / 10)
    np.testing.assert_allclose(shown[-len(loss) :], loss, rtol=2e-3)
    assert np.isnan(shown[: -len(loss)]).all()
    monkeypatch.setattr(study_time_plots, "_LEAST_LOSS", 50)
    monkeypatch.setattr(study_time_plots, "_LOSS_ROOM", 0)
    parts = time_plots(results, Traces(results, store)).losses["recordings"][0]
    assert len(parts["times"]) == 50
    first = unpacked(parts["lines"]["0.2"]["persistence"], 0.0)
    early = trace(results, store, "persistence", "one", 0.2)["loss"].to_numpy()[:8].astype(float).mean()
    assert 10 ** (first[0] / 10) == pytest.approx(early, rel=2e-3)


def test_what_a_page_cannot_hold_is_left_out_and_said(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    results, store = study
    monkeypatch.setattr(study_time_plots, "_LEAST", 5.0)
    monkeypatch.setattr(study_time_plots, "_ROOM", 50 * 6 * (1 + 2 * 3))
    plots = time_plots(results, Traces(results, store))
    assert [len(each["times"]) for each in plots.forecasts["recordings"]] == [50]
    assert plots.left_out[:2] == [
        "Of 2 recordings the first 1 are here.",
        "Of long test parts the first 5 s are here.",
    ]
    monkeypatch.setattr(study_time_plots, "_HORIZONS", 1)
    assert time_plots(results, Traces(results, store)).left_out[0] == "1 of 2 horizons are here."


def test_influence_and_cost_are_those_of_the_statistics(study: Study) -> None:
    plots = family_plots(study[0], influence_families(study[0]))
    assert list(plots) == ["uoro: Hidden units", "uoro: Learning rate", "lms: History (s)"]
    found = statistics.influence(study[0]).filter((pl.col("title") == "lms") & (pl.col("horizon") == 0.5))
    colours, early, late, mean = plots["lms: History (s)"]["data"]
    assert colours["marker"]["showscale"]
    assert (late["x"], late["y"]) == (found["value"].to_list(), found["nrmse"].to_list())
    assert mean["error_y"]["array"] == pytest.approx(
        [abs(a - b) / 2 for a, b in zip(late["y"], early["y"], strict=True)]
    )
    relative = statistics.relative_influence(statistics.influence(study[0]))
    bars = relative_plots(study[0])["uoro"]["data"][0]
    assert bars["y"] == relative.filter(pl.col("title") == "uoro")["deviation"].to_list()
    cost = family_plots(study[0], cost_families(study[0]))
    assert cost["uoro: Hidden units"]["data"][0]["y"] == statistics.step_times(study[0])["microseconds"].to_list()


def test_all_numbers_the_data_and_the_study_are_embedded(page: Page, study: Study) -> None:
    results, store = study
    told = json.loads(page.blocks["results"])
    assert told == json.loads(to_json(embedded(results, store.description(), None)))
    assert told["averages"] == json.loads(to_json(statistics.averages(results).to_dicts()))
    assert told["spec"] == results.spec.to_dict()
    assert [each["hash"] for each in told["recordings"]] == [each["hash"] for each in store.description()["recordings"]]
    assert {"python", "numpy", "breathcast"} <= set(told["versions"])
    assert len(told["choices"]) == 8
    assert told["seed"] == 0


def test_tables_are_those_of_the_command_line(page: Page, study: Study) -> None:
    captions = [table.caption for table in study_tables(study[0], None)]
    assert captions
    assert all(page.texts[caption] == 1 for caption in captions)


def test_a_wide_table_is_divided_as_evenly_as_it_goes() -> None:
    columns = tuple(str(n) for n in range(15))
    wide = Table("wide", ("method", *columns), (Row("uoro", tuple(Cell(name) for name in columns)),))
    blocks = list(study_page._blocks(wide))
    assert [block.columns for block in blocks] == [
        ("method", *columns[:5]),
        ("method", *columns[5:10]),
        ("method", *columns[10:]),
    ]
    assert [cell.text for block in blocks for cell in block.rows[0].cells] == list(columns)


def test_immediate_feedback_is_labelled_in_every_part(immediate_study: Study, page: Page) -> None:
    labelled = made(*immediate_study)
    assert sum(count for text, count in labelled.texts.items() if IMMEDIATE_WARNING in text) >= 2 + len(FIGURES)
    for key in FIGURES - {"time-plot", "loss-plot"}:
        specs = flat(json.loads(labelled.blocks[key]))
        assert all(IMMEDIATE_WARNING in spec["layout"]["title"]["text"] for spec in specs)
    for key in ("time-plot", "loss-plot"):
        assert IMMEDIATE_WARNING in json.loads(labelled.blocks[key])["layout"]["title"]["text"]
    assert json.loads(labelled.blocks["results"])["warning"] == IMMEDIATE_WARNING
    assert not any(IMMEDIATE_WARNING in text for text in page.texts)


def test_before_the_first_task_it_says_what_is_missing(begun_study: Study) -> None:
    page = made(*begun_study)
    assert page.all("figure") == []
    assert page.texts["No test task is done yet."] == 2
    assert any("tasks are not done yet" in text for text in page.texts)


def test_one_method_without_grid_or_traces(tmp_path: Path) -> None:
    results, store = studied(tmp_path, method=[{"name": "persistence"}], traces=False, horizons=[0.2], groups={})
    page = made(results, store)
    assert {figure["data-source"] for figure in page.all("figure")} == {"score-plots", "jitter-plots"}
    assert "No method depends on chance." in summary(results)[2]


def test_remarks_say_what_failed_diverged_and_was_passed_over(study: Study) -> None:
    results = study[0]
    assert remarks(results) == []
    failure = {"title": "uoro", "recording": "one", "why": "ValueError: no"}
    lost = replace(
        results,
        failures=[failure] * 7,
        test=results.test.with_columns((pl.col("title") == "uoro").alias("diverged")),
        choices=[replace(choice, passed_over=1) for choice in results.choices],
    )
    said = remarks(lost)
    assert said[:5] == ["uoro on one failed: ValueError: no"] * 5
    assert said[5] == "2 more tasks failed; --retry tries them again."
    assert said[6] == "16 of 24 test runs diverged and are left out of the means."
    assert said[7] == "8 of 24 settings diverged in the validation part: passed over."


def test_the_study_is_shown_with_its_lists_on_one_line() -> None:
    text = json.dumps({"grid": {"a": [1, 2.5], "b": []}, "parts": [{"c": ["x"]}]}, indent=1)
    shown = study_page._closed_up(text)
    assert json.loads(shown) == json.loads(text)
    assert '"a": [ 1, 2.5 ]' in shown


def test_size(study: Study) -> None:
    assert len(study_page.study_page(*study, None)) < 6_500_000
