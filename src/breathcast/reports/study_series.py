"""What the figures of a study show, as numbers: the printed ones and those of the page draw the same."""

from __future__ import annotations

import itertools
import math
import statistics as plain
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from breathcast.evaluation.evaluate import IMMEDIATE_WARNING
from breathcast.forecasters.table import METHODS
from breathcast.reports.figures import looks
from breathcast.reports.glossary import HYPERPARAMETERS, REFERENCE, SCORE_WORDS
from breathcast.studies import statistics
from breathcast.studies.run import Results

COST_CAPTION = (
    "Processor time of a network for each step, a sample with a full window before it, measured while its "
    "hyper-parameters were chosen: drawing of weights, scores and all else included."
)
_DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")  # told apart in grey print too
_FIXED = (REFERENCE, "linear")
_FAR = 1.8  # an axis of scores ends at this many times the largest of the methods that go on learning
_ROOM = 1.25  # nRMSE shown against jitter: up to this often the largest of the methods that go on learning
_SHOWN = 2  # methods drawn over time at first
_RAMP = ((76, 60, 186), (178, 69, 160), (217, 104, 88), (229, 164, 46))  # dark to light, read on white and on black


@dataclass(frozen=True)
class Look:
    """How a method appears, in every figure of a study."""

    title: str  # as in the tables
    name: str  # as in print
    colour: str
    dash: str
    symbol: str
    online: bool  # whether it goes on learning; the errors of the others can be so large that they leave no room


@dataclass(frozen=True)
class Line:
    """Means of one method, point by point."""

    look: Look
    x: list[float]
    y: list[float]
    half: list[float | None] = field(default_factory=list)  # of the 95 % interval; None where it is not known
    whole: list[bool] = field(default_factory=list)  # whether all recordings of the group are in the mean


@dataclass(frozen=True)
class Family:
    """Curves of one method, one for each value of something else."""

    look: Look
    parameter: str  # hyper-parameter along x
    by: str  # axis title of what tells the curves apart
    y_title: str
    curves: dict[float, tuple[list[float], list[float]]]
    mean: tuple[list[float], list[float], list[float]] | None = None  # x, mean over the curves, deviation over them

    @property
    def x_title(self) -> str:
        """The title of the x axis."""
        return parameter_axis(self.parameter)

    @property
    def ticks(self) -> list[float]:
        """Every x there is."""
        return sorted({x for xs, _ in self.curves.values() for x in xs})

    @property
    def geometric(self) -> bool:
        """Whether the values of x are steps by a factor rather than by a difference."""
        values = self.ticks
        if len(values) < 3 or values[0] <= 0:
            return False
        differences = [b - a for a, b in itertools.pairwise(values)]
        ratios = [b / a for a, b in itertools.pairwise(values)]
        return _variation(ratios) < _variation(differences)

    def colours(self) -> dict[float, str]:
        """A colour for each curve, from dark to light."""
        low, high = min(self.curves), max(self.curves)
        return {value: ramp((value - low) / (high - low) if high > low else 0.0) for value in self.curves}


def warning(results: Results) -> str | None:
    """What stands on every figure with immediate feedback."""
    return IMMEDIATE_WARNING if results.spec.feedback == "immediate" else None


def screened(results: Results) -> str:
    """What the influence of hyper-parameters lacks where settings were given up early."""
    given_up = any(results.spec.screens(entry) for entry in results.spec.method)
    return " Settings that the screening gave up anywhere are left out." if given_up else ""


def study_looks(results: Results) -> dict[str, Look]:
    """The look of each method by its title, in the order of the study."""
    entries = results.spec.method
    found, n = {}, 0
    for entry, look in zip(entries, looks(entry.name == REFERENCE for entry in entries), strict=True):
        plain_line = entry.name != REFERENCE and look["dash"] == "solid"
        dash = _DASHES[n % len(_DASHES)] if plain_line else look["dash"]
        n += entry.name != REFERENCE
        name = entry.label or METHODS[entry.name].title.removeprefix("RNN, ")
        found[entry.title] = Look(entry.title, name, look["colour"], dash, look["symbol"], entry.name not in _FIXED)
    return found


def score_lines(results: Results, means: pl.DataFrame, group: str, score: str) -> list[Line]:
    """A score against the horizon for each method; `means` is `statistics.by_horizon`."""
    count = len(results.spec.members(results.recordings)[group])
    found = []
    for look in study_looks(results).values():
        rows = means.filter((pl.col("title") == look.title) & (pl.col("group") == group) & (pl.col("score") == score))
        if len(rows):
            whole = (rows["cells"] == count).to_list()
            found.append(
                Line(look, rows["horizon"].to_list(), rows["mean"].to_list(), rows["interval"].to_list(), whole)
            )
    return found


def top(lines: Sequence[Line]) -> float | None:
    """Where the axis of a score ends, so that methods that are far off leave the others room; None where none is."""
    online = [line for line in lines if line.look.online]
    known = [y for line in online for y in line.y if math.isfinite(y)]
    far = max((y for line in lines for y in line.y if math.isfinite(y)), default=0.0)
    if not known or far <= _FAR * max(known):
        return None
    ends = [y + (half or 0.0) for line in online for y, half in zip(line.y, line.half, strict=True) if math.isfinite(y)]
    return max(_FAR * max(known), 1.02 * max(ends))


def jitter_lines(results: Results, means: pl.DataFrame, group: str) -> tuple[list[Line], list[str]]:
    """Jitter (y) against nRMSE (x), a point a horizon; and how many points of which method have too large an nRMSE."""
    errors = {line.look.title: line for line in score_lines(results, means, group, "nrmse")}
    jitters = {line.look.title: line for line in score_lines(results, means, group, "jitter")}
    learning = [y for error in errors.values() if error.look.online for y in error.y if math.isfinite(y)]
    limit = _ROOM * max(learning) if learning else float("inf")
    lines, cut = [], []
    for title, error in errors.items():
        points = list(zip(error.y, jitters[title].y, error.whole, strict=True))
        kept = [point for point in points if not point[0] > limit]
        if len(kept) < len(points):
            lost = len(points) - len(kept)
            cut.append(f"{error.look.name} {lost} of {len(points)} points")
        if kept:
            x, y, whole = (list(values) for values in zip(*kept, strict=True))
            lines.append(Line(error.look, x, y, [], whole))
    return lines, cut


def influence_families(results: Results) -> list[Family]:
    """For each method and hyper-parameter the lowest validation nRMSE against its values, a curve a horizon."""
    known, found = study_looks(results), []
    for (title, parameter), rows in statistics.influence(results).group_by("title", "parameter", maintain_order=True):
        means = rows.group_by("value", maintain_order=True).agg(
            pl.col("nrmse").mean(), pl.col("nrmse").std(ddof=0).alias("deviation")
        )
        mean = (means["value"].to_list(), means["nrmse"].to_list(), means["deviation"].to_list())
        curves = _curves(rows, "horizon", "value", "nrmse")
        y_title = f"{SCORE_WORDS['nrmse'].short} of the validation part"
        found.append(Family(known[str(title)], str(parameter), "Horizon (s)", y_title, curves, mean))
    return found


def relative_bars(results: Results) -> dict[str, dict[str, float]]:
    """For each method the deviation that each hyper-parameter brings, by name."""
    found: dict[str, dict[str, float]] = {}
    for row in statistics.relative_influence(statistics.influence(results)).iter_rows(named=True):
        found.setdefault(row["title"], {})[row["parameter"]] = row["deviation"]
    return found


def cost_families(results: Results) -> list[Family]:
    """For each network the time of a step against its hidden units (a curve a history), and the other way about."""
    found, times = [], statistics.step_times(results)
    for look in study_looks(results).values():
        rows = times.filter(pl.col("title") == look.title)
        for parameter, by in (("hidden", "history"), ("history", "hidden")):
            if rows[parameter].n_unique() > 1:
                curves = _curves(rows, by, parameter, "microseconds")
                found.append(Family(look, parameter, parameter_axis(by), "Time per step (µs)", curves))
    return found


def _curves(rows: pl.DataFrame, by: str, x: str, y: str) -> dict[float, tuple[list[float], list[float]]]:
    return {
        float(str(value)): (part[x].cast(pl.Float64).to_list(), part[y].to_list())
        for (value,), part in sorted(rows.sort(x).group_by(by), key=lambda pair: float(str(pair[0][0])))
    }


def parameter_axis(name: str) -> str:
    """A hyper-parameter with its unit, as the title of an axis."""
    unit = HYPERPARAMETERS.get(name, ("", ""))[0]
    words = name.replace("_", " ").capitalize()
    if unit == "units":
        return f"{words} {unit}"
    return f"{words} ({unit})" if unit else words


def ramp(place: float) -> str:
    """A colour between the ends of the ramp, 0 to 1."""
    at = min(max(place, 0.0), 1.0) * (len(_RAMP) - 1)
    first = min(int(at), len(_RAMP) - 2)
    mixed = (round(a + (at - first) * (b - a)) for a, b in zip(_RAMP[first], _RAMP[first + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _variation(values: Sequence[float]) -> float:
    return plain.pstdev(values) / plain.fmean(values)


def legend(results: Results, shown: Collection[str] | None = None, *, dashed: bool = True) -> list[dict[str, Any]]:
    """What a page offers each method by: its name, its look, and whether it is drawn at first.

    A line with a point every tenth of a second is not `dashed`: dashes and noise look alike.
    """
    return [
        {"name": look.title, "title": look.name, "shown": shown is None or look.title in shown}
        | {"colour": look.colour, "dash": look.dash if dashed else "solid", "symbol": look.symbol}
        for look in study_looks(results).values()
    ]


def shown_first(means: pl.DataFrame) -> set[str]:
    """The methods drawn over time at first: those with the lowest RMSE; `means` is `statistics.by_horizon`."""
    known = means.filter((pl.col("score") == "rmse") & (pl.col("group") == "all") & pl.col("mean").is_finite())
    order = known.group_by("title", maintain_order=True).agg(pl.col("mean").mean()).sort("mean", maintain_order=True)
    return set(order["title"][:_SHOWN])
