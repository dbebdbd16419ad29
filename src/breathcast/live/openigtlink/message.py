"""Messages to bytes and back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from breathcast.live.openigtlink.contents import READERS, Content, Other
from breathcast.live.openigtlink.crc import crc64
from breathcast.live.openigtlink.errors import BodyError, HeaderError, OpenIGTLinkError
from breathcast.live.openigtlink.header import (
    HEADER_SIZE,
    VERSIONS,
    Extension,
    Header,
    pack_header,
    seconds_of,
    unpack_header,
    unwrap,
    wrap,
)

MAX_BODY = 1 << 17  # bytes kept: twice the longest STRING, or 1,800 markers
MAX_SKIPPED = 1 << 28  # bytes of a type that we do not read, say an image: they are counted, never kept


@dataclass(frozen=True, slots=True)
class Message:
    """One message. Version 1 is the default because every peer reads it; version 2 carries number and metadata too."""

    content: Content
    device: str = ""
    stamp: int = 0
    version: int = 1
    message_id: int = 0
    metadata: tuple[tuple[str, str], ...] = ()

    @property
    def time(self) -> float | None:
        """Seconds since 1970 on the clock of the sender; None where it sent no time."""
        return seconds_of(self.stamp)


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that was not understood; if `fatal`, nothing behind it can be, and the connection must be closed."""

    error: OpenIGTLinkError
    device: str = ""

    @property
    def fatal(self) -> bool:
        """Whether the place of the next header is unknown."""
        return isinstance(self.error, HeaderError)


def encode(message: Message) -> bytes:
    """The bytes of a message."""
    body = message.content.pack()
    if message.version not in VERSIONS:
        raise OpenIGTLinkError(f"there is no header version {message.version}")
    if message.version > 1:
        body = wrap(body, Extension(message.message_id, message.metadata))
    elif message.metadata or message.message_id:
        raise OpenIGTLinkError("metadata and message numbers need header version 2")
    kind = message.content.type
    return pack_header(Header(message.version, kind, message.device, message.stamp, len(body), crc64(body))) + body


def decode_body(header: Header, body: bytes) -> Message:
    """The message of a header and its body, of a type that we read."""
    if len(body) != header.size:
        raise BodyError(f"the header announces {header.size} bytes, and {len(body)} follow")
    if crc64(body) != header.crc:
        raise BodyError(f"{header.type}: the checksum is wrong")
    content, extension = (body, Extension(0, ())) if header.version == 1 else unwrap(body)
    number, metadata = extension.message_id, extension.metadata
    return Message(READERS[header.type](content), header.device, header.stamp, header.version, number, metadata)


class Decoder:
    """Bytes in, messages out, in any chunks, never more than a header and `max_body` bytes in memory.

    There is no mark in OpenIGTLink by which to find the next message. So a broken header, or a body beyond the caps,
    is the end: what follows is dropped unread and the caller should close. A broken body costs that message alone.
    Bodies of types not in `types` are counted past without keeping or checking them.
    """

    def __init__(self, types: Collection[str] = tuple(READERS), max_body: int = MAX_BODY) -> None:
        """`types` are those to read."""
        self.types, self.max_body = frozenset(types) & READERS.keys(), max_body
        self.broken = False
        self._buffer = bytearray()
        self._header: Header | None = None
        self._skip = 0

    @property
    def pending(self) -> int:
        """Bytes of an unfinished message in memory."""
        return len(self._buffer)

    @property
    def idle(self) -> bool:
        """Whether the last message is complete."""
        return not self._buffer and self._header is None and not self._skip

    def feed(self, data: bytes | bytearray | memoryview) -> list[Message | Refused]:
        """Take the next bytes; return what they complete, in order."""
        found: list[Message | Refused] = []
        view, at = memoryview(data), 0
        while at < len(view) and not self.broken:
            if self._skip:
                step = min(self._skip, len(view) - at)
                self._skip -= step
            else:
                # Only what the message still lacks is copied, however much was fed: that bounds the memory.
                step = min(self._wanted() - len(self._buffer), len(view) - at)
                self._buffer += view[at : at + step]
                self._advance(found)
            at += step
        return found

    def _wanted(self) -> int:
        """The length of what is being read."""
        return HEADER_SIZE if self._header is None else self._header.size

    def _advance(self, found: list[Message | Refused]) -> None:
        """Finish the header, and the body, if all their bytes are here."""
        if len(self._buffer) < self._wanted():
            return
        if self._header is None:
            self._begin(found)
        if self._header is not None and len(self._buffer) == self._header.size:
            header, body = self._header, bytes(self._buffer)
            self._header = None
            self._buffer.clear()
            try:
                found.append(decode_body(header, body))
            except OpenIGTLinkError as error:
                found.append(Refused(error, header.device))

    def _begin(self, found: list[Message | Refused]) -> None:
        """Judge a header; afterwards there is one, or its body is skipped, or all is over."""
        data = bytes(self._buffer)
        self._buffer.clear()
        try:
            header = unpack_header(data)
            read = header.type in self.types
            if header.size > (self.max_body if read else MAX_SKIPPED):
                raise HeaderError(f"{header.type} announces {header.size} bytes, more than is accepted")
        except HeaderError as error:
            self.broken = True
            found.append(Refused(error))
            return
        if read:
            self._header = header
        else:
            self._skip = header.size
            found.append(Message(Other(header.type), header.device, header.stamp, header.version))
