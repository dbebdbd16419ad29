"""Makes the picture in dashboard.md: `python docs/dashboard_picture.py`; needs playwright and chromium."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

PORT = 8479
ADDRESS = f"http://127.0.0.1:{PORT}"
BREATHCAST = [sys.executable, "-m", "breathcast"]
SIZE = {"width": 1180, "height": 860}


def main() -> None:
    """Forty seconds of a session that is fed with regular breathing."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [*BREATHCAST, "simulate", "-o", folder, "--pattern", "regular", "--duration", "120", "--rate", "30"],
            check=True,
        )
        recording = next(Path(folder).glob("*.csv"))
        server = [*BREATHCAST, "serve", "--no-journal", "--no-lines", "--port", str(PORT)]
        replay = [*BREATHCAST, "replay", str(recording), "--to", f"{ADDRESS}/phantom", "--method", "linear"]
        running = [subprocess.Popen(server, cwd=folder)]
        try:
            time.sleep(20)
            running.append(subprocess.Popen(replay, cwd=folder))
            photograph(Path(__file__).with_name("dashboard.png"))
        finally:
            for process in reversed(running):
                process.terminate()
                process.wait()


def photograph(target: Path) -> None:
    """Wait until a window has been suggested and the running errors are full, and take the picture."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="dark")
        page.goto(ADDRESS)
        page.wait_for_selector("[data-line=live]", timeout=120_000)
        page.wait_for_timeout(45_000)
        page.wait_for_selector("[data-line=live]", timeout=120_000)
        page.screenshot(path=str(target))
        browser.close()


if __name__ == "__main__":
    main()
