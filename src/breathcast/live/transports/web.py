"""HTTP and WebSocket, by uvicorn in the event loop of the server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from breathcast.live.access import Access
from breathcast.live.api import make_app
from breathcast.live.engine import Engine
from breathcast.live.messages import LINE_BYTES
from breathcast.live.transports.base import TransportReport

HEAD_S = 10.0  # s in which the head of a request must be there
_UNSENT = 64 * 1024  # bytes that the system keeps for a slow reader: more would only get old


class _Bounded(H11Protocol):
    """Turns away who comes when all places are taken, and who does not finish the head of a request."""

    _watch: asyncio.TimerHandle | None = None
    _upgraded = False  # to a WebSocket, which has no heads to wait for
    most = 256

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
            return
        own = transport.get_extra_info("socket")
        if own is not None:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNSENT)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._upgraded:
            return
        if self.cycle is None or self.cycle.response_complete:
            if self._watch is None:
                self._await_head()
        else:
            self._stop_watching()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._upgraded = True
        self._stop_watching()
        super().handle_websocket_upgrade(event)

    def _await_head(self) -> None:
        self._watch = self.loop.call_later(HEAD_S, self._give_up)

    def _stop_watching(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    def _give_up(self) -> None:
        self._watch = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()


class _Uvicorn(uvicorn.Server):
    """Leaves signals to us."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class Web:
    """The API, its OpenAPI page and the dashboard."""

    name = "HTTP and WebSocket"

    def __init__(
        self,
        listening: socket.socket,
        access: Access,
        max_connections: int,
        reports: Callable[[], list[TransportReport]],
        tls: tuple[Path, Path] | None = None,
    ) -> None:
        """`listening` is bound already; `tls` is a certificate and its key."""
        self._socket, self._access, self._most, self._reports, self._tls = (
            listening,
            access,
            max_connections,
            reports,
            tls,
        )
        self._server: uvicorn.Server | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, engine: Engine) -> None:
        """Serve; returns when requests are answered."""
        certificate, key = self._tls or (None, None)
        config = uvicorn.Config(
            make_app(engine, self._access, self._reports),
            http=type("Bounded", (_Bounded,), {"most": self._most}),
            ws="websockets-sansio",
            ws_max_size=LINE_BYTES,
            ws_per_message_deflate=False,  # it costs time, and lets small messages unpack into large ones
            lifespan="off",
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=20,
            timeout_graceful_shutdown=2,
            ssl_certfile=None if certificate is None else str(certificate),
            ssl_keyfile=None if key is None else str(key),
        )
        self._server = _Uvicorn(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started:
            if self._task.done():
                self._task.result()
                raise RuntimeError("the web server did not start")
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        """Finish what is being answered, for 2 s at most."""
        if self._server is not None and self._task is not None:
            self._server.should_exit = True
            await self._task

    def report(self) -> TransportReport:
        """Where, and how much."""
        scheme = "https" if self._tls else "http"
        host, port = self._socket.getsockname()[:2] if self._socket.fileno() >= 0 else ("", 0)
        count = 0 if self._server is None else len(self._server.server_state.connections)
        shown = f"[{host}]" if ":" in host else host
        return TransportReport(self.name, f"{scheme}://{shown}:{port}", count)
