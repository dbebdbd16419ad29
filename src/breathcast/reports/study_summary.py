"""A study in plain words: what was done, and what a reader of its numbers must know."""

from __future__ import annotations

from breathcast.forecasters.table import METHODS
from breathcast.recordings.clock import counted
from breathcast.reports.glossary import FEEDBACK, SCORE_WORDS
from breathcast.reports.plain import listed
from breathcast.studies.reproduction import deviations
from breathcast.studies.run import Results

_SHOWN = 5  # failures listed one by one
_LISTED = 6  # horizons named one by one


def summary(results: Results) -> list[str]:
    """Sentences for somebody who was not there."""
    spec = results.spec
    return [
        f"{counted(len(spec.method), 'method')} on {counted(len(results.recordings), 'recording')}, "
        f"{_ahead(spec.ahead)} s ahead.",
        f"Feedback is {spec.feedback}. {FEEDBACK[spec.feedback]}",
        f"{_choice(results)}Each recording is scored from {spec.test_start:g} s to its end. {_chance(results)}",
    ]


def _ahead(ahead: tuple[float, ...]) -> str:
    if len(ahead) <= _LISTED:
        return listed(ahead)
    return f"{len(ahead)} horizons from {min(ahead):g} to {max(ahead):g}"


def _choice(results: Results) -> str:
    if not any(entry.selects for entry in results.spec.method):
        return ""
    return (
        "Hyper-parameters are chosen for each recording and horizon, by the lowest mean "
        f"{SCORE_WORDS[results.spec.select].short} before the test part begins. "
    )


def _chance(results: Results) -> str:
    spec = results.spec
    if not any(METHODS[entry.name].random for entry in spec.method):
        return "No method depends on chance."
    chosen = f" ({spec.selection_runs} to choose)" if _choice(results) else ""
    return f"Random methods are run {counted(spec.test_runs, 'time')}{chosen}, seed {spec.seed}."


def remarks(results: Results) -> list[str]:
    """What a reader of the tables must know: what differs from the publication, is missing, failed or diverged."""
    lines = []
    if changed := deviations(results):
        lines.append(f"Not as published: {'; '.join(changed)}.")
    missing = sum(results.missing.values())
    if missing:
        lines.append(f"{missing} tasks are not done yet: the tables show what is there.")
    for failure in results.failures[:_SHOWN]:
        lines.append(f"{failure['title']} on {failure['recording']} failed: {failure['why']}")
    if more := len(results.failures[_SHOWN:]):
        lines.append(f"{more} more tasks failed; --retry tries them again.")
    lost = int(results.test["diverged"].sum())
    if lost:
        lines.append(f"{lost} of {len(results.test)} test runs diverged and are left out of the means.")
    passed = sum(choice.passed_over for choice in results.choices)
    if passed:
        lines.append(f"{passed} of {len(results.selection)} settings diverged in the validation part: passed over.")
    if results.spec.screening_runs:
        lines.append(f"Settings that could not win after {results.spec.screening_runs} runs were given up (screening).")
    return lines
