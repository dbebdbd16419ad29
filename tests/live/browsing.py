"""A real server and a real browser for tests of the page; what is missing on a machine is said by skipping."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PATIENCE_S = 90.0  # for a server that must compile first, on a machine that is busy
TOKEN = "a-token-for-tests-only"


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[str]:
    """`breathcast serve --demo` with a token; gives its address."""
    token = folder / "token"
    token.write_text(TOKEN + "\n", encoding="utf-8")
    log = folder / f"server-{time.monotonic_ns()}.log"
    command = [sys.executable, "-m", "breathcast", "serve", "--demo", "--port", str(port), "--no-lines", "--no-igtl"]
    with log.open("wb") as out:
        process = subprocess.Popen([*command, "--token-file", str(token)], stdout=out, stderr=out, cwd=folder)
        try:
            yield _address(process, log)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE_S:
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text(encoding="utf-8", errors="replace"))
        if found:
            return found[0]
        assert process.poll() is None, log.read_text(encoding="utf-8", errors="replace")
        time.sleep(0.1)
    raise AssertionError("the server did not start: " + log.read_text(encoding="utf-8", errors="replace"))


@contextmanager
def browsing() -> Iterator[Any]:
    """Chromium, as the system has it, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = os.environ.get("BREATHCAST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no chromium; on Debian: apt-get install chromium")
    with playwright.sync_playwright() as started:
        # Containers give a browser neither the rights for its sandbox nor much shared memory.
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


def screenshot(page: Any, folder: Path, name: str) -> Path:
    """A picture of the page as it is in view; where `BREATHCAST_SCREENSHOTS` names a folder, there."""
    place = Path(os.environ.get("BREATHCAST_SCREENSHOTS", folder))
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"{name}.png"
    page.screenshot(path=str(file))
    return file
