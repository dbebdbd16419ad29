"""A bounded queue of outputs for one reader: a slow one loses the oldest, and delays nobody."""

from __future__ import annotations

import asyncio
from collections import deque

from breathcast.live.model import Output

ROOM = 256  # outputs that wait for a reader


class Subscription:
    """Outputs of one session, or of all; read with `async for`, or with `take` where there is no event loop."""

    def __init__(self, session: str | None, room: int = ROOM) -> None:
        """`session` None: all sessions."""
        self.session = session
        self.dropped = 0  # outputs that this reader was too slow for
        self.closed = False
        self._waiting: deque[Output] = deque(maxlen=room)
        self._wake = asyncio.Event()

    def put(self, output: Output) -> None:
        """Add one; called by the engine, in the thread of the event loop."""
        if len(self._waiting) == self._waiting.maxlen:
            self.dropped += 1
        self._waiting.append(output)
        self._wake.set()

    def close(self) -> None:
        """No more will come; what waits can still be read."""
        self.closed = True
        self._wake.set()

    def take(self) -> Output | None:
        """The oldest that waits, or None."""
        return self._waiting.popleft() if self._waiting else None

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Output:
        while not self._waiting:
            if self.closed:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        return self._waiting.popleft()
