"""Which hyper-parameters to use: those with the lowest mean RMSE on a part of the recording before the test part."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from breathcast.errors import BreathcastError
from breathcast.evaluation.evaluate import evaluate
from breathcast.forecasters.method import Feedback, Method
from breathcast.recordings.recording import Recording


def grid(method: Method, values: Mapping[str, Sequence[Any]] | None = None) -> Iterator[Method]:
    """Every combination of `values` (the published grid of the method by default), the last name varying fastest."""
    values = method.grid if values is None else values
    for point in itertools.product(*values.values()):
        yield method.replace(**dict(zip(values, point, strict=True)))


def lowest(errors: Sequence[float]) -> list[int]:
    """The places of the lowest error: the first is chosen, the others tie with it; empty where none is finite."""
    best = min((error for error in errors if math.isfinite(error)), default=None)
    return [] if best is None else [place for place, error in enumerate(errors) if error == best]


def select(
    candidates: Iterable[Method],
    recording: Recording,
    *,
    horizon: float,
    feedback: Feedback = "delayed",
    start: float = 30.0,
    end: float = 60.0,
    runs: int = 1,
    seed: int = 0,
    workers: int | None = None,
) -> Method:
    """The candidate with the lowest RMSE from `start` to `end` s, mean over runs; of equals, the first.

    Nothing after `end` is looked at. A candidate of which any run diverged is passed over.
    `feedback="immediate"` uses targets before they can be measured: see `evaluate`.
    """
    methods = list(candidates)

    def rmse(method: Method) -> float:
        result = evaluate(
            method,
            recording,
            horizon=horizon,
            feedback=feedback,
            runs=runs,
            seed=seed,
            test_start=start,
            test_end=end,
            workers=1,
        ).scores["rmse"]
        return result.mean if result.diverged == 0 and math.isfinite(result.mean) else math.inf

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        found = list(pool.map(rmse, methods))
    places = lowest(found)
    if not places:
        raise BreathcastError(
            f"none of {len(methods)} candidates gave finite forecasts on {recording.name}",
            cure="widen the grid, for example towards smaller learning rates",
        )
    return methods[places[0]]
