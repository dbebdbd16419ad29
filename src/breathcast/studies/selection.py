"""Which hyper-parameters a study uses: for each method, recording and horizon those that did best in validation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from breathcast.evaluation.selection import lowest
from breathcast.forecasters.method import Array, Method
from breathcast.forecasters.table import from_dict
from breathcast.studies.spec import Spec
from breathcast.studies.tasks import Cell

RISK = 0.05  # at most, that screening gives up the setting that is really the best


@dataclass(frozen=True)
class Choice:
    """One winner, and how many other settings reached the very same score."""

    title: str
    recording: str
    horizon: float
    method: Method
    score: float
    ties: int
    passed_over: int  # settings of which a run diverged


def choose(spec: Spec, results: pl.DataFrame) -> list[Choice]:
    """The lowest mean score over the runs; of equals, the first in the order of the grid.

    A setting of which any run diverged is passed over: its mean would be that of the lucky runs. Where none is left,
    there is no choice, and no test.
    """
    choices = []
    for cell, rows in _cells(spec, results):
        errors = [
            value if value is not None and diverged == 0 else math.nan
            for value, diverged in zip(rows[spec.select], rows["diverged"], strict=True)
        ]
        if places := lowest(errors):
            method = from_dict(json.loads(rows["settings"][places[0]]))
            lost = int((rows["diverged"] > 0).sum())
            choices.append(Choice(*cell, method, errors[places[0]], len(places) - 1, lost))
    return choices


def chosen(choices: Iterable[Choice]) -> dict[Cell, Method]:
    """The methods of the test part."""
    return {(choice.title, choice.recording, choice.horizon): choice.method for choice in choices}


def survivors(spec: Spec, results: pl.DataFrame) -> dict[Cell, list[Method]]:
    """The settings that the runs of a screening do not rule out."""
    found = {}
    for cell, rows in _cells(spec, results):
        kept = in_the_running(np.array(rows["by_run"].to_list(), dtype=np.float64))
        found[cell] = [from_dict(json.loads(rows["settings"][place])) for place in kept]
    return found


def in_the_running(errors: Array) -> list[int]:
    """The rows of `errors` (setting, run) whose mean may still become the lowest, of many more runs.

    Run r of every setting has the same draws, so a setting is held against the leader, that with the lowest mean, by
    the t-test of the paired differences. The best setting is given up only if its test against the leader, whichever
    that is, fails: with each at level RISK / (settings - 1) that has a probability of RISK at most, if the differences
    are Gaussian. A setting of which a run diverged cannot be chosen, and is given up at once.
    """
    from scipy.special import stdtrit

    means = errors.mean(axis=1)
    finite = np.isfinite(means)
    if not finite.any():
        return []
    settings, runs = errors.shape
    leader = int(np.argmin(np.where(finite, means, np.inf)))
    differences = errors[finite] - errors[leader]
    bound = float(stdtrit(runs - 1, 1 - RISK / max(settings - 1, 1)))
    lost = differences.mean(axis=1) > bound * differences.std(axis=1, ddof=1) / math.sqrt(runs)
    return [int(place) for place in np.flatnonzero(finite)[~lost]]


def _cells(spec: Spec, results: pl.DataFrame) -> Iterator[tuple[Cell, pl.DataFrame]]:
    """The settings of each method, recording and horizon, in the order of the grid; those of a search as tried."""
    order: Mapping[str, int] = {
        json.dumps(method.to_dict()): place for entry in spec.method for place, method in enumerate(entry.candidates())
    }
    places = pl.Series("place", [order.get(text, 0) for text in results["settings"]], dtype=pl.Int32)
    sorted_rows = results.with_columns(places).sort("place", maintain_order=True)
    cells = {
        (str(title), str(recording), float(str(horizon))): rows
        for (title, recording, horizon), rows in sorted_rows.group_by("title", "recording", "horizon")
    }
    for key in results.select("title", "recording", "horizon").unique(maintain_order=True).iter_rows():
        yield key, cells[key]
