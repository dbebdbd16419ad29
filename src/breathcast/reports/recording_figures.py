"""Figures of one recording as plain Plotly descriptions: every axis over time, and how even its clock is."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from breathcast.forecasters.method import Array
from breathcast.recordings.inspection import Gap, Inspection
from breathcast.recordings.recording import Recording
from breathcast.reports.figures import COLOURS, Spec, layout
from breathcast.reports.inspections import axes

_MOST_POINTS = 4000  # of a curve; a screen is not wider
_MOST_SHADES = 200
_SHADE = "rgba(220, 75, 67, 0.25)"


def motion_figure(recording: Recording, found: Inspection, points: int = _MOST_POINTS) -> Spec:
    """One panel for each axis, one curve for each marker about its mean, gaps shaded."""
    names = axes(recording.dimension)
    figure = layout(
        height=140 + 170 * len(names), showlegend=True, legend={"orientation": "h", "y": 1, "yanchor": "bottom"}
    )
    figure["xaxis"] = {"title": {"text": "Time (s)"}, "anchor": f"y{len(names)}" if len(names) > 1 else "y"}
    data = []
    for a, axis in enumerate(names):
        key = "" if a == 0 else str(a + 1)
        top, bottom = 1 - a / len(names), 1 - (a + 0.9) / len(names)
        figure[f"yaxis{key}"] = {"title": {"text": f"{axis} − mean (mm)"}, "domain": [max(0.0, bottom), top]}
        for m, marker in enumerate(recording.markers):
            centre = found.markers[m].mean[a] or 0.0
            times, values = thinned(recording.times, recording.positions[:, m, a], points)
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": marker,
                    "legendgroup": str(m),
                    "showlegend": a == 0,
                    "x": [round(float(t), 3) for t in times],
                    "y": [round(float(v - centre), 2) for v in values],
                    "yaxis": f"y{key}",
                    "line": {"color": COLOURS[m % len(COLOURS)], "width": 1.5},
                }
            )
    figure["shapes"] = [_shade(start, stop) for start, stop in _spans(found.gaps)[:_MOST_SHADES]]
    return {"data": data, "layout": figure}


def steps_figure(recording: Recording) -> Spec | None:
    """How many steps of the clock have which length; None where all are the same to a microsecond."""
    steps = 1000 * np.diff(recording.times)
    steps = steps[np.isfinite(steps)]
    if steps.size == 0 or np.ptp(steps) < 1e-3:
        return None
    low, high = np.percentile(steps, [0.1, 99.9])
    margin = max(0.05 * (high - low), 0.005 * float(np.median(steps)))
    edges = np.linspace(low - margin, high + margin, 61)
    counts, _ = np.histogram(np.clip(steps, edges[0], edges[-1]), edges)
    centres = (edges[:-1] + edges[1:]) / 2
    return {
        "data": [
            {
                "type": "bar",
                "x": [round(float(x), 4) for x in centres],
                "y": counts.tolist(),
                "marker": {"color": COLOURS[0]},
                "hovertemplate": "%{y} steps<extra></extra>",
            }
        ],
        "layout": layout(
            height=280,
            bargap=0.05,
            xaxis={"title": {"text": "Step of the clock (ms)"}},
            yaxis={"title": {"text": "Steps (logarithmic)"}, "type": "log", "dtick": 1},
        ),
    }


def thinned(times: Array, values: Array, points: int = _MOST_POINTS) -> tuple[Array, Array]:
    """The curve with fewer points: the smallest and the largest of each stretch, so that no peak is lost."""
    stretch = -(-2 * len(values) // points)
    if stretch <= 2:
        return times, values
    keep: list[int] = []
    for start in range(0, len(values), stretch):
        part = values[start : start + stretch]
        known = np.flatnonzero(np.isfinite(part))
        ends = {0} if known.size == 0 else {int(known[np.argmin(part[known])]), int(known[np.argmax(part[known])])}
        keep += sorted(start + end for end in ends)
    return times[keep], values[keep]


def _spans(gaps: Iterable[Gap]) -> list[tuple[float, float]]:
    """When anything is missing, overlapping gaps as one."""
    spans: list[tuple[float, float]] = []
    for start, stop in sorted((gap.start, gap.start + gap.length) for gap in gaps if gap.start is not None):
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], stop)
        else:
            spans.append((start, stop))
    return spans


def _shade(start: float, stop: float) -> Spec:
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": round(start, 3),
        "x1": round(stop, 3),
        "y0": 0,
        "y1": 1,
        "fillcolor": _SHADE,
        "line": {"width": 0},
        "layer": "below",
    }
