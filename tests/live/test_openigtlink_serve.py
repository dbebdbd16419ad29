"""`breathcast serve` with OpenIGTLink, and `breathcast replay` into it, as programs of their own."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import breathcast as bc
from breathcast.errors import BreathcastError
from breathcast.live.config import Config, read_config
from breathcast.live.openigtlink import PORT
from tests.live.openigtlink_peers import PATIENCE, connected_to, in_a_loop, until

FREE = ("--no-journal", "--port", "0", "--tcp-port", "0", "--udp-port", "0", "--igtl-port", "0")
FILE = """
[[session]]
name = "left"
markers = ["A", "B"]
rate = 30
[session.limits]
stale_ms = 60000

[[session]]
name = "right"

[[openigtlink]]
session = "left"
port = 0

[[openigtlink]]
session = "right"
port = 0
devices = { Tracker = "marker 1" }
"""


class Serving:
    """A server in a process of its own, and what it says."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.lines = process, []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(self.process.stderr)  # a list grows line by line, while the other thread looks at it

    @property
    def said(self) -> str:
        return "".join(self.lines)

    def ports(self) -> list[int]:
        return [int(port) for port in re.findall(r"igtl://127\.0\.0\.1:(\d+)", self.said)]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)
        self._reading.join(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@contextmanager
def breathcast_serve(*arguments: object) -> Iterator[Serving]:
    command = [sys.executable, "-m", "breathcast", "serve", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    serving = Serving(process)
    try:
        yield serving
    finally:
        serving.end()


@in_a_loop
async def test_the_demo_is_heard():
    with breathcast_serve("--demo", *FREE) as server:
        await until(lambda: "Ctrl-C" in server.said or server.process.poll() is not None, 90)
        (port,) = server.ports()
        async with connected_to(port) as peer:
            while (message := await peer.receive("STRING")) and json.loads(message.content.text)["sample"] is None:
                pass
            assert json.loads(message.content.text)["session"] == "demo"


@in_a_loop
async def test_a_recording_is_replayed_into_a_session_of_a_file(tmp_path: Path):
    (tmp_path / "room.toml").write_text(FILE, encoding="utf-8")
    recording = bc.simulate("regular", duration=4.0, rate=30.0, markers=2, seed=1)
    recording = bc.Recording(recording.positions, 30.0, markers=("A", "B"))
    bc.write(recording, tmp_path / "motion.csv")
    with breathcast_serve("--config", tmp_path / "room.toml", "--no-journal", "--port", 0, *FREE[3:7]) as server:
        await until(lambda: "Ctrl-C" in server.said or server.process.poll() is not None, 90)
        left, right = server.ports()
        async with connected_to(left, limit=1 << 22) as peer, connected_to(right) as other:
            replay = [sys.executable, "-m", "breathcast", "replay", str(tmp_path / "motion.csv"), "--speed", "4"]
            done = subprocess.Popen(
                [*replay, "--to", f"igtl://127.0.0.1:{left}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            try:
                found = [json.loads((await peer.receive("STRING")).content.text) for _ in range(120)]
            finally:
                done.wait(PATIENCE)
            assert done.returncode == 0
            assert (await other.receive()).content.name == "WARMUP"
    assert [output["sample"] for output in found] == list(range(1, 121))
    assert {output["session"] for output in found} == {"left"}
    assert np.array(found[-1]["position"]) == pytest.approx(recording.positions[-1], abs=1e-3)


def test_a_file_without_ports_has_the_usual_one_and_may_have_none(tmp_path: Path):
    (link,) = Config().links
    assert (link.address, link.port, link.session) == ("127.0.0.1", PORT, None)
    (tmp_path / "room.toml").write_text("[server]\nigtl_port = 18950\n", encoding="utf-8")
    assert [link.port for link in read_config(tmp_path / "room.toml").links] == [18950]


def test_an_open_address_in_a_file_is_an_error_that_names_the_line(tmp_path: Path):
    (tmp_path / "room.toml").write_text('[[openigtlink]]\naddress = "0.0.0.0"\n', encoding="utf-8")
    with pytest.raises(BreathcastError, match="no authentication") as error:
        read_config(tmp_path / "room.toml")
    assert error.value.line == 1
    assert "allow" in str(error.value)


@in_a_loop
async def test_a_port_that_is_taken_is_said_with_the_option_that_changes_it():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with breathcast_serve(*FREE[:-1], port) as server:
            await until(lambda: server.process.poll() is not None, 90)
    assert server.process.returncode == 1
    assert f"port {port} cannot be used" in server.said
    assert "--igtl-port" in server.said
