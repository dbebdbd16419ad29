"""Optuna in the place of a grid: each setting is proposed from what the ones before it reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Method
from breathcast.studies.spec import Range
from breathcast.studies.tasks import Task

if TYPE_CHECKING:
    import optuna


def searched(task: Task, trial: Callable[[Method], dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of all trials, in their order; the seed of the study decides every proposal."""
    optuna = _optuna()
    assert task.search is not None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=task.seed))
    for _ in range(task.search.trials):
        proposal = study.ask()
        method = task.methods[0].replace(
            **{name: _suggest(proposal, name, span) for name, span in task.search.ranges.items()}
        )
        row = trial(method)
        error = row[task.score]
        lost = row["diverged"] > 0 or error is None or not math.isfinite(error)
        study.tell(
            proposal,
            None if lost else error,
            state=optuna.trial.TrialState.FAIL if lost else optuna.trial.TrialState.COMPLETE,
        )
        yield row


def _suggest(proposal: optuna.Trial, name: str, span: Range | list[Any]) -> Any:
    if isinstance(span, list):
        return proposal.suggest_categorical(name, span)
    if span.whole:
        return proposal.suggest_int(name, round(span.low), round(span.high), log=span.log)
    return proposal.suggest_float(name, span.low, span.high, log=span.log)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        cure = 'pip install "breathcast[search]"'
        raise BreathcastError("a search needs Optuna, which is not installed", cure=cure) from error
    return optuna
