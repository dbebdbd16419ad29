"""Options that several verbs share, and reading recordings with them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from breathcast.cli.output import distinct
from breathcast.cli.waiting import waiting

if TYPE_CHECKING:
    from breathcast.recordings.recording import Recording


class Feedback(StrEnum):
    """When a method learns a target."""

    DELAYED = "delayed"
    IMMEDIATE = "immediate"


Files = Annotated[list[Path], typer.Argument(metavar="PATH", help="Recordings: files, or folders of files.")]
Format = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Format of the files: csv, tsv, parquet, mat, vxp, extmarker or phantom; "
        "found from the file unless given.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="MAP",
        help='Which column holds what: "time=t,marker 1=x1 y1 z1". Names with blanks go in double quotes.',
    ),
]
Unit = Annotated[
    str | None, typer.Option(metavar="UNIT", help="Unit of the positions where the file is silent: mm, cm, m or um.")
]
Rate = Annotated[float | None, typer.Option(metavar="HZ", help="Samples per second, where the file has no clock.")]
Decimal = Annotated[str | None, typer.Option(metavar="MARK", help='Decimal mark of a text file: "." or ",".')]

FeedbackOption = Annotated[
    Feedback,
    typer.Option(
        help="When a method learns a target: delayed, when it is measured; immediate, as in published "
        "studies, uses targets before they can be measured, and is marked so everywhere."
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of all random numbers.")]
TestStart = Annotated[
    float, typer.Option(min=0.0, metavar="S", help="Seconds from which forecasts are scored; methods learn before.")
]
Json = Annotated[
    str | None, typer.Option("--json", metavar="OUT", help="Write the result as JSON to this file; - prints it alone.")
]
Html = Annotated[
    Path | None, typer.Option("--html", metavar="OUT", help="Write a report as one self-contained HTML file.")
]


def read_recordings(
    paths: Sequence[Path],
    format: str | None,
    columns: str | None,
    unit: str | None,
    rate: float | None,
    decimal: str | None,
) -> list[Recording]:
    """Read files and folders with the options of the command line; no two recordings have one name."""
    from breathcast.recordings.reading import parse_columns, read_all

    with waiting(f"Reading {', '.join(str(path) for path in paths[:3])}{' ...' if len(paths) > 3 else ''}"):
        recordings = read_all(
            paths,
            format=format,
            columns=None if columns is None else parse_columns(columns),
            unit=unit,
            rate=rate,
            decimal=decimal,
        )
    for recording, name in zip(recordings, distinct(entry.name for entry in recordings), strict=True):
        recording.name = name  # results are listed by name
    return recordings
