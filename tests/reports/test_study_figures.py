"""The printed figures of a study, held against the stored results and their statistics."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from breathcast.errors import BreathcastError
from breathcast.evaluation.evaluate import IMMEDIATE_WARNING
from breathcast.evaluation.scores import SCORES
from breathcast.reports import study_drawing, study_series
from breathcast.reports.study_figures import drawings, save_figures
from breathcast.reports.study_series import Family, jitter_lines, ramp, score_lines, study_looks, top
from breathcast.studies import statistics
from breathcast.studies.run import Results
from breathcast.studies.run import results as stored
from breathcast.studies.store import Store
from tests.reports.conftest import HOSTILE, Study, studied

KINDS = ("pdf", "svg", "png")
ALL = {
    "scores-all",
    "scores-first",
    "nrmse-jitter",
    "forecast-recording1-0.2s-marker1-axis1",
    "loss-recording1-0.2s",
    "influence-uoro",
    "influence-lms",
    "relative-influence",
    "step-times",
}
CHOSEN = {"recording": "one", "horizon": 0.2, "marker": 1, "axis": 1}


def drawn(results: Results, store: Store) -> dict[str, Figure]:
    with study_drawing.style():
        found = list(drawings(results, store, recording="one", horizon=0.2, marker=1, axis=1))
    return {each.name: each.figure for each in found if each.figure is not None}


@pytest.fixture(scope="module")
def figures(study: Study) -> dict[str, Figure]:
    return drawn(*study)


def bars(figure: Figure, panel: int) -> dict[str, ErrorbarContainer]:
    found = [each for each in figure.axes[panel].containers if isinstance(each, ErrorbarContainer)]
    return {str(each.get_label()): each for each in found}


def test_there_is_every_figure(figures: dict[str, Figure]) -> None:
    assert set(figures) == ALL


@pytest.mark.parametrize("group", ["all", "first"])
def test_scores_against_the_horizon_are_the_means_with_their_intervals(
    study: Study, figures: dict[str, Figure], group: str
) -> None:
    means = statistics.by_horizon(study[0]).filter(pl.col("group") == group)
    for panel, score in enumerate(SCORES):
        lines = bars(figures[f"scores-{group}"], panel)
        assert list(lines) == ["UORO", "LMS", "No prediction"]
        for title, name in (("uoro", "UORO"), ("lms", "LMS"), ("persistence", "No prediction")):
            rows = means.filter((pl.col("title") == title) & (pl.col("score") == score))
            line, _, (ranges,) = lines[name].lines
            assert line is not None
            np.testing.assert_array_equal(line.get_xydata(), rows.select("horizon", "mean").to_numpy())
            lengths = [np.ptp(segment[:, 1]) for segment in ranges.get_segments()]
            np.testing.assert_allclose(lengths, 2 * rows["interval"].to_numpy(), atol=1e-12)


def test_jitter_against_nrmse_is_a_point_a_horizon(study: Study, figures: dict[str, Figure]) -> None:
    means = statistics.by_horizon(study[0]).filter((pl.col("group") == "all") & (pl.col("title") == "uoro"))
    line = figures["nrmse-jitter"].axes[0].get_lines()[0]
    expected = [means.filter(pl.col("score") == score)["mean"].to_list() for score in ("nrmse", "jitter")]
    np.testing.assert_array_equal(np.transpose(line.get_xydata()), expected)
    assert line.get_linestyle() == "None"


def test_forecast_and_truth_are_those_of_the_store(study: Study, figures: dict[str, Figure]) -> None:
    results, store = study
    panels = figures["forecast-recording1-0.2s-marker1-axis1"].axes
    assert [panel.get_title("left") for panel in panels] == ["UORO", "LMS", "No prediction"]
    for panel, title in zip(panels, ("uoro", "lms", "persistence"), strict=True):
        task = next(t for t in results.test_tasks if (t.title, t.recording, t.horizons) == (title, "one", (0.2,)))
        rows = store.trace(task).filter(pl.col("time") >= results.spec.test_start)
        truth, forecast = panel.get_lines()
        for line, column in ((truth, "truth"), (forecast, "forecast")):
            expected = np.column_stack([rows["time"], rows[column].list.get(0)])
            np.testing.assert_allclose(line.get_xydata(), expected)


def test_the_loss_is_shown_from_the_beginning_on_a_logarithmic_axis(study: Study, figures: dict[str, Figure]) -> None:
    results, store = study
    panel = figures["loss-recording1-0.2s"].axes[1]
    task = next(t for t in results.test_tasks if (t.title, t.recording, t.horizons) == ("lms", "one", (0.2,)))
    trace = store.trace(task)
    loss = np.where(trace["loss"] > 0, trace["loss"], np.nan)
    assert panel.get_yscale() == "log"
    np.testing.assert_allclose(panel.get_lines()[0].get_xydata(), np.column_stack([trace["time"], loss]))
    assert panel.get_lines()[1].get_xdata() == [20.0, 20.0]


def test_influence_is_a_curve_a_horizon_and_their_mean(study: Study, figures: dict[str, Figure]) -> None:
    found = statistics.influence(study[0]).filter((pl.col("title") == "uoro") & (pl.col("parameter") == "hidden"))
    panel = figures["influence-uoro"].axes[0]
    assert panel.get_xlabel() == "Hidden units"
    for line, horizon in zip(panel.get_lines()[:2], (0.2, 0.5), strict=True):
        rows = found.filter(pl.col("horizon") == horizon)
        np.testing.assert_array_equal(line.get_xydata(), rows.select("value", "nrmse").to_numpy())
        assert line.get_color() == ramp(float(horizon == 0.5))
    (mean,) = [each for each in panel.containers if isinstance(each, ErrorbarContainer)]
    line, _, (ranges,) = mean.lines
    assert line is not None
    pair = found.sort("value", "horizon")["nrmse"].to_numpy().reshape(2, 2)
    np.testing.assert_allclose(line.get_ydata(orig=False), pair.mean(axis=1))
    assert line.get_color() == "black"
    lengths = [np.ptp(segment[:, 1]) for segment in ranges.get_segments()]
    np.testing.assert_allclose(lengths, 2 * pair.std(axis=1))


def test_relative_influence_is_a_bar_a_hyper_parameter(study: Study, figures: dict[str, Figure]) -> None:
    found = statistics.relative_influence(statistics.influence(study[0])).filter(pl.col("title") == "uoro")
    panel = figures["relative-influence"].axes[0]
    widths = [patch.get_width() for patch in panel.patches]  # type: ignore[attr-defined]
    assert widths[::-1] == found["deviation"].to_list()
    assert [label.get_text() for label in panel.get_yticklabels()][::-1] == ["Hidden units", "Learning rate"]


def test_time_for_each_step_against_hidden_units(study: Study, figures: dict[str, Figure]) -> None:
    times = statistics.step_times(study[0])
    line = figures["step-times"].axes[0].get_lines()[0]
    np.testing.assert_array_equal(line.get_xydata(), times.select("hidden", "microseconds").to_numpy())


def test_immediate_feedback_is_labelled_on_every_figure(immediate_study: Study, figures: dict[str, Figure]) -> None:
    labelled = drawn(*immediate_study)
    assert set(labelled) == ALL
    assert all(IMMEDIATE_WARNING in figure.get_suptitle() for figure in labelled.values())
    assert all(figure.get_suptitle() == "" for figure in figures.values())


def test_files_are_the_same_to_the_byte(study: Study, tmp_path: Path) -> None:
    before, said = dict(mpl.rcParams), list[str]()
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
    first, second = (save_figures(*study, tmp_path / p, KINDS, **CHOSEN, say=said.append) for p in ("first", "second"))
    assert {file.name for file in first} == {f"{name}.{kind}" for name in ALL for kind in KINDS}
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    assert dict(mpl.rcParams) == before
    assert said == []
    assert sorted(p.name for p in (tmp_path / "first").iterdir()) == sorted({"captions.txt", *(f.name for f in first)})
    pdf = (tmp_path / "first" / "scores-all.pdf").read_bytes()
    assert b"FontFile2" in pdf  # the letters are in it, as TrueType
    assert b"CreationDate" not in pdf
    assert b"<dc:date>" not in (tmp_path / "first" / "scores-all.svg").read_bytes()


def test_captions_say_what_is_drawn(immediate_study: Study, tmp_path: Path) -> None:
    save_figures(*immediate_study, tmp_path, ["svg"], **CHOSEN)
    captions = dict(part.split(": ", 1) for part in (tmp_path / "captions.txt").read_text().split("\n\n")[1:])
    assert set(captions) == ALL
    assert all(f"Immediate feedback: {IMMEDIATE_WARNING}." in caption for caption in captions.values())
    assert "4 runs, seed 0" in captions["scores-all"]
    assert "3 runs, seed 0" in captions["influence-uoro"]
    assert "marker 1, axis x, of one, 0.2 s ahead" in captions["forecast-recording1-0.2s-marker1-axis1"]


def test_influence_says_that_settings_were_given_up(study: Study) -> None:
    results, store = study
    screening = replace(results, spec=results.spec.changed(screening_runs=2))
    for each, expected in ((results, False), (screening, True)):
        with study_drawing.style():
            captions = {drawing.name: drawing.caption for drawing in drawings(each, store)}
        assert ("screening gave up" in captions["influence-uoro"]) == expected


WRONG = [
    ({"recording": "three"}, "recording 'three'", "one"),
    ({"horizon": 0.3}, "horizon of 0.3 s", "use one of: 0.2, 0.5"),
    ({"marker": 3}, "no marker 3", "use one of: 1 (marker 1), 2 (marker 2)"),
    ({"axis": 4}, "no axis 4", "use one of: 1 (x), 2 (y), 3 (z)"),
]


@pytest.mark.parametrize(("given", "says", "cure"), WRONG, ids=[w[1] for w in WRONG])
def test_a_wrong_name_is_an_error_with_the_right_ones(
    study: Study, tmp_path: Path, given: dict[str, object], says: str, cure: str
) -> None:
    with pytest.raises(BreathcastError, match=says) as caught:
        save_figures(*study, tmp_path, ["png"], **given)  # type: ignore[arg-type]
    assert cure in str(caught.value.cure)
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_asked_for_is_chosen(study: Study) -> None:
    with study_drawing.style():
        names = [each.name for each in drawings(*study, recording=HOSTILE)]
        (limited,) = [each.name for each in drawings(*study, axis=2) if each.name.startswith("forecast")]
    assert any(name.startswith("forecast-recording2-0.2s-") for name in names)
    assert limited.startswith("forecast-recording1-0.2s-")
    assert limited.endswith("-axis2")


def undrawn(results: Results, store: Store) -> dict[str, str]:
    with study_drawing.style():
        return {each.name: each.caption for each in drawings(results, store) if each.figure is None}


def test_before_the_first_task_nothing_is_drawn_and_it_is_said_why(begun_study: Study, tmp_path: Path) -> None:
    said: list[str] = []
    assert save_figures(*begun_study, tmp_path, ["png"], say=said.append) == []
    assert len(said) == 7
    assert "scores is not drawn: no test task is done yet" in said


def test_without_traces_and_grids_the_rest_is_drawn(tmp_path: Path) -> None:
    method = [{"name": "persistence"}]
    why = undrawn(*studied(tmp_path, method=method, traces=False, horizons=[0.2], groups={}))
    assert set(why) == {"forecast", "loss", "influence", "relative-influence", "step-times"}
    assert "traces = true" in why["forecast"]


def test_an_unfinished_study_shows_which_means_lack_recordings(study: Study) -> None:
    results, store = study
    part = results.test.filter((pl.col("recording") == "one") | (pl.col("title") == "lms"))
    begun = replace(results, test=part)
    lines = score_lines(begun, statistics.by_horizon(begun), "all", "rmse")
    assert {line.look.title: line.whole for line in lines} == {
        "uoro": [False, False],
        "lms": [True, True],
        "persistence": [False, False],
    }
    with study_drawing.style():
        (scores,) = [each for each in drawings(begun, store) if each.name == "scores-all"]
    assert "Hollow points" in scores.caption
    assert scores.figure is not None
    hollow = [line for line in scores.figure.axes[0].get_lines() if line.get_markerfacecolor() == "white"]
    assert len(hollow) == 2


def test_a_cell_that_diverged_leaves_a_gap(study: Study) -> None:
    results, store = study
    lost = (pl.col("title") == "uoro") & (pl.col("horizon") == 0.5)
    gone = replace(results, test=results.test.with_columns(pl.col("diverged") | lost))
    figure = drawn(gone, store)["scores-all"]
    line = bars(figure, 0)["UORO"].lines[0]
    assert line is not None
    assert np.isnan(np.asarray(line.get_ydata(orig=False))).tolist() == [False, True]


def test_points_far_off_are_cut_and_it_is_said(study: Study) -> None:
    results, store = study
    reference = pl.col("title") == "persistence"
    factor = pl.when(reference & (pl.col("horizon") == 0.5)).then(100.0).otherwise(1.0)
    far = replace(results, test=results.test.with_columns(pl.col("nrmse") * factor))
    means = statistics.by_horizon(far)
    lines, cut = jitter_lines(far, means, "all")
    assert {line.look.title: len(line.x) for line in lines} == {"uoro": 2, "lms": 2, "persistence": 1}
    assert cut == ["No prediction 1 of 2 points"]
    assert "No prediction 1 of 2 points" in drawn(far, store)["nrmse-jitter"].axes[0].get_xlabel()
    scores = score_lines(far, means, "all", "nrmse")
    assert top(scores) == pytest.approx(1.8 * max(max(line.y) for line in scores if line.look.online))


def test_one_method_that_does_not_learn_is_not_cut(tmp_path: Path) -> None:
    results, _ = studied(tmp_path, method=[{"name": "persistence"}], horizons=[0.2])
    means = statistics.by_horizon(results)
    assert top(score_lines(results, means, "all", "nrmse")) is None
    assert jitter_lines(results, means, "all")[1] == []


def test_groups_may_be_called_anything(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    groups = {"a/b $x": [1], "a b $x": [2], "呼吸": [1]}
    results, store = studied(tmp_path, method=[{"name": "persistence"}], horizons=[0.2], groups=groups)
    names = [file.name for file in save_figures(results, store, tmp_path / "figures", ["png"])]
    assert {"scores-all.png", "scores-a_b_x-2.png", "scores-a_b_x-3.png", "scores-呼吸.png"} <= set(names)
    assert len(set(names)) == len(names)


def test_without_the_names_of_the_markers_they_are_numbered(study: Study, tmp_path: Path) -> None:
    store = study[1]
    told = store.description()
    for recording in told["recordings"]:
        del recording["markers"]
    older = Store(tmp_path)
    for part in store.folder.iterdir():
        (tmp_path / part.name).symlink_to(part)
    (tmp_path / "study.json").unlink()
    (tmp_path / "study.json").write_text(json.dumps(told))
    with study_drawing.style():
        captions = {each.name: each.caption for each in drawings(stored(older), older, recording=HOSTILE, marker=2)}
    assert any("truth of marker 2" in caption for caption in captions.values())


def test_methods_keep_their_look_and_differ_in_grey_too(study: Study) -> None:
    results = study[0]
    looks = list(study_looks(results).values())
    assert len({(look.dash, look.symbol) for look in looks}) == len(looks)
    named = [{"name": "uoro"}, {"name": "uoro", "label": "$other$"}, {"name": "persistence"}]
    labelled = replace(results, spec=results.spec.changed(method=named, groups={}))
    assert [look.name for look in study_looks(labelled).values()] == ["UORO", "$other$", "No prediction"]
    assert study_series.parameter_axis("history") == "History (s)"


def test_values_in_steps_by_a_factor_have_a_logarithmic_axis(study: Study) -> None:
    look = next(iter(study_looks(study[0]).values()))

    def family(*x: float) -> Family:
        return Family(look, "learning_rate", "Horizon (s)", "nRMSE", {0.1: (list(x), [1.0] * len(x))})

    assert family(0.05, 0.1, 0.2).geometric
    assert family(0.002, 0.005, 0.01, 0.02, 0.05).geometric
    assert not family(1.0, 3.0, 5.0, 7.0).geometric
    assert not family(0.0, 1.0, 10.0).geometric
    assert not family(10.0, 90.0).geometric
