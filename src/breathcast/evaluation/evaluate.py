"""One method on one recording at one horizon: forecasts beside the truth, and scores over runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from breathcast.errors import BreathcastError
from breathcast.evaluation.scores import SCORES, Score, over_runs, score_runs
from breathcast.forecasters.method import Array, Feedback, Form, Method, whole
from breathcast.forecasters.stream import Stream, horizon_steps
from breathcast.recordings.recording import Recording

IMMEDIATE_WARNING = "uses targets before they can be measured"
_RUNS_PER_CALL = 8  # runs in one compiled call: enough to share its overhead, few enough to share out between cores


@dataclass(frozen=True)
class Evaluation:
    """Forecasts aligned with what they forecast: row n of every array belongs to the time `times[n]`."""

    method: Method
    recording: str
    horizon: float  # s, as asked
    steps: int  # the same in samples; steps / rate is the horizon that was used
    rate: float
    feedback: Feedback
    seed: int
    test_start: float  # s
    times: Array  # (N), s, of the target
    truth: Array  # (N, marker, dimension), mm
    predictions: Array  # (runs, N, marker, dimension), mm, issued `steps` samples before
    learned: NDArray[np.bool_]  # (runs, N), False where the last known position stands in
    imputed: NDArray[np.bool_]  # (N), whether the forecast rests on samples that were missing
    test: NDArray[np.bool_]  # (N), which rows are scored
    diverged: NDArray[np.bool_]  # (runs), whether a run gave a forecast that was not finite
    scores: dict[str, Score]
    by_run: dict[str, Array]  # each score of each run, (runs), nan where it diverged
    loss: Array  # (N), ½ ‖error‖² over all coordinates, mm², mean over the runs that did not diverge; nan in a gap

    @property
    def warning(self) -> str | None:
        """What a reader of these numbers must know first; None with delayed feedback."""
        return IMMEDIATE_WARNING if self.feedback == "immediate" else None

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, ready for JSON."""
        return {
            "method": self.method.to_dict(),
            "recording": self.recording,
            "horizon_s": self.horizon,
            "horizon_used_s": self.steps / self.rate,
            "feedback": self.feedback,
            "warning": self.warning,
            "seed": self.seed,
            "test_start_s": self.test_start,
            "scores": {name: value.to_dict() for name, value in self.scores.items()},
        }


def evaluate(
    method: Method,
    recording: Recording,
    *,
    horizon: float,
    feedback: Feedback = "delayed",
    runs: int = 1,
    seed: int = 0,
    test_start: float = 60.0,
    test_end: float | None = None,
    workers: int | None = None,
    form: Form = "step",
) -> Evaluation:
    """Run a method over a recording, `runs` times with other random numbers, and score it from `test_start` s on.

    With `feedback="delayed"` a target is learned when it is measured. `feedback="immediate"` is the published protocol,
    which uses targets before they can be measured: to reproduce and compare, not attainable in real time.
    A method without chance is run once. The runs share the cores (`workers`, all by default). `form` says how the
    arithmetic is arranged: see `FORMS`.
    """
    runs = whole("runs", runs, 1)
    if unseen := [
        name for name, lost in zip(recording.markers, np.all(recording.missing, axis=0).tolist(), strict=True) if lost
    ]:
        cure = "leave that marker out of the recording"
        raise BreathcastError(f"{recording.name}: {unseen[0]} was never seen", cure=cure)
    steps = horizon_steps(horizon, recording.rate)
    first, last = _test_part(recording, method, steps, test_start, test_end)
    cores = os.cpu_count() or 1 if workers is None else whole("workers", workers, 1)
    chunks = _shares(runs if method.random else 1, cores)

    def work(chunk: Sequence[int]) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
        stream = Stream(
            method,
            rate=recording.rate,
            markers=len(recording.markers),
            dimension=recording.dimension,
            horizons=[horizon],
            seed=seed,
            runs=chunk,
            feedback=feedback,
            form=form,
        )
        result = stream.extend(recording.positions[:last])
        stop = last - steps
        return result.positions[:, :stop, 0], result.learned[:, :stop, 0], result.imputed[:stop, 0]

    if len(chunks) == 1 or cores == 1:
        parts = [work(chunk) for chunk in chunks]
    else:
        with ThreadPoolExecutor(cores) as pool:
            parts = list(pool.map(work, chunks))
    predictions = np.concatenate([part[0] for part in parts])
    learned = np.concatenate([part[1] for part in parts])
    truth = recording.positions[steps:last]
    test = np.arange(steps, last) >= first
    begun = np.logical_or.accumulate(learned, axis=1)
    diverged: NDArray[np.bool_] = np.asarray((begun & ~learned).any(axis=1))
    tables = score_runs(predictions[:, test], truth[test])
    by_run = {key: np.where(diverged, np.nan, values) for key, values in tables.items()}
    kept = [0.5 * np.nansum((run - truth) ** 2, axis=(1, 2)) for run in predictions[~diverged]]
    loss = np.mean(kept, axis=0) if kept else np.full(len(truth), np.nan)
    loss[np.isnan(truth).all(axis=(1, 2))] = np.nan
    lost = int(diverged.sum())
    scores = {key: over_runs(by_run[key][~diverged].tolist(), random=method.random, diverged=lost) for key in SCORES}
    return Evaluation(
        method=method,
        recording=recording.name,
        horizon=horizon,
        steps=steps,
        rate=recording.rate,
        feedback=feedback,
        seed=seed,
        test_start=test_start,
        times=recording.times[steps:last],
        truth=truth,
        predictions=predictions,
        learned=learned,
        imputed=parts[0][2],
        test=test,
        diverged=diverged,
        scores=scores,
        by_run=by_run,
        loss=loss,
    )


def _shares(runs: int, cores: int) -> list[tuple[int, ...]]:
    """The runs of each compiled call: at most `_RUNS_PER_CALL`, and as many calls as keep all cores busy to the end."""
    rounds = -(-runs // (_RUNS_PER_CALL * cores))
    return [tuple(part.tolist()) for part in np.array_split(np.arange(runs), min(runs, rounds * cores))]


def _test_part(
    recording: Recording, method: Method, steps: int, test_start: float, test_end: float | None
) -> tuple[int, int]:
    """The first sample that is scored, and the one after the last; or an error that says what would fit."""
    if not (np.isfinite(test_start) and test_start >= 0) or (test_end is not None and not test_end > test_start):
        raise BreathcastError(
            f"the test part is from {test_start} s to {'the end' if test_end is None else test_end}",
            cure="give a start of 0 s or later, and an end after it",
        )
    first = round(min(test_start, recording.duration) * recording.rate)
    last = len(recording) if test_end is None else round(min(test_end, recording.duration) * recording.rate)
    if last - first < 2:
        raise BreathcastError(
            f"{recording.name} lasts {recording.duration:.1f} s and the test part starts at {test_start:g} s",
            cure="give a longer recording, or an earlier start of the test part (test_start, --test-start)",
        )
    if first < steps:
        raise BreathcastError(
            f"the test part starts at {test_start:g} s, before a forecast for it can be issued",
            cure=f"start it at {steps / recording.rate:g} s or later",
        )
    return first, last
