"""Debian's OpenIGTLink examples (C++, library 1.11) as peers: their clients, our server; our client, their servers.

    apt-get install libopenigtlink-dev openigtlink-examples g++

The examples come as sources; a program that is not on the PATH is compiled once for the session.
"""

from __future__ import annotations

import asyncio
import math
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from breathcast.live.clock import now
from breathcast.live.openigtlink import (
    Capability,
    Message,
    Position,
    Query,
    StartTracking,
    Status,
    Text,
    Transform,
    encode,
    matrix_at,
    stamp_of,
)
from breathcast.recordings.recording import Recording
from tests.live.openigtlink_peers import (
    PATIENCE,
    PlainEngine,
    connected,
    connected_to,
    in_a_loop,
    play,
    port_of,
    serving,
    tdata,
    until,
)

EXAMPLES = Path("/usr/share/doc/openigtlink-examples/examples")
HEADERS = Path("/usr/include/openigtlink")
INSTALL = "apt-get install libopenigtlink-dev openigtlink-examples g++"

Programs = Callable[[str], Path]


class Running:
    """A program that was started, and what it has said so far."""

    def __init__(self, log: Path, process: subprocess.Popen[bytes]) -> None:
        self._log, self.process = log, process

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def count(self, text: str) -> int:
        return self.said().count(text)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """Where a program of the examples is; compiled if need be."""
    folder = tmp_path_factory.mktemp("openigtlink")

    def find(name: str) -> Path:
        installed = shutil.which(name)
        if installed:
            return Path(installed)
        if not (folder / name).exists():
            compile_example(name, folder)
        return folder / name

    return find


def compile_example(name: str, folder: Path) -> None:
    sources = sorted(EXAMPLES.rglob(f"{name}.cxx"))
    compiler = shutil.which("g++") or shutil.which("c++")
    if not sources or not HEADERS.is_dir() or compiler is None:
        pytest.skip(f"the C++ peer {name} is not installed; for this test: {INSTALL}")
    command = [compiler, "-w", "-O0", "-o", str(folder / name), str(sources[0]), f"-I{HEADERS}", "-lOpenIGTLink"]
    done = subprocess.run([*command, "-lpthread"], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip(f"the C++ peer {name} cannot be compiled here: {done.stderr.strip()[:300]}")


@pytest.fixture
def start(program: Programs, tmp_path: Path) -> Callable[..., contextmanager]:
    """Start a program of the examples, and end it."""

    @contextmanager
    def run(name: str, *arguments: object) -> Iterator[Running]:
        path, log = program(name), tmp_path / f"{name}.log"
        with log.open("wb") as file:
            process = subprocess.Popen([path, *map(str, arguments)], stdout=file, stderr=subprocess.STDOUT)
        try:
            yield Running(log, process)
        finally:
            process.kill()
            process.wait(PATIENCE)

    return run


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


# -------------------------------------------------------------------------------------------- their clients, our server


@in_a_loop
async def test_tracker_client_feeds_a_marker(start):
    engine = PlainEngine(markers=("tumour",))
    async with serving(engine, devices={"Tracker": "tumour"}) as server:
        with start("TrackerClient", "127.0.0.1", port_of(server), 100):
            await until(lambda: len(engine.samples) >= 50)
        assert server.report().counters.get("broken_bodies", 0) == 0
    for n, sample in enumerate(engine.samples):
        phi = 0.2 * n  # the circle that TrackerClient goes around
        expected = [50 * math.cos(phi), 50 * math.sin(phi), 50 * math.cos(phi)]
        assert sample.positions[0] == pytest.approx(expected, abs=1e-3)
        assert sample.time_device == pytest.approx(now(), abs=60)
        assert sample.time_arrival - sample.time_device == pytest.approx(0, abs=1)


@in_a_loop
async def test_tracking_data_client_starts_and_stops_tdata(start):
    engine = PlainEngine()
    async with serving(engine, send=("STATUS",)) as server, connected(server) as tracker:
        with start("TrackingDataClient", "127.0.0.1", port_of(server), 100) as client:
            await until(lambda: server.report().counters.get("messages"))  # its STT_TDATA
            n = 0
            while client.count("Sending STP_TDATA") == 0:
                n += 1
                assert n < 500
                await tracker.send(tdata(n))
                await asyncio.sleep(0.02)
            seen = client.count("Receiving TDATA data type.")
            assert 1 <= seen <= 10  # it says stop after ten messages, of which STATUS is one in two
            await until(lambda: server.report().counters["messages"] == n + 2)  # its STP_TDATA
            more = client.count("Receiving : STATUS")
            seen = client.count("Receiving TDATA data type.")
            for _ in range(20):
                n += 1
                await tracker.send(tdata(n))
            await until(lambda: client.count("Receiving : STATUS") >= more + 15)
            said = client.said()
    assert said.count("Receiving TDATA data type.") == seen
    assert "Receiving : RTS_TDATA" in said
    assert re.findall(r" Name +: (\S+)", said)[:4] == ["A@100", "B@100", "A@500", "B@500"]
    assert set(re.findall(r" Type +: (\d)", said)) == {"3"}


@in_a_loop
async def test_receive_client_understands_all_that_we_send(start):
    engine = PlainEngine(markers=("A",), horizons_ms=(500,))
    everything = ("STATUS", "TRANSFORM", "POSITION", "STRING")
    async with serving(engine, send=everything) as server, connected(server) as tracker:
        with start("ReceiveClient", "127.0.0.1", port_of(server)) as client:
            await until(lambda: server.report().connections == 2)
            await tracker.send(encode(Message(Transform(matrix_at((1.5, -2.5, 3.5))), "A", stamp_of(1700000000.25))))
            await until(lambda: client.count('"type":"output"'))
            await until(lambda: client.count("position   =") == 2)
            said = client.said()
    assert "Time stamp: 1700000000.25000000" in said
    assert "Error Name: OK" in said
    assert "not for beam control" in said
    assert "position   = (6.5, 2.5, 8.5)" in said  # the forecast
    assert "position   = (1.5, -2.5, 3.5)" in said  # the measurement
    assert "quaternion = (0, 0, 0, 1)" in said
    assert re.search(r"1, 0, 0, 6\.5\s+0, 1, 0, 2\.5\s+0, 0, 1, 8\.5", said)  # the matrix of TRANSFORM


@in_a_loop
async def test_capability_client_is_heard_and_passed_over(start):
    engine = PlainEngine()
    async with serving(engine) as server:
        with start("CapabilityClient", "127.0.0.1", port_of(server)):
            await until(lambda: server.report().counters.get("ignored") == 1)
            await until(lambda: server.report().connections == 0)


# -------------------------------------------------------------------------------------------- their servers, our client


@in_a_loop
async def test_status_server_is_understood(start):
    port = free_port()
    with start("StatusServer", port):
        async with connected_to(port) as peer:
            message = await peer.receive()
    assert message.device == "Device"
    assert message.content == Status(1, 128, "OK!", "This is a test to send status message.")


@in_a_loop
async def test_tracking_data_server_sends_when_told_to(start):
    port = free_port()
    with start("TrackingDataServer", port) as server:
        async with connected_to(port) as peer:
            await peer.send(encode(Message(StartTracking(20, "Patient"), "breathcast")))
            found = [await peer.receive("TDATA") for _ in range(5)]
            await peer.send(encode(Message(Query("STP_TDATA"), "breathcast")))
            await until(lambda: server.count("Received a STP_TDATA message."))
        assert "Interval = 20 (ms)" in server.said()
    names = [[element.name for element in message.content.elements] for message in found]
    assert all(each == names[0] and len(each) == len(set(each)) for each in names)
    assert all(np.isfinite(element.matrix).all() for message in found for element in message.content.elements)
    assert found[0].content != found[1].content  # something moves


@in_a_loop
async def test_receive_server_understands_our_messages(start):
    port = free_port()
    contents = (
        Position((1.5, 2.5, 3.5)),
        Status(13, 77, "WARMUP", "a sentence"),
        Text("some text"),
        Capability(("TDATA", "STATUS")),
    )
    with start("ReceiveServer", port) as server:
        async with connected_to(port) as peer:
            await peer.send(*(encode(Message(content, "x", stamp_of(1700000000.5))) for content in contents))
            await until(lambda: server.count("STATUS") and server.count("TDATA") and server.count("some text"))
    said = server.said()
    assert "position   = (1.5, 2.5, 3.5)" in said
    assert re.search(r"Code +: 13\n SubCode +: 77\n Error Name: WARMUP\n Status +: a sentence\n", said)
    assert said.count("Time stamp: 1700000000.5") >= 4


@in_a_loop
async def test_a_recording_is_played_into_receive_server(start):
    port = free_port()
    recording = Recording(np.arange(60.0).reshape(20, 1, 3), 100.0, markers=("A",))
    with start("ReceiveServer", port) as server:
        async with connected_to(port):  # it listens
            pass
        await asyncio.to_thread(play, recording, port, "TRANSFORM")
        await until(lambda: server.count("Receiving TRANSFORM data type.") == 20)
        assert "1, 0, 0, 57" in server.said()
