"""The server: an engine and its transports in one event loop, from the first bind to the last checkpoint."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from breathcast.errors import BreathcastError
from breathcast.live.access import Access, is_loopback, require_permission, token_of
from breathcast.live.config import Config, ServerSettings
from breathcast.live.demo import Demo
from breathcast.live.engine import TICK_S, Engine
from breathcast.live.journal import Journal
from breathcast.live.settings import SessionSettings
from breathcast.live.transports.base import Transport, TransportReport
from breathcast.live.transports.lines import TcpLines, UdpLines
from breathcast.live.transports.web import Web

_FILES = 8192  # file handles that a server may want: connections, journals


class Server:
    """Everything that `breathcast serve` runs. Addresses are taken when it is made, so errors come before any work."""

    def __init__(self, config: Config, *, demo: bool = False) -> None:
        """Bind, read the token, open or begin the sessions."""
        settings = config.server
        require_permission(settings.host, settings.allow_remote)
        self.settings, self.token_file = settings, _token_file(settings)
        access = _access(settings, self.token_file)
        self._allow_files()
        self.engine = Engine(settings.data, max_sessions=settings.max_sessions)
        self.transports: list[Transport] = []
        self._bound: list[socket.socket] = []
        try:
            self._bind(settings, access)
            for session in config.session:
                begin_or_resume(self.engine, session)
            self._demo = Demo(self.engine) if demo else None
        except BaseException:
            self._let_go()
            raise

    def _let_go(self) -> None:
        self.engine.close()
        for bound in self._bound:
            bound.close()

    def _bind(self, settings: ServerSettings, access: Access) -> None:
        tls = None
        if settings.tls_cert is not None and settings.tls_key is not None:
            tls = _checked_tls(settings.tls_cert, settings.tls_key)
        web = self._take(settings.host, settings.port, "--port")
        self.transports.append(Web(web, access, settings.max_connections, self.reports, tls))
        if settings.tcp_port is not None:
            listening = self._take(settings.host, settings.tcp_port, "--tcp-port")
            self.transports.append(TcpLines(listening, access, settings.max_connections))
        if settings.udp_port is not None:
            bound = self._take(settings.host, settings.udp_port, "--udp-port", socket.SOCK_DGRAM)
            self.transports.append(UdpLines(bound, access))

    def _take(self, *address: Any) -> socket.socket:
        self._bound.append(bind(*address))
        return self._bound[-1]

    @staticmethod
    def _allow_files() -> None:
        """As many file handles as the system gives, so that connections never take those of the journals."""
        if sys.platform == "win32":
            return
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
        if soft < wanted:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

    def reports(self) -> list[TransportReport]:
        """Where the server listens."""
        return [transport.report() for transport in self.transports]

    def run(self, ready: Callable[[Server], None]) -> None:
        """Serve until Ctrl-C or SIGTERM; `ready` is called once all addresses answer."""
        asyncio.run(self._run(ready))

    async def _run(self, ready: Callable[[Server], None]) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or another thread
                loop.add_signal_handler(number, stop.set)
        await self.serve(stop, lambda: ready(self))

    async def serve(self, stop: asyncio.Event, ready: Callable[[], None]) -> None:
        """Serve until `stop` is set."""
        started: list[Transport] = []
        work: list[asyncio.Task[None]] = []
        try:
            for transport in self.transports:
                await transport.start(self.engine)
                started.append(transport)
            work.append(asyncio.create_task(self._tick()))
            if self._demo is not None:
                work.append(asyncio.create_task(self._demo.run()))
            ready()
            ended = asyncio.create_task(stop.wait())
            await asyncio.wait([ended, *work], return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
            for task in work:
                if task.done():
                    task.result()
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            for transport in reversed(started):
                with contextlib.suppress(Exception):
                    await transport.stop()
            self._let_go()

    async def _tick(self) -> None:
        while True:
            self.engine.tick()
            await asyncio.sleep(TICK_S)


def begin_or_resume(engine: Engine, settings: SessionSettings) -> None:
    """Begin a session, or go on with its journal if there is one with the same settings."""
    if settings.name not in engine.journals() or engine.data is None:
        engine.create(settings)
        return
    journal = Journal.open(engine.data / settings.name)
    try:
        same = journal.settings() == settings
    finally:
        journal.close()
    if not same:
        cure = "give the session another name, or move its folder away"
        problem = f"the journal of {settings.name} was begun with other settings"
        raise BreathcastError(problem, file=engine.data / settings.name, cure=cure)
    engine.resume(settings.name)


def bind(host: str, port: int, option: str, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
    """A socket at an address, or an error that names the option."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=kind)[0]
        bound = socket.socket(family, kind)
        try:
            if kind is socket.SOCK_STREAM and sys.platform != "win32":
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except BaseException:
            bound.close()
            raise
    except OSError as error:
        cure = f"choose another with {option}, or 0 for any free one, or end the program that uses it"
        raise BreathcastError(f"{host} port {port} cannot be used: {error.strerror}", cure=cure) from error
    return bound


def _token_file(settings: ServerSettings) -> Path | None:
    if settings.token_file is not None:
        return settings.token_file
    return None if is_loopback(settings.host) else Path("breathcast-token")


def _access(settings: ServerSettings, token_file: Path | None) -> Access:
    token = None if token_file is None else token_of(token_file)
    names = frozenset((*settings.names, settings.host))
    return Access(token, names, frozenset(settings.origins), any_host=token is not None)


def _checked_tls(certificate: Path, key: Path) -> tuple[Path, Path]:
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        cure = "give a certificate and its key as PEM files"
        raise BreathcastError(f"TLS cannot be had: {error}", file=certificate, cure=cure) from error
    return certificate, key


def addresses(reports: Sequence[TransportReport]) -> list[str]:
    """A line for each place where the server listens."""
    return [f"{report.name + ':':<20} {report.address}" for report in reports]
