"""What flows between a client and us: an outbox that forgets its oldest, a pace for TDATA, an allowance to read."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass


class Outbox:
    """What waits for one client. Adding never waits; beyond `room` the oldest is dropped and counted."""

    def __init__(self, room: int) -> None:
        """`room` in entries, each one output or one reply."""
        self.dropped = 0
        self._closed = False
        self._waiting: deque[bytes] = deque(maxlen=room)
        self._wake = asyncio.Event()

    def put(self, data: bytes) -> None:
        """Add bytes that are to be sent together or not at all."""
        if self._closed:
            return
        if len(self._waiting) == self._waiting.maxlen:
            self.dropped += 1
        self._waiting.append(data)
        self._wake.set()

    def close(self) -> None:
        """Take no more; what waits can still be had."""
        self._closed = True
        self._wake.set()

    async def get(self) -> bytes | None:
        """The oldest, as soon as there is one; None when it is closed and empty."""
        while not self._waiting:
            if self._closed:
                return None
            self._wake.clear()
            await self._wake.wait()
        return self._waiting.popleft()


class Pace:
    """Which samples leave when a client asked for at least `resolution` seconds between two."""

    def __init__(self, resolution: float) -> None:
        """Every sample, if 0."""
        self._resolution, self._slack, self._due = resolution, 0.2 * resolution, 0.0

    def lets_pass(self, now: float) -> bool:
        """Whether a sample at this time leaves.

        One that is a little early does, and the next is still due when it was: a strict comparison would make 15 Hz
        out of the 30 Hz of a tracker with jitter, and on average no more leaves than was asked for.
        """
        if now < self._due - self._slack:
            return False
        self._due = (self._due if now <= self._due + self._slack else now) + self._resolution
        return True


@dataclass
class Allowance:
    """Bytes that may be read from a client: a second's worth at once, then `rate` a second. What waits is not lost."""

    rate: float
    left: float = 0.0
    at: float | None = None

    def pause(self, cost: float, now: float) -> float:
        """Take the cost; return how many seconds to wait before reading on."""
        since = 1.0 if self.at is None else now - self.at
        self.left = min(self.rate, self.left + since * self.rate) - cost
        self.at = now
        return max(0.0, -self.left / self.rate)
