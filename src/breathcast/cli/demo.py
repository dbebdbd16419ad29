"""`breathcast demo`: all methods on simulated recordings, with a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from breathcast.cli import options
from breathcast.cli.output import check_targets, emit_json, make_folder, save
from breathcast.cli.simulate import write_all
from breathcast.cli.waiting import say, waiting

if TYPE_CHECKING:
    from breathcast.evaluation.compare import Comparison


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the results.")] = Path(
        "demo"
    ),
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each random method.")] = 3,
    seed: options.Seed = 0,
    json: options.Json = None,
) -> None:
    """Compare all methods on simulated breathing, with a report.

    It takes about half a minute, and 10-30 s more the first time, when the methods are compiled. The folder then
    holds report.html (open it in a browser), results.json and the recordings.

    \b
    Examples:
      breathcast demo
      breathcast demo -o demo --runs 10
      breathcast demo -o demo --seed 7 --json -
    """
    check_targets([json])
    make_folder(output)
    comparison = _compare(output / "recordings", runs, seed)

    from breathcast.cli.comparing import show_comparison
    from breathcast.reports.comparison_page import comparison_page, results

    numbers = results(comparison)
    if not emit_json(numbers, json):
        show_comparison(comparison)
    emit_json(numbers, str(output / "results.json"))
    with waiting("Writing the report"):
        page = comparison_page(comparison)
    save(output / "report.html", page)
    say(f"\nOpen the report in a browser: {(output / 'report.html').resolve()}")


def _compare(folder: Path, runs: int, seed: int) -> Comparison:
    from breathcast.cli.comparing import run_comparison
    from breathcast.forecasters.table import METHODS
    from breathcast.recordings.simulation import cohort

    recordings = cohort(seed=seed)
    write_all(recordings, folder, ".csv")
    return run_comparison(
        [method() for method in METHODS.values()],
        recordings,
        horizons=(0.1, 0.5, 1.0, 2.0),
        feedback="delayed",
        runs=runs,
        seed=seed,
        test_start=60.0,
    )
