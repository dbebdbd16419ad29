"""The report of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from breathcast.evaluation.compare import Comparison
from breathcast.recordings.recording import Recording
from breathcast.reports import html
from breathcast.reports.figures import legend, score_figures, shown_first, time_figure
from breathcast.reports.glossary import SCORE_WORDS
from breathcast.reports.html import Section, escape
from breathcast.reports.summary import meanings, remarks, summary
from breathcast.reports.tables import horizon_table, recording_table, scores_table, settings_table
from breathcast.reports.versions import versions


def results(comparison: Comparison) -> dict[str, Any]:
    """All numbers of a comparison with the versions that made them, ready for JSON."""
    return comparison.to_dict() | {"versions": versions()}


def comparison_page(comparison: Comparison) -> str:
    """The page, complete in itself."""
    times = time_figure(comparison)
    sections = [
        Section("scores", "Scores", _scores(comparison)),
        Section("horizons", "By horizon", _horizons(comparison)),
        Section("times", "Forecast and truth over time", _times(comparison, times)),
        Section("recordings", "By recording", html.table(recording_table(comparison), titles=True)),
        Section("settings", "Settings", _settings(comparison)),
        Section("notes", "The recordings, and what the reader repaired", _notes(comparison.recordings)),
        Section("versions", "Versions and numbers", _versions(comparison)),
    ]
    data = {
        "score-figures": score_figures(comparison),
        "time-figure": times | {"legend": legend(comparison)},
        "results": results(comparison),
    }
    lead = f'<div class="summary">{html.paragraphs(summary(comparison))}</div>'
    return html.page("Comparison of forecasting methods", lead, sections, data, comparison.warning)


def _scores(comparison: Comparison) -> str:
    explained = f"<details><summary>What the scores mean</summary>{html.bullets(meanings())}</details>"
    return html.table(scores_table(comparison), titles=True) + html.bullets(remarks(comparison)) + explained


def _horizons(comparison: Comparison) -> str:
    options = {score: words.axis for score, words in SCORE_WORDS.items()}
    controls = (
        f'<div class="controls">{html.choice("score", "Score", options, "rmse")}'
        f"{html.switches(legend(comparison))}</div>"
    )
    caption = "Mean over the recordings; bars are 95 % intervals over the runs." + html.warned(comparison.warning)
    alternative = "Each score against the horizon, one line a method; the RMSE is in the table above"
    picture = html.figure("score-figures", "choice", alternative, caption, controls)
    return html.table(horizon_table(comparison)) + picture


def _times(comparison: Comparison, times: dict[str, Any]) -> str:
    packed = times["recordings"]
    if not packed:
        return "<p>Nothing was forecast.</p>"
    names = {str(i): f"{entry['name']}{_labelled(entry['labels'])}" for i, entry in enumerate(packed)}
    first = packed[0]
    coordinates = {str(i): entry["name"] for i, entry in enumerate(first["coordinates"])}
    controls = (
        f'<div class="controls">{html.choice("recording", "Recording", names, "0")}'
        f"{html.choice('coordinate', 'Marker and axis', coordinates, str(first['first']))}"
        f"{html.switches(legend(comparison, shown_first(comparison)))}</div>"
    )
    caption = (
        f"First run, {first['horizon']:g} s ahead; a forecast stands at the time it is for, beside the truth (wide "
        f"line). {_extent(comparison, packed)}{html.warned(comparison.warning)}"
    )
    alternative = "Truth and forecasts of one coordinate over time"
    return html.figure("time-figure", "times", alternative, caption, controls)


def _extent(comparison: Comparison, packed: Sequence[dict[str, Any]]) -> str:
    """How much of the test part is in the page."""
    said = []
    if len(packed) < len(comparison.traces):
        said.append(f"The first {len(packed)} of {len(comparison.traces)} recordings are here.")
    cut = [e for e, trace in zip(packed, comparison.traces, strict=False) if len(e["times"]) < len(trace.times)]
    if cut:
        longest = max(entry["times"][-1] - entry["times"][0] for entry in cut)
        said.append(f"Of long test parts the first {longest:.0f} s are shown; the scores are of all.")
    return " ".join(said)


def _labelled(labels: str) -> str:
    return f" ({labels})" if labels else ""


def _settings(comparison: Comparison) -> str:
    feedback = f"{comparison.feedback} ({comparison.warning})" if comparison.warning else comparison.feedback
    common = (
        f"Feedback {feedback}; seed {comparison.seed}; runs of random methods {comparison.runs}; "
        f"scored from {comparison.test_start:g} s."
    )
    return html.paragraphs([common]) + html.table(settings_table(comparison.methods), titles=True)


def _notes(recordings: Sequence[Recording]) -> str:
    return "".join(
        html.noted(recording.name, len(recording), recording.rate, recording.markers, recording.labels, recording.notes)
        for recording in recordings
    )


def _versions(comparison: Comparison) -> str:
    listed = ", ".join(f"{name} {version}" for name, version in versions().items())
    return f"<p>{escape(listed)}; seed {comparison.seed}.</p>" + html.saving()
