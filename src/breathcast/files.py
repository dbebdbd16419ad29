"""Writing a file so that it is never half there."""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from breathcast.errors import BreathcastError


def replace_file(path: Path, data: bytes) -> None:
    """Put the file in place in one step: whoever looks sees the old one or the whole new one."""
    temporary = path.with_name(f".breathcast-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        cure = "check that the folder exists, that you may write there and that there is room"
        raise BreathcastError(f"cannot be written: {reason}", file=path, cure=cure) from error


def left_over(folder: Path) -> list[Path]:
    """Files below a folder that a killed process had begun to write."""
    return sorted(folder.rglob(".breathcast-*.tmp"))


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C in here takes effect at the end: what is being written is finished first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[tuple[int, Any]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: noted.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if noted and callable(before):
        before(*noted[0])
