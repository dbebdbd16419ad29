"""A whole session over OpenIGTLink: what comes back is what the engine would have said to the same positions."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np

import breathcast as bc
from breathcast.live.engine import Engine
from breathcast.live.model import State
from breathcast.live.openigtlink import (
    Element,
    Message,
    StartTracking,
    TrackingData,
    encode,
    matrix_at,
    position_in,
    stamp_of,
)
from tests.live.feeding import RATE, engine_with, positions, settings
from tests.live.openigtlink_peers import Peer, connected, in_a_loop, serving, until

COUNT = 60
ROWS = positions(COUNT).astype(np.float32).astype(np.float64)  # as 32 bits carry them
NAMES = ("left", "right")


def tdata(row: Any, n: int) -> bytes:
    elements = tuple(Element(name, matrix_at(point)) for name, point in zip(NAMES, row, strict=True))
    return encode(Message(TrackingData(elements), "camera", stamp_of(1_700_000_000 + n / RATE)))


def one_session() -> Engine:
    # Generous, since a test computer may be busy: what is late has tests of its own.
    limits = {"deadline_ms": 60_000, "stale_ms": 60_000}
    return engine_with(None, "default", markers=NAMES, limits=limits)


async def outputs(peer: Peer, count: int) -> list[dict[str, Any]]:
    return [json.loads((await peer.receive("STRING")).content.text) for _ in range(count)]


@in_a_loop
async def test_the_forecasts_are_those_of_a_stream():
    engine = one_session()
    try:
        async with serving(engine, queue=COUNT + 1) as server, connected(server, limit=1 << 22) as peer:
            await peer.send(*(tdata(row, n) for n, row in enumerate(ROWS)))
            found = await outputs(peer, COUNT)
    finally:
        engine.close()
    assert [output["sequence"] for output in found] == list(range(1, COUNT + 1))
    assert {output["verdict"] for output in found} == {"taken"}
    assert found[0]["state"] == State.WARMUP
    assert found[-1]["state"] in (State.OK, State.DEGRADED)
    assert found[-1]["clock"]["used"] == "device"
    stream = bc.LMS(history=1, training=3).start(rate=RATE, markers=2, horizons=[0.2, 0.5])
    said = 0
    for output, row in zip(found, ROWS, strict=True):
        forecasts = stream.update(row)
        assert output["position"] == row.tolist()
        for got, wanted in zip(output["forecasts"], forecasts, strict=True):
            said += got["position"] is not None
            assert got["position"] in (None, wanted.position.tolist())
    assert said >= 20


@in_a_loop
async def test_a_jump_holds_the_forecasts_back_everywhere():
    engine = one_session()
    try:
        async with serving(engine) as server, connected(server) as tracker, connected(server) as machine:
            await machine.send(encode(Message(StartTracking(), "machine")))
            await machine.receive("RTS_TDATA")
            for n, row in enumerate(ROWS):
                await tracker.send(tdata(row, n))
                if n < COUNT - 1:
                    await machine.receive("STRING")
            good = await machine.receive("TDATA")
            assert len(good.content.elements) == 4
            await machine.receive("STRING")
            await tracker.send(tdata(ROWS[-1] + 100.0, COUNT))
            status, held = await machine.receive("STATUS"), await machine.receive("TDATA")
            assert (status.content.code, status.content.name) == (15, "HOLD")
            assert held.content.elements == ()
            devices = [await machine.receive("TRANSFORM") for _ in NAMES]
            assert [message.device for message in devices] == ["left@0", "right@0"]
            assert [position_in(message.content.matrix) for message in devices] == [tuple(row) for row in ROWS[-1]]
            assert (await machine.receive()).content.type == "STRING"  # and no forecast beside
    finally:
        engine.close()


@in_a_loop
async def test_all_clients_hear_that_an_operator_re_armed():
    engine = one_session()
    try:
        async with serving(engine) as server, connected(server) as tracker, connected(server) as machine:
            for n, row in enumerate(ROWS):
                await tracker.send(tdata(row, n))
                await machine.receive("STRING")
            await tracker.send(tdata(ROWS[-1] + 100.0, COUNT))
            assert (await machine.receive("STATUS")).content.name == "HOLD"
            await machine.receive("STRING")
            engine.rearm("default", "a test")
            rearmed = (await machine.receive("STATUS")).content
            assert (rearmed.code, rearmed.name) == (13, "WARMUP")
            assert "re-armed" in rearmed.text
    finally:
        engine.close()


@in_a_loop
async def test_two_trackers_do_not_mix():
    engine = one_session()
    try:
        async with serving(engine) as server, connected(server) as first, connected(server) as second:
            await first.send(tdata(ROWS[0], 0))
            assert (await outputs(second, 1))[0]["verdict"] == "taken"
            await second.send(tdata(ROWS[0] + 50, 1))
            assert (await outputs(second, 1))[0]["verdict"] == "foreign"
    finally:
        engine.close()


@in_a_loop
async def test_ending_and_beginning_a_session_is_followed():
    engine = one_session()
    try:
        async with serving(engine) as server, connected(server) as peer:
            await peer.send(tdata(ROWS[0], 0))
            await peer.receive("STRING")
            engine.end("default")
            assert (await peer.receive("STATUS")).content.name == "NO SESSION"
            again = engine_with(None, "default", markers=("right", "left"))  # the other way round
            try:
                engine.create(again.session("default").settings)
            finally:
                again.close()
            await asyncio.sleep(0.5)
            await peer.send(tdata(ROWS[1], 1))
            assert (await outputs(peer, 1))[0]["position"] == ROWS[1][::-1].tolist()
    finally:
        engine.close()


@in_a_loop
async def test_a_port_without_a_name_serves_the_only_session_and_stays_with_it():
    engine = engine_with(None, "first", markers=NAMES)
    try:
        async with serving(engine) as server, connected(server) as peer:
            await peer.send(tdata(ROWS[0], 0))
            assert (await outputs(peer, 1))[0]["session"] == "first"
            engine.create(settings("second", markers=NAMES))
            await peer.send(tdata(ROWS[1], 1))
            assert (await outputs(peer, 1))[0]["session"] == "first"
        assert engine.session("second").samples == 0
    finally:
        engine.close()


@in_a_loop
async def test_a_port_without_a_name_does_not_choose_between_sessions():
    engine = engine_with(None, "first", "second", markers=NAMES)
    try:
        async with serving(engine) as server, connected(server) as peer:
            assert (await peer.receive()).content.name == "NO SESSION"
            await peer.send(tdata(ROWS[0], 0))
            await until(lambda: server.report().counters.get("refused_samples") == 1)
            async with serving(engine, session="second") as named, connected(named) as other:
                await other.send(tdata(ROWS[0], 0))
                assert (await outputs(other, 1))[0]["session"] == "second"
        assert engine.session("first").samples == 0
    finally:
        engine.close()
