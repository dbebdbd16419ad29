"""pyigtl, an independent implementation in Python: its client against our server, our client against its server.

It knows TRANSFORM and STRING of what we speak; its POSITION has the layout of the protocol's POINT.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyigtl
import pytest

from breathcast.live.openigtlink import Decoder, Message, Text, Transform, encode, matrix_at, position_in, stamp_of
from breathcast.recordings.recording import Recording
from tests.live.openigtlink_peers import PATIENCE, PlainEngine, in_a_loop, play, port_of, serving, until


def matrix(x: float, y: float, z: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, 3] = x, y, z
    return pose


@contextmanager
def their_client(port: int) -> Iterator[pyigtl.OpenIGTLinkClient]:
    client = pyigtl.OpenIGTLinkClient("127.0.0.1", port)
    try:
        yield client
    finally:
        client.stop()


@contextmanager
def their_server() -> Iterator[pyigtl.OpenIGTLinkServer]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    server = pyigtl.OpenIGTLinkServer(port=0, local_server=True)
    try:
        yield server
    finally:
        server.stop()
        for number, handler in before.items():  # it puts its own in their place
            signal.signal(number, handler)


async def wait_for(peer, device: str):
    message = await asyncio.to_thread(peer.wait_for_message, device, PATIENCE)
    assert message is not None, f"nothing came from {device}"
    return message


def test_the_same_transform_is_the_same_bytes():
    theirs = pyigtl.TransformMessage(matrix(1, 2, 3), timestamp=1700000000.5, device_name="A").pack()
    assert theirs == encode(Message(Transform(matrix_at((1, 2, 3))), "A", stamp_of(1700000000.5)))


def test_their_version_2_with_metadata_is_understood():
    theirs = pyigtl.StringMessage("hello", timestamp=2.5, device_name="A")
    theirs.header_version, theirs.metadata, theirs.message_id = 2, {"key": "value"}, 9
    expected = Message(Text("hello"), "A", stamp_of(2.5), 2, 9, (("key", "value"),))
    assert Decoder().feed(theirs.pack()) == [expected]


@in_a_loop
async def test_their_client_feeds_our_server_and_gets_forecasts():
    engine = PlainEngine(markers=("A",))
    async with serving(engine) as server:
        with their_client(port_of(server)) as client:
            sent = pyigtl.TransformMessage(matrix(1, 2, 3), timestamp=1700000000.25, device_name="A")
            await asyncio.to_thread(client.send_message, sent, False)
            forecast = await wait_for(client, "A@500")
            details = await wait_for(client, "breathcast.detail")
    assert forecast.message_type == "TRANSFORM"
    assert forecast.timestamp == pytest.approx(1700000000.25, abs=1e-6)
    assert np.array_equal(forecast.matrix, matrix(6, 7, 8))
    assert json.loads(details.string)["forecasts"][0]["position"] == [[2, 3, 4]]
    assert engine.samples[0].positions.tolist() == [[1, 2, 3]]


@in_a_loop
async def test_their_client_of_version_2_gets_metadata():
    engine = PlainEngine(markers=("A",))
    async with serving(engine) as server:
        with their_client(port_of(server)) as client:
            sent = pyigtl.TransformMessage(matrix(1, 2, 3), device_name="A")
            sent.header_version, sent.metadata = 2, {"from": "a test"}
            await asyncio.to_thread(client.send_message, sent, False)
            forecast = await wait_for(client, "A@100")
    assert forecast.header_version == 2
    assert forecast.metadata == {
        "session": "default",
        "state": "OK",
        "sequence": "1",
        "horizon_ms": "100",
        "used_ms": "100",
    }


@in_a_loop
async def test_a_burst_of_their_client_arrives_in_order():
    engine = PlainEngine(markers=("A",))
    async with serving(engine) as server:
        with their_client(port_of(server)) as client:
            await until(lambda: server.report().connections)
            for n in range(100):  # as many as its queue holds
                client.send_message(pyigtl.TransformMessage(matrix(n, 0, 0), device_name="A"), wait=False)
            await until(lambda: len(engine.samples) == 100)
    assert [sample.positions[0, 0] for sample in engine.samples] == list(range(100))


@in_a_loop
async def test_their_position_is_refused_without_harm():
    engine = PlainEngine(markers=("A",))
    theirs = pyigtl.PositionMessage([[1, 2, 3]], quaternions=[[0, 0, 0, 1]], device_name="A")
    async with serving(engine) as server:
        with their_client(port_of(server)) as client:
            await asyncio.to_thread(client.send_message, theirs, False)
            await until(lambda: server.report().counters.get("broken_bodies") == 1)
            await asyncio.to_thread(
                client.send_message, pyigtl.TransformMessage(matrix(1, 2, 3), device_name="A"), False
            )
            await until(lambda: engine.samples)


def test_our_client_plays_a_recording_into_their_server():
    recording = Recording(np.arange(60.0).reshape(10, 2, 3), 50.0, markers=("A", "B"))
    with their_server() as server:
        play(recording, server.server_address[1], kind="TRANSFORM")
        first, second = (server.wait_for_message(name, PATIENCE) for name in recording.markers)
    assert np.array_equal(first.matrix, matrix(54, 55, 56))  # the newest of each device is kept
    assert np.array_equal(second.matrix, matrix(57, 58, 59))


def test_our_client_hears_their_server():
    heard: list[Message] = []
    recording = Recording(np.zeros((50, 1, 3)), 50.0, markers=("A",))
    with their_server() as server:
        server.send_message(pyigtl.TransformMessage(matrix(7, 8, 9), device_name="X"), wait=False)
        play(recording, server.server_address[1], heard=heard.append)
    assert [(message.device, position_in(message.content.matrix)) for message in heard] == [("X", (7, 8, 9))]
