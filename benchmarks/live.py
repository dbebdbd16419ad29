"""How fast the live engine is: `python -m benchmarks.live`. Numbers are for the machine and its load, which it prints.

latency   from before the socket's send to after its receive, over TCP, at 30 Hz, journal on
sessions  the same with many sessions at 30 Hz and three horizons each, fed by a process of its own
memory    resident memory of the server, while it runs as fast as it is fed
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import breathcast as bc

RATE = 30.0
FULL_UORO = "uoro(hidden=90,history=9)"


class Server:
    """`breathcast serve` in a process of its own."""

    def __init__(self, folder: Path, names: list[str], method: str) -> None:
        config = folder / "server.toml"
        limits = "limits = {deadline_ms = 60000, stale_ms = 60000, latch = false}"
        begin = "\n".join(f'[[session]]\nname = "{name}"\nmethod = "{method}"\n{limits}\n' for name in names)
        config.write_text("[server]\nmax_sessions = 1000\n" + begin)
        command = [sys.executable, "-m", "breathcast", "serve", "--config", str(config), "--data", str(folder / "data")]
        command += ["--port", "0", "--tcp-port", "0", "--udp-port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.port = 0
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if found := re.search(r"tcp://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
            if "Ctrl-C" in line:
                break

    def memory(self) -> float:
        """MB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return float("nan")

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        if self.process.stderr is not None:
            self.process.stderr.close()


def lines(count: int) -> list[list[list[float]]]:
    rows: Any = bc.simulate("regular", duration=count / RATE, rate=RATE, seed=0).positions.tolist()
    return rows


def feed(port: int, names: list[str], seconds: float, settle: float) -> list[float]:
    """Latencies (ms) of samples at 30 Hz, sessions spread over each period, after the first `settle` seconds."""
    rows = lines(int(seconds * RATE) + 1)
    selector = selectors.DefaultSelector()
    peers = []
    for name in names:
        peer = socket.create_connection(("127.0.0.1", port))
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(peer, selectors.EVENT_READ, len(peers))
        peers.append((peer, name, bytearray(), []))
    begun, latencies = time.perf_counter(), []
    schedule = [(n / RATE + k / RATE / len(names), k, n) for n in range(len(rows)) for k in range(len(names))]
    for due, k, n in schedule:
        while (left := begun + due - time.perf_counter()) > 0:
            _collect(selector, peers, left, begun + settle, latencies)
        peer, name, _, waiting = peers[k]
        told = {"type": "sample", "session": name, "time": 1 + n / RATE, "positions": rows[n]}
        line = json.dumps(told).encode() + b"\n"
        waiting.append(time.perf_counter())
        peer.sendall(line)
    end = time.perf_counter() + 5
    while any(waiting for *_, waiting in peers) and time.perf_counter() < end:
        _collect(selector, peers, 0.1, begun + settle, latencies)
    for peer, *_ in peers:
        peer.close()
    return latencies


def _collect(selector: Any, peers: Any, timeout: float, after: float, latencies: list[float]) -> None:
    for key, _ in selector.select(timeout):
        peer, _, buffer, waiting = peers[key.data]
        buffer += peer.recv(65536)
        now = time.perf_counter()
        while (end := buffer.find(b"\n")) >= 0:
            del buffer[: end + 1]
            sent = waiting.pop(0)
            if sent > after:
                latencies.append((now - sent) * 1000)


def measured(method: str, sessions: int, seconds: float, settle: float) -> None:
    names = [f"s{n}" for n in range(sessions)]
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), names, method)
        try:
            before = server.memory()
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                found = pool.apply(feed, (server.port, names, seconds, settle))
            after = server.memory()
        finally:
            server.end()
    p50, p99, p999 = np.percentile(found, [50, 99, 99.9])
    print(
        f"{method:<28} {sessions:>4} sessions  p50 {p50:7.2f} ms  p99 {p99:7.2f} ms  p99.9 {p999:7.2f} ms  "
        f"({len(found)} samples; memory {before:.0f} -> {after:.0f} MB)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument(
        "--settle", type=float, default=35.0, help="seconds not counted: methods fix their scale at 30 s"
    )
    parser.add_argument("--sessions", default="1,10,50,100")
    parser.add_argument("--method", default="lms")
    parser.add_argument("--full-uoro", action="store_true", help=f"one session of {FULL_UORO} too")
    chosen = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"load before: {os.getloadavg()[0]:.1f}; above 0.5, these numbers are of a busy machine")
    for count in chosen.sessions.split(","):
        measured(chosen.method, int(count), chosen.seconds, chosen.settle)
    if chosen.full_uoro:
        measured(FULL_UORO, 1, chosen.seconds, chosen.settle)


if __name__ == "__main__":
    main()
