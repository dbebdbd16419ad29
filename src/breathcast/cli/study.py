"""`breathcast study run|status|report|export`: any study, from its file to its tables and figures."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from breathcast.cli import options, parse, studying
from breathcast.cli.output import check_targets, emit_json, make_folder, say_notes
from breathcast.cli.waiting import say, waiting
from breathcast.errors import BreathcastError

if TYPE_CHECKING:
    import polars as pl

    from breathcast.recordings.recording import Recording
    from breathcast.studies.run import Results
    from breathcast.studies.spec import Spec

app = typer.Typer(
    name="study",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Run studies: methods with grids of hyper-parameters on recordings, stopped and resumed at will.",
)


@app.command()
def run(
    file: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study; docs/studies.md explains it.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="RESULTS", help="Folder for the results; the name of the study."),
    ] = None,
    workers: studying.Workers = None,
    dask: studying.Dask = None,
    dask_cluster: studying.DaskCluster = None,
    retry: studying.Retry = False,
) -> None:
    """Run a study, or go on with it; everything in the file is checked first.

    \b
    Examples:
      breathcast study run study.toml
      breathcast study run study.toml -o results --workers 2
      breathcast study run study.toml --dask tcp://10.0.0.5:8786
    """
    from breathcast.studies.spec_file import read_spec

    spec = read_spec(file)
    recordings = _recordings(spec)
    folder = output or Path(spec.name)
    place = studying.executor(workers, dask, dask_cluster)
    again = shlex.join(["breathcast", *sys.argv[1:]])
    results = studying.run_study(spec, recordings, folder, place, retry=retry, again=again)
    studying.write_report(results, folder)
    studying.show_results(results)
    say(f"\nOpen {(folder / 'report.html').resolve()} in a browser; figures: breathcast study report {folder}")


@app.command()
def status(folder: studying.Folder, json: options.Json = None) -> None:
    """How far a study is, what failed, and what it cost.

    \b
    Examples:
      breathcast study status results
      breathcast study status results --json -
    """
    from breathcast.reports.study_summary import remarks

    results = _results(folder)
    told = _status(results)
    if emit_json(told, json):
        return
    spec = results.spec
    typer.echo(
        f"{spec.name}: {len(results.recordings)} recordings, {len(spec.ahead)} horizons, {spec.feedback} feedback"
    )
    for method in told["methods"]:
        parts = [f"{stage} {method[stage]['done']}/{method[stage]['tasks']}" for stage in results.missing]
        typer.echo(f"  {method['method']:<14} {'   '.join(parts)}")
    typer.echo(f"  {told['processor_hours']:.2f} hours of processor time")
    for line in remarks(results):
        typer.echo(f"- {line}")


@app.command()
def report(
    folder: studying.Folder,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder for page and figures; RESULTS unless given."),
    ] = None,
    formats: Annotated[
        str, typer.Option(metavar="LIST", help="Formats of the figures: pdf, svg, png.")
    ] = "pdf,svg,png",
    recording: Annotated[
        str | None, typer.Option(metavar="NAME", help="Recording of the figure over time; the first unless given.")
    ] = None,
    horizon: Annotated[
        float | None, typer.Option(metavar="S", help="Horizon of the figure over time; the middle one unless given.")
    ] = None,
    marker: Annotated[int | None, typer.Option(min=1, metavar="N", help="Marker of that figure, from 1.")] = None,
    axis: Annotated[int | None, typer.Option(min=1, metavar="N", help="Axis of that figure, from 1.")] = None,
    json: options.Json = None,
) -> None:
    """Write report.html, tables.md and the figures, from the results alone; print the tables.

    \b
    Examples:
      breathcast study report results
      breathcast study report results --formats pdf --horizon 0.5 --marker 3 --axis 3
    """
    from breathcast.reports.study_figures import save_figures
    from breathcast.studies.reproduction import published, to_dict
    from breathcast.studies.store import Store

    wanted = [kind.strip() for kind in formats.split(",")]
    with parse.option("--formats"):
        if unknown := [kind for kind in wanted if kind not in ("pdf", "svg", "png")]:
            raise BreathcastError(f"there is no format {unknown[0]!r}", cure="use pdf, svg or png")
    check_targets([json])
    results, place = _results(folder), output or folder
    make_folder(place / "figures")
    undrawn: list[str] = []
    with waiting("Drawing the figures"):
        files = save_figures(
            results,
            Store(folder),
            place / "figures",
            wanted,
            recording=recording,
            horizon=horizon,
            marker=marker,
            axis=axis,
            say=undrawn.append,
        )
    say(f"Wrote {len(files)} files in {place / 'figures'}; captions.txt says what each figure shows")
    for line in undrawn:
        say(line)
    studying.write_report(results, folder, place)
    if not emit_json(to_dict(results, published(results.spec.name)), json):
        studying.show_results(results)


@app.command()
def export(
    folder: studying.Folder,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="A file: .csv, .parquet or .arrow.")],
    table: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="averages (over recordings and horizons, with intervals), test (each run), selection (each setting) "
            "or choices (the settings chosen).",
        ),
    ] = "test",
    times: Annotated[
        bool, typer.Option("--times", help="With processor seconds, which differ from one run of a study to another.")
    ] = False,
) -> None:
    """Write a table of a study for other programs.

    \b
    Examples:
      breathcast study export results -o test.csv
      breathcast study export results -o averages.parquet --table averages
      breathcast study export results -o selection.arrow --table selection --times
    """
    with parse.option("--table"):
        if table not in _TABLES:
            raise BreathcastError(f"there is no table {table!r}", cure=f"use one of: {', '.join(_TABLES)}")
    with parse.option("--output"):
        if output.suffix not in _WRITERS:
            raise BreathcastError(f"{output.name} has no known ending", cure=f"use one of: {', '.join(_WRITERS)}")
    check_targets([output])
    frame = _TABLES[table](_results(folder))
    if not times:
        frame = frame.drop("seconds", "steps", strict=False)

    from breathcast.cli.output import save

    save(output, _WRITERS[output.suffix](frame))


def _recordings(spec: Spec) -> list[Recording]:
    if not spec.recordings:
        from breathcast.recordings.simulation import cohort

        return list(cohort(seed=spec.seed))
    recordings = options.read_recordings([Path(place) for place in spec.recordings], None, None, None, None, None)
    say_notes(recordings)
    return recordings


def _results(folder: Path) -> Results:
    from breathcast.studies.run import results
    from breathcast.studies.store import Store

    with waiting(f"Reading {folder}"):
        return results(Store(folder))


def _status(results: Results) -> dict[str, Any]:
    seconds = float(results.selection["seconds"].sum()) + float(results.test["seconds"].sum())
    return {
        "study": results.spec.name,
        "missing": results.missing,
        "failed": results.failures,
        "diverged_runs": int(results.test["diverged"].sum()),
        "processor_hours": seconds / 3600,
        "methods": [
            {"method": title, **{stage: {"done": done, "tasks": total} for stage, (done, total) in stages.items()}}
            for title, stages in results.progress.items()
        ],
    }


def _averages(results: Results) -> pl.DataFrame:
    from breathcast.studies.statistics import averages

    return averages(results)


def _choices(results: Results) -> pl.DataFrame:
    import json

    import polars as pl

    return pl.DataFrame(
        [
            {
                "title": choice.title,
                "recording": choice.recording,
                "horizon": choice.horizon,
                "settings": json.dumps(choice.method.to_dict()),
                "score": choice.score,
                "ties": choice.ties,
                "passed_over": choice.passed_over,
            }
            for choice in results.choices
        ]
    )


def _csv(frame: pl.DataFrame) -> str:
    """A list of numbers becomes one field, with blanks between them."""
    import polars as pl
    import polars.selectors as cs

    return frame.with_columns(cs.list().cast(pl.List(pl.String)).list.join(" ")).write_csv()


def _arrow(frame: pl.DataFrame) -> bytes:
    import io

    buffer = io.BytesIO()
    frame.write_ipc(buffer)
    return buffer.getvalue()


def _parquet(frame: pl.DataFrame) -> bytes:
    import io

    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


_TABLES = {
    "averages": _averages,
    "test": lambda results: results.test,
    "selection": lambda results: results.selection,
    "choices": _choices,
}
_WRITERS = {".csv": _csv, ".parquet": _parquet, ".arrow": _arrow}
