"""The incremental decoder on damaged, hostile, cut input: no exception, no more memory, no other order."""

from __future__ import annotations

import random
import struct
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from breathcast.live.openigtlink import (
    Decoder,
    HeaderError,
    Message,
    Other,
    Query,
    Refused,
    Text,
    TrackingData,
    Transform,
    encode,
    matrix_at,
)
from breathcast.live.openigtlink.header import HEADER_SIZE, Header, pack_header
from breathcast.live.openigtlink.message import MAX_BODY, MAX_SKIPPED
from tests.live.test_openigtlink_codec import messages

# Time says nothing about the decoder where other programs take turns.
BUSY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}


def said(events: list[Message | Refused]) -> list[str]:
    """Events as text: NaN equals NaN there, and errors have no equality."""
    return [repr(event) for event in events]


def in_chunks(data: bytes, cuts: list[int]) -> tuple[list[str], Decoder]:
    """Decode the data cut at the given places."""
    decoder, events, at = Decoder(), [], 0
    for cut in [*sorted(cuts), len(data)]:
        events += decoder.feed(data[at:cut])
        at = max(at, cut)
    return said(events), decoder


# Streams that are valid, damaged, or noise; and noise that begins as a header does, so that the body is reached.
streams = st.lists(messages, max_size=5).map(lambda many: b"".join(map(encode, many)))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(streams))
    for _ in range(draw(st.integers(0, 4))):
        if data:
            data[draw(st.integers(0, len(data) - 1))] ^= 1 << draw(st.integers(0, 7))
    if data and draw(st.booleans()):
        del data[draw(st.integers(0, len(data) - 1)) :]
    if data and draw(st.booleans()):
        at = draw(st.integers(0, len(data)))
        data[at:at] = draw(st.binary(max_size=100))
    return bytes(data)


@st.composite
def sound_headers_over_noise(draw: st.DrawFn) -> bytes:
    """Random bodies whose checksum is right, so that the readers of contents and metadata see them."""
    from breathcast.live.openigtlink import crc64
    from breathcast.live.openigtlink.contents import READERS

    body = draw(st.binary(max_size=160))
    kind = draw(st.sampled_from(sorted(READERS)))
    return pack_header(Header(draw(st.sampled_from([1, 2])), kind, "x", 1, len(body), crc64(body))) + body


anything = st.one_of(streams, damaged(), st.binary(max_size=400), sound_headers_over_noise())


@settings(max_examples=150, **BUSY)
@given(anything, st.lists(st.integers(0, 2000), max_size=8))
def test_any_chunking_gives_the_same_messages_and_no_exception(data, cuts):
    whole, one = in_chunks(data, [])
    parts, other = in_chunks(data, [min(cut, len(data)) for cut in cuts])
    bytewise, _ = in_chunks(data, list(range(len(data))))
    assert whole == parts == bytewise
    assert (one.broken, one.pending, one.idle) == (other.broken, other.pending, other.idle)
    assert one.pending <= HEADER_SIZE + MAX_BODY


@settings(max_examples=80, **BUSY)
@given(streams, st.data())
def test_a_flipped_bit_in_a_body_never_passes(data, draw):
    events = Decoder().feed(data)
    if not events:
        return
    # Flip in the body of the first message, if it has one: nothing else may change.
    size = struct.unpack_from(">Q", data, 42)[0]
    if size == 0:
        return
    at = HEADER_SIZE + draw.draw(st.integers(0, size - 1))
    flipped = bytearray(data)
    flipped[at] ^= 1 << draw.draw(st.integers(0, 7))
    after = Decoder().feed(bytes(flipped))
    assert isinstance(after[0], Refused)
    assert "checksum" in str(after[0].error)
    assert said(after[1:]) == said(events[1:])


def test_a_truncated_message_is_waited_for():
    data = encode(Message(Text("hello"), "x"))
    for length in range(len(data)):
        decoder = Decoder()
        assert decoder.feed(data[:length]) == []
        assert decoder.idle == (length == 0)
        assert decoder.feed(data[length:]) == [Message(Text("hello"), "x")]
        assert decoder.idle


def test_messages_before_a_broken_header_are_delivered_and_none_after_it():
    good = encode(Message(Query("GET_CAPABIL"), "x"))
    decoder = Decoder()
    events = decoder.feed(good + good + b"\xff" * HEADER_SIZE + good)
    assert [type(event) for event in events] == [Message, Message, Refused]
    assert events[2].fatal
    assert decoder.broken
    assert decoder.feed(good) == []


@pytest.mark.parametrize(("kind", "size"), [("TDATA", MAX_BODY + 1), ("IMAGE", MAX_SKIPPED + 1), ("TDATA", 2**64 - 1)])
def test_an_oversized_body_is_fatal_before_a_byte_of_it_is_kept(kind, size):
    (refused,) = Decoder().feed(pack_header(Header(1, kind, "x", 0, size, 0)))
    assert isinstance(refused.error, HeaderError)
    assert str(size) in str(refused.error)


def test_an_image_is_counted_past_without_being_kept():
    decoder, size = Decoder(), 20_000_000
    events = decoder.feed(pack_header(Header(1, "IMAGE", "US", 5, size, 0)))
    assert events == [Message(Other("IMAGE"), "US", 5)]
    chunk = bytes(1_000_000)
    tracemalloc.start()
    for _ in range(size // len(chunk)):
        assert decoder.feed(chunk) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000
    assert decoder.idle
    assert decoder.feed(encode(Message(Query("GET_CAPABIL")))) == [Message(Query("GET_CAPABIL"))]


def test_memory_stays_bounded_under_noise_that_starts_well():
    header = pack_header(Header(1, "TDATA", "x", 0, MAX_BODY, 0))
    decoder = Decoder()
    decoder.feed(header)
    rng = random.Random(1)
    most = 0
    for _ in range(60):
        decoder.feed(rng.randbytes(16_384))
        most = max(most, decoder.pending)
    assert most <= MAX_BODY
    assert decoder.broken  # the noise behind the body was no header


def test_types_that_are_not_wanted_are_not_read():
    wrong = bytearray(encode(Message(Transform(matrix_at((1, 2, 3))), "x")))
    wrong[-1] ^= 1  # nobody checks the body of what is passed over
    decoder = Decoder(types=("TDATA",))
    tdata = encode(Message(TrackingData(()), "x"))
    assert decoder.feed(bytes(wrong) + tdata) == [Message(Other("TRANSFORM"), "x"), Message(TrackingData(()), "x")]
