"""The server's own time, which no change of the computer's clock can disturb."""

from __future__ import annotations

import time

_START = time.time() - time.monotonic()


def now() -> float:
    """Seconds since 1970 as the computer believed when this program began, counted on by its monotonic clock."""
    return _START + time.monotonic()
