"""The OpenIGTLink server: marker positions of a tracker in, forecasts and states out. See docs/openigtlink.md."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections import Counter
from typing import TYPE_CHECKING

from breathcast.errors import BreathcastError
from breathcast.live.clock import now
from breathcast.live.openigtlink.contents import (
    Capability,
    Content,
    Other,
    Position,
    Query,
    Reply,
    StartTracking,
    Status,
    TrackingData,
    Transform,
)
from breathcast.live.openigtlink.flow import Allowance, Outbox, Pace
from breathcast.live.openigtlink.header import NAME_SIZE, stamp_of
from breathcast.live.openigtlink.incoming import Assembler
from breathcast.live.openigtlink.message import Decoder, Message, Refused, encode
from breathcast.live.openigtlink.names import STATE
from breathcast.live.openigtlink.outgoing import EXITING, NO_SESSION, UNTOLD, Encoded, status_of
from breathcast.live.openigtlink.settings import LinkSettings
from breathcast.live.transports.base import TransportReport

if TYPE_CHECKING:
    from breathcast.live.engine import Engine
    from breathcast.live.session import Session
    from breathcast.live.subscription import Subscription

log = logging.getLogger(__name__)

READS = (
    "TRANSFORM",
    "POSITION",
    "TDATA",
    "STT_TDATA",
    "STP_TDATA",
    "STT_POSITION",
    "STP_POSITION",
    "GET_CAPABIL",
    "GET_STATUS",
)
_ORDER = ("STATUS", "TDATA", "TRANSFORM", "POSITION", "STRING")  # the state first: a forecast is never without it
_MAX_BODY = 1 << 16  # of what we read; the longest is a TDATA of 900 markers
_CHUNK = 1 << 14  # bytes read at once: a busy client gives way to the others after each
_MESSAGE_COST = 256  # bytes that a message costs beside its own, since short ones take as long to handle
_IN_FLIGHT = 1 << 16  # bytes that a connection buffers beyond its outbox
_BROKEN_IN_A_ROW = 10  # bodies after which a peer is taken for no OpenIGTLink
_UNREADABLE = 12  # the code of the protocol for "illegal or unknown instruction"
_RETRY_S = 0.2  # until a session that does not exist yet is looked for again
_GOODBYE_S = 0.5


class OpenIGTLinkTransport:
    """One listening place for one session."""

    def __init__(self, settings: LinkSettings, listening: socket.socket) -> None:
        """`listening` is bound already, so that an address in use is known before anything starts."""
        self.settings = settings
        self.name = f"OpenIGTLink, {settings.session}" if settings.session else "OpenIGTLink"
        self.counters: Counter[str] = Counter()
        self._socket = listening
        self._port = int(listening.getsockname()[1])
        self._engine: Engine | None = None
        self._server: asyncio.Server | None = None
        self._subscription: Subscription | None = None
        self._found = asyncio.Event()  # a session to listen to
        self._hub: asyncio.Task[None] | None = None
        self._clients: dict[asyncio.Task[None], _Client] = {}

    async def start(self, engine: Engine) -> None:
        """Listen."""
        self._engine = engine
        self._server = await asyncio.start_server(self._accept, sock=self._socket, limit=_CHUNK, backlog=512)
        self._hub = asyncio.create_task(self._distribute(engine), name="OpenIGTLink outputs")

    async def stop(self) -> None:
        """Tell the clients, and close everything."""
        if self._server is not None:
            self._server.close()
        if self._hub is not None:
            self._hub.cancel()
        for client in self._clients.values():
            client.leave(EXITING)
        tasks = [*self._clients, *([self._hub] if self._hub else [])]
        if tasks:
            await asyncio.wait(tasks, timeout=2 * _GOODBYE_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def report(self) -> TransportReport:
        """Say where it listens, and how much is going on."""
        counters = self.counters + sum((client.counted() for client in self._clients.values()), Counter())
        host = f"[{self.settings.address}]" if ":" in self.settings.address else self.settings.address
        address = f"igtl://{host}:{self._port}"
        return TransportReport(self.name, address, len(self._clients), dict(counters))

    # ------------------------------------------------------------------------------------------------------ outputs

    def session(self) -> Session:
        """The session of this port, or an error; from here on its outputs are listened to.

        A port that has found the only session that there was stays with it to its end: another one that begins
        meanwhile must take over neither a tracker nor a machine that listens.
        """
        assert self._engine is not None  # there are no clients before `start`
        if self._subscription is not None and not self._subscription.closed:
            name = self._subscription.session
        else:
            names = self._engine.names()
            name = self.settings.session or (names[0] if len(names) == 1 else None)
        if name is None:
            cure = "say in the settings of OpenIGTLink which session a port is for"
            raise BreathcastError(f"there are {len(names)} sessions", cure=cure)
        session = self._engine.session(name)
        if self._subscription is None or self._subscription.closed:
            self._subscription = self._engine.subscribe(name)
            self._found.set()
        return session

    async def _distribute(self, engine: Engine) -> None:
        """Hand each output of the session to all clients, for as long as the server runs."""
        while True:
            try:
                markers = self.session().settings.marker_names
            except BreathcastError:
                # It may begin at any time. Who sends a sample finds it at once.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_RETRY_S):
                        await self._found.wait()
                continue
            self._found.clear()
            subscription = self._subscription
            assert subscription is not None
            try:
                async for output in subscription:
                    self._offer(Encoded(output, markers))
            finally:
                engine.unsubscribe(subscription)
            for client in self._clients.values():
                client.restart()

    def _offer(self, encoded: Encoded) -> None:
        """Give an output to all; one that cannot be told is a fault, and they hear that instead of nothing."""
        for client in self._clients.values():
            try:
                client.offer(encoded)
            except Exception:
                self.counters["errors"] += 1
                log.exception("OpenIGTLink: output %d cannot be sent", encoded.output.sequence)
                client.send(UNTOLD)

    # ------------------------------------------------------------------------------------------------------ clients

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client, unless it may not connect or there are too many."""
        peer = writer.get_extra_info("peername") or ("?", 0)
        if not self.settings.permits(str(peer[0])):
            self.counters["refused_addresses"] += 1
            writer.transport.abort()
            return
        if len(self._clients) >= self.settings.max_clients:
            self.counters["refused_full"] += 1
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None and self._engine is not None  # asyncio calls this in a task, and after `start`
        client = _Client(self, self._engine, reader, writer, f"igtl:{peer[0]}:{peer[1]}")
        self._clients[task] = client
        self.counters["connections"] += 1
        try:
            client.send(self.greeting())
            await client.serve()
        except (OSError, asyncio.CancelledError):
            pass  # the client is gone, or we are going
        except Exception:  # one client's trouble must never become that of the others
            self.counters["errors"] += 1
            log.exception("OpenIGTLink client %s", client.source)
        finally:
            del self._clients[task]
            self.counters += client.counted()
            await _close(writer)

    def greeting(self) -> Content:
        """The state as it is now."""
        try:
            return status_of(self.session().summary())
        except BreathcastError:
            return NO_SESSION


async def _close(writer: asyncio.StreamWriter) -> None:
    """Close a connection: kindly, so that the last message arrives, but not for long."""
    writer.close()
    try:
        async with asyncio.timeout(_GOODBYE_S):
            await writer.wait_closed()
    except (OSError, TimeoutError):
        writer.transport.abort()


class _Client:
    """One connection."""

    def __init__(
        self,
        server: OpenIGTLinkTransport,
        engine: Engine,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        source: str,
    ) -> None:
        self.source = source
        self.counters: Counter[str] = Counter()
        self._server, self._engine, self._reader, self._writer = server, engine, reader, writer
        self._settings = server.settings
        self._decoder = Decoder(READS, _MAX_BODY)
        self._outbox = Outbox(self._settings.queue)
        self._allowance = Allowance(self._settings.rate_limit)
        self._assembler: Assembler | None = None
        self._tracking: Pace | None = None
        self._kinds: set[str] = set(self._settings.send)
        self._version = 1  # until the client shows that it knows version 2
        self._broken = 0

    def counted(self) -> Counter[str]:
        """All that was counted for this client."""
        dropped = Counter({"dropped_outputs": self._outbox.dropped} if self._outbox.dropped else {})
        return self.counters + dropped + (self._assembler.counters if self._assembler else Counter())

    # -------------------------------------------------------------------------------------------------------- sending

    def offer(self, encoded: Encoded) -> None:
        """Put an output into the outbox, whole: the state never goes without its forecasts or they without it."""
        wanted = set(self._kinds)
        if self._tracking is not None and self._tracking.lets_pass(encoded.output.time_arrival):
            wanted.add("TDATA")
        data = b"".join(encoded.bytes_of(kind, self._version) for kind in _ORDER if kind in wanted)
        if data:
            self._outbox.put(data)

    def send(self, content: Content, device: str = STATE) -> None:
        """Put one message into the outbox; under our name if the device's, which may be no text, does not fit again."""
        device = device if len(device.encode()) <= NAME_SIZE else STATE
        self._outbox.put(encode(Message(content, device, stamp_of(now()), self._version)))

    def leave(self, farewell: Content) -> None:
        """End the connection after this message."""
        self.send(farewell)
        self._outbox.close()

    def restart(self) -> None:
        """The session has ended; another of the same name may have other markers."""
        if self._assembler is not None:
            self.counters += self._assembler.counters
        self._assembler = None
        self.send(NO_SESSION)

    async def serve(self) -> None:
        """Read until the client goes or has to; what it is sent waits in its own outbox."""
        self._prepare()
        writing = asyncio.create_task(self._write())
        reading = asyncio.create_task(self._read())
        try:
            # The writer ends with the connection or after a farewell; the reader when there is no more to read.
            await asyncio.wait((writing, reading), return_when=asyncio.FIRST_COMPLETED)
            self._outbox.close()
            await asyncio.wait((writing,), timeout=_GOODBYE_S)
        finally:
            for task in (writing, reading):
                task.cancel()
            for result in await asyncio.gather(writing, reading, return_exceptions=True):
                if isinstance(result, Exception) and not isinstance(result, OSError):
                    raise result

    def _prepare(self) -> None:
        """Small buffers, no waiting for more to send, and a check now and then that somebody is there."""
        self._writer.transport.set_write_buffer_limits(high=_IN_FLIGHT)
        sock = self._writer.get_extra_info("socket")
        with contextlib.suppress(OSError, AttributeError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # Left alone the kernel grows this to megabytes, and a slow reader would be told what was true minutes ago.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _IN_FLIGHT)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)

    async def _write(self) -> None:
        while (data := await self._outbox.get()) is not None:
            self._writer.write(data)
            await self._writer.drain()

    # -------------------------------------------------------------------------------------------------------- reading

    async def _read(self) -> None:
        """Messages until the end of the connection, or of our patience."""
        begun: float | None = None  # when the message that is arriving began
        while True:
            limit = None if begun is None else max(0.0, begun + self._settings.message_s - now())
            try:
                async with asyncio.timeout(limit):
                    data = await self._reader.read(_CHUNK)
            except TimeoutError:
                self.counters["stalled"] += 1
                return
            if not data:
                return
            events = self._decoder.feed(data)
            if events or self._decoder.idle:
                begun = None
            if begun is None and not self._decoder.idle:
                begun = now()
            if not await self._handle_all(events):
                return
            # Without a pause a client that always has more to read would keep the others waiting.
            await asyncio.sleep(self._allowance.pause(len(data) + _MESSAGE_COST * len(events), now()))

    async def _handle_all(self, events: list[Message | Refused]) -> bool:
        """Handle messages in order; say whether to go on."""
        for n, event in enumerate(events):
            if isinstance(event, Refused):
                self.counters["broken_headers" if event.fatal else "broken_bodies"] += 1
                self._broken += 1
                if event.fatal or self._broken >= _BROKEN_IN_A_ROW:
                    log.info("OpenIGTLink client %s is disconnected: %s", self.source, event.error)
                    self.leave(Status(_UNREADABLE, 0, "UNREADABLE", str(event.error)))
                    return False
            else:
                self._broken = 0
                self.counters["messages"] += 1
                self._handle(event)
            if n % 16 == 15:
                await asyncio.sleep(0)  # lets outputs leave while a burst comes in
        return True

    def _handle(self, message: Message) -> None:
        """Do what a message asks for."""
        self._version = max(self._version, message.version)
        match message.content:
            case Transform() | Position() | TrackingData():
                self._push(message)
            case StartTracking(resolution):
                self._tracking = Pace(resolution / 1000)
                self.send(Reply("RTS_TDATA"), message.device)
            case Query("STP_TDATA"):
                self._tracking = None
                self.send(Reply("RTS_TDATA"), message.device)
            case Query("STT_POSITION"):
                self._kinds.add("POSITION")
                self.send(Reply("RTS_POSITION"), message.device)
            case Query("STP_POSITION"):
                self._kinds.discard("POSITION")
                self.send(Reply("RTS_POSITION"), message.device)
            case Query("GET_CAPABIL"):
                self.send(Capability(READS), message.device)
            case Query("GET_STATUS"):
                self.send(self._server.greeting(), message.device or STATE)
            case Other():
                self.counters["ignored"] += 1

    def _push(self, message: Message) -> None:
        """Give the engine what the message completes."""
        arrival = now()
        try:
            session = self._server.session()
            if self._assembler is None:
                settings = session.settings
                self._assembler = Assembler(
                    settings.marker_names, settings.dimension, settings.rate, self._settings.devices, self.source
                )
            for sample in self._assembler.take(message, arrival):
                self._engine.push(session.name, sample)
                self.counters["samples"] += 1
        except BreathcastError as error:
            self.counters["refused_samples"] += 1
            log.info("OpenIGTLink client %s: %s", self.source, error)
