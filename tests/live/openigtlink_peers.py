"""What the OpenIGTLink tests share: an engine without learning, a server in a loop, raw sockets."""

from __future__ import annotations

import asyncio
import math
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import Any

from breathcast.errors import BreathcastError
from breathcast.live.model import ClockReport, HorizonForecast, Output, Sample, State, Summary, Verdict
from breathcast.live.openigtlink import Decoder, Element, Message, TrackingData, encode, matrix_at, stamp_of
from breathcast.live.openigtlink.sender import IgtlSender
from breathcast.live.openigtlink.settings import LinkSettings
from breathcast.live.settings import SessionSettings
from breathcast.live.subscription import Subscription
from breathcast.live.transports.openigtlink import OpenIGTLinkTransport
from breathcast.recordings.recording import Recording

PATIENCE = 30.0  # seconds that a test waits for anything


class PlainEngine:
    """Answers each sample with "a millimetre further for each 100 ms": enough to tell forecasts from measurements."""

    def __init__(self, **settings: Any) -> None:
        chosen = {"name": "default", "markers": ("A", "B"), "horizons_ms": (100, 500), **settings}
        self.settings = SessionSettings.model_validate(chosen)
        self.samples: list[Sample] = []
        self.state = State.OK
        self.exists = True
        self._subscriptions: list[Subscription] = []

    @property
    def name(self) -> str:
        return self.settings.name

    def names(self) -> list[str]:
        return [self.name] if self.exists else []

    def session(self, name: str) -> PlainEngine:
        if not self.exists or name != self.settings.name:
            raise BreathcastError(f"there is no session {name}")
        return self

    def summary(self) -> Summary:
        settings, clock = self.settings.to_dict(), ClockReport("device")
        return Summary("default", self.state, "", "", 0, False, None, settings, [], {}, clock, 0, None)

    @property
    def subscribed(self) -> bool:
        return bool(self._subscriptions)

    def subscribe(self, name: str) -> Subscription:
        self.session(name)
        self._subscriptions.append(Subscription(name))
        return self._subscriptions[-1]

    def unsubscribe(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def push(self, name: str, sample: Sample) -> Output:
        self.session(name)
        self.samples.append(sample)
        output = self.output(sample)
        for subscription in self._subscriptions:
            subscription.put(output)
        return output

    def end(self) -> None:
        self.exists = False
        for subscription in self._subscriptions:
            subscription.close()
        self._subscriptions.clear()

    def output(self, sample: Sample) -> Output:
        where = [[None if math.isnan(x) else float(x) for x in row] for row in sample.positions]
        forecasts = [
            HorizonForecast(
                ms,
                ms,
                1,
                [[None if x is None else x + ms / 100 for x in row] for row in where]
                if self.state in (State.OK, State.DEGRADED)
                else None,
                1.0,
                0.5,
                1.5,
            )
            for ms in self.settings.horizons_ms
        ]
        n = len(self.samples)
        when = sample.time_device or sample.time_arrival
        cause = "" if self.state is State.OK else "test"
        return Output(
            "default", n, n, Verdict.TAKEN, when, sample.time_arrival, self.state, cause, "", where, forecasts, 0.1
        )


@asynccontextmanager
async def serving(engine: Any, **settings: Any) -> AsyncIterator[OpenIGTLinkTransport]:
    """A server on a free port of this computer."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    transport = OpenIGTLinkTransport(LinkSettings.model_validate(settings), listening)
    await transport.start(engine)
    try:
        yield transport
    finally:
        await transport.stop()


class Peer:
    """A raw connection that reads what it is told to read, and no more."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._decoder, self._events = Decoder(), []

    async def send(self, *data: bytes) -> None:
        self.writer.write(b"".join(data))
        await asyncio.wait_for(self.writer.drain(), PATIENCE)

    async def receive(self, kind: str | None = None) -> Message:
        """The next message (of a type); an error after a while, or at the end of the connection."""
        async with asyncio.timeout(PATIENCE):
            while True:
                while self._events:
                    message = self._events.pop(0)
                    assert isinstance(message, Message), message
                    if kind is None or message.content.type == kind:
                        return message
                data = await self.reader.read(65536)
                if not data:
                    raise EOFError
                self._events += self._decoder.feed(data)

    async def end(self) -> None:
        """Read until the server closes the connection."""
        async with asyncio.timeout(PATIENCE):
            try:
                while await self.reader.read(65536):
                    pass
            except ConnectionError:
                pass

    async def close(self) -> None:
        self.writer.close()
        with suppress(OSError):
            await asyncio.wait_for(self.writer.wait_closed(), PATIENCE)


@asynccontextmanager
async def connected(transport: OpenIGTLinkTransport, **options: Any) -> AsyncIterator[Peer]:
    """A raw connection to a server."""
    async with connected_to(port_of(transport), **options) as peer:
        yield peer


@asynccontextmanager
async def connected_to(port: int, **options: Any) -> AsyncIterator[Peer]:
    """A raw connection to a program, which may still be starting."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                peer = Peer(*await asyncio.open_connection("127.0.0.1", port, **options))
                break
            except OSError:
                await asyncio.sleep(0.02)
    try:
        yield peer
    finally:
        await peer.close()


def port_of(transport: OpenIGTLinkTransport) -> int:
    return int(transport.report().address.rpartition(":")[2])


def play(recording: Recording, port: int, kind: Any = "TDATA", speed: float = 1.0, heard: Any = None) -> IgtlSender:
    """Send a recording at its pace times `speed`, as `breathcast replay` does."""
    sender = IgtlSender("127.0.0.1", port, recording.markers, kind, heard)
    try:
        begun = time.monotonic()
        for at, positions in zip(recording.times, recording.positions, strict=True):
            time.sleep(max(0.0, begun + at / speed - time.monotonic()))
            sender.send(positions, float(at))
    finally:
        sender.close()
    return sender


async def until(what: Any, seconds: float = PATIENCE) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not what():
            await asyncio.sleep(0.005)


def in_a_loop(test: Callable[..., Coroutine[None, None, None]]) -> Callable[..., None]:
    """Run a test in an event loop of its own, for two minutes at most."""

    @wraps(test)
    def run(*args: object, **kwargs: object) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), 120))

    return run


def tdata(n: float, time: float | None = None, **more) -> bytes:
    """A sample of both markers, with the number n in it."""
    elements = tuple(Element(name, matrix_at((n, 0, 0))) for name in ("A", "B"))
    return encode(Message(TrackingData(elements), "tracker", stamp_of(time), **more))
