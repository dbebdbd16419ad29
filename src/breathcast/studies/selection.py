"""Which hyper-parameters a study uses: for each method, recording and horizon those that did best in validation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from breathcast.evaluation.selection import lowest
from breathcast.forecasters.method import Method
from breathcast.forecasters.table import from_dict


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


def choose(results: pl.DataFrame, score: str) -> list[Choice]:
    """The lowest mean score over the runs; of equals, the first in the order of the grid.

    A setting of which any run diverged is passed over: its mean would be that of the lucky runs. Where none is left,
    there is no choice, and no test.
    """
    choices = []
    for (title, recording, horizon), rows in results.group_by("title", "recording", "horizon", maintain_order=True):
        errors = [
            value if value is not None and diverged == 0 else math.nan
            for value, diverged in zip(rows[score], rows["diverged"], strict=True)
        ]
        if places := lowest(errors):
            settings = json.loads(rows["settings"][places[0]])
            choices.append(
                Choice(
                    str(title),
                    str(recording),
                    float(str(horizon)),
                    from_dict(settings),
                    errors[places[0]],
                    len(places) - 1,
                    int((rows["diverged"] > 0).sum()),
                )
            )
    return choices


def chosen(choices: Iterable[Choice]) -> dict[tuple[str, str, float], Method]:
    """The methods of the test part."""
    return {(choice.title, choice.recording, choice.horizon): choice.method for choice in choices}
