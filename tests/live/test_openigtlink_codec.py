"""The codec against bytes written down by hand from the specification, and against itself and pyigtl."""

from __future__ import annotations

import math
import struct

import pyigtl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from breathcast.live.openigtlink import (
    BodyError,
    Capability,
    Decoder,
    Element,
    HeaderError,
    Message,
    OpenIGTLinkError,
    Position,
    Query,
    Refused,
    Reply,
    StartTracking,
    Status,
    Text,
    TrackingData,
    Transform,
    crc64,
    encode,
    matrix_at,
    position_in,
    seconds_of,
    stamp_of,
)

# ---------------------------------------------------------------------------------------------------------- by hand

ONE, TWO, THREE, ZERO = "3f800000", "40000000", "40400000", "00000000"  # 32-bit floats
EYE = ONE + ZERO * 3 + ONE + ZERO * 3 + ONE  # the columns of the identity


def slow_crc(data: bytes) -> int:
    """Long division, bit by bit, as ECMA-182 defines it."""
    rest = 0
    for bit in [byte >> i & 1 for byte in data for i in range(7, -1, -1)] + [0] * 64:
        out = rest >> 63
        rest = (rest << 1 | bit) & (1 << 64) - 1
        rest ^= 0x42F0E1EBA9EA3693 if out else 0
    return rest


def by_hand(kind: str, body: str, *, device: str = "Marker1", stamp: str = "0" * 16, version: str = "0001") -> bytes:
    """A message written as hexadecimal fields."""
    data = bytes.fromhex(body)
    head = bytes.fromhex(version) + kind.encode().ljust(12, b"\0") + device.encode().ljust(20, b"\0")
    return head + bytes.fromhex(stamp) + struct.pack(">QQ", len(data), slow_crc(data)) + data


GOLDEN = [
    (Transform(matrix_at((1, 2, 3))), by_hand("TRANSFORM", EYE + ONE + TWO + THREE)),
    (Position((1, 2, 3)), by_hand("POSITION", ONE + TWO + THREE + ZERO * 3 + ONE)),
    (
        TrackingData((Element("A", matrix_at((1, 2, 3))), Element("B2", matrix_at((3, 2, 1)), kind=2))),
        by_hand(
            "TDATA",
            "41" + "00" * 19 + "0300" + EYE + ONE + TWO + THREE + "4232" + "00" * 18 + "0200" + EYE + THREE + TWO + ONE,
        ),
    ),
    (StartTracking(50, "Patient"), by_hand("STT_TDATA", "00000032" + b"Patient".hex() + "00" * 25)),
    (Query("STP_TDATA"), by_hand("STP_TDATA", "")),
    (Reply("RTS_TDATA", 1), by_hand("RTS_TDATA", "01")),
    (
        Status(13, -1, "WARMUP", "ab"),
        by_hand("STATUS", "000d" + "ff" * 8 + b"WARMUP".hex() + "00" * 14 + "616200"),
    ),
    (Text("{}"), by_hand("STRING", "0003" + "0002" + "7b7d")),
    (Text("é"), by_hand("STRING", "006a" + "0002" + "c3a9")),
    (Query("GET_CAPABIL"), by_hand("GET_CAPABIL", "")),
    (Capability(("TDATA", "STATUS")), by_hand("CAPABILITY", b"TDATA".hex() + "00" * 7 + b"STATUS".hex() + "00" * 6)),
]


def decoded(data: bytes) -> Message:
    """The one message in the bytes."""
    (message,) = Decoder().feed(data)
    assert isinstance(message, Message), message
    return message


def error_of(data: bytes) -> OpenIGTLinkError:
    """Why the bytes were refused."""
    (refused,) = Decoder().feed(data)
    assert isinstance(refused, Refused), refused
    return refused.error


@pytest.mark.parametrize(("content", "data"), GOLDEN, ids=lambda value: getattr(value, "type", ""))
def test_the_bytes_are_those_of_the_specification(content, data):
    assert encode(Message(content, "Marker1")) == data
    assert decoded(data) == Message(content, "Marker1")


def test_crc_is_that_of_ecma_182():
    assert crc64(b"123456789") == 0x6C40DF5F0B497347  # the check value of CRC-64/ECMA-182 in the catalogues
    assert crc64(b"") == 0


@settings(deadline=None)
@given(st.binary(max_size=200), st.binary(max_size=50))
def test_crc_agrees_with_long_division_and_goes_on_where_it_stopped(a, b):
    assert crc64(a) == slow_crc(a) == pyigtl.messages.CRC64(a)
    assert crc64(b, crc64(a)) == crc64(a + b)


def test_version_2_has_an_extended_header_and_metadata():
    extended = "000c" + "0012" + "0000000b" + "00000007"  # 12 bytes; index of 2 + 2 * 8; 11 bytes of pairs; message 7
    index = "0002" + "0001" + "0003" + "00000002" + "0005" + "006a" + "00000003"
    pairs = b"h50state".hex() + "e282ac"
    data = by_hand("STRING", extended + "00030001" + b"x".hex() + index + pairs, version="0002")
    message = Message(Text("x"), "Marker1", 0, 2, 7, (("h", "50"), ("state", "€")))
    assert encode(message) == data
    assert decoded(data) == message


def test_a_time_stamp_counts_seconds_and_fractions_of_2_to_the_32():
    assert stamp_of(1.5) == 0x0000_0001_8000_0000
    assert seconds_of(0x0000_0001_4000_0000) == 1.25
    assert stamp_of(None) == stamp_of(0.0) == 0
    assert seconds_of(0) is None
    data = by_hand("TRANSFORM", EYE + ONE * 3, stamp="655f3a10" + "c0000000")
    assert decoded(data).time == 0x655F3A10 + 0.75


@settings(deadline=None)
@given(st.floats(min_value=1, max_value=2**32, exclude_max=True))
def test_times_survive_to_a_microsecond(seconds):
    assert seconds_of(stamp_of(seconds)) == pytest.approx(seconds, rel=0, abs=1e-6)


@pytest.mark.parametrize("seconds", [-1.0, 2.0**32, math.inf, math.nan])
def test_impossible_times_are_refused(seconds):
    with pytest.raises(OpenIGTLinkError, match="time stamp"):
        stamp_of(seconds)


# ------------------------------------------------------------------------------------------------------- there and back

numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)
matrices = st.tuples(*[numbers] * 12)
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20).filter(
    lambda text: len(text.encode()) <= 20
)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300)
elements = st.builds(Element, names, matrices, st.integers(0, 255))
contents = st.one_of(
    st.builds(Transform, matrices),
    st.builds(Position, st.tuples(*[numbers] * 3), st.tuples(*[numbers] * 4)),
    st.builds(TrackingData, st.lists(elements, max_size=5).map(tuple)),
    st.builds(StartTracking, st.integers(0, 2**31 - 1), names),
    st.builds(Query, st.sampled_from(["STP_TDATA", "STT_POSITION", "STP_POSITION", "GET_CAPABIL", "GET_STATUS"])),
    st.builds(Reply, st.sampled_from(["RTS_TDATA", "RTS_POSITION"]), st.integers(0, 255)),
    st.builds(Status, st.integers(0, 65535), st.integers(-(2**63), 2**63 - 1), names, texts),
    st.builds(Text, texts),
    st.builds(Capability, st.lists(st.sampled_from(["TDATA", "STATUS", "GET_CAPABIL"]), max_size=5).map(tuple)),
)
stamps = st.integers(0, 2**64 - 1)
pairs = st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=20), texts), max_size=4).map(tuple)
messages = st.one_of(
    st.builds(Message, contents, names, stamps),
    st.builds(Message, contents, names, stamps, st.just(2), st.integers(0, 2**32 - 1), pairs),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages)
def test_what_is_encoded_is_decoded(message):
    assert decoded(encode(message)) == message


def test_numbers_that_are_not_finite_pass_through():
    matrix = matrix_at((math.nan, math.inf, -math.inf))
    x, y, z = position_in(decoded(encode(Message(Transform(matrix)))).content.matrix)
    assert math.isnan(x)
    assert (y, z) == (math.inf, -math.inf)


# ------------------------------------------------------------------------------------------------- what cannot be sent


@pytest.mark.parametrize(
    "message",
    [
        Message(Transform(matrix_at((1e300, 0, 0)))),
        Message(Transform((1.0, 2.0))),
        Message(Query("GET_CAPABIL"), "a name of 21 letters."),
        Message(Query("GET_CAPABIL"), "zero\0inside"),
        Message(TrackingData((Element("a name of 21 letters.", matrix_at((0, 0, 0))),))),
        Message(Capability(("THIRTEEN_LONG",))),
        Message(Text("x" * 65536)),
        Message(StartTracking(2**31)),
        Message(Query("GET_CAPABIL"), version=3),
        Message(Query("GET_CAPABIL"), metadata=(("a", "b"),)),
        Message(Query("GET_CAPABIL"), version=2, metadata=(("k" * 70000, "b"),)),
        Message(Query("GET_CAPABIL"), version=2, metadata=(("k", "v"),) * 9000),
    ],
)
def test_what_the_protocol_cannot_carry_is_an_error(message):
    with pytest.raises(OpenIGTLinkError):
        encode(message)


# --------------------------------------------------------------------------------------------- what cannot be received


@pytest.mark.parametrize("version", ["0000", "0003", "ffff"])
def test_an_unknown_header_version_is_fatal(version):
    assert isinstance(error_of(by_hand("STATUS", "", version=version)), HeaderError)


@pytest.mark.parametrize("kind", [b"", b"A B", b"\x07ELL", b"T\0RANS", b"\xc3\xa9"])
def test_a_type_that_is_not_printable_is_fatal(kind):
    data = bytearray(by_hand("STATUS", ""))
    data[2:14] = kind.ljust(12, b"\0")
    assert isinstance(error_of(bytes(data)), HeaderError)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("TRANSFORM", EYE),
        ("POSITION", ONE * 4),
        ("POSITION", ONE * 34),  # what pyigtl calls POSITION has the layout of POINT
        ("TDATA", "00" * 71),
        ("STT_TDATA", "00000032"),
        ("STT_TDATA", "80000000" + "00" * 32),
        ("STP_TDATA", "00"),
        ("RTS_TDATA", ""),
        ("STATUS", "00" * 29),
        ("STRING", "0003"),
        ("STRING", "0003" + "0005" + "41"),
        ("STRING", "0003" + "0001" + "4141"),
        ("CAPABILITY", "41"),
        ("GET_CAPABIL", "41"),
    ],
)
def test_content_of_another_length_costs_that_message_alone(kind, body):
    good = by_hand("TRANSFORM", EYE + ONE * 3)
    first, second = Decoder().feed(by_hand(kind, body) + good)
    assert isinstance(first, Refused)
    assert isinstance(first.error, BodyError)
    assert not first.fatal
    assert first.device == "Marker1"
    assert second == decoded(good)


@pytest.mark.parametrize(
    "body",
    [
        "000c",  # no room for the extended header
        "000b" + "0000" + "00000000" + "00000000" + ONE * 12,  # extended header shorter than its fields
        "00ff" + "0000" + "00000000" + "00000000" + ONE * 12,  # longer than the body
        "000c" + "0000" + "ffffffff" + "00000000" + ONE * 12,  # metadata longer than the body
        "000c" + "0001" + "00000000" + "00000000" + ONE * 12 + "00",  # an index without a count
        "000c" + "0002" + "00000000" + "00000000" + ONE * 12 + "0001",  # an index of nothing for one pair
        "000c" + "000a" + "00000001" + "00000000" + ONE * 12 + "0001" + "0001000300000001" + "41",  # a pair cut short
    ],
)
def test_a_version_2_body_that_contradicts_itself_costs_that_message_alone(body):
    assert isinstance(error_of(by_hand("TRANSFORM", body, version="0002")), BodyError)


def test_a_longer_extended_header_of_the_future_is_passed_over():
    body = "0010" + "0000" + "00000000" + "00000009" + "deadbeef" + EYE + ONE + TWO + THREE
    message = decoded(by_hand("TRANSFORM", body, version="0002"))
    assert (position_in(message.content.matrix), message.message_id) == ((1, 2, 3), 9)


def test_short_forms_of_position_are_read():
    assert decoded(by_hand("POSITION", ONE + TWO + THREE)).content == Position((1, 2, 3))
    assert decoded(by_hand("POSITION", ONE + TWO + THREE + ONE * 3)).content == Position((1, 2, 3), (1, 1, 1))


def test_a_device_name_that_is_not_text_can_be_shown():
    data = bytearray(by_hand("TRANSFORM", EYE + ONE * 3))
    data[14:34] = b"M\xff\0rest ignored".ljust(20, b"\0")
    assert decoded(bytes(data)).device == "M\\xff"
