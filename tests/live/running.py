"""A server for a test, in a thread of this process or in a process of its own; both end with the test."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from breathcast.live.client import Target, parse_target, request
from breathcast.live.config import Config, ServerSettings
from breathcast.live.server import Server

PATIENCE = 30.0  # s


class Running:
    """A server that answers."""

    def __init__(self, addresses: dict[str, str], token: str | None = None) -> None:
        self.addresses, self.token = addresses, token
        self.server: Server | None = None

    def target(self, session: str | None = None, scheme: str = "http") -> Target:
        return parse_target(self.addresses[scheme], session, self.token)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        return request(self.target(), method, path, body)

    def connect(self, scheme: str = "tcp") -> socket.socket:
        target = self.target(scheme=scheme)
        return socket.create_connection((target.host, target.port), PATIENCE)

    def datagrams(self) -> socket.socket:
        target = self.target(scheme="udp")
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.settimeout(PATIENCE)
        made.connect((target.host, target.port))
        return made


def config(data: Path | None = None, *sessions: Any, **changes: Any) -> Config:
    free: dict[str, Any] = {"port": 0, "tcp_port": 0, "udp_port": 0, "data": data}
    return Config(server=ServerSettings(**(free | changes)), session=sessions)


@contextmanager
def serving(chosen: Config, **how: Any) -> Iterator[Running]:
    """In a thread."""
    server = Server(chosen, **how)
    ready, loops, failures = threading.Event(), [], []
    stop = asyncio.Event()

    def run() -> None:
        async def main() -> None:
            loops.append(asyncio.get_running_loop())
            await server.serve(stop, ready.set)

        try:
            asyncio.run(main())
        except BaseException as error:
            failures.append(error)
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        assert not failures, failures
        found = {report.address.split(":")[0]: report.address for report in server.reports()}
        token = server.token_file.read_text().strip() if server.token_file else None
        running = Running(found, token)
        running.server = server
        yield running
    finally:
        if loops:
            loops[0].call_soon_threadsafe(stop.set)
        thread.join(PATIENCE)
    assert not thread.is_alive() and not failures, failures


class Process(Running):
    """A server in a process of its own, which can be killed."""

    def __init__(self, *arguments: object) -> None:
        command = [
            sys.executable,
            "-m",
            "breathcast",
            "serve",
            "--port",
            0,
            "--tcp-port",
            0,
            "--udp-port",
            0,
            *arguments,
        ]
        self.process = subprocess.Popen(
            [str(word) for word in command], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        found: dict[str, str] = {}
        self.said: list[str] = []
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if address := re.search(r"(https?|tcp|udp)://\S+", line):
                found[address[1]] = address[0]
            if "Ctrl-C" in line:
                break
        assert found, "".join(self.said)
        super().__init__(found)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._gone()

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._gone()

    def _gone(self) -> int:
        code = self.process.wait(PATIENCE)
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code


class Lines:
    """A peer that talks JSON lines."""

    def __init__(self, running: Running, token: str | None = None) -> None:
        self.socket = running.connect()
        self._lines = self.socket.makefile("rb")
        if token is not None:
            self.send({"type": "hello", "token": token})

    def send(self, message: Any) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.socket.sendall(line)

    def next(self) -> Any:
        line = self._lines.readline()
        return json.loads(line) if line else None

    def close(self) -> None:
        self._lines.close()
        self.socket.close()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def message(row: Any, time: float, session: str = "one") -> dict[str, Any]:
    return {"type": "sample", "session": session, "time": time, "positions": row.tolist()}


def eventually(met: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)
