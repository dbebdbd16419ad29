"""Several methods on several recordings at several horizons: the table of all scores."""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from breathcast.errors import BreathcastError
from breathcast.evaluation.evaluate import IMMEDIATE_WARNING, Evaluation, evaluate
from breathcast.evaluation.scores import SCORES, Score, over_cases
from breathcast.forecasters.method import Array, Feedback, Method
from breathcast.recordings.recording import Recording
from breathcast.version import NOTICE, __version__


def labels(methods: Iterable[Method]) -> dict[Method, str]:
    """A name for each method; where one is there twice, with the settings that differ."""
    methods = tuple(methods)
    return {method: method.name + _difference(method, methods) for method in methods}


def _difference(method: Method, methods: Sequence[Method]) -> str:
    others = [other.to_dict() for other in methods if other.name == method.name and other != method]
    own = method.to_dict()
    differing = [key for key in own if any(other[key] != own[key] for other in others)]
    return f"({','.join(f'{key}={own[key]}' for key in differing)})" if differing else ""


@dataclass(frozen=True)
class Case:
    """What one method reached on one recording at one horizon."""

    method: Method
    recording: str
    horizon: float  # s, as asked
    used: float  # s, the nearest number of samples
    scores: dict[str, Score]
    learned: float  # share of the scored forecasts that are the method's own, not the last known position
    seconds: float  # wall time of all runs, compilation not included


@dataclass(frozen=True)
class Trace:
    """Forecast and truth over the test part, first run, for a figure."""

    recording: str
    horizon: float
    times: Array  # (N), s
    markers: tuple[str, ...]
    truth: Array  # (N, marker, dimension), mm, NaN where missing
    forecasts: dict[str, Array] = field(default_factory=dict)  # by label of the method, like `truth`


@dataclass(frozen=True)
class Comparison:
    """All cases of a comparison, in the order methods × recordings × horizons, and what they were run with."""

    methods: tuple[Method, ...]
    recordings: tuple[Recording, ...]
    horizons: tuple[float, ...]
    feedback: Feedback
    runs: int
    seed: int
    test_start: float
    cases: tuple[Case, ...]
    traces: tuple[Trace, ...]  # one for each recording, at the middle horizon

    @property
    def warning(self) -> str | None:
        """What a reader of these numbers must know first; None with delayed feedback."""
        return IMMEDIATE_WARNING if self.feedback == "immediate" else None

    def average(
        self, method: Method, *, score: str, horizon: float | None = None, recordings: Sequence[str] | None = None
    ) -> Score:
        """Mean of a score over recordings (all, or those named) and over horizons (all, or the one given)."""
        return over_cases(
            case.scores[score]
            for case in self._by_method[method]
            if horizon in (None, case.horizon) and (recordings is None or case.recording in recordings)
        )

    @cached_property
    def _by_method(self) -> dict[Method, list[Case]]:
        return {method: [case for case in self.cases if case.method == method] for method in self.methods}

    def to_dict(self) -> dict[str, Any]:
        """All numbers, ready for JSON: settings, averages by method, by method and horizon, and every case."""
        names = labels(self.methods)
        return {
            "breathcast": __version__,
            "notice": NOTICE,
            "feedback": self.feedback,
            "warning": self.warning,
            "runs": self.runs,
            "seed": self.seed,
            "test_start_s": self.test_start,
            "horizons_s": list(self.horizons),
            "recordings": [
                {"name": r.name, "rate_hz": r.rate, "duration_s": r.duration, "labels": r.labels, "notes": r.notes}
                for r in self.recordings
            ],
            "methods": [
                {
                    **method.to_dict(),
                    "label": names[method],
                    "title": method.title,
                    "average": {s: self.average(method, score=s).to_dict() for s in SCORES},
                    "by_horizon": [
                        {"horizon_s": h} | {s: self.average(method, score=s, horizon=h).to_dict() for s in SCORES}
                        for h in self.horizons
                    ],
                }
                for method in self.methods
            ],
            "cases": [
                {
                    "method": names[case.method],
                    "recording": case.recording,
                    "horizon_s": case.horizon,
                    "horizon_used_s": case.used,
                    "learned": case.learned,
                    "seconds": case.seconds,
                    "scores": {name: value.to_dict() for name, value in case.scores.items()},
                }
                for case in self.cases
            ],
        }


def compare(
    methods: Iterable[Method],
    recordings: Iterable[Recording],
    *,
    horizons: Sequence[float] = (0.1, 0.5, 1.0, 2.0),
    feedback: Feedback = "delayed",
    runs: int = 5,
    seed: int = 0,
    test_start: float = 60.0,
    workers: int | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Comparison:
    """Evaluate each method on each recording at each horizon, the cases shared out between the cores.

    `feedback="immediate"` uses targets before they can be measured: see `evaluate`.

    `progress(done, total, what)` is called after each case, from any thread, one at a time.
    """
    methods, recordings = tuple(dict.fromkeys(methods)), _named_apart(recordings)
    names = labels(methods)
    cells = [(method, recording, h) for method in methods for recording in recordings for h in horizons]
    if not cells:
        raise BreathcastError(
            f"{len(methods)} methods, {len(recordings)} recordings, {len(horizons)} horizons: nothing to compare",
            cure="give at least one of each",
        )
    middle = sorted(horizons)[len(horizons) // 2]
    lock, done = threading.Lock(), 0
    for method in methods:  # before the threads start: two that compile the same kernel would wait for each other
        method.warm_up()

    def work(cell: tuple[Method, Recording, float]) -> tuple[Case, Evaluation | None]:
        nonlocal done
        method, recording, horizon = cell
        begin = time.perf_counter()
        result = evaluate(
            method,
            recording,
            horizon=horizon,
            feedback=feedback,
            runs=runs,
            seed=seed,
            test_start=test_start,
            workers=1,
        )
        seconds = time.perf_counter() - begin
        with lock:
            done += 1
            if progress is not None:
                progress(done, len(cells), f"{names[method]} on {recording.name}")
        own = float(result.learned[:, result.test].mean())
        case = Case(method, recording.name, horizon, result.steps / result.rate, result.scores, own, seconds)
        return case, result if horizon == middle else None

    pool = ThreadPoolExecutor(workers or os.cpu_count() or 1)
    try:
        results = list(pool.map(work, cells))
    finally:  # after Ctrl-C or an error: finish the case in hand, start no other
        pool.shutdown(cancel_futures=True)
    return Comparison(
        methods=methods,
        recordings=recordings,
        horizons=tuple(horizons),
        feedback=feedback,
        runs=runs,
        seed=seed,
        test_start=test_start,
        cases=tuple(case for case, _ in results),
        traces=_traces(recordings, names, [kept for _, kept in results if kept is not None]),
    )


def _named_apart(recordings: Iterable[Recording]) -> tuple[Recording, ...]:
    """The same recordings; of those that share a name, all but the first get a number behind it."""
    apart: dict[str, Recording] = {}
    for recording in recordings:
        name, n = recording.name, 1
        while name in apart:
            n += 1
            name = f"{recording.name} ({n})"
        apart[name] = copy.copy(recording)
        apart[name].name = name
    return tuple(apart.values())


def _traces(
    recordings: Sequence[Recording], labels: Mapping[Method, str], kept: Sequence[Evaluation]
) -> tuple[Trace, ...]:
    traces: dict[str, Trace] = {}
    markers = {recording.name: recording.markers for recording in recordings}
    for result in kept:
        trace = traces.setdefault(
            result.recording,
            Trace(
                result.recording,
                result.horizon,
                result.times[result.test],
                markers[result.recording],
                result.truth[result.test],
            ),
        )
        trace.forecasts[labels[result.method]] = result.predictions[0, result.test]
    return tuple(traces.values())
