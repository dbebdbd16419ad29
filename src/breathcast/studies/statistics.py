"""What the stored results say: means with intervals, the influence of hyper-parameters, the cost of a step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from breathcast.evaluation.scores import SCORES, Score, over_cases, over_runs
from breathcast.forecasters.table import METHODS
from breathcast.studies.run import Results
from breathcast.studies.spec import Entry

Cell = tuple[str, str, float]  # title, recording, horizon
Cells = dict[Cell, dict[str, Score]]

_MEAN: dict[str, Any] = {
    "score": pl.String,
    "mean": pl.Float64,
    "interval": pl.Float64,  # half-width of the 95 % interval of the mean over the runs
    "cells": pl.Int32,  # recordings × horizons in the mean
    "runs": pl.Int32,  # of the cell with the fewest
    "diverged": pl.Int32,  # runs left out, of all cells
}
AVERAGE: dict[str, Any] = {"title": pl.String, "group": pl.String, **_MEAN}
BY_HORIZON: dict[str, Any] = {"title": pl.String, "group": pl.String, "horizon": pl.Float64, **_MEAN}
INFLUENCE: dict[str, Any] = {
    "title": pl.String,
    "parameter": pl.String,
    "value": pl.Float64,
    "horizon": pl.Float64,
    "nrmse": pl.Float64,
}
COST: dict[str, Any] = {"title": pl.String, "hidden": pl.Int32, "history": pl.Float64, "microseconds": pl.Float64}


def cells(results: Results) -> Cells:
    """The mean of each score over the runs of a method on a recording at a horizon, with its interval (Eqs. 12-13)."""
    random = {entry.title: METHODS[entry.name].random for entry in results.spec.method}
    found: Cells = {}
    for (title, recording, horizon), rows in results.test.group_by(
        "title", "recording", "horizon", maintain_order=True
    ):
        kept = rows.filter(~pl.col("diverged"))
        lost = len(rows) - len(kept)
        found[str(title), str(recording), float(str(horizon))] = {
            score: over_runs(kept[score].to_list(), random=random[str(title)], diverged=lost) for score in SCORES
        }
    return found


def averages(results: Results) -> pl.DataFrame:
    """Each method's mean of each score over each group of recordings and all horizons (Eq. 14)."""
    known, groups = cells(results), results.spec.members(results.recordings)
    rows = [
        {"title": entry.title, "group": group, **mean}
        for group, members in groups.items()
        for entry in results.spec.method
        for mean in _means(_of(known, entry.title, members, results.spec.ahead))
    ]
    return pl.DataFrame(rows, schema=AVERAGE)


def by_horizon(results: Results) -> pl.DataFrame:
    """The same at each horizon."""
    known, groups = cells(results), results.spec.members(results.recordings)
    rows = [
        {"title": entry.title, "group": group, "horizon": horizon, **mean}
        for group, members in groups.items()
        for entry in results.spec.method
        for horizon in results.spec.ahead
        for mean in _means(_of(known, entry.title, members, [horizon]))
    ]
    return pl.DataFrame(rows, schema=BY_HORIZON)


def _of(known: Cells, title: str, members: Iterable[str], ahead: Iterable[float]) -> list[dict[str, Score]]:
    places = [(title, recording, horizon) for recording in members for horizon in ahead]
    return [known[place] for place in places if place in known]


def _means(scores: list[dict[str, Score]]) -> Iterator[dict[str, Any]]:
    """A row for each score; none where nothing is done yet."""
    for score in SCORES if scores else ():
        mean = over_cases(cell[score] for cell in scores)
        yield {
            "score": score,
            "mean": mean.mean,
            "interval": mean.interval,
            "cells": len(scores),
            "runs": mean.runs,
            "diverged": mean.diverged,
        }


def influence(results: Results) -> pl.DataFrame:
    """The best validation nRMSE that each value of a hyper-parameter allows, at each horizon (Fig. 9 of the paper).

    Of each recording the lowest mean over the runs among the settings that share the value, then the mean over the
    recordings. A setting of which a run diverged is left out; so is a value that is not done on every recording.
    """
    rows = [row for entry in results.spec.method if entry.grid for row in _influence(results, entry)]
    return pl.DataFrame(rows, schema=INFLUENCE)


def _influence(results: Results, entry: Entry) -> Iterator[dict[str, Any]]:
    settings = results.selection.filter((pl.col("title") == entry.title) & (pl.col("diverged") == 0))
    read = [json.loads(text) for text in settings["settings"]]
    for parameter, values in entry.grid.items():
        if len(values) < 2 or not all(isinstance(value, int | float) for value in values):
            continue
        found = settings.with_columns(pl.Series("value", [float(each[parameter]) for each in read], dtype=pl.Float64))
        lowest = found.group_by("value", "horizon", "recording").agg(pl.col("nrmse").min())
        best = lowest.group_by("value", "horizon").agg(pl.col("nrmse").mean(), pl.len().alias("done"))
        for row in (
            best.filter(pl.col("done") == len(results.recordings)).sort("value", "horizon").iter_rows(named=True)
        ):
            yield {
                "title": entry.title,
                "parameter": parameter,
                **{key: row[key] for key in ("value", "horizon", "nrmse")},
            }


def relative_influence(found: pl.DataFrame) -> pl.DataFrame:
    """How much a hyper-parameter matters: the deviation, over its values, of that nRMSE averaged over the horizons."""
    curves = found.group_by("title", "parameter", "value", maintain_order=True).agg(pl.col("nrmse").mean())
    return curves.group_by("title", "parameter", maintain_order=True).agg(
        pl.col("nrmse").std(ddof=0).alias("deviation"),
        pl.col("nrmse").min().alias("lowest"),
        pl.col("nrmse").max().alias("highest"),
    )


def step_times(results: Results) -> pl.DataFrame:
    """Processor time for each step of a network against its size and history, from the selection."""
    networks = {entry.title for entry in results.spec.method if "hidden" in METHODS[entry.name].hyperparameters()}
    done = results.selection.filter(pl.col("title").is_in(sorted(networks)))
    read: list[Mapping[str, Any]] = [json.loads(text) for text in done["settings"]]
    sized = done.with_columns(
        pl.Series("hidden", [each["hidden"] for each in read], dtype=pl.Int32),
        pl.Series("history", [each["history"] for each in read], dtype=pl.Float64),
    )
    cost = sized.group_by("title", "hidden", "history", maintain_order=True).agg(
        (1e6 * pl.col("seconds").sum() / pl.col("steps").sum()).alias("microseconds")
    )
    return cost.sort("title", "hidden", "history").select(pl.col(name).cast(kind) for name, kind in COST.items())
