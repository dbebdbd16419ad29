"""Figures of a comparison as plain Plotly descriptions ({"data": ..., "layout": ...}); page.js draws them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from breathcast.evaluation.compare import Comparison, Trace, labels
from breathcast.forecasters.method import Array, Method
from breathcast.recordings.recording import Recording
from breathcast.reports.glossary import REFERENCE, SCORE_WORDS
from breathcast.reports.inspections import axes

# Mid tones, so that each is read on white and on black; the first six differ for every kind of colour vision. The
# second ten repeat them dashed.
COLOURS = (
    "#1f77c9",
    "#d97f00",
    "#008f6b",
    "#b8479a",
    "#5aa9dd",
    "#c8401f",
    "#8b6fd6",
    "#8a9a1b",
    "#a87132",
    "#5b7c99",
)
_DASHES = ("solid", "dash", "dot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "triangle-down", "pentagon", "hexagon")
GREY = "#808080"

_ROOM = 500_000  # numbers in the time figure of a page: about 1.3 MB
_LEAST = 20.0  # s of each recording that is shown
_SHOWN = 3  # methods drawn at first
_MISSING = -32768

Spec = dict[str, Any]


def layout(warning: str | None = None, **changes: Any) -> Spec:
    """What all figures share; the colours of text and grid come from the page, so that they follow its theme."""
    base: Spec = {
        "autosize": True,
        "margin": {"l": 56, "r": 12, "t": 12, "b": 48},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": GREY, "activecolor": GREY},
        "showlegend": False,
        "hovermode": "x unified",
        "font": {"family": "system-ui, sans-serif", "size": 13},
    }
    if warning:
        text = f"<b>Immediate feedback:<br>{warning}</b>"  # two lines, so that a phone shows all of it
        base["title"] = {"text": text, "font": {"size": 12}, "x": 0, "xref": "paper", "y": 0.95, "yanchor": "top"}
        base["margin"]["t"] = 56
    return base | changes


def looks(references: Iterable[bool]) -> list[Spec]:
    """Colour, dash and symbol of each method in turn; a reference is grey and dotted."""
    found: list[Spec] = []
    n = 0  # methods that are no reference
    for reference in references:
        if reference:
            found.append({"colour": GREY, "dash": "dot", "symbol": "line-ew-open"})
            continue
        colour, symbol = COLOURS[n % len(COLOURS)], _SYMBOLS[n % len(_SYMBOLS)]
        found.append({"colour": colour, "dash": _DASHES[n // len(COLOURS) % len(_DASHES)], "symbol": symbol})
        n += 1
    return found


def styles(comparison: Comparison) -> dict[Method, Spec]:
    """How each method is drawn."""
    methods = comparison.methods
    return dict(zip(methods, looks(method.name == REFERENCE for method in methods), strict=True))


def legend(comparison: Comparison, shown: set[Method] | None = None) -> list[Spec]:
    """What the page needs to offer each method: its name, its look, and whether it is drawn at first."""
    names, styled = labels(comparison.methods), styles(comparison)
    return [
        {"name": names[m], "title": m.title, "shown": shown is None or m in shown, **styled[m]}
        for m in comparison.methods
    ]


def score_figures(comparison: Comparison) -> dict[str, Spec]:
    """For each score, its mean against the horizon, one line a method."""
    return {score: _score_figure(comparison, score) for score in SCORE_WORDS}


def _score_figure(comparison: Comparison, score: str) -> Spec:
    names, styled = labels(comparison.methods), styles(comparison)
    horizons = list(comparison.horizons)
    data = []
    for method in comparison.methods:
        scores = [comparison.average(method, score=score, horizon=h) for h in horizons]
        colour = styled[method]["colour"]
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": names[method],
                "x": horizons,
                "y": [value.mean for value in scores],
                "error_y": {"type": "data", "array": [value.interval or 0.0 for value in scores], "thickness": 1},
                "line": {"color": colour, "dash": styled[method]["dash"], "width": 2},
                "marker": {"symbol": styled[method]["symbol"], "size": 8, "color": colour},
                "hovertemplate": "%{y:.3f}",
            }
        )
    return {
        "data": data,
        "layout": layout(
            comparison.warning,
            height=420,
            xaxis={"title": {"text": "Horizon (s)"}, "rangemode": "tozero"},
            yaxis={"title": {"text": SCORE_WORDS[score].axis}, "rangemode": "tozero"},
        ),
    }


def time_figure(comparison: Comparison) -> Spec:
    """Truth and forecasts over time, packed: hundredths of a millimetre about an offset, as 16-bit integers."""
    recordings = {recording.name: recording for recording in comparison.recordings}
    packed: list[Spec] = []
    room = _ROOM
    for trace in comparison.traces:
        width = trace.truth[0].size * (1 + len(trace.forecasts))
        rate = recordings[trace.recording].rate
        length = min(len(trace.times), max(round(_LEAST * rate), _ROOM // (len(comparison.traces) * width)))
        if packed and length * width > room:
            break
        room -= length * width
        packed.append(_pack(trace, length, recordings[trace.recording]))
    return {
        "recordings": packed,
        "layout": layout(
            comparison.warning,
            height=440,
            xaxis={"title": {"text": "Time (s)"}, "hoverformat": ".2f"},
            yaxis={"title": {"text": "Position (mm)"}, "hoverformat": ".2f"},
        ),
    }


def shown_first(comparison: Comparison) -> set[Method]:
    """The methods drawn at first over time: no prediction, and the best at that horizon."""
    horizon = comparison.traces[0].horizon if comparison.traces else None
    errors = {m: comparison.average(m, score="rmse", horizon=horizon).mean for m in comparison.methods}
    order = sorted(comparison.methods, key=lambda m: (m.name != REFERENCE, not np.isfinite(errors[m]), errors[m]))
    return set(order[:_SHOWN])


def _pack(trace: Trace, length: int, recording: Recording) -> Spec:
    places = coordinates(trace.markers, trace.truth[:length])
    for place, (m, a) in zip(places, np.ndindex(trace.truth.shape[1:]), strict=True):
        place["lines"] = {
            label: packed(values[:length, m, a], place["offset"]) for label, values in trace.forecasts.items()
        }
    return {
        "name": trace.recording,
        "labels": ", ".join(recording.labels),
        "horizon": trace.horizon,
        "times": [round(float(t), 3) for t in trace.times[:length]],
        "first": widest(trace.truth[:length]),
        "coordinates": places,
    }


def coordinates(markers: Sequence[str], truth: Array) -> list[Spec]:
    """For each marker and axis its name, an offset, and the truth packed about it."""
    found = []
    for m, marker in enumerate(markers):
        for a, axis in enumerate(axes(truth.shape[2])):
            known = truth[:, m, a][np.isfinite(truth[:, m, a])]
            offset = round(float(known.mean()), 2) if known.size else 0.0
            found.append({"name": f"{marker} {axis}", "offset": offset, "truth": packed(truth[:, m, a], offset)})
    return found


def widest(truth: Array) -> int:
    """The place of the coordinate that moves most, in the order of the coordinates."""
    return int(np.argmax([_spread(truth[:, m, a]) for m, a in np.ndindex(truth.shape[1:])]))


def _spread(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.std()) if known.size else 0.0


def packed(values: Array, offset: float) -> str:
    """Little-endian 16-bit integers in base64; what is missing is -32768, what is out of range is at its edge."""
    hundredths: NDArray[np.float64] = np.clip(np.rint((values - offset) * 100), _MISSING + 1, -_MISSING - 1)
    whole = np.where(np.isfinite(hundredths), hundredths, _MISSING).astype("<i2")
    return base64.b64encode(whole.tobytes()).decode()
