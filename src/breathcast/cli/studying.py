"""A study for the command line: where it runs, what is seen meanwhile, what is shown and written at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from breathcast.cli.waiting import say, waiting
from breathcast.errors import BreathcastError
from breathcast.version import NOTICE

if TYPE_CHECKING:
    from breathcast.recordings.recording import Recording
    from breathcast.studies.executors import Executor
    from breathcast.studies.run import Progress, Results
    from breathcast.studies.spec import Spec

_REPEAT = 30.0  # s between lines where there is no terminal

Workers = Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes on this machine; one a core.")]
Dask = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="Use the workers of this Dask scheduler instead.")
]
DaskCluster = Annotated[
    str | None,
    typer.Option(
        "--dask-cluster",
        metavar="KIND",
        help="Start Dask workers as jobs of a cluster: slurm. --workers says how many.",
    ),
]
Retry = Annotated[bool, typer.Option("--retry", help="Try tasks again that failed before.")]
Folder = Annotated[Path, typer.Argument(metavar="RESULTS", help="The folder that a study wrote.")]


def executor(workers: int | None, dask: str | None, kind: str | None) -> Executor:
    """Where the tasks are done."""
    if dask is not None and kind is not None:
        raise BreathcastError("--dask and --dask-cluster exclude each other", cure="give one of them")
    if dask is None and kind is None:
        from breathcast.studies.executors import Cores

        return Cores(workers)
    from breathcast.studies import cluster

    if dask is not None:
        return cluster.DaskCluster(dask)
    if kind != "slurm":
        raise BreathcastError(
            f"there is no cluster {kind!r}", cure="use slurm, or start workers and name --dask ADDRESS"
        )
    return cluster.slurm(workers or 1)


def run_study(
    spec: Spec, recordings: Sequence[Recording], output: Path, place: Executor, *, retry: bool, again: str
) -> Results:
    """Run what is missing, with progress; `again` is the command that goes on after Ctrl-C."""
    from breathcast.studies.run import run
    from breathcast.studies.store import Store

    try:
        with _progress() as report:
            return run(spec, recordings, Store(output), place, report=report, retry=retry)
    except KeyboardInterrupt:
        say(f"Stopped. What is done is kept in {output}; to go on:\n  {again}")
        raise


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """Bars for each method, or a line now and then where there is no terminal."""
    begin = "Compiling or loading the methods (up to a minute the first time)"
    if sys.stderr.isatty():
        with _bars(begin) as report:
            yield report
        return
    say(f"{begin} ...")
    last = 0.0

    def line(progress: Progress) -> None:
        nonlocal last
        done, total = sum(progress.done.values()), sum(progress.total.values())
        ended = done == total and progress.computed > 0
        if total and (ended or time.monotonic() - last >= _REPEAT):
            last = time.monotonic()
            parts = ", ".join(f"{title} {progress.done[title]}/{n}" for title, n in progress.total.items())
            say(f"{progress.stage}: {done} of {total} tasks{_pace(progress)} ({parts})")

    yield line


@contextmanager
def _bars(begin: str) -> Iterator[Callable[[Progress], None]]:
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=24),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[pace]}", markup=False),
    )
    with rich.Progress(*columns, console=Console(file=sys.stderr), transient=True) as drawn:
        rows = {"": drawn.add_task(begin, total=None, pace="")}
        stage = ""

        def report(progress: Progress) -> None:
            nonlocal stage
            if progress.stage != stage:
                stage = progress.stage
                for row in rows.values():
                    drawn.remove_task(row)
                rows.clear()
                rows[""] = drawn.add_task(stage, total=sum(progress.total.values()), pace="")
                for title, total in progress.total.items():
                    rows[title] = drawn.add_task(f"  {title}", total=total, pace="")
            drawn.update(rows[""], completed=sum(progress.done.values()), pace=_pace(progress).strip(", "))
            for title, done in progress.done.items():
                drawn.update(rows[title], completed=done)

        yield report


def _pace(progress: Progress) -> str:
    """Tasks a second and the time left, once known."""
    left = progress.left
    if left is None:
        return ""
    rate = progress.computed / max(time.monotonic() - progress.begun, 1e-9)
    return f", {rate:.1f}/s, {_duration(left)} left" if left else f", {rate:.1f}/s"


def _duration(seconds: float) -> str:
    """As a person says it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def show_results(results: Results) -> None:
    """The tables, on standard output, with the published numbers beside ours where there are any."""
    from rich.text import Text

    from breathcast.reports.study_summary import remarks
    from breathcast.reports.study_tables import study_tables
    from breathcast.reports.terminal import bullets, console, show
    from breathcast.studies.reproduction import published

    target = console()
    target.print(Text(NOTICE, style="dim"))
    for table in study_tables(results, published(results.spec.name)):
        show(table, target)
    bullets(remarks(results), target)


def write_report(results: Results, folder: Path, output: Path | None = None) -> None:
    """The page and the tables as Markdown, from the store; beside it unless another folder is named."""
    from breathcast.cli.output import save
    from breathcast.reports.markdown import tables_page
    from breathcast.reports.study_page import study_page
    from breathcast.reports.study_summary import remarks, summary
    from breathcast.reports.study_tables import study_tables
    from breathcast.studies.reproduction import published
    from breathcast.studies.store import Store

    known = published(results.spec.name)
    with waiting("Writing the report"):
        page = study_page(results, Store(folder), known)
        tables = tables_page(study_tables(results, known), [*summary(results), *remarks(results)])
    save((output or folder) / "report.html", page)
    save((output or folder) / "tables.md", tables)
