"""The report of a study."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from breathcast.reports import html
from breathcast.reports.glossary import SCORE_WORDS
from breathcast.reports.html import Section, escape
from breathcast.reports.study_plots import family_plots, jitter_plots, relative_plots, score_plots
from breathcast.reports.study_series import (
    COST_CAPTION,
    cost_families,
    influence_families,
    legend,
    screened,
    shown_first,
    warning,
)
from breathcast.reports.study_summary import remarks, summary
from breathcast.reports.study_tables import study_tables
from breathcast.reports.study_time_plots import TimePlots, time_plots
from breathcast.reports.study_traces import Traces
from breathcast.reports.summary import meanings
from breathcast.reports.tables import Table, part
from breathcast.studies import statistics
from breathcast.studies.reproduction import Published, to_dict
from breathcast.studies.run import Results
from breathcast.studies.store import Store

_COLUMNS = 7  # of numbers with intervals, that fit on a page
Data = dict[str, Any]  # the blocks of JSON of the page, by id


def study_page(results: Results, store: Store, published: Published | None) -> str:
    """The page, complete in itself; `published` are the numbers to stand beside ours."""
    described, data = store.description(), Data()
    means = statistics.by_horizon(results)
    times = time_plots(results, Traces(results, store))
    sections = [
        Section("tables", "Tables", _tables(results, published)),
        Section("horizons", "Scores by horizon", _scores(results, means, data)),
        Section("jitter", "Jitter and error", _jitter(results, means, data)),
        Section("times", "Forecast and truth over time", _times(results, means, times, data)),
        Section("loss", "Loss over time", _loss(results, means, times, data)),
        Section("influence", "Influence of the hyper-parameters", _influence(results, data)),
        Section("cost", "Time for each step", _cost(results, data)),
        Section("notes", "The recordings, and what the reader repaired", _notes(described["recordings"])),
        Section("versions", "Versions, study and numbers", _versions(results, described)),
    ]
    data["results"] = embedded(results, described, published)
    lead = f'<div class="summary">{html.paragraphs(summary(results))}</div>'
    return html.page(results.spec.title or results.spec.name, lead, sections, data, warning(results))


def embedded(results: Results, described: Mapping[str, Any], published: Published | None) -> Data:
    """All numbers of a study with its spec, its data and the versions that made them, ready for JSON."""
    choices = [
        {
            "title": choice.title,
            "recording": choice.recording,
            "horizon": choice.horizon,
            "settings": choice.method.to_dict(),
            "score": choice.score,
            "ties": choice.ties,
            "passed_over": choice.passed_over,
        }
        for choice in results.choices
    ]
    return to_dict(results, published) | {
        "warning": warning(results),
        "choices": choices,
        "spec": described["spec"],
        "seed": results.spec.seed,
        "recordings": described["recordings"],
        "versions": described["versions"],
        "machine": described["machine"],
        "last_run": described["last_run"],
    }


def _tables(results: Results, published: Published | None) -> str:
    explained = f"<details><summary>What the scores mean</summary>{html.bullets(meanings())}</details>"
    tables = "".join(html.table(block) for table in study_tables(results, published) for block in _blocks(table))
    return html.bullets(remarks(results)) + tables + explained


def _blocks(table: Table) -> Iterator[Table]:
    """A table with many columns in several, each as wide as a page."""
    columns = len(table.columns) - 1
    count = -(-columns // _COLUMNS)
    size = -(-columns // count)
    for start in range(0, columns, size):
        yield part(table, start, start + size)


def _scores(results: Results, means: pl.DataFrame, data: Data) -> str:
    if not len(means):
        return _nothing("No test task is done yet.")
    data["score-plots"] = score_plots(results, means)
    scores = {score: words.axis for score, words in SCORE_WORDS.items()}
    controls = _controls(_groups(results), html.choice("score", "Score", scores, "rmse"), _switches(results))
    caption = (
        "Mean over the recordings of the group; bars are 95 % intervals over the runs. A hollow point lacks "
        "some of the recordings; a line that leaves the figure goes on above it."
    )
    return _figure(results, "score-plots", "Each score against the horizon, one line a method", caption, controls)


def _jitter(results: Results, means: pl.DataFrame, data: Data) -> str:
    if not len(means):
        return _nothing("No test task is done yet.")
    data["jitter-plots"], cut = jitter_plots(results, means)
    said = f" Not shown, for their large nRMSE: {'; '.join(cut)}." if cut else ""
    caption = f"Each point is the mean over the recordings of the group at one horizon.{said}"
    controls = _controls(_groups(results), _switches(results))
    return _figure(results, "jitter-plots", "Jitter against nRMSE, one point a horizon", caption, controls)


def _times(results: Results, means: pl.DataFrame, times: TimePlots, data: Data) -> str:
    packed = times.forecasts["recordings"]
    if not packed:
        return _nothing("No forecasts over time are kept, or none is done yet.")
    data["time-plot"] = times.forecasts
    coordinates = {str(i): place["name"] for i, place in enumerate(packed[0]["coordinates"])}
    controls = _controls(
        _recordings(times.forecasts),
        _horizons(times.forecasts),
        html.choice("coordinate", "Marker and axis", coordinates, str(packed[0]["first"])),
        _switches(results, shown_first(means)),
    )
    caption = "First run; a forecast stands at the time it is for, beside the truth (wide line). " + " ".join(
        times.left_out
    )
    alternative = "Truth and forecasts of one coordinate over time"
    return _figure(results, "time-plot", alternative, caption, controls, kind="times")


def _loss(results: Results, means: pl.DataFrame, times: TimePlots, data: Data) -> str:
    if not times.losses["recordings"]:
        return _nothing("No losses over time are kept, or none is done yet.")
    data["loss-plot"] = times.losses
    controls = _controls(_recordings(times.losses), _horizons(times.losses), _switches(results, shown_first(means)))
    caption = (
        "Half the squared error over all coordinates, mean over the runs that did not diverge, from the beginning of "
        f"the recording; scored is what comes after {results.spec.test_start:g} s. Of a long recording each point is a "
        "mean over several samples."
    )
    return _figure(results, "loss-plot", "Loss of each method over time", caption, controls, kind="loss")


def _influence(results: Results, data: Data) -> str:
    plots = family_plots(results, influence_families(results))
    if not plots:
        return _nothing("No method has a grid of numbers of which all recordings are done.")
    data["influence-plots"], data["relative-plots"] = plots, relative_plots(results)
    caption = (
        "For each value the lowest nRMSE of the validation part over the other hyper-parameters, mean over the "
        "recordings; a colour a horizon. Dotted: mean over the horizons, with the deviation over them."
        + screened(results)
    )
    first = _figure(results, "influence-plots", "nRMSE against each hyper-parameter", caption, _one_of(plots))
    caption = "Deviation, over the values of a hyper-parameter, of that mean: the longer a bar, the more it matters."
    controls = _one_of(data["relative-plots"], "Method")
    second = _figure(results, "relative-plots", "Influence of each hyper-parameter", caption, controls)
    return first + second


def _cost(results: Results, data: Data) -> str:
    plots = family_plots(results, cost_families(results))
    if not plots:
        return _nothing("No network has a grid of hidden units or histories with a result.")
    data["cost-plots"] = plots
    return _figure(results, "cost-plots", "Time for each step against size and history", COST_CAPTION, _one_of(plots))


def _notes(recordings: Sequence[Mapping[str, Any]]) -> str:
    return "".join(
        html.noted(
            told["name"], told["samples"], told["rate_hz"], told.get("markers", ()), told["labels"], told["notes"]
        )
        for told in recordings
    )


def _versions(results: Results, described: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{name} {version}" for name, version in described["versions"].items())
    spec = _closed_up(json.dumps(described["spec"], indent=1, ensure_ascii=False))
    hashes = "".join(
        f"<li>{escape(told['name'])}: <code>{escape(told['hash'])}</code></li>" for told in described["recordings"]
    )
    return (
        f"<p>Computed with {escape(listed)} on {escape(described['machine'])}, last on "
        f"{escape(described['last_run'])}; seed {results.spec.seed}.</p>"
        f"<details><summary>Hashes of the recordings</summary><ul>{hashes}</ul></details>"
        f"<details><summary>The study</summary><pre>{escape(spec)}</pre></details>" + html.saving()
    )


def _closed_up(text: str) -> str:
    """JSON whose lists of plain values take one line each."""
    return re.sub(r"\[\n[^][{}]*\n\s*\]", lambda found: re.sub(r"\n\s*", " ", found[0]), text)


def _figure(
    results: Results, key: str, alternative: str, caption: str, controls: str = "", *, kind: str = "choice"
) -> str:
    return html.figure(key, kind, alternative, caption + html.warned(warning(results)), controls)


def _nothing(why: str) -> str:
    return html.paragraphs([why])


def _controls(*parts: str) -> str:
    return f'<div class="controls">{"".join(parts)}</div>'


def _groups(results: Results) -> str:
    groups = {group: group for group in results.spec.members(results.recordings)}
    return html.choice("group", "Recordings", groups, "all")


def _one_of(plots: Mapping[str, Any], label: str = "Method and hyper-parameter") -> str:
    return _controls(html.choice("plot", label, {name: name for name in plots}))


def _recordings(plot: Mapping[str, Any]) -> str:
    names = {str(i): entry["name"] for i, entry in enumerate(plot["recordings"])}
    return html.choice("recording", "Recording", names, "0")


def _horizons(plot: Mapping[str, Any]) -> str:
    horizons = plot["horizons"]
    return html.choice("horizon", "Horizon", horizons, list(horizons)[len(horizons) // 2])


def _switches(results: Results, shown: Collection[str] | None = None) -> str:
    return html.switches(legend(results, shown, dashed=shown is None))
