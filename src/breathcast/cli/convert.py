"""`breathcast convert`: recordings from one format into another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from breathcast.cli import options
from breathcast.cli.output import check_targets, say_notes
from breathcast.cli.simulate import ENDINGS, write_all
from breathcast.cli.waiting import say
from breathcast.errors import BreathcastError


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A recording, or a folder of recordings.")],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="A file that ends in .csv, .tsv, .parquet, .mat or .txt (for a motion phantom), or a folder.",
        ),
    ],
    to: Annotated[str, typer.Option(metavar="ENDING", help=f"Kind of file in a folder: {', '.join(ENDINGS)}.")] = "csv",
    resample: Annotated[
        float | None, typer.Option(metavar="HZ", help="Bring the recording to this rate; gaps stay gaps.")
    ] = None,
    format: options.Format = None,
    columns: options.Columns = None,
    unit: options.Unit = None,
    rate: options.Rate = None,
    decimal: options.Decimal = None,
) -> None:
    """Convert recordings between file formats.

    Positions become mm and times s; what the reader assumed or repaired is said.

    \b
    Examples:
      breathcast convert motion.vxp motion.csv
      breathcast convert log.txt log.parquet --columns "time=t,tumour=x y z" --unit cm
      breathcast convert motion.csv motion-10hz.csv --resample 10
      breathcast convert recordings converted --to parquet
    """
    if to not in ENDINGS:
        raise typer.BadParameter(f"{to!r} cannot be written; give one of {', '.join(ENDINGS)}", param_hint="'--to'")
    folder = target.is_dir() or not target.suffix
    if not folder:
        check_targets([target], [source])
    recordings = options.read_recordings([source], format, columns, unit, rate, decimal)
    if resample is not None:
        from breathcast.recordings.resampling import resample as resampled

        recordings = [resampled(recording, resample) for recording in recordings]
    if folder:
        write_all(recordings, target, f".{to}", [source])
    elif len(recordings) == 1:
        from breathcast.recordings.writing import write

        write(recordings[0], target)
        say(f"Wrote {target}")
    else:
        raise BreathcastError(f"holds {len(recordings)} recordings", file=source, cure="let OUT be a folder")
    say_notes(recordings)
