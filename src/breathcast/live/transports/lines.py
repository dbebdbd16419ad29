"""JSON lines over TCP, and one message a datagram over UDP."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter, OrderedDict, deque
from contextlib import suppress
from typing import Any

from breathcast.errors import BreathcastError
from breathcast.live.access import Access
from breathcast.live.engine import Engine
from breathcast.live.messages import (
    LINE_BYTES,
    Budget,
    HelloMessage,
    Message,
    SubscribeMessage,
    act,
    complaint,
    decode,
    sole_session,
)
from breathcast.live.model import Output, to_json
from breathcast.live.transports.base import TransportReport

LINE_S = 10.0  # s in which a line must end that has begun
IDLE_S = 300.0  # s without a line, for who has not subscribed
WAITING = 256  # lines for a slow reader; then the oldest are dropped
_AT_ONCE = 16  # lines of one connection, before the others have their turn
_UNSENT = 64 * 1024  # bytes that the system has not taken yet, before lines wait here


class TcpLines:
    """Listens for connections; each is a `_Connection`."""

    name = "JSON lines, TCP"

    def __init__(self, listening: socket.socket, access: Access, max_connections: int) -> None:
        """`listening` is bound already, so that an address in use is known before anything starts."""
        self._socket, self.access, self.max_connections = listening, access, max_connections
        self.connections: set[_Connection] = set()
        self.counters: Counter[str] = Counter()
        self._server: asyncio.Server | None = None

    async def start(self, engine: Engine) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self, engine), sock=self._socket, backlog=512)

    async def stop(self) -> None:
        """Close all connections."""
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.drop()
        await asyncio.sleep(0)

    def report(self) -> TransportReport:
        """Where, and how much."""
        return TransportReport(self.name, _address(self._socket, "tcp"), len(self.connections), dict(self.counters))


class _Connection(asyncio.Protocol):
    """One peer. All it can do is to fill its own buffers, which are bounded, and to be closed."""

    def __init__(self, owner: TcpLines, engine: Engine) -> None:
        self._owner, self._engine = owner, engine
        self._budget = Budget()
        self._authorized = owner.access.token is None
        self._buffer = bytearray()
        self._waiting: deque[bytes] = deque(maxlen=WAITING)
        self._paused = self._draining = self._leaving = False
        self._timer: asyncio.TimerHandle | None = None
        self._listeners: dict[str, asyncio.Task[None]] = {}
        self._transport: asyncio.Transport | None = None
        self._source = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet, or turn away."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername") or ("", 0)
        self._source = f"tcp {peer[0]}:{peer[1]}"
        own = transport.get_extra_info("socket")
        if own is not None:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNSENT)  # what the system keeps only gets old
        transport.set_write_buffer_limits(high=_UNSENT)
        if len(self._owner.connections) >= self._owner.max_connections:
            self._owner.counters["turned away"] += 1
            self._leave("there are too many connections", "close others first")
            return
        self._owner.connections.add(self)
        self._expect(IDLE_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget everything."""
        self._owner.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        for task in self._listeners.values():
            task.cancel()

    def data_received(self, data: bytes) -> None:
        """Collect lines; a connection that sends many takes turns with the others."""
        if self._leaving:
            return
        begun = bool(self._buffer)
        self._buffer += data
        if not self._draining:
            self._drain(begun)

    def _drain(self, begun: bool = False) -> None:
        if self._transport is None or self._transport.is_closing() or self._leaving:
            return None
        done = 0
        while done < _AT_ONCE:
            line, end, rest = self._buffer.partition(b"\n")
            if not end:
                break
            if len(line) > LINE_BYTES:
                return self._too_long()
            self._buffer = rest
            if not self._line(bytes(line)):
                self._buffer.clear()
                return None
            done += 1
        if done == _AT_ONCE:
            self._draining = True
            self._transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._drain)
            return None
        if self._draining:
            self._draining = False
            self._transport.resume_reading()
        if len(self._buffer) > LINE_BYTES:
            return self._too_long()
        if done or not begun:  # a byte now and then does not buy more time for the line
            self._expect(LINE_S if self._buffer else IDLE_S)
        return None

    def _too_long(self) -> None:
        self._owner.counters["oversized"] += 1
        self._leave(f"a line is longer than {LINE_BYTES} bytes", "send one message a line")

    def _line(self, line: bytes) -> bool:
        """Take a line; False when the connection is over with it."""
        if not line.strip():
            return True
        if not self._budget.spend():
            self._owner.counters["over the rate"] += 1
            return True
        try:
            self._heed(decode(line))
        except BreathcastError as error:
            self._owner.counters["invalid"] += 1
            self.send(complaint(error))
        return not self._leaving

    def _heed(self, message: Message) -> None:
        if not self._authorized:
            if isinstance(message, HelloMessage) and self._owner.access.token_fits(message.token):
                self._authorized = True
            else:
                self._leave("a token is needed", 'begin with {"type": "hello", "token": "..."}')
            return
        if isinstance(message, SubscribeMessage):
            self._subscribe(sole_session(self._engine, message.session))
        elif not isinstance(message, HelloMessage):
            output = act(self._engine, message, self._source)
            if output.session not in self._listeners:
                self.send(to_json(output))

    def _subscribe(self, name: str) -> None:
        if name not in self._listeners:
            subscription = self._engine.subscribe(name)
            task = asyncio.get_running_loop().create_task(self._pass_on(subscription))
            task.add_done_callback(lambda _: self._engine.unsubscribe(subscription))
            self._listeners[name] = task
            self._expect(IDLE_S)

    async def _pass_on(self, subscription: Any) -> None:
        output: Output
        async for output in subscription:
            self.send(to_json(output))
        self._listeners.pop(subscription.session, None)

    # --- out ---

    def send(self, line: bytes) -> None:
        """Send a line, or keep it until the reader is ready; where too many wait, the oldest is lost."""
        if self._transport is None or self._transport.is_closing() or self._leaving:
            return
        if not self._paused:
            self._transport.write(line + b"\n")
            return
        if len(self._waiting) == self._waiting.maxlen:
            self._owner.counters["dropped"] += 1
        self._waiting.append(line)

    def pause_writing(self) -> None:
        """The reader is slow."""
        self._paused = True

    def resume_writing(self) -> None:
        """The reader is ready."""
        self._paused = False
        while self._waiting and not self._paused:
            self.send(self._waiting.popleft())

    # --- the end ---

    def _expect(self, seconds: float) -> None:
        """Something has to come within this time."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._expired)

    def _expired(self) -> None:
        if self._listeners and not self._buffer:
            return self._expect(IDLE_S)
        self._owner.counters["timed out"] += 1
        return self._leave("nothing whole came for too long", "send whole lines")

    def _leave(self, problem: str, cure: str) -> None:
        """Say why, and end. What still comes is read and forgotten: unread, it would make the reason get lost."""
        if self._transport is not None and not self._leaving:
            self._leaving = True
            self._transport.write(complaint(BreathcastError(problem, cure=cure)) + b"\n")
            if self._transport.can_write_eof():
                self._transport.write_eof()
            self._transport.resume_reading()
            asyncio.get_running_loop().call_later(1.0, self._transport.abort)  # nobody stays for longer

    def drop(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()


class UdpLines(asyncio.DatagramProtocol):
    """One message a datagram; the answer goes to the sender."""

    name = "JSON, UDP"
    _REMEMBERED = 1000  # senders whose rate is known

    def __init__(self, bound: socket.socket, access: Access) -> None:
        """`bound` as for TCP."""
        self._socket, self._access = bound, access
        self._budgets: OrderedDict[Any, Budget] = OrderedDict()
        self.counters: Counter[str] = Counter()
        self._engine: Engine | None = None
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self, engine: Engine) -> None:
        """Listen."""
        self._engine = engine
        self._socket.setblocking(False)
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, sock=self._socket)

    async def stop(self) -> None:
        """Stop listening."""
        if self._transport is not None:
            self._transport.close()
        await asyncio.sleep(0)

    def report(self) -> TransportReport:
        """Where, and how much."""
        return TransportReport(self.name, _address(self._socket, "udp"), 0, dict(self.counters))

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Heed it, and answer who has the token; nobody else is told anything."""
        if not self._budget(addr).spend():
            self.counters["over the rate"] += 1
            return
        try:
            answer = self._heed(data, f"udp {addr[0]}:{addr[1]}")
        except BreathcastError as error:
            self.counters["invalid"] += 1
            answer = None if self._access.token is not None else complaint(error)
        if answer is not None and self._transport is not None:
            with suppress(OSError):
                self._transport.sendto(answer, addr)

    def _heed(self, data: bytes, source: str) -> bytes | None:
        message = decode(data)
        if not self._access.token_fits(message.token):
            self.counters["without the token"] += 1
            return None
        if isinstance(message, HelloMessage | SubscribeMessage):
            raise BreathcastError(f"{message.type} is for connections", cure="send samples here, or use TCP")
        assert self._engine is not None
        return to_json(act(self._engine, message, source))

    def _budget(self, addr: Any) -> Budget:
        budget = self._budgets.setdefault(addr, Budget())
        self._budgets.move_to_end(addr)
        if len(self._budgets) > self._REMEMBERED:
            self._budgets.popitem(last=False)
        return budget

    def error_received(self, exc: Exception) -> None:
        """Somebody who asked has gone."""
        self.counters["unreachable"] += 1


def _address(bound: socket.socket, scheme: str) -> str:
    try:
        host, port = bound.getsockname()[:2]
    except OSError:
        return json.dumps(None)
    return f"{scheme}://{host}:{port}"
