"""A simulated patient who feeds a session, so that the page is alive in one command."""

from __future__ import annotations

import asyncio

from breathcast.forecasters.table import DEFAULT
from breathcast.live import clock
from breathcast.live.engine import Engine
from breathcast.live.model import Sample
from breathcast.live.settings import Drift, Limits, SessionSettings

NAME = "demo"
_LENGTH_S = 600.0  # of breathing; then it runs backwards, which nobody sees, and on again
SETTINGS = SessionSettings(
    name=NAME,
    method=f"{DEFAULT}(training=10)",
    markers=("lower abdomen", "upper abdomen", "chest"),
    # A demonstration recovers by itself, and bears with a computer that is busy with other things.
    limits=Limits(latch=False, deadline_ms=1000.0, stale_ms=2000.0, gap_ms=1500.0),
    drift=Drift(on=False),
)


class Demo:
    """Samples at the session's rate, with markers that get lost now and then."""

    def __init__(self, engine: Engine) -> None:
        """Begin the session, or resume it."""
        from breathcast.live.server import begin_or_resume
        from breathcast.recordings.simulation import simulate

        self._engine = engine
        begin_or_resume(engine, SETTINGS)
        breathing = simulate("irregular", duration=_LENGTH_S, rate=SETTINGS.rate, seed=1, dropout=0.005)
        self._positions = breathing.positions

    async def run(self) -> None:
        """Breathe, until cancelled."""
        loop, period = asyncio.get_running_loop(), 1.0 / SETTINGS.rate
        turn = 2 * len(self._positions) - 2
        begun, origin, n = loop.time(), clock.now(), 0
        while NAME in self._engine.names():
            place = n % turn
            row = self._positions[min(place, turn - place)]
            self._engine.push(NAME, Sample(row.copy(), clock.now(), origin + n * period, "simulated patient"))
            n = max(n + 1, int((loop.time() - begun) / period))  # what a busy computer was too late for is lost
            await asyncio.sleep(begun + n * period - loop.time())
        await asyncio.Event().wait()
