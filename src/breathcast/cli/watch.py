"""`breathcast watch`: a live session in the terminal."""

from __future__ import annotations

import json as encoder
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from breathcast.cli.serving import Address, SessionName, TokenFile, require_live, token
from breathcast.cli.waiting import say
from breathcast.version import NOTICE

if TYPE_CHECKING:
    from rich.table import Table

_COLOURS = {"OK": "green", "DEGRADED": "yellow", "WARMUP": "cyan", "HOLD": "bold red", "FAULT": "bold white on red"}


def watch(
    address: Address,
    session: SessionName = None,
    lines: Annotated[bool, typer.Option("--lines", help="Every message as a line of JSON.")] = False,
    seconds: Annotated[float | None, typer.Option("--for", metavar="S", help="Leave after so many seconds.")] = None,
    token_file: TokenFile = None,
) -> None:
    """Watch live sessions; Ctrl-C leaves.

    Without a terminal, a line for each change of state.

    \b
    Examples:
      breathcast watch http://127.0.0.1:8470
      breathcast watch http://127.0.0.1:8470/demo --for 60
      breathcast watch http://127.0.0.1:8470/demo --lines | jq .state
    """
    require_live()
    from breathcast.live.client import outputs, parse_target

    target = parse_target(address, session, token(token_file))
    messages = outputs(target, seconds)
    if lines:
        for message in messages:
            typer.echo(encoder.dumps(message))
            sys.stdout.flush()
    elif sys.stdout.isatty():
        _draw(messages)
    else:
        _tell(messages)


def _tell(messages: Iterator[dict[str, Any]]) -> None:
    """Changes of state, as they come."""
    known: dict[str, tuple[str, str]] = {}
    for message in messages:
        if message["type"] == "output" and known.get(message["session"]) != (message["state"], message["cause"]):
            known[message["session"]] = (message["state"], message["cause"])
            detail = f": {message['detail']}" if message["detail"] else ""
            typer.echo(f"{message['session']}  {message['state']}{detail}")
            sys.stdout.flush()
        elif message["type"] == "error":
            say(f"Error: {message['problem']}")


def _draw(messages: Iterator[dict[str, Any]]) -> None:
    from rich.live import Live

    newest: dict[str, dict[str, Any]] = {}
    with Live(refresh_per_second=8) as screen:
        for message in messages:
            if message["type"] == "output":
                newest[message["session"]] = message
                screen.update(_table(newest))


def _table(newest: dict[str, dict[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=NOTICE)
    for name in ("session", "state", "horizon ms", "forecast of the first marker, mm", "RMSE", "none", "region", "ms"):
        table.add_column(name)
    for name, output in newest.items():
        said = Text(output["state"], _COLOURS[output["state"]])
        said.append(f" {output['detail']}" if output["detail"] else "", "default")
        for k, forecast in enumerate(output["forecasts"]):
            row = (f"{forecast['used_ms']:.0f}", _position(forecast["position"]))
            errors = (_mm(forecast[key]) for key in ("rmse_mm", "no_prediction_rmse_mm", "radius_mm"))
            latency = f"{output['latency_ms']:.1f}" if k == 0 else ""
            table.add_row(name if k == 0 else "", said if k == 0 else "", *row, *errors, latency)
    return table


def _position(position: list[list[float]] | None) -> str:
    return "held back" if position is None else "  ".join(f"{value:8.2f}" for value in position[0])


def _mm(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
