"""Talking to a server from the command line: requests, streams of outputs, and samples by any protocol it knows."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import SplitResult, quote, urlsplit

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Array
from breathcast.live.model import Positions

PATIENCE_S = 10.0
_CURE = "start one with `breathcast serve`, or name the address that it printed"


@dataclass(frozen=True)
class Target:
    """A server as a user names it: http://127.0.0.1:8470, tcp://127.0.0.1:8471, ..."""

    scheme: str
    host: str
    port: int
    session: str | None
    token: str | None = field(default=None, repr=False)

    @property
    def web(self) -> str:
        """The address for requests."""
        secure = self.scheme in ("https", "wss")
        return f"{'https' if secure else 'http'}://{_bracketed(self.host)}:{self.port}"

    def stream(self) -> str:
        """The address of the WebSocket."""
        where = "/api/stream" if self.session is None else f"/api/sessions/{quote(self.session, safe='')}/stream"
        return self.web.replace("http", "ws", 1) + where


def parse_target(address: str, session: str | None = None, token: str | None = None) -> Target:
    """The parts of an address; a session may stand behind it, as in http://127.0.0.1:8470/demo."""
    parts = urlsplit(address if "://" in address else f"http://{address}")
    try:
        port, host = parts.port, parts.hostname
    except ValueError:
        port = host = None
    if not host or parts.scheme not in PORTS:
        cure = f"write SCHEME://HOST:PORT with one of {', '.join(PORTS)}, like http://127.0.0.1:8470"
        raise BreathcastError(f"{address!r} is no address of a server", cure=cure)
    return Target(parts.scheme, host, port or PORTS[parts.scheme], session or _named(parts), token)


def _named(parts: SplitResult) -> str | None:
    return parts.path.strip("/") or None


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def request(target: Target, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """A request to the API; its answer."""
    headers = {"Content-Type": "application/json"}
    if target.token is not None:
        headers["Authorization"] = f"Bearer {target.token}"
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(target.web + path, data, headers, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a server beside us needs no proxy
    try:
        with opener.open(asked, timeout=60.0) as answer:
            content = answer.read()
    except urllib.error.HTTPError as error:
        raise _explained(error, target) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise BreathcastError(f"no server answers at {target.web}: {reason}", cure=_CURE) from error
    return json.loads(content) if content else None


def _explained(error: urllib.error.HTTPError, target: Target) -> BreathcastError:
    with error:
        content = error.read()
    try:
        told = json.loads(content)
        return BreathcastError(f"{target.web}: {told['problem']}", cure=told["cure"])
    except (ValueError, KeyError, TypeError):
        return BreathcastError(f"{target.web} answers {error.code}", cure="is it a breathcast server?")


def outputs(target: Target, seconds: float | None = None) -> Iterator[dict[str, Any]]:
    """The messages of a live stream, until the server ends it or so many seconds are over, even if none comes."""
    from websockets.exceptions import ConnectionClosed, ConnectionClosedOK

    with _connected(target) as connection:
        end = None if seconds is None else time.monotonic() + seconds
        try:
            while end is None or time.monotonic() < end:
                left = None if end is None else max(0.0, end - time.monotonic())
                yield json.loads(connection.recv(timeout=left))
        except (TimeoutError, ConnectionClosedOK):
            return
        except ConnectionClosed as error:
            raise BreathcastError(f"the server ended the stream: {error.reason or error}", cure=_CURE) from error


@contextmanager
def _connected(target: Target) -> Iterator[Any]:
    """A WebSocket; what goes wrong in opening it is our own error."""
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import connect

    headers = {} if target.token is None else {"Authorization": f"Bearer {target.token}"}
    with ExitStack() as stack:
        try:
            opening = connect(target.stream(), additional_headers=headers, open_timeout=PATIENCE_S, proxy=None)
            connection = stack.enter_context(opening)
        except (OSError, WebSocketException) as error:
            raise BreathcastError(f"no stream at {target.stream()}: {error}", cure=_CURE) from error
        yield connection


class Sender(Protocol):
    """Sends positions to a server, and counts what it answers."""

    answered: int

    def send(self, positions: Array, time: float) -> None:
        """One sample: (marker, dimension) in mm, NaN where missing; the time in s."""

    def close(self) -> None:
        """Wait for the last answers, a moment, and hang up."""


def message(positions: Array, time: float, target: Target) -> bytes:
    """A sample as JSON."""
    rows: Positions = [[None if value != value else value for value in row] for row in positions.tolist()]  # noqa: PLR0124
    told: dict[str, Any] = {"type": "sample", "time": time, "positions": rows}
    if target.session is not None:
        told["session"] = target.session
    return json.dumps(told).encode()


class TcpSender:
    """JSON lines over TCP."""

    def __init__(self, target: Target) -> None:
        """Connect."""
        self.answered, self._target = 0, target
        try:
            self._socket = socket.create_connection((target.host, target.port), PATIENCE_S)
        except OSError as error:
            problem = f"nothing listens at tcp://{target.host}:{target.port}: {error.strerror or error}"
            raise BreathcastError(problem, cure=_CURE) from error
        if target.token is not None:
            self._write(json.dumps({"type": "hello", "token": target.token}).encode())
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._sent = 0

    def _read(self) -> None:
        """Take the answers off the line, so that the server need not drop them."""
        self._socket.settimeout(None)
        with self._socket.makefile("rb") as lines:
            try:
                for line in lines:
                    self.answered += line.startswith(b"{")
            except (OSError, ValueError):
                return

    def _write(self, line: bytes) -> None:
        try:
            self._socket.sendall(line + b"\n")
        except OSError as error:
            raise BreathcastError(f"the server hung up: {error.strerror or error}", cure=_CURE) from error

    def send(self, positions: Array, time: float) -> None:
        """One sample."""
        self._write(message(positions, time, self._target))
        self._sent += 1

    def close(self) -> None:
        """Wait for the last answers."""
        _until(lambda: self.answered >= self._sent)
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.join(1.0)
        self._socket.close()


class UdpSender:
    """A datagram a sample."""

    def __init__(self, target: Target) -> None:
        """Nothing is sent yet."""
        self.answered, self._target, self._sent = 0, target, 0
        family = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_DGRAM)[0][0]
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        self._socket.connect((target.host, target.port))
        self._socket.setblocking(False)

    def send(self, positions: Array, time: float) -> None:
        """One sample."""
        told = json.loads(message(positions, time, self._target))
        if self._target.token is not None:
            told["token"] = self._target.token
        try:
            self._socket.send(json.dumps(told).encode())
        except OSError as error:
            raise BreathcastError(f"nothing listens there: {error.strerror or error}", cure=_CURE) from error
        self._sent += 1
        self._collect()

    def _collect(self) -> None:
        try:
            while self._socket.recv(65536):
                self.answered += 1
        except OSError:
            return

    def close(self) -> None:
        """Wait for the last answers."""

        def all_there() -> bool:
            self._collect()
            return self.answered >= self._sent

        _until(all_there)
        self._socket.close()


class WebSender:
    """Samples over the WebSocket of a session."""

    def __init__(self, target: Target) -> None:
        """Connect."""
        self.answered, self._target, self._sent = 0, target, 0
        self._stack = ExitStack()
        self._connection = self._stack.enter_context(_connected(target))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            for _ in self._connection:
                self.answered += 1
        except ConnectionClosed:
            return

    def send(self, positions: Array, time: float) -> None:
        """One sample."""
        from websockets.exceptions import ConnectionClosed

        try:
            self._connection.send(message(positions, time, self._target).decode())
        except ConnectionClosed as error:
            raise BreathcastError(f"the server hung up: {error.reason or error}", cure=_CURE) from error
        self._sent += 1

    def close(self) -> None:
        """Wait for the last answers."""
        _until(lambda: self.answered >= self._sent)
        self._stack.close()
        self._reader.join(1.0)


def _until(met: Callable[[], bool], seconds: float = 2.0) -> None:
    end = time.monotonic() + seconds
    while not met() and time.monotonic() < end:
        time.sleep(0.01)


# To add a protocol: a sender, and a line in each of these.
SENDERS: dict[str, Callable[[Target], Sender]] = {
    "http": WebSender,
    "https": WebSender,
    "ws": WebSender,
    "wss": WebSender,
    "tcp": TcpSender,
    "udp": UdpSender,
}
PORTS: dict[str, int] = {"http": 8470, "https": 8470, "ws": 8470, "wss": 8470, "tcp": 8471, "udp": 8472, "igtl": 18944}
