"""A lock that a process holds on a file, and that goes with the process however it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from breathcast.errors import BreathcastError


class Lock:
    """At most one process holds it."""

    def __init__(self, file: Path) -> None:
        """Nothing is locked yet."""
        self._file = file
        self._handle: int | None = None

    def take(self) -> None:
        """Lock, or say who might hold it."""
        try:
            self._handle = os.open(self._file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            cure = "see that the disk has room and that the folder can be written to"
            raise BreathcastError(f"cannot be made: {error.strerror}", file=self._file, cure=cure) from error
        try:
            _lock(self._handle)
        except OSError as error:
            self.release()
            cure = "close the session there first; another breathcast has it open"
            raise BreathcastError("the session is in use", file=self._file.parent, cure=cure) from error

    def release(self) -> None:
        """Let go."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
