"""The other end of OpenIGTLink: a client that plays a recording into a server, ours or another program's."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Literal, Self
from urllib.parse import urlsplit

import numpy as np

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Array
from breathcast.live.clock import now
from breathcast.live.openigtlink.contents import Element, TrackingData, Transform, matrix_at
from breathcast.live.openigtlink.header import PORT, stamp_of
from breathcast.live.openigtlink.message import Decoder, Message, Refused, encode
from breathcast.live.openigtlink.names import TRACKING, short_names
from breathcast.recordings.recording import Recording

Kind = Literal["TDATA", "TRANSFORM"]

_CHUNK = 1 << 16
_FAREWELL_S = 1.0
_PATIENCE_S = 10.0  # for a connection to be made, and for a peer that does not read


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of igtl://host:port; the port may be left out."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not text.startswith("igtl://") or not host:
        raise BreathcastError(f"{text!r} is no OpenIGTLink address", cure=f"Write igtl://host:port, usually :{PORT}.")
    return host, port or PORT


class OpenIGTLinkClient:
    """One connection to a server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Use `connect`."""
        self._reader, self._writer, self._decoder = reader, writer, Decoder()

    @classmethod
    async def connect(cls, host: str, port: int) -> Self:
        """Connect, or say why not."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return cls(*await asyncio.open_connection(host, port))
        except OSError as error:  # includes the time-out
            raise BreathcastError(
                f"no OpenIGTLink server answers at {host}:{port} ({error or 'no answer'})",
                cure="Start the server first, and check host and port.",
            ) from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(self, *messages: Message) -> None:
        """Send messages, in order."""
        self._writer.write(b"".join(map(encode, messages)))
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._writer.drain()
        except OSError as error:
            raise BreathcastError(f"the OpenIGTLink server is gone ({error or 'it does not read'})") from None

    async def messages(self) -> AsyncIterator[Message]:
        """What the server sends, until it closes the connection."""
        while data := await self._reader.read(_CHUNK):
            for event in self._decoder.feed(data):
                if not isinstance(event, Refused):
                    yield event
                elif event.fatal:
                    raise event.error

    async def close(self) -> None:
        """Close the connection; what was sent before still arrives.

        A connection that is closed with something unread is reset, and what the server has not read yet is lost. So the
        server is told first that no more will come, and heard until it closes its side, or for a second.
        """
        try:
            async with asyncio.timeout(_FAREWELL_S):
                self._writer.write_eof()
                while await self._reader.read(_CHUNK):
                    pass
                self._writer.close()
                await self._writer.wait_closed()
        except OSError:
            self._writer.transport.abort()


def sample_messages(
    positions: Array, markers: tuple[str, ...], time: float | None, kind: Kind = "TDATA"
) -> Iterator[Message]:
    """One sample as messages; a marker with a missing coordinate is left out, as the protocol has it."""
    stamp, names = stamp_of(time), short_names(markers)
    seen = [
        (name, matrix_at(np.concatenate([row, np.zeros(3 - len(row))])))
        for name, row in zip(names, positions, strict=True)
        if np.isfinite(row).all()
    ]
    if kind == "TDATA":
        yield Message(TrackingData(tuple(Element(name, matrix) for name, matrix in seen)), TRACKING, stamp)
    else:
        for name, matrix in seen:
            yield Message(Transform(matrix), name, stamp)


async def play(
    recording: Recording,
    host: str,
    port: int,
    *,
    speed: float = 1.0,
    kind: Kind = "TDATA",
    heard: Callable[[Message], None] | None = None,
) -> int:
    """Play a recording into a server at its own pace times `speed`; return how many samples were sent.

    The time stamps begin now and go on as those of the recording do, whatever the speed: a device that runs at another
    speed has a clock that does. `heard` is given what the server sends meanwhile; it is read in any case, since a
    client that does not read is a slow client.
    """
    async with await OpenIGTLinkClient.connect(host, port) as client:

        async def listen() -> None:
            async for message in client.messages():
                if heard is not None:
                    heard(message)

        listening = asyncio.create_task(listen())
        try:
            begin = now()
            for n, (time, positions) in enumerate(zip(recording.times, recording.positions, strict=True)):
                await asyncio.sleep(max(0.0, begin + time / speed - now()))
                if listening.done():
                    raise _gone(listening, n)
                await client.send(*sample_messages(positions, recording.markers, begin + time, kind))
        finally:
            listening.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError, BreathcastError):
                await listening
        return len(recording)


def _gone(listening: asyncio.Task[None], sent: int) -> BreathcastError:
    """Why the server does not listen any more."""
    error = listening.exception()
    return BreathcastError(
        f"the OpenIGTLink server closed the connection after {sent} samples ({error or 'no reason'})"
    )


def replay(recording: Recording, address: str, *, speed: float = 1.0, kind: Kind = "TDATA") -> int:
    """`play` for those without an event loop: `address` is igtl://host:port."""
    host, port = parse_address(address)
    return asyncio.run(play(recording, host, port, speed=speed, kind=kind))
