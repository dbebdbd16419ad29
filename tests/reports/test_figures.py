from __future__ import annotations

import base64
import itertools
import warnings
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

import breathcast as bc
from breathcast.evaluation.compare import Comparison
from breathcast.evaluation.evaluate import IMMEDIATE_WARNING
from breathcast.reports import figures
from breathcast.reports.figures import legend, score_figures, shown_first, time_figure
from breathcast.reports.recording_figures import motion_figure, steps_figure, thinned
from breathcast.reports.tables import labels


def valid(spec: figures.Spec) -> None:
    """Plotly knows every word of the description."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Plotly's own imports
        go.Figure(data=spec.get("data", []), layout=spec["layout"])


def unpacked(text: str, offset: float) -> np.ndarray:
    whole = np.frombuffer(base64.b64decode(text), dtype="<i2").astype(float)
    return np.where(whole == -32768, np.nan, whole / 100 + offset)


def test_scores_against_the_horizon(comparison: Comparison) -> None:
    specs = score_figures(comparison)
    assert list(specs) == ["mae", "rmse", "nrmse", "max_error", "jitter"]
    for spec in specs.values():
        valid(spec)
    line = specs["rmse"]["data"][0]
    uoro = comparison.methods[0]
    assert line["x"] == [0.2, 0.5]
    assert line["y"] == [comparison.average(uoro, score="rmse", horizon=h).mean for h in (0.2, 0.5)]
    assert line["error_y"]["array"] == [comparison.average(uoro, score="rmse", horizon=h).interval for h in (0.2, 0.5)]


def test_every_method_looks_different(comparison: Comparison) -> None:
    looks = [(entry["colour"], entry["dash"]) for entry in legend(comparison)]
    assert len(set(looks)) == len(looks) == len(comparison.methods)
    many = replace(comparison, methods=tuple(bc.LMS(history=h / 10) for h in range(1, 28)), cases=())
    assert len({(entry["colour"], entry["dash"]) for entry in legend(many)}) == 27


def test_three_methods_are_drawn_over_time_at_first(comparison: Comparison) -> None:
    shown = shown_first(comparison)
    assert len(shown) == 3
    assert bc.Persistence() in shown


def test_packed_lines_are_the_traces(comparison: Comparison) -> None:
    spec = time_figure(comparison)
    valid({"layout": spec["layout"]})
    trace, packed = comparison.traces[0], spec["recordings"][0]
    assert packed["times"] == pytest.approx(trace.times, abs=5e-4)
    place = packed["coordinates"][4]  # the second marker's y
    assert place["name"] == f"{trace.markers[1]} y"
    np.testing.assert_allclose(unpacked(place["truth"], place["offset"]), trace.truth[:, 1, 1], atol=0.0051)
    assert set(place["lines"]) <= set(labels(comparison.methods).values())
    forecast = trace.forecasts["uoro"][:, 1, 1]
    np.testing.assert_allclose(unpacked(place["lines"]["uoro"], place["offset"]), forecast, atol=0.0051)
    widest = np.nanstd(trace.truth, axis=0).argmax()
    assert packed["first"] == widest


def test_what_is_huge_is_cut_and_what_is_missing_stays_missing() -> None:
    text = figures.packed(np.array([1e12, -1e12, np.nan, 0.004]), 5.0)
    np.testing.assert_allclose(unpacked(text, 5.0), [332.67, -322.67, np.nan, 0.0])


def test_a_large_comparison_is_cut_to_what_a_page_holds(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "_LEAST", 5.0)
    monkeypatch.setattr(figures, "_ROOM", 50 * 6 * 6)  # 50 samples of 6 coordinates, truth and 5 methods
    packed = time_figure(replace(comparison, traces=comparison.traces * 3))["recordings"]
    assert [len(entry["times"]) for entry in packed] == [50]


def test_immediate_feedback_is_in_every_figure(immediate: Comparison) -> None:
    for spec in (*score_figures(immediate).values(), time_figure(immediate)):
        assert IMMEDIATE_WARNING in spec["layout"]["title"]["text"]
        valid({"layout": spec["layout"]})


def test_motion_with_gaps() -> None:
    recording = bc.simulate("regular", duration=60.0, markers=2, dropout=0.1)
    found = bc.inspect(recording)
    spec = motion_figure(recording, found)
    valid(spec)
    assert len(spec["data"]) == 6
    shaded = sum(shape["x1"] - shape["x0"] for shape in spec["layout"]["shapes"])
    assert shaded == pytest.approx(recording.missing.any(axis=1).sum() / recording.rate)
    valid(motion_figure(bc.Recording(np.full(3, np.nan), 10.0), bc.inspect(bc.Recording(np.full(3, np.nan), 10.0))))


def test_steps_of_the_clock() -> None:
    even = bc.simulate("regular", duration=10.0)
    assert steps_figure(even) is None
    times = np.arange(200) * 0.1 + np.random.default_rng(0).normal(0, 0.003, 200)
    spec = steps_figure(bc.Recording(np.zeros(200), 10.0, times=times))
    assert spec is not None
    valid(spec)
    assert sum(spec["data"][0]["y"]) == 199


def test_thinning_keeps_peaks_and_gaps() -> None:
    values = np.sin(np.arange(100_000) / 50)
    values[54_321], values[20_000:30_000] = 9.0, np.nan
    times, kept = thinned(np.arange(100_000) / 10, values, 1000)
    assert len(kept) <= 1000
    assert np.nanmax(kept) == 9.0
    assert times[np.nanargmax(kept)] == 5432.1
    assert np.isnan(kept[(times > 2010) & (times < 2990)]).all()
    assert (np.diff(times) > 0).all()


# Linear RGB as people without one kind of cones see it (Machado et al. 2009, severity 1).
SEEN = {
    "everybody": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}


def lab(linear: np.ndarray) -> np.ndarray:
    """CIE L*a*b*, in which a distance of about 2 is just seen."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    scaled = np.cbrt(to_xyz @ np.clip(linear, 1e-3, 1) / [0.9505, 1.0, 1.089])
    return np.array([116 * scaled[1] - 16, 500 * (scaled[0] - scaled[1]), 200 * (scaled[1] - scaled[2])])


@pytest.mark.parametrize("sight", SEEN)
def test_the_first_six_colours_differ_for_every_kind_of_colour_vision(sight: str) -> None:
    parts = [np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255 for colour in figures.COLOURS[:6]]
    seen = [lab(SEEN[sight] @ part**2.2) for part in parts]
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)) > 10
