"""Our own codec of OpenIGTLink: pure functions on bytes, no sockets and no clocks. See docs/openigtlink.md."""

from breathcast.live.openigtlink.contents import (
    POINT,
    Capability,
    Content,
    Element,
    Other,
    Position,
    Query,
    Reply,
    StartTracking,
    Status,
    Text,
    TrackingData,
    Transform,
    matrix_at,
    position_in,
)
from breathcast.live.openigtlink.crc import crc64
from breathcast.live.openigtlink.errors import BodyError, HeaderError, OpenIGTLinkError
from breathcast.live.openigtlink.header import PORT, seconds_of, stamp_of
from breathcast.live.openigtlink.message import Decoder, Message, Refused, encode

__all__ = [
    "POINT",
    "PORT",
    "BodyError",
    "Capability",
    "Content",
    "Decoder",
    "Element",
    "HeaderError",
    "Message",
    "OpenIGTLinkError",
    "Other",
    "Position",
    "Query",
    "Refused",
    "Reply",
    "StartTracking",
    "Status",
    "Text",
    "TrackingData",
    "Transform",
    "crc64",
    "encode",
    "matrix_at",
    "position_in",
    "seconds_of",
    "stamp_of",
]
