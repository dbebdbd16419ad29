"""What messages carry: a class a kind of content, each knowing its bytes.

Matrices are the twelve numbers of the wire: three columns of the rotation, then the position in millimetres. A marker
has no orientation, so what we send has the identity there, and what we receive is read for its position alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

from breathcast.live.openigtlink.errors import BodyError, OpenIGTLinkError
from breathcast.live.openigtlink.header import NAME_SIZE, TYPE_SIZE, encoding_of, fixed, text_in, text_of

Point = tuple[float, float, float]
Matrix = tuple[float, ...]  # twelve numbers

_IDENTITY: Matrix = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
_MATRIX = struct.Struct(">12f")
_ELEMENT = struct.Struct(">20sBB12f")
_START = struct.Struct(">i32s")
_STATUS = struct.Struct(">Hq20s")
_STRING = struct.Struct(">HH")
_COORDINATES_SIZE = 32


class Content(Protocol):
    """Anything that a message can carry."""

    @property
    def type(self) -> str:
        """The type in the header."""
        ...

    def pack(self) -> bytes:
        """The bytes of the content."""
        ...


def _exact(content: bytes, sizes: Iterable[int], kind: str) -> None:
    """Refuse content of another length."""
    if len(content) not in sizes:
        raise BodyError(f"{kind} has {' or '.join(map(str, sizes))} bytes, not {len(content)}")


def _packed(layout: struct.Struct, *values: object) -> bytes:
    """`struct` with our error: a number may be too large for 32 bits, and a matrix too short."""
    try:
        return layout.pack(*values)
    except (struct.error, OverflowError) as error:
        raise OpenIGTLinkError(f"OpenIGTLink cannot carry {values}: {error}") from None


def matrix_at(position: Iterable[float]) -> Matrix:
    """The matrix of a marker: no rotation, and its position."""
    return (*_IDENTITY, *(float(value) for value in position))


def position_in(matrix: Matrix) -> Point:
    """Where a matrix puts the origin."""
    return (matrix[9], matrix[10], matrix[11])


@dataclass(frozen=True, slots=True)
class Transform:
    """TRANSFORM: the pose of one device."""

    type: ClassVar[str] = "TRANSFORM"
    matrix: Matrix

    def pack(self) -> bytes:
        """Twelve floats."""
        return _packed(_MATRIX, *self.matrix)

    @classmethod
    def unpack(cls, content: bytes) -> Self:
        """Read it."""
        _exact(content, (_MATRIX.size,), cls.type)
        return cls(_MATRIX.unpack(content))


@dataclass(frozen=True, slots=True)
class Position:
    """POSITION: a point and a quaternion (x, y, z, w)."""

    type: ClassVar[str] = "POSITION"
    position: Point
    quaternion: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0)

    def pack(self) -> bytes:
        """Seven floats: the long form, which every version of the library reads."""
        return _packed(struct.Struct(">7f"), *self.position, *self.quaternion)

    @classmethod
    def unpack(cls, content: bytes) -> Self:
        """Read it; the library also knows the point alone, and quaternions without w."""
        _exact(content, (12, 24, 28), cls.type)
        numbers = struct.unpack(f">{len(content) // 4}f", content)
        return cls(numbers[:3], numbers[3:] or (0.0, 0.0, 0.0, 1.0))


TRACKER, POSE, POINT, AXIS = 1, 2, 3, 4  # what a device of TDATA measures


@dataclass(frozen=True, slots=True)
class Element:
    """One device in a TDATA."""

    name: str
    matrix: Matrix
    kind: int = POINT


@dataclass(frozen=True, slots=True)
class TrackingData:
    """TDATA: all devices that were seen at one time."""

    type: ClassVar[str] = "TDATA"
    elements: tuple[Element, ...]

    def pack(self) -> bytes:
        """Seventy bytes a device."""
        return b"".join(
            _packed(_ELEMENT, fixed(e.name, NAME_SIZE, "the marker name"), e.kind, 0, *e.matrix) for e in self.elements
        )

    @classmethod
    def unpack(cls, content: bytes) -> Self:
        """Read it."""
        if len(content) % _ELEMENT.size:
            raise BodyError(f"TDATA has a multiple of {_ELEMENT.size} bytes, not {len(content)}")
        return cls(tuple(Element(text_of(row[0]), row[3:], row[1]) for row in _ELEMENT.iter_unpack(content)))


@dataclass(frozen=True, slots=True)
class StartTracking:
    """STT_TDATA: send TDATA, at least `resolution` milliseconds apart."""

    type: ClassVar[str] = "STT_TDATA"
    resolution: int = 0
    coordinates: str = ""

    def pack(self) -> bytes:
        """Thirty-six bytes."""
        return _packed(_START, self.resolution, fixed(self.coordinates, _COORDINATES_SIZE, "the coordinate system"))

    @classmethod
    def unpack(cls, content: bytes) -> Self:
        """Read it."""
        _exact(content, (_START.size,), cls.type)
        resolution, coordinates = _START.unpack(content)
        if resolution < 0:
            raise BodyError(f"a resolution of {resolution} ms lies in the past")
        return cls(resolution, text_of(coordinates))


EMPTY = ("STP_TDATA", "STT_POSITION", "STP_POSITION", "GET_CAPABIL", "GET_STATUS")


@dataclass(frozen=True, slots=True)
class Query:
    """A question or command whose type says all: STP_TDATA, STT_POSITION, STP_POSITION, GET_CAPABIL, GET_STATUS."""

    type: str

    def pack(self) -> bytes:
        """Nothing."""
        return b""


@dataclass(frozen=True, slots=True)
class Reply:
    """RTS_TDATA, RTS_POSITION: whether a start or stop was accepted; 0 says yes."""

    type: str
    status: int = 0

    def pack(self) -> bytes:
        """One byte."""
        return _packed(struct.Struct(">B"), self.status)


@dataclass(frozen=True, slots=True)
class Status:
    """STATUS: a code of the protocol, a code of ours, a short name and a sentence."""

    type: ClassVar[str] = "STATUS"
    code: int
    subcode: int = 0
    name: str = ""
    text: str = ""

    def pack(self) -> bytes:
        """The sentence ends with a zero byte, as the C++ library reads it as a C string."""
        name = fixed(self.name, NAME_SIZE, "the name of a status")
        return _packed(_STATUS, self.code, self.subcode, name) + self.text.encode("utf-8", "replace") + b"\0"

    @classmethod
    def unpack(cls, content: bytes) -> Self:
        """Read it."""
        if len(content) < _STATUS.size:
            raise BodyError(f"STATUS has at least {_STATUS.size} bytes, not {len(content)}")
        code, subcode, name = _STATUS.unpack_from(content)
        return cls(code, subcode, text_of(name), text_of(content[_STATUS.size :]))


@dataclass(frozen=True, slots=True)
class Text:
    """STRING: up to 65535 bytes of text."""

    type: ClassVar[str] = "STRING"
    text: str

    def pack(self) -> bytes:
        """Encoding, length, bytes."""
        data, encoding = encoding_of(self.text)
        return _packed(_STRING, encoding, len(data)) + data

    @classmethod
    def unpack(cls, content: bytes) -> Self:
        """Read it."""
        if len(content) < _STRING.size:
            raise BodyError(f"STRING has at least {_STRING.size} bytes, not {len(content)}")
        encoding, length = _STRING.unpack_from(content)
        _exact(content, (_STRING.size + length,), "this STRING")
        return cls(text_in(content[_STRING.size :], encoding))


@dataclass(frozen=True, slots=True)
class Capability:
    """CAPABILITY: the types that the sender understands."""

    type: ClassVar[str] = "CAPABILITY"
    types: tuple[str, ...]

    def pack(self) -> bytes:
        """Twelve bytes a type."""
        return b"".join(fixed(name, TYPE_SIZE, "the message type") for name in self.types)

    @classmethod
    def unpack(cls, content: bytes) -> Self:
        """Read it."""
        if len(content) % TYPE_SIZE:
            raise BodyError(f"CAPABILITY has a multiple of {TYPE_SIZE} bytes, not {len(content)}")
        return cls(tuple(text_of(content[i : i + TYPE_SIZE]) for i in range(0, len(content), TYPE_SIZE)))


@dataclass(frozen=True, slots=True)
class Other:
    """A message of a type that we do not read; its body was skipped."""

    type: str

    def pack(self) -> bytes:
        """Nothing is known of it."""
        return b""


def _query(kind: str) -> Callable[[bytes], Content]:
    def unpack(content: bytes) -> Content:
        _exact(content, (0,), kind)
        return Query(kind)

    return unpack


def _reply(kind: str) -> Callable[[bytes], Content]:
    def unpack(content: bytes) -> Content:
        _exact(content, (1,), kind)
        return Reply(kind, content[0])

    return unpack


READERS: dict[str, Callable[[bytes], Content]] = {
    **{kind: _query(kind) for kind in EMPTY},
    **{kind: _reply(kind) for kind in ("RTS_TDATA", "RTS_POSITION")},
    Transform.type: Transform.unpack,
    Position.type: Position.unpack,
    TrackingData.type: TrackingData.unpack,
    StartTracking.type: StartTracking.unpack,
    Status.type: Status.unpack,
    Text.type: Text.unpack,
    Capability.type: Capability.unpack,
}
