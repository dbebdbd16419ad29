"""A comparison in plain words: what was compared, how, and what a reader of the tables must know."""

from __future__ import annotations

from breathcast.evaluation.compare import Comparison, labels
from breathcast.recordings.clock import counted
from breathcast.reports.glossary import FEEDBACK, REFERENCE, SCORE_WORDS
from breathcast.reports.plain import listed


def summary(comparison: Comparison) -> list[str]:
    """Sentences for somebody who was not there."""
    recordings, methods = comparison.recordings, comparison.methods
    rates = sorted({recording.rate for recording in recordings})
    minutes = sum(recording.duration for recording in recordings) / 60
    return [
        f"{counted(len(methods), 'method')} forecast the marker positions of {counted(len(recordings), 'recording')} "
        f"({minutes:.1f} minutes at {listed(rates)} Hz), {listed(comparison.horizons)} s ahead.",
        f"Feedback is {comparison.feedback}. {FEEDBACK[comparison.feedback]}",
        f"Each recording is scored from {comparison.test_start:g} s to its end. {_chance(comparison)}",
    ]


def _chance(comparison: Comparison) -> str:
    if not any(method.random for method in comparison.methods):
        return "No method depends on chance."
    if comparison.runs == 1:
        return f"Random methods are run once (seed {comparison.seed}): how far chance carries is not known."
    return f"Random methods are averaged over {comparison.runs} runs (seed {comparison.seed}), with 95 % intervals."


def remarks(comparison: Comparison) -> list[str]:
    """What the numbers do not say themselves; every line is true of this comparison."""
    found = []
    if any(method.name == REFERENCE for method in comparison.methods):
        found.append("vs none: the change of the RMSE against 'No prediction'; negative is better.")
    return [*found, *_learning_late(comparison), *_rounded(comparison), *_diverged(comparison)]


def _learning_late(comparison: Comparison) -> list[str]:
    """Methods without a forecast of their own for a part of what is scored; runs that diverged are told apart."""
    names = labels(comparison.methods)
    own: dict[str, float] = {}
    for case in comparison.cases:
        if case.learned < 1 and not case.scores["rmse"].diverged:
            name = names[case.method]
            own[name] = min(case.learned, own.get(name, 1.0))
    if not own:
        return []
    late = ", ".join(f"{name} (up to {100 * (1 - share):.3g} % of a recording)" for name, share in own.items())
    return [f"Before they have learned, the last known position is scored as the forecast of: {late}."]


def _rounded(comparison: Comparison) -> list[str]:
    """Horizons that fall between two samples."""
    shifted = {
        (case.horizon, case.used) for case in comparison.cases if abs(case.used - case.horizon) > 0.01 * case.horizon
    }
    return [f"The horizon {asked:g} s is {used:.3g} s where samples lie no closer." for asked, used in sorted(shifted)]


def _diverged(comparison: Comparison) -> list[str]:
    """Runs that are not in the numbers."""
    names = labels(comparison.methods)
    found = []
    for method in names:
        score = comparison.average(method, score="rmse")
        if score.diverged:
            found.append(
                f"† {names[method]}: {counted(score.diverged, 'run')} gave forecasts that are not finite, and "
                f"{'is' if score.diverged == 1 else 'are'} left out."
            )
    return found


def meanings() -> list[str]:
    """One line on each score."""
    return [f"{words.short}: {words.meaning}" for words in SCORE_WORDS.values()]
