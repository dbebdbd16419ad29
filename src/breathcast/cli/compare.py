"""`breathcast compare`: scores of methods on the user's own recordings."""

from __future__ import annotations

from typing import Annotated

import typer

from breathcast.cli import options, parse
from breathcast.cli.output import check_targets, emit_json, save, say_notes


def compare(
    files: options.Files,
    methods: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Methods with commas between them, with hyper-parameters in parentheses where they are not the "
            "defaults; `breathcast methods` lists them. No prediction is always added, as the reference.",
        ),
    ] = "all",
    horizons: Annotated[
        str, typer.Option(metavar="LIST", help="How far ahead, in seconds, with commas between them.")
    ] = "0.1,0.5,1.0,2.0",
    feedback: options.FeedbackOption = options.Feedback.DELAYED,
    runs: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Runs of each random method (networks start from random weights): their "
            "scores are means over the runs, with 95 % intervals.",
        ),
    ] = 5,
    seed: options.Seed = 0,
    test_start: options.TestStart = 60.0,
    workers: Annotated[int | None, typer.Option(min=1, metavar="N", help="Cores to use; all unless given.")] = None,
    json: options.Json = None,
    html: options.Html = None,
    format: options.Format = None,
    columns: options.Columns = None,
    unit: options.Unit = None,
    rate: options.Rate = None,
    decimal: options.Decimal = None,
) -> None:
    """Score forecasting methods on recordings.

    \b
    Examples:
      breathcast compare recordings
      breathcast compare a.csv b.csv --methods uoro,rtrl,linear --horizons 0.5,2
      breathcast compare recordings --methods "uoro,lms(learning_rate=0.02,history=3)"
      breathcast compare recordings --feedback immediate --runs 50
      breathcast compare recordings --html report.html --json results.json
      breathcast compare recordings --json - | jq .methods
    """
    with parse.option("--methods"):
        wanted = parse.methods(methods)
    with parse.option("--horizons"):
        ahead = parse.horizons(horizons)
    check_targets([json, html], files)

    from breathcast.cli.comparing import run_comparison, show_comparison
    from breathcast.reports.comparison_page import comparison_page, results

    recordings = options.read_recordings(files, format, columns, unit, rate, decimal)
    say_notes(recordings)
    comparison = run_comparison(
        wanted,
        recordings,
        horizons=ahead,
        feedback=feedback.value,
        runs=runs,
        seed=seed,
        test_start=test_start,
        workers=workers,
    )
    if not emit_json(results(comparison), json):
        show_comparison(comparison)
    if html is not None:
        save(html, comparison_page(comparison))
