"""The small machines between a client and the server: outbox, pace and allowance."""

from __future__ import annotations

import asyncio
import random

import pytest

from breathcast.live.openigtlink.flow import Allowance, Outbox, Pace


def passed(pace: Pace, times: list[float]) -> list[float]:
    return [time for time in times if pace.lets_pass(time)]


def test_without_a_resolution_all_pass():
    times = [100 + n / 30 for n in range(100)]
    assert passed(Pace(0.0), times) == times


@pytest.mark.parametrize(("resolution", "rate"), [(0.033, 30), (0.050, 15), (0.1, 10), (1.0, 1)])
def test_no_more_pass_than_were_asked_for_in_spite_of_jitter(resolution, rate):
    jitter = random.Random(3)
    times = [100 + n / 30 + jitter.uniform(-0.003, 0.003) for n in range(900)]
    found = passed(Pace(resolution), times)
    assert found[0] == times[0]
    assert len(found) == pytest.approx(30 * rate, rel=0.05)
    assert len(found) <= 30 / resolution + 1


def test_a_pause_is_not_made_up_for():
    pace = Pace(1.0)
    assert passed(pace, [10.0, 50.0, 50.1, 50.2, 51.0]) == [10.0, 50.0, 51.0]


def test_an_outbox_drops_its_oldest_and_counts():
    async def scenario() -> list[bytes | None]:
        box = Outbox(3)
        for n in range(5):
            box.put(bytes([n]))
        assert box.dropped == 2
        box.close()
        box.put(b"too late")
        return [await box.get() for _ in range(4)]

    assert asyncio.run(scenario()) == [b"\2", b"\3", b"\4", None]


def test_an_outbox_wakes_who_waits():
    async def scenario() -> bytes | None:
        box = Outbox(3)
        waiting = asyncio.create_task(box.get())
        await asyncio.sleep(0)
        box.put(b"x")
        return await asyncio.wait_for(waiting, 5)

    assert asyncio.run(scenario()) == b"x"


def test_an_allowance_is_a_second_at_once_and_then_its_rate():
    allowance = Allowance(1000)
    assert allowance.pause(1000, 5.0) == 0
    assert allowance.pause(500, 5.0) == 0.5
    assert allowance.pause(0, 5.5) == 0
    assert allowance.pause(1000, 60.0) == 0  # what was not used is forgotten beyond a second
    assert allowance.pause(1000, 60.0) == 1.0
