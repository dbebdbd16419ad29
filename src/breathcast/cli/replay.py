"""`breathcast replay`: a recording, played into a server as a tracker would."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from breathcast.cli import options
from breathcast.cli.serving import SessionName, TokenFile, require_live, token
from breathcast.cli.waiting import progress, say
from breathcast.errors import BreathcastError

if TYPE_CHECKING:
    from breathcast.live.client import Sender, Target
    from breathcast.recordings.recording import Recording


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recording.")],
    to: Annotated[
        str, typer.Option("--to", metavar="ADDRESS", help="http://, ws://, tcp://, udp:// or igtl://HOST:PORT.")
    ],
    session: SessionName = None,
    speed: Annotated[float, typer.Option(metavar="X", help="How many times as fast as it was recorded.")] = 1.0,
    start: Annotated[float, typer.Option("--from", min=0.0, metavar="S", help="Begin so many seconds into it.")] = 0.0,
    method: Annotated[
        str | None, typer.Option(metavar="METHOD", help="Method of the session, if it is begun here.")
    ] = None,
    message: Annotated[
        str, typer.Option(metavar="TYPE", help="Over igtl://, TDATA for all markers or TRANSFORM for each.")
    ] = "TDATA",
    token_file: TokenFile = None,
    format: options.Format = None,
    columns: options.Columns = None,
    unit: options.Unit = None,
    rate: options.Rate = None,
    decimal: options.Decimal = None,
) -> None:
    """Play a recording into a server, at its own pace.

    Over http:// or ws:// the session is begun if it is not there, with the rate and the markers of the recording. Time
    stamps are those of the recording; over igtl:// they begin now, and the server may be any other program's.

    \b
    Examples:
      breathcast replay motion.csv --to http://127.0.0.1:8470/patient1
      breathcast replay motion.csv --to tcp://127.0.0.1:8471 --session patient1 --speed 2
      breathcast replay motion.csv --to udp://127.0.0.1:8472 --session patient1 --from 60
      breathcast replay motion.csv --to igtl://127.0.0.1:18944
    """
    require_live()
    if not 0 < speed < float("inf"):
        raise typer.BadParameter(f"{speed} is no speed; give a positive number", param_hint="'--speed'")
    if message not in ("TDATA", "TRANSFORM"):
        raise typer.BadParameter(f"{message} is neither TDATA nor TRANSFORM", param_hint="'--message'")
    from breathcast.live.client import parse_target

    target = parse_target(to, session, token(token_file))
    recordings = options.read_recordings([file], format, columns, unit, rate, decimal)
    if len(recordings) != 1:
        raise BreathcastError(f"holds {len(recordings)} recordings", file=file, cure="name one recording")
    if target.scheme in ("http", "https", "ws", "wss"):
        _begin(target, recordings[0], method)
    sender = _sender(target, recordings[0], message)
    try:
        sent = _play(recordings[0], sender.send, speed, start)
    finally:
        sender.close()
    say(f"Sent {sent} samples; {sender.answered} answers came")


def _sender(target: Target, recording: Recording, message: str) -> Sender:
    """What speaks the protocol of the address; OpenIGTLink calls each marker by its name."""
    from breathcast.live.client import SENDERS

    if target.scheme != "igtl":
        return SENDERS[target.scheme](target)
    from breathcast.live.openigtlink.sender import IgtlSender

    return IgtlSender(target.host, target.port, recording.markers, "TRANSFORM" if message == "TRANSFORM" else "TDATA")


def _begin(target: Target, recording: Recording, method: str | None) -> None:
    """Begin the session that the address names, unless it is there."""
    from breathcast.live.client import request

    if target.session is None:
        cure = "put it behind the address, like http://127.0.0.1:8470/patient1, or give --session"
        raise BreathcastError("the session has no name", cure=cure)
    if any(there["name"] == target.session for there in request(target, "GET", "/api/sessions")):
        return
    settings = {
        "name": target.session,
        "rate": recording.rate,
        "markers": list(recording.markers),
        "dimension": recording.dimension,
    }
    request(target, "POST", "/api/sessions", settings | ({} if method is None else {"method": method}))
    say(f"Began the session {target.session} at {recording.rate:g} Hz")


def _play(recording: Recording, send: object, speed: float, start: float) -> int:
    """Send each sample when its time has come."""
    assert callable(send)
    first = int((recording.times < recording.times[0] + start).sum()) if len(recording) else 0
    begun = time.monotonic()
    with progress("Playing") as report:
        for n in range(first, len(recording)):
            due = begun + (recording.times[n] - recording.times[first]) / speed
            time.sleep(max(0.0, due - time.monotonic()))
            send(recording.positions[n], float(recording.times[n]))
            report(n + 1 - first, len(recording) - first, recording.name)
    return len(recording) - first
