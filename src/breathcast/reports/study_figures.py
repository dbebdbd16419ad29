"""The figures of a study as files, from its results store only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from breathcast.files import replace_file
from breathcast.reports import study_drawing as drawing
from breathcast.reports.glossary import SCORE_WORDS
from breathcast.reports.inspections import axes
from breathcast.reports.study_drawing import Drawing
from breathcast.reports.study_series import (
    COST_CAPTION,
    cost_families,
    influence_families,
    jitter_lines,
    relative_bars,
    score_lines,
    screened,
    study_looks,
    warning,
)
from breathcast.reports.study_traces import Moment, Traces, coordinate
from breathcast.studies import statistics
from breathcast.studies.run import Results
from breathcast.studies.store import Store
from breathcast.studies.tasks import Stage
from breathcast.version import NOTICE

_SHOWN = 60.0  # s of the test part in the figure of forecast and truth: breaths are still told apart in print
_NO_TESTS = "no test task is done yet"
CAPTIONS = "captions.txt"


def save_figures(
    results: Results,
    store: Store,
    folder: Path,
    formats: Sequence[str],
    *,
    recording: str | None = None,
    horizon: float | None = None,
    marker: int | None = None,
    axis: int | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> list[Path]:
    """Write every figure there is data for in each format, and return the files.

    `recording`, `horizon` (s), `marker` and `axis` (from 1) choose what the figures over time show; what is not given
    is the first recording, the middle horizon and the coordinate that moves most. What each figure shows, and why
    one is not there, is said in captions.txt beside them, the latter also to `say`.
    """
    files, captions = [], [NOTICE]
    with drawing.style():
        for drawn in drawings(results, store, recording=recording, horizon=horizon, marker=marker, axis=axis):
            captions.append(f"{drawn.name}: {drawn.caption}")
            if drawn.figure is None:
                say(f"{drawn.name} is not drawn: {drawn.caption}")
                continue
            drawing.settle(drawn.figure)
            for kind in formats:
                file = folder / f"{drawn.name}.{kind}"
                replace_file(file, drawing.encode(drawn.figure, kind))
                files.append(file)
    replace_file(folder / CAPTIONS, ("\n\n".join(captions) + "\n").encode())
    return files


def drawings(
    results: Results,
    store: Store,
    *,
    recording: str | None = None,
    horizon: float | None = None,
    marker: int | None = None,
    axis: int | None = None,
) -> Iterator[Drawing]:
    """Every figure of the study with its caption, one at a time; a name that is not there is an error at once."""
    moment = Traces(results, store).choose(recording, horizon)
    place = None if moment is None else _place(results, moment, marker, axis)
    yield from _scores(results)
    yield from _times(results, moment, place)
    yield from _influence(results)
    yield _cost(results)


def _scores(results: Results) -> Iterator[Drawing]:
    means, flag = statistics.by_horizon(results), warning(results)
    members = results.spec.members(results.recordings)
    if not len(means):
        yield Drawing("scores", _NO_TESTS)
        yield Drawing("nrmse-jitter", _NO_TESTS)
        return
    for name, group in zip(_file_names("scores", list(members)), members, strict=True):
        lines = {score: score_lines(results, means, group, score) for score in SCORE_WORDS}
        if not any(lines.values()):
            yield Drawing(name, _NO_TESTS)
            continue
        hollow = any(not whole for drawn in lines.values() for line in drawn for whole in line.whole)
        said = (
            f"Scores of the test part against the horizon, mean over {_recordings(group, len(members[group]))}; bars "
            f"are 95 % intervals over the runs. A line that leaves a panel goes on above it."
            f"{' Hollow points lack some of the recordings.' if hollow else ''}"
        )
        yield Drawing(name, _caption(results, said, "test"), drawing.score_figure(lines, flag))
    points = {group: jitter_lines(results, means, group) for group in members}
    panels = {group: lines for group, (lines, _) in points.items() if lines}
    cuts = {group: "\n".join(["not shown:", *lost]) for group, (_, lost) in points.items() if lost}
    said = "Jitter of the test part against its nRMSE; each point is the mean over the recordings at one horizon."
    if cuts:
        said += " Points with a far larger nRMSE than the methods that go on learning are cut for readability."
    yield Drawing("nrmse-jitter", _caption(results, said, "test"), drawing.jitter_figure(panels, cuts, flag))


def _recordings(group: str, count: int) -> str:
    return f"all {count} recordings" if group == "all" else f"the {count} recordings of the group {group}"


def _place(results: Results, moment: Moment, marker: int | None, axis: int | None) -> tuple[int, int]:
    trace = next(iter(moment.traces.values()))
    return coordinate(moment, trace.truth[trace.times >= results.spec.test_start], marker, axis)


def _times(results: Results, moment: Moment | None, place: tuple[int, int] | None) -> Iterator[Drawing]:
    if moment is None or place is None:
        why = "forecasts over time are kept with `traces = true` only" if not results.spec.traces else _NO_TESTS
        yield Drawing("forecast", why)
        yield Drawing("loss", why)
        return
    looks, flag, start = study_looks(results), warning(results), results.spec.test_start
    end = max(float(trace.times[-1]) for trace in moment.traces.values())
    span = (start, min(end, start + _SHOWN))
    label = axes(moment.truth.shape[2])[place[1]]
    at = f"recording{moment.place}-{moment.horizon:g}s"
    where = f"{moment.recording}, {moment.horizon:g} s ahead"
    part = "the test part" if span[1] == end else f"the first {_SHOWN:g} s of the test part"
    said = (
        f"Forecast (first run) and truth of {moment.markers[place[0]]}, axis {label}, of {where}: {part}. "
        "A forecast stands at the time it is for."
    )
    figure = drawing.forecast_figure(moment, place, span, looks, flag)
    yield Drawing(f"forecast-{at}-marker{place[0] + 1}-axis{place[1] + 1}", _caption(results, said, "test"), figure)
    said = (
        f"Loss, half the squared error over all coordinates, of {where}: mean over the runs that did not diverge. "
        f"The dashed line is the beginning of the test part."
    )
    known = {title: trace for title, trace in moment.traces.items() if (trace.loss > 0).any()}
    if not known:
        yield Drawing(f"loss-{at}", "every run diverged")
        return
    kept = Moment(moment.recording, moment.place, moment.horizon, moment.markers, known)
    yield Drawing(f"loss-{at}", _caption(results, said, "test"), drawing.loss_figure(kept, start, looks, flag))


def _influence(results: Results) -> Iterator[Drawing]:
    families, flag, looks = influence_families(results), warning(results), study_looks(results)
    if not families:
        why = "no method has a grid of numbers of which all recordings are done"
        yield Drawing("influence", why)
        yield Drawing("relative-influence", why)
        return
    titles = list(dict.fromkeys(family.look.title for family in families))
    for name, title in zip(_file_names("influence", titles), titles, strict=True):
        said = (
            f"{looks[title].name}: nRMSE of the validation part against each hyper-parameter, the lowest over the "
            "others, mean over the recordings; a colour a horizon. Black: mean over the horizons, with the "
            f"deviation over them.{screened(results)}"
        )
        own = [family for family in families if family.look.title == title]
        yield Drawing(name, _caption(results, said, "selection"), drawing.family_figure(own, flag))
    said = "Influence of each hyper-parameter: deviation, over its values, of the nRMSE averaged over the horizons."
    yield Drawing(
        "relative-influence",
        _caption(results, said, "selection"),
        drawing.bar_figure(relative_bars(results), looks, flag),
    )


def _cost(results: Results) -> Drawing:
    families = cost_families(results)
    if not families:
        why = "no network has a grid of hidden units or histories with a result"
        return Drawing("step-times", why)
    return Drawing(
        "step-times", _caption(results, COST_CAPTION, "selection"), drawing.family_figure(families, warning(results))
    )


def _caption(results: Results, said: str, stage: Stage) -> str:
    """What is drawn, and what a reader must know of the study."""
    spec = results.spec
    runs = spec.test_runs if stage == "test" else spec.selection_runs
    parts = [said, f"Random methods: {runs} runs, seed {spec.seed}."]
    if flag := warning(results):
        parts.append(f"Immediate feedback: {flag}.")
    return " ".join(parts)


def _file_names(stem: str, names: Sequence[str]) -> list[str]:
    """A file name for each of some names that may hold anything."""
    plain = [re.sub(r"[^\w-]+", "_", name) for name in names]
    return [f"{stem}-{name}" if plain.count(name) == 1 else f"{stem}-{name}-{n}" for n, name in enumerate(plain, 1)]
