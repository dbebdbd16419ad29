"""The client that plays recordings: what it sends, at which pace, and what it says when the server is not there."""

from __future__ import annotations

import asyncio
import math
import socket
import threading

import numpy as np
import pytest

from breathcast.errors import BreathcastError
from breathcast.live.openigtlink import PORT, Message, TrackingData, Transform, position_in
from breathcast.live.transports.openigtlink_client import parse_address, play, replay, sample_messages
from breathcast.recordings.recording import Recording
from tests.live.openigtlink_peers import PlainEngine, in_a_loop, serving

NAN = math.nan


def recording(count: int = 20, rate: float = 50.0) -> Recording:
    return Recording(np.arange(count * 6.0).reshape(count, 2, 3), rate, markers=("A", "B"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("igtl://127.0.0.1:18945", ("127.0.0.1", 18945)),
        ("igtl://tracker.local", ("tracker.local", PORT)),
        ("igtl://[::1]:7", ("::1", 7)),
    ],
)
def test_addresses(text, expected):
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    "text", ["http://a:1", "igtl://", "127.0.0.1:18944", "igtl://a:x", "igtl://[::1", "igtl://a:99999"]
)
def test_what_is_no_address_says_what_one_looks_like(text):
    with pytest.raises(BreathcastError, match="igtl://host:port"):
        parse_address(text)


def test_a_sample_is_a_tdata_without_the_markers_that_are_missing():
    (message,) = sample_messages(np.array([[1, 2, 3], [4, NAN, 6]]), ("A", "B"), 5.0)
    assert isinstance(message.content, TrackingData)
    assert [(e.name, position_in(e.matrix)) for e in message.content.elements] == [("A", (1, 2, 3))]
    assert message.time == 5.0


def test_a_sample_may_also_be_a_transform_for_each_marker():
    found = list(sample_messages(np.array([[1.0], [4.0]]), ("A", "B"), 5.0, "TRANSFORM"))
    assert all(isinstance(message.content, Transform) for message in found)
    assert [(m.device, position_in(m.content.matrix)) for m in found] == [("A", (1, 0, 0)), ("B", (4, 0, 0))]


@pytest.mark.parametrize("kind", ["TDATA", "TRANSFORM"])
@in_a_loop
async def test_a_recording_arrives_whole_at_its_pace_with_its_times(kind):
    engine, heard = PlainEngine(), []
    async with serving(engine) as server:
        assert await play(recording(), "127.0.0.1", server.port, kind=kind, heard=heard.append) == 20
    assert np.array_equal([sample.positions for sample in engine.samples], recording().positions)
    device = np.diff([sample.time_device for sample in engine.samples])
    assert device == pytest.approx(0.02, abs=1e-6)
    arrival = [sample.time_arrival for sample in engine.samples]
    assert 0.3 < arrival[-1] - arrival[0] < 3
    assert all(isinstance(message, Message) for message in heard)
    assert {message.content.type for message in heard} == {"STATUS", "TRANSFORM", "STRING"}


@in_a_loop
async def test_speed_makes_it_faster_and_leaves_the_time_stamps():
    engine = PlainEngine()
    async with serving(engine) as server:
        await play(recording(100, 20.0), "127.0.0.1", server.port, speed=50)
    arrival = [sample.time_arrival for sample in engine.samples]
    assert len(arrival) == 100
    assert arrival[-1] - arrival[0] < 2
    assert engine.samples[-1].time_device - engine.samples[0].time_device == pytest.approx(99 / 20, abs=1e-6)


@in_a_loop
async def test_what_was_sent_arrives_though_the_server_had_more_to_say():
    # A connection closed with unread input is reset; the end of a recording would then be lost now and then.
    for _ in range(5):
        engine = PlainEngine(horizons_ms=tuple(range(100, 1700, 100)))
        async with serving(engine) as server:
            await play(recording(40, 4000.0), "127.0.0.1", server.port)
            assert len(engine.samples) == 40


def test_replay_needs_no_event_loop():
    engine, ready, done = PlainEngine(), threading.Event(), threading.Event()
    port: list[int] = []

    async def serve() -> None:
        async with serving(engine) as server:
            port.append(server.port)
            ready.set()
            while not done.is_set():
                await asyncio.sleep(0.01)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(10)
        assert replay(recording(), f"igtl://127.0.0.1:{port[0]}", speed=5) == 20
    finally:
        done.set()
        thread.join(10)
    assert len(engine.samples) == 20


def test_no_server_is_an_error_with_a_cure():
    with socket.socket() as sock:  # bound and not listening: nobody else can be there
        sock.bind(("127.0.0.1", 0))
        with pytest.raises(BreathcastError, match="Start the server first"):
            replay(recording(), f"igtl://127.0.0.1:{sock.getsockname()[1]}")


@in_a_loop
async def test_a_server_that_closes_is_an_error_that_says_how_far_it_came():
    engine = PlainEngine()
    async with serving(engine) as server:
        playing = asyncio.create_task(play(recording(500), "127.0.0.1", server.port))
        await asyncio.sleep(0.3)
        await server.stop()
        with pytest.raises(BreathcastError, match=r"server (closed the connection after|is gone)"):
            await playing
