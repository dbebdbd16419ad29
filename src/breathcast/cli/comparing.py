"""A comparison for the command line: checked before the long work, with progress, and shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from breathcast.cli.waiting import interruptible, progress
from breathcast.errors import BreathcastError
from breathcast.version import NOTICE

if TYPE_CHECKING:
    from breathcast.evaluation.compare import Comparison
    from breathcast.forecasters.method import Feedback, Method
    from breathcast.recordings.recording import Recording


def run_comparison(
    methods: Sequence[Method],
    recordings: Sequence[Recording],
    *,
    horizons: Sequence[float],
    feedback: Feedback,
    runs: int,
    seed: int,
    test_start: float,
    workers: int | None = None,
) -> Comparison:
    """Compare, with a bar; no prediction is always among the methods, as the reference."""
    from breathcast.cli.kernels import compiled_before
    from breathcast.evaluation.compare import compare
    from breathcast.forecasters.persistence import Persistence

    check(recordings, horizons, feedback, test_start)
    if not any(isinstance(method, Persistence) for method in methods):
        methods = [*methods, Persistence()]
    begin = "Loading the compiled methods" if compiled_before() else "Compiling the methods (10-30 s, only once)"
    with progress(begin) as report:
        return interruptible(
            lambda: compare(
                methods,
                recordings,
                horizons=horizons,
                feedback=feedback,
                runs=runs,
                seed=seed,
                test_start=test_start,
                workers=workers,
                progress=report,
            )
        )


def check(recordings: Sequence[Recording], horizons: Sequence[float], feedback: Feedback, test_start: float) -> None:
    """Try every recording and horizon with the method that takes no time, so that nobody waits for an error."""
    from breathcast.evaluation.evaluate import evaluate
    from breathcast.forecasters.persistence import Persistence

    for recording in recordings:
        for horizon in horizons:
            trial = evaluate(Persistence(), recording, horizon=horizon, feedback=feedback, test_start=test_start)
            if not math.isfinite(trial.scores["rmse"].mean):
                raise BreathcastError(
                    f"{recording.name}: nothing can be scored after {test_start:g} s, because a marker is missing "
                    "there or was never seen before",
                    cure="leave the recording or that marker out, or choose another --test-start",
                )


def show_comparison(comparison: Comparison) -> None:
    """The tables, on standard output."""
    from rich.text import Text

    from breathcast.reports.summary import remarks, summary
    from breathcast.reports.tables import horizon_table, scores_table
    from breathcast.reports.terminal import bullets, console, show

    target = console()
    target.print(Text(NOTICE, style="dim"))
    for line in summary(comparison):
        target.print(Text(line))
    target.print()
    show(scores_table(comparison), target)
    show(horizon_table(comparison), target)
    bullets(["*: the best of its column.", *remarks(comparison)], target)
