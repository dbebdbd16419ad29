"""The figures of a study for print, drawn with Matplotlib; nothing of it stays behind in the state of the program."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from breathcast.forecasters.method import Array
from breathcast.reports.glossary import SCORE_WORDS
from breathcast.reports.inspections import axes as axis_names
from breathcast.reports.study_series import Family, Line, Look, parameter_axis, ramp, top
from breathcast.reports.study_traces import Moment

WIDTH = 7.2  # inches: two columns of a journal
_HALF = WIDTH / 2
_FLAG = "#b3261e"
_INK = "0.15"
_TICKS = 8  # values of a colour bar that are named one by one
_WIDE = 1.0  # how far beyond the range of the truth, as a share of it, a forecast is still shown
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with Matplotlib, so that every machine draws the same
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.edgecolor": "0.4",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "lines.markeredgewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "legend.handlelength": 3.2,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,  # TrueType, embedded: text stays text
    "svg.fonttype": "path",  # the same letters wherever it is opened
    "svg.hashsalt": "breathcast",
}
_LINES: dict[str, Any] = {
    "solid": "-",
    "dash": (0, (4, 1.5)),
    "dashdot": "-.",
    "longdash": (0, (8, 2)),
    "longdashdot": (0, (8, 2, 1, 2)),
    "dot": ":",
}
_MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "cross": "P",
    "x": "X",
    "star": "*",
    "triangle-down": "v",
    "pentagon": "p",
    "hexagon": "h",
    "line-ew-open": "_",
}
_DATES: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}


@contextmanager
def style() -> Iterator[None]:
    """Draw in one style, whatever the settings of the user are, and leave those as they were."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")  # a letter the font lacks becomes a box
            yield


def settle(figure: Figure) -> None:
    """Arrange the panels once and for all: it takes longer than drawing them."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def encode(figure: Figure, kind: str) -> bytes:
    """The bytes of a file; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=_DATES[kind])
    return buffer.getvalue()


def score_figure(lines: Mapping[str, Sequence[Line]], flag: str | None) -> Figure:
    """Each score against the horizon; the legend has the sixth place."""
    figure = _figure((WIDTH, 4.4), flag)
    panels = figure.subplots(2, 3)
    for panel, (score, drawn) in zip(panels.flat, lines.items(), strict=False):
        for line in drawn:
            _means(panel, line)
        panel.set(xlabel="Horizon (s)", ylabel=SCORE_WORDS[score].axis)
        panel.set_xlim(left=0)
        panel.set_ylim(0, top(drawn))
    panels.flat[-1].axis("off")
    handles, names = panels.flat[0].get_legend_handles_labels()
    panels.flat[-1].legend(handles, names, loc="center", title="Mean and 95 % interval")
    return figure


def jitter_figure(groups: Mapping[str, Sequence[Line]], cuts: Mapping[str, str], flag: str | None) -> Figure:
    """Jitter against nRMSE, a panel a group; below it what was cut."""
    figure = _figure((max(_HALF, 2.4 * len(groups)), 3.0), flag)
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    drawn: dict[str, Any] = {}
    for panel, (group, lines) in zip(panels, groups.items(), strict=True):
        for line in lines:
            look = _look(line.look) | {"linestyle": "none"}
            (handle,) = panel.plot(line.x, line.y, **look, label=_plain(line.look.name))
            drawn.setdefault(_plain(line.look.name), handle)
        panel.set(title=_plain(group), xlabel=SCORE_WORDS["nrmse"].short)
        if cuts.get(group):
            panel.set_xlabel(f"{SCORE_WORDS['nrmse'].short}\n{_plain(cuts[group])}")
    panels[0].set_ylabel(SCORE_WORDS["jitter"].axis)
    figure.legend(drawn.values(), drawn.keys(), loc="outside lower center", ncols=min(5, len(drawn)))
    return figure


def forecast_figure(
    moment: Moment, place: tuple[int, int], span: tuple[float, float], looks: Mapping[str, Look], flag: str | None
) -> Figure:
    """Forecast and truth of one coordinate, a panel a method."""
    marker, axis = place
    figure, panels = _stacked(len(moment.traces), 1.15, flag)
    low, high = math.inf, -math.inf
    for panel, (title, trace) in zip(panels, moment.traces.items(), strict=True):
        shown = (trace.times >= span[0]) & (trace.times <= span[1])
        truth, forecast = (values[shown, marker, axis] for values in (trace.truth, trace.forecast))
        panel.plot(trace.times[shown], truth, color="0.72", lw=2.6, label="truth")
        panel.plot(trace.times[shown], forecast, color=looks[title].colour, lw=1.0, label="forecast")
        panel.set_title(_plain(looks[title].name), loc="left")
        bottom, top = _limits(truth, forecast)
        low, high = min(low, bottom), max(high, top)
    if low < high:
        panels[0].set_ylim(low, high)
    name = f"{moment.markers[marker]}, {axis_names(moment.truth.shape[2])[axis]}"
    figure.supylabel(f"Position (mm): {_plain(name)}", fontsize=8)
    panels[-1].set_xlabel("Time (s)")
    panels[0].legend(loc="lower right", bbox_to_anchor=(1, 0.98), ncols=2, borderaxespad=0)
    return figure


def loss_figure(moment: Moment, test_start: float, looks: Mapping[str, Look], flag: str | None) -> Figure:
    """The loss from the beginning of the recording, a panel a method; dashed: where the test part begins."""
    figure, panels = _stacked(len(moment.traces), 1.05, flag)
    for panel, (title, trace) in zip(panels, moment.traces.items(), strict=True):
        positive = np.where(trace.loss > 0, trace.loss, np.nan)
        panel.plot(trace.times, positive, color=looks[title].colour, lw=0.7)
        panel.axvline(test_start, color=_INK, lw=0.7, ls="--")
        panel.set_title(_plain(looks[title].name), loc="left")
        panel.set_yscale("log")
    figure.supylabel("Loss (mm²), mean over the runs", fontsize=8)
    panels[-1].set_xlabel("Time (s)")
    return figure


def family_figure(families: Sequence[Family], flag: str | None) -> Figure:
    """Curves coloured by a number, two panels a row."""
    rows = math.ceil(len(families) / 2)
    columns = min(2, len(families))
    figure = _figure((_HALF * max(columns, 1.3), 2.5 * rows + 0.3), flag)
    panels = figure.subplots(rows, columns, squeeze=False)
    titles = [_plain(family.look.name) for family in families]
    for n, (panel, family) in enumerate(zip(panels.flat, families, strict=False)):
        _family(panel, family)
        panel.set_title(titles[n] if titles[n] not in titles[:n] else " ", loc="left")
    for panel in panels.flat[len(families) :]:
        panel.axis("off")
    _colour_bars(figure, panels, families)
    return figure


def bar_figure(bars: Mapping[str, Mapping[str, float]], looks: Mapping[str, Look], flag: str | None) -> Figure:
    """How much each hyper-parameter matters, a panel a method."""
    count = len(bars)
    figure = _figure((min(WIDTH, max(_HALF, 2.4 * count)), 2.4), flag)
    panels = figure.subplots(1, count, squeeze=False)[0]
    most = max(map(len, bars.values()))
    for panel, (title, values) in zip(panels, bars.items(), strict=True):
        names = [parameter_axis(name).partition(" (")[0] for name in values]
        panel.barh(names[::-1], list(values.values())[::-1], color=looks[title].colour, height=0.6)
        panel.set_title(_plain(looks[title].name), loc="left")
        panel.grid(visible=False, axis="y")
        panel.xaxis.set_major_locator(MaxNLocator(3))
        panel.set_ylim(len(names) - most - 0.6, len(names) - 0.4)
    figure.supxlabel(f"Standard deviation of the {SCORE_WORDS['nrmse'].short} over the values", fontsize=8)
    return figure


def _figure(size: tuple[float, float], flag: str | None) -> Figure:
    figure = Figure(figsize=size, layout="constrained")
    if flag:
        text = f"Immediate feedback: {flag}"
        figure.suptitle(text, color=_FLAG, fontsize=8, fontweight="bold", x=0.01, ha="left")
    return figure


def _stacked(count: int, height: float, flag: str | None) -> tuple[Figure, Sequence[Axes]]:
    """Panels one below the other that share both axes."""
    figure = _figure((WIDTH, height * count + 0.7), flag)
    return figure, list(figure.subplots(count, 1, sharex=True, sharey=True, squeeze=False)[:, 0])


def _look(look: Look) -> dict[str, Any]:
    return {"color": look.colour, "linestyle": _LINES[look.dash], "marker": _MARKERS[look.symbol]}


def _means(panel: Axes, line: Line) -> None:
    """A line with its intervals; hollow where recordings are missing from the mean."""
    halves, look = [half or 0.0 for half in line.half], _look(line.look)
    panel.errorbar(line.x, line.y, halves, **look, label=_plain(line.look.name), elinewidth=0.7, capsize=1.5)
    parts = [(x, y) for x, y, whole in zip(line.x, line.y, line.whole, strict=True) if not whole]
    if parts:
        xs, ys = zip(*parts, strict=True)
        hollow = look | {"linestyle": "none", "markerfacecolor": "white", "zorder": 3}
        panel.plot(xs, ys, **hollow)


def _plain(name: str) -> str:
    """A name in which a dollar is a dollar."""
    return name.replace("$", r"\$")


def _limits(truth: Array, forecast: Array) -> tuple[float, float]:
    """What both reach; a forecast that runs away leaves the axis to the others."""
    known = truth[np.isfinite(truth)]
    if not known.size:
        return math.inf, -math.inf
    low, high = float(known.min()), float(known.max())
    room = _WIDE * max(high - low, 1e-3)
    near = np.clip(forecast[np.isfinite(forecast)], low - room, high + room)
    margin = 0.05 * room
    return min(low, near.min(initial=low)) - margin, max(high, near.max(initial=high)) + margin


def _family(panel: Axes, family: Family) -> None:
    colours = family.colours()
    for value, (x, y) in family.curves.items():
        panel.plot(x, y, color=colours[value], marker="o", lw=0.9, ms=2.5)
    if family.mean is not None and len(family.curves) > 1:
        x, y, deviation = family.mean
        panel.errorbar(x, y, deviation, color="black", ls=":", marker="s", ms=3.5, capsize=2.5, lw=1.4, zorder=3)
    if family.geometric:
        panel.set_xscale("log")
    panel.set_xticks(family.ticks, [f"{tick:g}" for tick in family.ticks])
    panel.minorticks_off()
    if family.mean is None:
        panel.set_ylim(bottom=0)
    panel.set(xlabel=family.x_title, ylabel=family.y_title)


def _colour_bars(figure: Figure, panels: Any, families: Sequence[Family]) -> None:
    """What the colours mean: one bar where it is the same for all, else one a panel."""
    colours = LinearSegmentedColormap.from_list("ramp", [ramp(place) for place in (0, 1 / 3, 2 / 3, 1)])
    meanings = [(family.by, tuple(family.curves)) for family in families]
    shared = len(set(meanings)) == 1
    for panel, (by, values) in zip(panels.flat, meanings, strict=False):
        if len(values) > 1:
            where = list(panels.flat) if shared else panel
            drawn = ScalarMappable(Normalize(min(values), max(values)), colours)
            bar = figure.colorbar(drawn, ax=where, label=by, aspect=30, pad=0.02)
            if len(values) <= _TICKS:
                bar.set_ticks(list(values), labels=[f"{value:g}" for value in values])
        if shared:
            return


@dataclass(frozen=True)
class Drawing:
    """A figure under the name of its file, or why there is none."""

    name: str
    caption: str
    figure: Figure | None = None
