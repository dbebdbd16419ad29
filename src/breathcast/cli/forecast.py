"""`breathcast forecast`: the forecast of one method beside the truth, as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from breathcast.cli import options, parse
from breathcast.cli.output import check_targets, emit_json, save, say_notes
from breathcast.cli.waiting import interruptible, say, waiting
from breathcast.errors import BreathcastError

if TYPE_CHECKING:
    import polars as pl

    from breathcast.evaluation.evaluate import Evaluation
    from breathcast.recordings.recording import Recording

ENDINGS = (".csv", ".parquet")


def forecast(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="A recording; of ExtMarker, the files of its markers.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="Table to write, .csv or .parquet.")],
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD", help="A method, with hyper-parameters in parentheses if need be; blend unless given."
        ),
    ] = None,
    horizon: Annotated[float, typer.Option(metavar="S", help="How far ahead, in seconds.")] = 0.5,
    feedback: options.FeedbackOption = options.Feedback.DELAYED,
    seed: options.Seed = 0,
    test_start: options.TestStart = 60.0,
    json: options.Json = None,
    format: options.Format = None,
    columns: options.Columns = None,
    unit: options.Unit = None,
    rate: options.Rate = None,
    decimal: options.Decimal = None,
) -> None:
    """Forecast a recording and write the forecast beside the truth.

    One row for each sample: time_s, horizon_s, then for each marker and axis the truth, the forecast made horizon_s
    earlier and its error (forecast - truth), in mm; then learned (false: no forecast yet, the last known position
    stands in), imputed (a sample that the forecast rests on was missing), scored (part of the scores that are printed)
    and feedback. Of a random method it is the first run (run 0).

    \b
    Examples:
      breathcast forecast motion.csv -o forecast.csv
      breathcast forecast motion.csv --method rtrl --horizon 1 -o forecast.parquet
      breathcast forecast motion.csv --method "lms(history=5)" -o forecast.csv --json -
      breathcast forecast 201205101519-*.csv --method linear -o forecast.csv
    """
    from breathcast.forecasters.table import DEFAULT

    with parse.option("--method"):
        wanted = parse.method(method or DEFAULT)
    with parse.option("--horizon"):
        parse.horizons(str(horizon))
    if output.suffix.lower() not in ENDINGS:
        cure = f"let the file name end in {' or '.join(ENDINGS)}"
        raise BreathcastError(f"cannot write files that end in {output.suffix!r}", file=output, cure=cure)
    check_targets([output, json], files)

    from breathcast.evaluation.evaluate import evaluate
    from breathcast.reports.tables import evaluation_table
    from breathcast.reports.terminal import show
    from breathcast.reports.versions import versions

    recording = _only(files, options.read_recordings(files, format, columns, unit, rate, decimal))
    say_notes([recording])
    with waiting(f"Forecasting {horizon:g} s ahead with {wanted.name} (10-30 s more if it must be compiled first)"):
        result = interruptible(
            lambda: evaluate(
                wanted, recording, horizon=horizon, feedback=feedback.value, seed=seed, test_start=test_start
            )
        )
        content = _bytes(forecast_table(result, recording), output.suffix.lower())
    save(output, content)
    more = {"file": str(output), "notes": recording.notes, "versions": versions()}
    if not emit_json(result.to_dict() | more, json):
        show(evaluation_table(result))
    _say_what_stands_in(result)


def _only(files: Sequence[Path], recordings: Sequence[Recording]) -> Recording:
    if len(recordings) > 1:
        file = files[0] if len(files) == 1 else None
        cure = "name one recording; of ExtMarker, the files of its markers"
        raise BreathcastError(f"{'holds' if file else 'there are'} {len(recordings)} recordings", file=file, cure=cure)
    return recordings[0]


def _say_what_stands_in(result: Evaluation) -> None:
    own = float(result.learned[0, result.test].mean())
    if result.diverged.any():
        say("The forecasts did not stay finite; the last known position stands in for them.")
        return
    if math.isnan(result.scores["rmse"].mean):
        say(f"Nothing could be scored: from {result.test_start:g} s on the truth is missing.")
    if own < 1:
        late = f"{100 * (1 - own):.3g} % of what is scored came before the method had a forecast of its own"
        say(f"{late}; there the last known position stands in.")


def forecast_table(result: Evaluation, recording: Recording) -> pl.DataFrame:
    """One row a sample of the truth; what is missing is null."""
    import polars as pl

    from breathcast.reports.inspections import axes

    columns: dict[str, Any] = {"time_s": result.times, "horizon_s": [result.steps / result.rate] * len(result.times)}
    for m, marker in enumerate(recording.markers):
        for a, axis in enumerate(axes(recording.dimension)):
            truth, forecast = result.truth[:, m, a], result.predictions[0, :, m, a]
            columns |= {
                f"{marker} {axis} truth_mm": truth,
                f"{marker} {axis} forecast_mm": forecast,
                f"{marker} {axis} error_mm": forecast - truth,
            }
    columns |= {"learned": result.learned[0], "imputed": result.imputed, "scored": result.test}
    said = f"{result.feedback} ({result.warning})" if result.warning else result.feedback
    return pl.DataFrame(columns).fill_nan(None).with_columns(pl.lit(said).alias("feedback"))


def _bytes(table: pl.DataFrame, ending: str) -> bytes:
    if ending == ".csv":
        return table.write_csv().encode()
    file = BytesIO()
    table.write_parquet(file)
    return file.getvalue()
