"""The 58 bytes in front of each message, and the fields that all messages share."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from breathcast.live.openigtlink.errors import BodyError, HeaderError, OpenIGTLinkError

PORT = 18944
HEADER_SIZE = 58
VERSIONS = (1, 2)
TYPE_SIZE = 12
NAME_SIZE = 20

_HEADER = struct.Struct(">H12s20sQQQ")
_FRACTIONS = 1 << 32  # a time stamp counts seconds since 1970 in units of 2^-32 s
_STAMP_LIMIT = 1 << 64


@dataclass(frozen=True, slots=True)
class Header:
    """A header as it is on the wire; `size` counts everything behind it, `stamp` is 0 where the device has no clock."""

    version: int
    type: str
    device: str
    stamp: int
    size: int
    crc: int


def stamp_of(seconds: float | None) -> int:
    """Seconds since 1970 as a 32.32 fixed-point time stamp; None as 0, "no time"."""
    if seconds is None:
        return 0
    # Also catches NaN and infinities, for which every comparison or the conversion would fail later and less clearly.
    if not 0 <= seconds < _FRACTIONS:
        raise OpenIGTLinkError(f"a time stamp holds 0 to 2^32 s since 1970, not {seconds}")
    whole = int(seconds)  # split first: the product of a float with 2^32 would be exact, but its sum would not
    return min((whole << 32) + round((seconds - whole) * _FRACTIONS), _STAMP_LIMIT - 1)


def seconds_of(stamp: int) -> float | None:
    """Seconds since 1970 of a time stamp, to a quarter of a microsecond; None where the device sent no time."""
    return None if stamp == 0 else stamp / _FRACTIONS


def fixed(text: str, size: int, what: str) -> bytes:
    """`text` padded with zeros to `size` bytes; too long is an error, since cut names may become equal."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) > size or "\0" in text:
        raise OpenIGTLinkError(f"{what} {text!r} does not fit into {size} bytes", cure="Choose a shorter name.")
    return data.ljust(size, b"\0")


def text_of(data: bytes) -> str:
    """The text before the first zero byte; bytes that are not UTF-8 become \\xff, so that any name can be shown."""
    return data.partition(b"\0")[0].decode("utf-8", "backslashreplace")


def pack_header(header: Header) -> bytes:
    """The bytes of a header."""
    return _HEADER.pack(
        header.version,
        fixed(header.type, TYPE_SIZE, "the message type"),
        fixed(header.device, NAME_SIZE, "the device name"),
        header.stamp,
        header.size,
        header.crc,
    )


def unpack_header(data: bytes) -> Header:
    """Read a header; all that can be checked is, since a wrong length cannot be noticed later."""
    if len(data) != HEADER_SIZE:
        raise HeaderError(f"a header has {HEADER_SIZE} bytes, not {len(data)}")
    version, kind, device, stamp, size, crc = _HEADER.unpack(data)
    if version not in VERSIONS:
        raise HeaderError(f"header version {version}: this is not OpenIGTLink, or one of the future")
    name = kind.rstrip(b"\0")
    if not name or not all(0x21 <= byte <= 0x7E for byte in name):
        raise HeaderError(f"message type {kind!r} is not printable ASCII padded with zeros")
    return Header(version, name.decode("ascii"), text_of(device), stamp, size, crc)


@dataclass(frozen=True, slots=True)
class Extension:
    """What a version 2 header adds inside the body: a message number and pairs of texts."""

    message_id: int
    metadata: tuple[tuple[str, str], ...]


_EXTENDED = struct.Struct(">HHII")  # size of this, size of the index, size of the pairs, message number
_COUNT = struct.Struct(">H")
_PAIR = struct.Struct(">HHI")  # length of the key, encoding of the value, length of the value
UTF8 = 106  # both are MIBenum numbers of IANA
ASCII = 3
_LATIN1 = 4


def text_in(data: bytes, encoding: int) -> str:
    """Text in one of IANA's encodings; an unknown one is read as UTF-8, and what cannot be read is replaced."""
    return data.decode("latin-1" if encoding == _LATIN1 else "utf-8", "replace")


def encoding_of(text: str) -> tuple[bytes, int]:
    """The bytes of a text and the number of its encoding: ASCII where possible, which every peer reads."""
    return (text.encode("ascii"), ASCII) if text.isascii() else (text.encode("utf-8", "replace"), UTF8)


def wrap(content: bytes, extension: Extension) -> bytes:
    """The body of a version 2 message: extended header, content, metadata."""
    index, pairs = [_COUNT.pack(len(extension.metadata))], []
    for key, value in extension.metadata:
        name, (data, encoding) = key.encode("utf-8", "replace"), encoding_of(value)
        if len(name) > 0xFFFF:
            raise OpenIGTLinkError("a metadata key is longer than 65535 bytes")
        index.append(_PAIR.pack(len(name), encoding, len(data)))
        pairs += [name, data]
    if len(index) > 0xFFFF // _PAIR.size:
        raise OpenIGTLinkError(f"{len(extension.metadata)} pairs of metadata are more than a message holds")
    head, tail = b"".join(index), b"".join(pairs)
    return _EXTENDED.pack(_EXTENDED.size, len(head), len(tail), extension.message_id) + content + head + tail


def unwrap(body: bytes) -> tuple[bytes, Extension]:
    """The content of a version 2 body, and what stands around it."""
    if len(body) < _EXTENDED.size:
        raise BodyError(f"a version 2 body has at least {_EXTENDED.size} bytes, not {len(body)}")
    size, head, tail, number = _EXTENDED.unpack_from(body)
    end = len(body) - head - tail
    if not _EXTENDED.size <= size <= end:
        raise BodyError(f"extended header ({size}) and metadata ({head} + {tail}) exceed the body ({len(body)} bytes)")
    return body[size:end], Extension(number, _metadata(body[end : end + head], body[end + head :]))


def _metadata(index: bytes, pairs: bytes) -> tuple[tuple[str, str], ...]:
    """Pairs of texts; the index says how long each is."""
    if not index:
        return ()
    count = _COUNT.unpack_from(index)[0] if len(index) >= _COUNT.size else 0
    if len(index) < _COUNT.size + count * _PAIR.size:
        raise BodyError(f"the index of the metadata has {len(index)} bytes, too few for {count} pairs")
    found, at = [], 0
    for i in range(count):
        key, encoding, value = _PAIR.unpack_from(index, _COUNT.size + i * _PAIR.size)
        if at + key + value > len(pairs):
            raise BodyError("the metadata end before their last pair")
        found.append((text_in(pairs[at : at + key], ASCII), text_in(pairs[at + key : at + key + value], encoding)))
        at += key + value
    return tuple(found)
