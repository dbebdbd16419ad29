"""`breathcast reproduce`: a published study, run again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from breathcast.cli import options, parse, studying
from breathcast.cli.output import check_targets, emit_json, save, say_notes
from breathcast.cli.waiting import say

if TYPE_CHECKING:
    from breathcast.recordings.recording import Recording
    from breathcast.studies.spec import Entry, Spec

_QUICK_HORIZONS = 5
_QUICK_RUNS = (2, 5)
_QUICK_VALUES = 2  # of each hyper-parameter: the first and the last


def reproduce(
    name: Annotated[str, typer.Argument(metavar="STUDY", help="pohl2022 or pohl2025.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="RESULTS", help="Folder for the results; an unfinished one goes on."),
    ] = Path("results"),
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Recordings; the simulated cohort unless given.")
    ] = None,
    runs_cv: Annotated[
        int | None, typer.Option("--runs-cv", min=1, metavar="N", help="Runs a grid point; 50 as published.")
    ] = None,
    runs_test: Annotated[
        int | None, typer.Option("--runs-test", min=1, metavar="N", help="Test runs; 300 as published.")
    ] = None,
    screening_runs: Annotated[
        int | None,
        typer.Option(
            "--screening-runs",
            min=2,
            metavar="N",
            help="Give a grid point up after N runs if a test says that it cannot win; off unless given.",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Some of the methods, with commas between them; all unless given."),
    ] = None,
    feedback: Annotated[
        options.Feedback | None,
        typer.Option(
            help="immediate, as published, uses targets before they can be measured; delayed is the same "
            "study under the rule of a real system."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few minutes: 5 horizons, 2 values a hyper-parameter, 2 and 5 runs.")
    ] = False,
    seed: options.Seed = 0,
    workers: studying.Workers = None,
    dask: studying.Dask = None,
    dask_cluster: studying.DaskCluster = None,
    retry: studying.Retry = False,
    json: options.Json = None,
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only write the study file, to change it for `study run`.")
    ] = None,
) -> None:
    """Run a published study again, and hold its numbers against the published ones.

    It can be stopped at any moment, and goes on with the same command. The folder then holds every result,
    report.html, and what `breathcast study` reads.

    \b
    Examples:
      breathcast reproduce pohl2022 --quick -o quick
      breathcast reproduce pohl2022 --data extmarker -o results
      breathcast reproduce pohl2022 --data extmarker --feedback delayed -o delayed
      breathcast reproduce pohl2022 --data extmarker --methods rtrl,rtrl-before -o rtrl
      breathcast reproduce pohl2025 --data extmarker --runs-cv 5 --runs-test 20 -o pohl2025
      breathcast reproduce pohl2022 --write study.toml
    """
    from breathcast.studies.reproduction import published, to_dict
    from breathcast.studies.spec_file import published_spec, published_text

    with parse.option("STUDY"):
        spec = published_spec(name)
    if write is not None:
        check_targets([write])
        save(write, published_text(name))
        return
    check_targets([json])
    with parse.option("--methods"):
        spec = spec.with_methods(None if methods is None else [title.strip() for title in methods.split(",")])
    if quick:
        spec = _quick(spec)
    changes = {
        "selection_runs": runs_cv,
        "screening_runs": screening_runs,
        "test_runs": runs_test,
        "feedback": feedback and feedback.value,
        "seed": seed,
    }
    spec = spec.changed(**{key: value for key, value in changes.items() if value is not None})
    recordings = _recordings(data)
    spec = _grouped(spec, recordings, simulated=data is None)
    place = studying.executor(workers, dask, dask_cluster)
    again = shlex.join(["breathcast", *sys.argv[1:]])
    results = studying.run_study(spec, recordings, output, place, retry=retry, again=again)
    studying.write_report(results, output)

    if not emit_json(to_dict(results, published(name)), json):
        studying.show_results(results)
    say(f"\nOpen {(output / 'report.html').resolve()} in a browser; figures: breathcast study report {output}")


def _recordings(data: Path | None) -> list[Recording]:
    if data is None:
        from breathcast.recordings.simulation import cohort

        return list(cohort(seed=0))
    recordings = options.read_recordings([data], None, None, None, None, None)
    say_notes(recordings)
    return recordings


def _grouped(spec: Spec, recordings: list[Recording], *, simulated: bool) -> Spec:
    """The published groups are of nine recordings by place; simulated ones are known by their labels."""
    if simulated:
        places: dict[str, list[int]] = {"regular": [], "irregular": []}
        for place, recording in enumerate(recordings, 1):
            places["regular" if "regular" in recording.labels else "irregular"].append(place)
        return spec.changed(groups=places, lengths={})
    from breathcast.studies.reproduction import published

    known = published(spec.name)
    if known is not None and tuple(recording.name for recording in recordings) != known.recordings:
        say("These are not the nine recordings of the study: its groups and its numbers are left out.")
        return spec.changed(groups={}, lengths={})
    return spec


def _quick(spec: Spec) -> Spec:
    """The same study in small: every part of it is there, and the numbers are not the published ones."""
    ahead = spec.ahead
    picked = sorted({round(n * (len(ahead) - 1) / (_QUICK_HORIZONS - 1)) for n in range(_QUICK_HORIZONS)})
    return spec.changed(
        horizons=[ahead[n] for n in picked],
        method=[_thinned(entry) for entry in spec.method],
        selection_runs=_QUICK_RUNS[0],
        test_runs=_QUICK_RUNS[1],
    )


def _thinned(entry: Entry) -> Entry:
    grid = {
        key: [values[0], values[-1]] if len(values) > _QUICK_VALUES else values for key, values in entry.grid.items()
    }
    return entry.model_copy(update={"grid": grid})
