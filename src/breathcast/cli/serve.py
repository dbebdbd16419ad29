"""`breathcast serve`: the live engine, for trackers, programs and a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from breathcast.cli.serving import require_live
from breathcast.cli.waiting import say, waiting

if TYPE_CHECKING:
    from breathcast.live.config import Config
    from breathcast.live.server import Server


def serve(
    demo: Annotated[bool, typer.Option("--demo", help="With a simulated patient, and nothing kept.")] = False,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Settings and sessions; options go before it.")
    ] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of journals; journals unless given.")] = None,
    no_journal: Annotated[bool, typer.Option("--no-journal", help="Keep nothing.")] = False,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Address; 127.0.0.1 unless given.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help="For HTTP and WebSocket; 8470. 0: any free one.")
    ] = None,
    tcp_port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help="For JSON lines over TCP; 8471.")
    ] = None,
    udp_port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help="For JSON datagrams over UDP; 8472.")
    ] = None,
    no_lines: Annotated[bool, typer.Option("--no-lines", help="No JSON over TCP and UDP.")] = False,
    igtl_port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help="For OpenIGTLink, on loopback; 18944.")
    ] = None,
    no_igtl: Annotated[bool, typer.Option("--no-igtl", help="No OpenIGTLink.")] = False,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let --host be an address that other computers reach; with a token.")
    ] = False,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of the token; made if it is not there.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate (PEM), for https and wss.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key (PEM).")] = None,
    name: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A name that the server goes by beside localhost.")
    ] = None,
    origin: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="A page of another server that may use the API.")
    ] = None,
    max_sessions: Annotated[int | None, typer.Option(min=1, max=1000, metavar="N", help="Sessions; 128.")] = None,
    max_connections: Annotated[
        int | None, typer.Option(min=1, max=10_000, metavar="N", help="Connections of each kind; 256.")
    ] = None,
) -> None:
    """Serve forecasts: positions in, forecasts out, live.

    Research use only; not a medical device; not for beam control. Ctrl-C ends it; the journals are whole.

    \b
    Examples:
      breathcast serve --demo
      breathcast serve --data journals
      breathcast serve --config room2.toml
      breathcast serve --host 0.0.0.0 --allow-remote --tls-cert cert.pem --tls-key key.pem
    """
    require_live()
    given = {
        "host": host,
        "port": port,
        "tcp_port": tcp_port,
        "udp_port": udp_port,
        "igtl_port": igtl_port,
        "allow_remote": allow_remote or None,
        "token_file": token_file,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "names": name,
        "origins": origin,
        "data": data,
        "max_sessions": max_sessions,
        "max_connections": max_connections,
    }
    chosen: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if no_lines:
        chosen |= {"tcp_port": None, "udp_port": None}
    if no_igtl:
        chosen["igtl_port"] = None
    if no_journal or (demo and data is None and config is None):
        chosen["data"] = None

    from breathcast.live.server import Server

    with waiting("Starting (10-30 s more if methods must be compiled first)"):
        server = Server(_config(config, chosen), demo=demo)
    server.run(_announce)


def _config(file: Path | None, chosen: dict[str, Any]) -> Config:
    from pydantic import ValidationError

    from breathcast.live.config import Config, ServerSettings, read_config
    from breathcast.live.settings import explained

    basis = Config() if file is None else read_config(file)
    try:
        server = ServerSettings.model_validate(basis.server.model_dump() | chosen)
    except ValidationError as error:
        raise explained(error) from error
    return basis.model_copy(update={"server": server})


def _announce(server: Server) -> None:
    from breathcast.live.access import is_loopback
    from breathcast.live.server import addresses
    from breathcast.version import NOTICE, __version__

    say(f"breathcast {__version__}. {NOTICE}")
    for line in addresses(server.reports()):
        say(f"  {line}")
    kept = server.settings.data
    say(f"  {'journals:':<20} {kept if kept is not None else 'none; nothing is kept'}")
    if server.token_file is not None:
        say(f"  {'token:':<20} in {server.token_file}; put #token=TOKEN behind the address in a browser")
        if server.settings.tls_cert is None and not is_loopback(server.settings.host):
            say("  Without --tls-cert and --tls-key, the token and all positions cross the network in the clear.")
    say("Ctrl-C ends it.")
