"""`breathcast sessions list|export|verify|resume|rearm`: journals, and sessions of a server."""

from __future__ import annotations

import io
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from breathcast.cli import options, parse
from breathcast.cli.output import check_targets, emit_json, save
from breathcast.cli.serving import At, Data, TokenFile, token
from breathcast.cli.waiting import progress, say, waiting
from breathcast.errors import BreathcastError

app = typer.Typer(
    name="sessions",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Journals of live sessions: list, export, verify; and resume or re-arm a session of a server.",
)
_DATA = Path("journals")
_SERVER = "http://127.0.0.1:8470"
Name = Annotated[str, typer.Argument(metavar="SESSION", help="Name of the session, or the folder of its journal.")]
Running = Annotated[str, typer.Argument(metavar="SESSION", help="Name of the session.")]


@app.command("list")
def list_(data: Data = _DATA, json: options.Json = None) -> None:
    """All journals in a folder.

    \b
    Examples:
      breathcast sessions list
      breathcast sessions list --data room2/journals --json -
    """
    from breathcast.live.journal import journals

    check_targets([json])
    if not data.is_dir():
        raise BreathcastError("is no folder", file=data, cure="name the folder of journals with --data")
    found = [_described(folder) for folder in journals(data)]
    if emit_json({"journals": found}, json):
        return
    for entry in found:
        typer.echo(f"{entry['session']:<24} {entry['samples']:>9} samples  {entry['begun']}  {entry['state']}")
    if not found:
        say(f"No journals in {data}")


@app.command()
def export(
    session: Name,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="Table to write, .csv or .parquet.")],
    table: Annotated[
        str, typer.Option(metavar="NAME", help="samples, with all forecasts; or events: changes of state, re-arming.")
    ] = "samples",
    data: Data = _DATA,
) -> None:
    """Write a journal as a table.

    \b
    Examples:
      breathcast sessions export patient1 -o patient1.parquet
      breathcast sessions export patient1 -o events.csv --table events
    """
    from breathcast.live.exporting import events_table, samples_table

    tables = {"samples": samples_table, "events": events_table}
    with parse.option("--table"):
        if table not in tables:
            raise BreathcastError(f"there is no table {table!r}", cure=f"use one of: {', '.join(tables)}")
    with parse.option("--output"):
        if output.suffix.lower() not in (".csv", ".parquet"):
            raise BreathcastError(f"{output.name} has no known ending", cure="let it end in .csv or .parquet")
    check_targets([output])
    with waiting(f"Reading the journal of {session}"):
        frame = tables[table](_folder(session, data))
    if output.suffix.lower() == ".csv":
        save(output, frame.write_csv())
    else:
        content = io.BytesIO()
        frame.write_parquet(content)
        save(output, content.getvalue())


@app.command()
def verify(session: Name, data: Data = _DATA, json: options.Json = None) -> None:
    """Compute every forecast of a journal again, and compare bit for bit.

    The exit code is 1 if one differs or something is missing.

    \b
    Examples:
      breathcast sessions verify patient1
      breathcast sessions verify journals/patient1 --json -
    """
    from breathcast.live.again import verify as compute_again

    check_targets([json])
    with progress(f"Computing {session} again") as report:
        found = compute_again(_folder(session, data), report)
    told = {**asdict(found), "ok": found.ok}
    if not emit_json(told, json) and found.ok:
        typer.echo(f"{found.session}: {found.forecasts} forecasts of {found.samples} samples are identical")
    if not found.ok:
        raise BreathcastError(
            _differences(found), cure=f"use the breathcast that wrote it ({found.written_by}), or a copy"
        )


@app.command()
def resume(session: Running, at: At = _SERVER, token_file: TokenFile = None) -> None:
    """Let a server go on with a session from its journal.

    \b
    Examples:
      breathcast sessions resume patient1
      breathcast sessions resume patient1 --at http://127.0.0.1:9000
    """
    from breathcast.live.client import parse_target, request

    target = parse_target(at, session, token(token_file))
    with waiting(f"Resuming {session}"):
        told = request(target, "POST", f"/api/sessions/{_quoted(session)}/resume")
    typer.echo(
        f"{session} goes on after {told['counters']['taken']} samples: {told['state']} {told['detail']}".rstrip()
    )


@app.command()
def rearm(
    session: Running,
    by: Annotated[str, typer.Option(metavar="WHO", help="Who has looked; it is recorded.")],
    at: At = _SERVER,
    token_file: TokenFile = None,
) -> None:
    """End a latched HOLD, after looking why it came.

    \b
    Examples:
      breathcast sessions rearm patient1 --by operator
    """
    from breathcast.live.client import parse_target, request

    target = parse_target(at, session, token(token_file))
    told = request(target, "POST", f"/api/sessions/{_quoted(session)}/rearm", {"by": by})
    typer.echo(f"{session}: {told['state']} {told['detail']}".rstrip())


def _quoted(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")


def _folder(session: str, data: Path) -> Path:
    """The folder of a journal: named itself, or by its session."""
    named = Path(session)
    return named if (named / "journal.sqlite").is_file() else data / session


def _described(folder: Path) -> dict[str, Any]:
    from breathcast.live.again import transitions
    from breathcast.live.journal import Journal

    try:
        journal = Journal.open(folder)
    except BreathcastError as error:
        return {"session": folder.name, "samples": 0, "begun": "", "state": error.problem}
    try:
        changes, span = transitions(journal), journal.span()
        begun = "" if span is None else datetime.fromtimestamp(span[0], UTC).isoformat(timespec="seconds")
        state = f"{changes[-1].after} {changes[-1].cause}".strip() if changes else "WARMUP"
        method = journal.settings().method
        return {
            "session": folder.name,
            "samples": journal.counts()[0],
            "begun": begun,
            "state": state,
            "method": method,
        }
    finally:
        journal.close()


def _differences(found: Any) -> str:
    parts = list(found.remarks)
    if found.different:
        parts.append(f"{found.different} of {found.samples} samples differ, the first is {found.first_difference}")
    return f"{found.session}: {'; '.join(parts)}"
