"""The figures of a study as plain Plotly descriptions; page.js draws them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from breathcast.reports.figures import GREY, Spec, layout
from breathcast.reports.glossary import SCORE_WORDS
from breathcast.reports.study_series import (
    Family,
    Line,
    jitter_lines,
    parameter_axis,
    ramp,
    relative_bars,
    score_lines,
    study_looks,
    top,
    warning,
)
from breathcast.studies.run import Results

_AXIS = {"rangemode": "tozero"}


def score_plots(results: Results, means: pl.DataFrame) -> dict[str, dict[str, Spec]]:
    """By group and score, the score against the horizon."""
    return {
        group: {score: _scores(results, score_lines(results, means, group, score), score) for score in SCORE_WORDS}
        for group in results.spec.members(results.recordings)
    }


def _scores(results: Results, lines: Sequence[Line], score: str) -> Spec:
    end = top(lines)
    return {
        "data": [_line(line) | _bars(line) for line in lines],
        "layout": layout(
            warning(results),
            height=420,
            xaxis={"title": {"text": "Horizon (s)"}, **_AXIS},
            yaxis={"title": {"text": SCORE_WORDS[score].axis}, **({"range": [0, end]} if end else _AXIS)},
        ),
    }


def jitter_plots(results: Results, means: pl.DataFrame) -> tuple[dict[str, Spec], list[str]]:
    """By group, jitter against nRMSE; and what is cut of it."""
    found, cut = {}, []
    for group in results.spec.members(results.recordings):
        lines, lost = jitter_lines(results, means, group)
        cut += [f"{group}: {', '.join(lost)}"] if lost else []
        found[group] = {
            "data": [
                _line(line) | {"mode": "markers", "hovertemplate": "nRMSE %{x:.3f}, jitter %{y:.3f} mm"}
                for line in lines
            ],
            "layout": layout(
                warning(results),
                height=420,
                hovermode="closest",
                xaxis={"title": {"text": SCORE_WORDS["nrmse"].axis}},
                yaxis={"title": {"text": SCORE_WORDS["jitter"].axis}},
            ),
        }
    return found, cut


def _line(line: Line) -> Spec:
    look = line.look
    symbols = [look.symbol if whole or look.symbol.endswith("open") else f"{look.symbol}-open" for whole in line.whole]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": look.title,
        "x": line.x,
        "y": line.y,
        "line": {"color": look.colour, "dash": look.dash, "width": 2},
        "marker": {"symbol": symbols, "size": 8, "color": look.colour, "line": {"color": look.colour, "width": 1.5}},
        "hovertemplate": "%{y:.3f}",
    }


def _bars(line: Line) -> Spec:
    return {"error_y": {"type": "data", "array": [half or 0.0 for half in line.half], "thickness": 1}}


def family_plots(results: Results, families: Iterable[Family]) -> dict[str, Spec]:
    """Curves coloured by a number, by method and hyper-parameter."""
    return {
        f"{family.look.title}: {parameter_axis(family.parameter)}": {
            "data": list(_curves(family)),
            "layout": layout(
                warning(results),
                height=420,
                hovermode="closest",
                xaxis={
                    "title": {"text": family.x_title},
                    "type": "log" if family.geometric else "linear",
                    "tickvals": family.ticks,
                    "ticktext": [f"{tick:g}" for tick in family.ticks],
                },
                yaxis={"title": {"text": family.y_title}, **({} if family.mean else _AXIS)},
            ),
        }
        for family in families
    }


def _curves(family: Family) -> Iterable[Spec]:
    """What the colours mean, the curves, and last the mean over them: page.css knows it by its place."""
    colours = family.colours()
    if len(colours) > 1:
        yield _colour_bar(family, list(colours))
    for value, (x, y) in family.curves.items():
        yield {
            "type": "scatter",
            "mode": "lines+markers",
            "name": f"{family.by} {value:g}",
            "x": x,
            "y": y,
            "line": {"color": colours[value], "width": 1.5},
            "marker": {"color": colours[value], "size": 6},
            "hovertemplate": "%{y:.4g}",
        }
    if family.mean is not None and len(colours) > 1:
        x, y, deviation = family.mean
        yield {
            "type": "scatter",
            "mode": "lines+markers",
            "name": "mean",
            "x": x,
            "y": y,
            "error_y": {"type": "data", "array": deviation, "thickness": 1.5, "color": GREY},
            "line": {"color": GREY, "dash": "dot", "width": 3},
            "marker": {"color": GREY, "symbol": "square", "size": 8},
            "hovertemplate": "%{y:.4g} ± %{error_y.array:.2g}",
        }


def _colour_bar(family: Family, values: Sequence[float]) -> Spec:
    scale = [[place, ramp(place)] for place in (0.0, 1 / 3, 2 / 3, 1.0)]
    bar = {"title": {"text": family.by, "side": "right"}, "thickness": 12, "outlinewidth": 0}
    marker = {"color": [values[0]], "colorscale": scale, "cmin": min(values), "cmax": max(values)}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [None],
        "y": [None],
        "hoverinfo": "skip",
        "marker": {**marker, "showscale": True, "colorbar": bar},
    }


def relative_plots(results: Results) -> dict[str, Spec]:
    """By method, how much each hyper-parameter matters."""
    looks, title = study_looks(results), f"Deviation of the {SCORE_WORDS['nrmse'].short}"
    return {
        method: {
            "data": [
                {
                    "type": "bar",
                    "x": [parameter_axis(name).partition(" (")[0] for name in bars],
                    "y": list(bars.values()),
                    "marker": {"color": looks[method].colour},
                    "hovertemplate": "%{y:.4f}<extra></extra>",
                }
            ],
            "layout": layout(
                warning(results),
                height=320,
                hovermode="closest",
                bargap=0.5,
                yaxis={"title": {"text": title}, "nticks": 5, "automargin": True, **_AXIS},
            ),
        }
        for method, bars in relative_bars(results).items()
    }
