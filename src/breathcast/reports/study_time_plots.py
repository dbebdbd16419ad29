"""Forecasts and losses over time for the page of a study: packed, and no more of them than a page should hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from breathcast.forecasters.method import Array
from breathcast.reports.figures import Spec, coordinates, layout, packed, widest
from breathcast.reports.study_series import legend, warning
from breathcast.reports.study_traces import Moment, Trace, Traces
from breathcast.studies.run import Results

_ROOM = 650_000  # numbers in the figure of forecasts: about 1.7 MB
_LOSS_ROOM = 150_000  # in the figure of the loss: 0.4 MB
_LEAST = 20.0  # s of each recording that is shown
_LEAST_LOSS = 200  # points of each line
_HORIZONS = 4  # offered

Moments = dict[float, Moment]  # of one recording, by horizon


@dataclass(frozen=True)
class TimePlots:
    """What page.js needs to draw them, and what is left out, in sentences."""

    forecasts: Spec
    losses: Spec
    left_out: list[str]


def time_plots(results: Results, traces: Traces) -> TimePlots:
    """Forecast, truth and loss of the recordings that there is room for, at some horizons."""
    ahead, names = traces.spread(_HORIZONS), results.recordings
    forecasts: list[Spec] = []
    losses: list[Spec] = []
    cut = 0.0
    room, seen = _ROOM, 0
    for name in names:
        seen += 1
        moments = {h: moment for h in ahead if (moment := traces.moment(name, h)).traces}
        if not moments:
            continue
        lines = sum(len(moment.traces) for moment in moments.values())
        test = _first(moments).times >= results.spec.test_start
        width = _first(moments).truth[0].size * (1 + lines)
        least = round(_LEAST * traces.described[name]["rate_hz"])
        length = min(int(test.sum()), max(least, _ROOM // (len(names) * width)))
        room -= length * width
        if forecasts and room < 0:
            seen -= 1
            break
        if length < test.sum():
            cut = max(cut, length / traces.described[name]["rate_hz"])
        forecasts.append(_forecasts(name, moments, np.flatnonzero(test)[:length]))
        losses.append(_losses(name, moments, max(_LEAST_LOSS, _LOSS_ROOM // (len(names) * lines))))
    shared = {"legend": legend(results, dashed=False), "horizons": {f"{h:g}": f"{h:g} s" for h in ahead}}
    position = _layout(results, "Position (mm)", hoverformat=".2f")
    loss = _layout(results, "Loss (mm²)", type="log", dtick=1, exponentformat="power", hoverformat=".3g")
    return TimePlots(
        shared | {"recordings": forecasts, "layout": position},
        shared | {"recordings": losses, "layout": loss},
        _left_out(results, ahead, seen, cut),
    )


def _first(moments: Moments) -> Trace:
    return next(iter(next(iter(moments.values())).traces.values()))


def _forecasts(name: str, moments: Moments, rows: NDArray[np.int64]) -> Spec:
    """The test part: its rows are the same samples at every horizon, counted from the end of the recording."""
    trace = _first(moments)
    back = rows - len(trace.times)
    truth = trace.truth[back]
    places = coordinates(next(iter(moments.values())).markers, truth)
    for place, (m, a) in zip(places, np.ndindex(truth.shape[1:]), strict=True):
        place["lines"] = {
            f"{h:g}": {
                title: packed(found.forecast[back, m, a], place["offset"]) for title, found in moment.traces.items()
            }
            for h, moment in moments.items()
        }
    times = [round(float(t), 3) for t in trace.times[back]]
    return {"name": name, "times": times, "first": widest(truth), "coordinates": places}


def _losses(name: str, moments: Moments, points: int) -> Spec:
    """In decibels, so that a loss of any size is packed to a quarter of a per cent; a mean over equal parts."""
    times = max((next(iter(moment.traces.values())).times for moment in moments.values()), key=len)
    size = -(-len(times) // points)

    def line(trace: Trace) -> str:
        return packed(_decibels(trace.loss, len(times), size), 0.0)

    lines = {f"{h:g}": {title: line(trace) for title, trace in m.traces.items()} for h, m in moments.items()}
    return {"name": name, "times": [round(float(t), 3) for t in times[::size]], "lines": lines}


def _decibels(loss: Array, length: int, size: int) -> Array:
    """The mean loss of each `size` samples of a recording; a longer horizon begins later."""
    padded = np.full(-(-length // size) * size, np.nan)
    padded[length - len(loss) : length] = loss
    parts = padded.reshape(-1, size)
    known = np.isfinite(parts)
    sums = np.where(known, parts, 0.0).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        decibels: Array = 10 * np.log10(sums / known.sum(axis=1))
    return decibels


def _layout(results: Results, title: str, **axis: Any) -> Spec:
    return layout(
        warning(results),
        height=440,
        xaxis={"title": {"text": "Time (s)"}, "hoverformat": ".2f"},
        yaxis={"title": {"text": title}, **axis},
    )


def _left_out(results: Results, ahead: list[float], seen: int, cut: float) -> list[str]:
    said = []
    if len(ahead) < len(results.spec.ahead):
        said.append(f"{len(ahead)} of {len(results.spec.ahead)} horizons are here.")
    if seen < len(results.recordings):
        said.append(f"Of {len(results.recordings)} recordings the first {seen} are here.")
    if cut:
        said.append(f"Of long test parts the first {cut:.0f} s are here.")
    return [*said, "The command breathcast study report draws any other."] if said else []
