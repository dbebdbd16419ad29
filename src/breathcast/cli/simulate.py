"""`breathcast simulate`: seeded, labelled recordings of simulated breathing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from breathcast.cli import options
from breathcast.cli.output import check_targets, emit_json, file_names, make_folder
from breathcast.cli.waiting import say, waiting

if TYPE_CHECKING:
    from breathcast.recordings.recording import Recording

ENDINGS = ("csv", "tsv", "parquet", "mat")


def simulate(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the recordings.")],
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="One recording of this pattern instead of the cohort: regular, irregular, deep, talking, laughing, "
            "coughing, apnoea, shift or drift.",
        ),
    ] = None,
    duration: Annotated[float, typer.Option(metavar="S", help="Seconds.")] = 120.0,
    rate: Annotated[float, typer.Option(metavar="HZ", help="Samples per second.")] = 10.0,
    seed: options.Seed = 0,
    markers: Annotated[int, typer.Option(min=1, metavar="N", help="Markers; with --pattern.")] = 3,
    noise: Annotated[
        float | None, typer.Option(metavar="MM", help="Camera noise in each coordinate; with --pattern.")
    ] = None,
    dropout: Annotated[float, typer.Option(metavar="SHARE", help="Share of the time lost; with --pattern.")] = 0.0,
    to: Annotated[str, typer.Option(metavar="ENDING", help=f"Kind of file: {', '.join(ENDINGS)}.")] = "csv",
    json: options.Json = None,
) -> None:
    """Write a labelled cohort of simulated recordings.

    Ten people, each labelled with how he or she breathes.

    The same seed gives the same recordings. With --pattern one recording is made, with its markers, noise and dropout.

    \b
    Examples:
      breathcast simulate -o recordings
      breathcast simulate -o recordings --rate 30 --duration 300 --seed 7
      breathcast simulate -o recordings --pattern coughing --markers 1 --dropout 0.05
      breathcast simulate -o recordings --to parquet --json -
    """
    if to not in ENDINGS:
        raise typer.BadParameter(f"{to!r} cannot be written; give one of {', '.join(ENDINGS)}", param_hint="'--to'")
    if pattern is None and (markers != 3 or noise is not None or dropout != 0.0):
        raise typer.BadParameter("--markers, --noise and --dropout need --pattern", param_hint="'--pattern'")
    check_targets([json])

    from breathcast.recordings import simulation

    with waiting("Simulating"):
        if pattern is None:
            recordings = simulation.cohort(rate=rate, duration=duration, seed=seed)
        else:
            chosen: dict[str, Any] = {} if noise is None else {"noise": noise}
            recordings = [
                simulation.simulate(
                    pattern,
                    duration=duration,
                    rate=rate,
                    markers=markers,
                    seed=seed,
                    dropout=dropout,
                    name=f"sim-{pattern}-{seed}",
                    **chosen,
                )
            ]
    paths = write_all(recordings, output, f".{to}")
    listed = [
        {"file": str(path), "labels": recording.labels, "duration_s": recording.duration, "rate_hz": recording.rate}
        for path, recording in zip(paths, recordings, strict=True)
    ]
    if not emit_json({"seed": seed, "recordings": listed}, json):
        for path, recording in zip(paths, recordings, strict=True):
            typer.echo(f"{path}  {', '.join(recording.labels)}")


def write_all(recordings: Iterable[Recording], folder: Path, ending: str, inputs: Sequence[Path] = ()) -> list[Path]:
    """Write each recording into the folder, under its own name; none of the inputs is overwritten."""
    from breathcast.recordings.clock import counted
    from breathcast.recordings.writing import write

    recordings = list(recordings)
    paths = [folder / (name + ending) for name in file_names([recording.name for recording in recordings])]
    check_targets(paths, inputs, made=folder)
    make_folder(folder)
    with waiting(f"Writing recordings to {folder}"):
        for recording, path in zip(recordings, paths, strict=True):
            write(recording, path)
    say(f"Wrote {counted(len(paths), 'recording')} to {folder}")
    return paths
