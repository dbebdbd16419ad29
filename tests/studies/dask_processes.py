"""A Dask scheduler and workers as processes of their own, on the loopback interface and free ports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
WAIT = 120.0  # s, for what takes two when the machine has nothing else to do


def until(there: Callable[[], object], what: str) -> None:
    """Wait for it, but not for ever."""
    end = time.monotonic() + WAIT
    while not there():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)


class Processes:
    """Those that a test starts; all of them end with it."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        # Workers must see to their threads themselves: nothing that was set for the tests helps them.
        self._environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
        self._environment |= {"XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT)}

    def _start(self, module: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"process-{len(self._started)}.log").open("wb") as log:
            command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
            process = subprocess.Popen(
                command, env=self._environment | environment, stdout=log, stderr=subprocess.STDOUT, cwd=self.folder
            )
        self._started.append(process)
        return process

    def scheduler(self, **environment: str) -> tuple[str, subprocess.Popen[bytes]]:
        """Start one; its address."""
        told = self.folder / f"scheduler-{len(self._started)}.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show", "--scheduler-file", str(told))
        process = self._start("dask_scheduler", *options, **environment)

        def address() -> str | None:
            assert process.poll() is None, "the scheduler ended: see its log"
            try:
                return json.loads(told.read_text(encoding="utf-8"))["address"]
            except (OSError, ValueError):  # not there, or not whole
                return None

        until(address, "the scheduler starts")
        return str(address()), process

    def worker(self, address: str, *options: str) -> subprocess.Popen[bytes]:
        """Start one that is a single process, and so dies whole."""
        alone = ("--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard")
        return self._start("dask_worker", address, *alone, "--local-directory", str(self.folder / "scratch"), *options)

    def end(self) -> None:
        """Kill what still runs."""
        for process in self._started:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
        for process in self._started:
            process.wait(WAIT)
