"""The OpenIGTLink server on real sockets: bursts, slow readers, hostile clients, and the answer to each message."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest

from breathcast.live.model import State
from breathcast.live.openigtlink import (
    Capability,
    Message,
    Position,
    Query,
    Reply,
    StartTracking,
    Status,
    Transform,
    encode,
    matrix_at,
    position_in,
    stamp_of,
)
from breathcast.live.openigtlink.header import Header, pack_header
from breathcast.live.openigtlink.outgoing import Encoded
from breathcast.live.openigtlink.settings import LinkSettings
from breathcast.live.settings import explained
from tests.live.openigtlink_peers import PlainEngine, connected, in_a_loop, port_of, serving, tdata, until


def numbers(engine: PlainEngine) -> list[float]:
    return [float(sample.positions[0, 0]) for sample in engine.samples]


# ------------------------------------------------------------------------------------------------------- there and back


@in_a_loop
async def test_a_sample_is_answered_with_state_forecasts_and_details():
    engine = PlainEngine()
    async with serving(engine) as server, connected(server) as peer:
        assert (await peer.receive()).content.type == "STATUS"
        await peer.send(tdata(5, 1000.25))
        found = [await peer.receive() for _ in range(8)]
    assert [m.content.type for m in found] == ["STATUS", *["TRANSFORM"] * 6, "STRING"]
    assert found[0].content.name == "OK"
    assert {m.device: position_in(m.content.matrix) for m in found[1:7]}["B@500"] == (10, 5, 5)
    assert {m.time for m in found} == {1000.25}
    assert json.loads(found[7].content.text)["forecasts"][0]["position"] == [[6, 1, 1], [6, 1, 1]]
    assert engine.samples[0].time_device == 1000.25
    assert engine.samples[0].source.startswith("igtl:127.0.0.1:")


@in_a_loop
async def test_transforms_and_positions_feed_the_markers_they_are_mapped_to():
    engine = PlainEngine()
    devices = {"Tracker": "B", "Probe": "A"}
    async with serving(engine, devices=devices) as server, connected(server) as peer:
        await peer.send(encode(Message(Transform(matrix_at((1, 2, 3))), "Tracker", stamp_of(7.0))))
        await peer.send(encode(Message(Position((4, 5, 6)), "Probe", stamp_of(7.0))))
        await until(lambda: engine.samples)
    assert engine.samples[0].positions.tolist() == [[4, 5, 6], [1, 2, 3]]


@in_a_loop
async def test_a_device_without_a_clock_has_its_arrival():
    engine = PlainEngine()
    async with serving(engine) as server, connected(server) as peer:
        await peer.send(tdata(1))
        await until(lambda: engine.samples)
    assert engine.samples[0].time_device is None
    assert engine.samples[0].time_arrival > 1.6e9


@in_a_loop
async def test_tdata_begins_with_stt_and_ends_with_stp():
    engine = PlainEngine()
    async with serving(engine, send=("STATUS",)) as server, connected(server) as peer:
        await peer.receive("STATUS")
        await peer.send(encode(Message(StartTracking(0, "Patient"), "me")))
        reply = await peer.receive()
        assert (reply.content, reply.device) == (Reply("RTS_TDATA", 0), "me")
        await peer.send(tdata(1), tdata(2))
        assert [len((await peer.receive("TDATA")).content.elements) for _ in range(2)] == [4, 4]
        await peer.send(encode(Message(Query("STP_TDATA"), "me")))
        assert (await peer.receive()).content == Reply("RTS_TDATA", 0)
        await peer.send(tdata(3))
        assert (await peer.receive()).content.type == "STATUS"
        await peer.send(encode(Message(Query("GET_CAPABIL"))))
        assert (await peer.receive()).content.type == "CAPABILITY"  # no TDATA came before it


@in_a_loop
async def test_tdata_keeps_to_the_resolution_asked_for():
    engine = PlainEngine()
    async with serving(engine, send=("STATUS",)) as server, connected(server) as peer:
        await peer.send(encode(Message(StartTracking(10_000))))
        await peer.receive("RTS_TDATA")
        await peer.send(*(tdata(n) for n in range(20)))
        kinds = [(await peer.receive()).content.type for _ in range(21)]
    assert (kinds.count("TDATA"), kinds.count("STATUS")) == (1, 20)


@in_a_loop
async def test_positions_come_when_asked_for():
    engine = PlainEngine(markers=("A",))
    async with serving(engine) as server, connected(server) as peer:
        await peer.send(encode(Message(Query("STT_POSITION"), "me")), tdata(1))
        assert (await peer.receive("RTS_POSITION")).device == "me"
        assert (await peer.receive("POSITION")).content == Position((2, 1, 1))
        await peer.send(encode(Message(Query("STP_POSITION"), "me")))
        await peer.receive("RTS_POSITION")
        await peer.send(tdata(2))
        for expected in ("STATUS", "TRANSFORM", "TRANSFORM", "TRANSFORM", "STRING"):
            assert (await peer.receive()).content.type == expected


@in_a_loop
async def test_capability_and_status_are_answered_under_the_name_of_the_question():
    engine = PlainEngine()
    async with serving(engine) as server, connected(server) as peer:
        await peer.receive("STATUS")
        await peer.send(encode(Message(Query("GET_CAPABIL"), "who")))
        answer = await peer.receive()
        assert answer.device == "who"
        assert isinstance(answer.content, Capability)
        assert {"TRANSFORM", "TDATA", "STT_TDATA", "STP_TDATA", "POSITION", "GET_CAPABIL"} <= set(answer.content.types)
        engine.state = State.HOLD
        await peer.send(tdata(1), encode(Message(Query("GET_STATUS"), "who")))
        while (answer := await peer.receive("STATUS")).device != "who":
            pass
        assert (answer.content.code, answer.content.name) == (15, "HOLD")


@in_a_loop
async def test_a_client_of_version_2_is_answered_in_version_2_and_the_others_in_version_1():
    engine = PlainEngine()
    async with serving(engine) as server, connected(server) as new, connected(server) as old:
        assert (await new.receive()).version == 1
        await old.receive()
        await new.send(tdata(1, version=2, message_id=5))
        mine, theirs = await new.receive("TRANSFORM"), await old.receive("TRANSFORM")
    assert (mine.version, dict(mine.metadata)["horizon_ms"]) == (2, "100")
    assert (theirs.version, theirs.metadata) == (1, ())
    assert mine.content == theirs.content


@in_a_loop
async def test_who_connects_hears_the_state_and_when_the_server_stops():
    engine = PlainEngine()
    engine.state = State.HOLD
    async with serving(engine) as server, connected(server) as first:
        await first.send(tdata(1))
        await first.receive("STRING")
        async with connected(server) as second:
            assert (await second.receive()).content.name == "HOLD"
            await server.stop()
            farewell = (await second.receive()).content
            assert isinstance(farewell, Status)
            assert (farewell.code, farewell.name) == (19, "CLOSING")
            with pytest.raises(EOFError):
                await second.receive()


@in_a_loop
async def test_a_session_may_begin_and_end_while_clients_are_connected():
    engine = PlainEngine()
    engine.exists = False
    async with serving(engine) as server, connected(server) as peer:
        assert (await peer.receive()).content.code == 4
        await peer.send(tdata(1))
        await until(lambda: server.report().counters.get("refused_samples"))
        engine.exists = True
        await until(lambda: engine.subscribed)
        await peer.send(tdata(2))
        assert (await peer.receive("STATUS")).content.name == "OK"
        engine.end()
        assert (await peer.receive("STATUS")).content.name == "NO SESSION"


# ------------------------------------------------------------------------------------------------------------- bursts


@in_a_loop
async def test_a_burst_of_a_thousand_arrives_whole_and_in_order_and_so_do_the_answers():
    engine = PlainEngine()
    async with serving(engine, send=("STRING",), queue=2000) as server, connected(server, limit=1 << 22) as peer:
        reading = asyncio.create_task(collect(peer, 1000))
        await peer.send(*(tdata(n, 100 + n / 30) for n in range(1000)))
        answers = await reading
    assert numbers(engine) == list(range(1000))
    assert answers == list(range(1, 1001))


async def collect(peer, count: int) -> list[int]:
    return [json.loads((await peer.receive("STRING")).content.text)["sequence"] for _ in range(count)]


@in_a_loop
async def test_a_burst_in_single_bytes_is_the_same():
    engine = PlainEngine()
    data = b"".join(tdata(n) for n in range(5))
    async with serving(engine) as server, connected(server) as peer:
        for byte in data:
            await peer.send(bytes([byte]))
        await until(lambda: len(engine.samples) == 5)
    assert numbers(engine) == [0, 1, 2, 3, 4]


@in_a_loop
async def test_a_sender_beyond_its_allowance_is_slowed_down_and_loses_nothing():
    engine = PlainEngine()
    # 1,000 messages of 198 + 256 bytes at 227 kB/s: a second's worth at once, and another second for the rest.
    async with serving(engine, rate_limit=227_000, send=("STATUS",)) as server, connected(server) as peer:
        begin = asyncio.get_running_loop().time()
        await peer.send(*(tdata(n) for n in range(1000)))
        await until(lambda: len(engine.samples) == 1000)
        assert asyncio.get_running_loop().time() - begin > 0.8
    assert numbers(engine) == list(range(1000))


# ------------------------------------------------------------------------------------------------------- slow, hostile


@in_a_loop
async def test_a_client_that_never_reads_delays_nobody_and_its_oldest_is_dropped():
    engine = PlainEngine()
    async with serving(engine, queue=20) as server, connected(server) as slow, connected(server) as fast:
        slow.writer.transport.pause_reading()
        slow.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        longest, sent = 0.0, 0
        loop = asyncio.get_running_loop()
        await fast.receive("STATUS")
        while not server.report().counters.get("dropped_outputs"):
            assert sent < 20_000
            begin = loop.time()
            await fast.send(tdata(sent))
            answer = json.loads((await fast.receive("STRING")).content.text)
            longest = max(longest, loop.time() - begin)
            sent += 1
            assert answer["sequence"] == sent  # the fast one misses nothing
        assert longest < 1.0
        slow.writer.transport.resume_reading()
        heard = [json.loads((await slow.receive("STRING")).content.text)["sequence"] for _ in range(30)]
        assert heard == sorted(heard)
        assert numbers(engine) == list(range(sent))


def header(kind: str, size: int) -> bytes:
    return pack_header(Header(1, kind, "x", 0, size, 0))


HOSTILE = {
    "garbage": (b"\xde\xad\xbe\xef" * 30, "broken_headers"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:18944\r\nUser-Agent: browser\r\n\r\n" * 3, "broken_headers"),
    "oversized": (header("TDATA", 1 << 40), "broken_headers"),
    "oversized image": (header("IMAGE", 1 << 40), "broken_headers"),
    "broken bodies": (b"".join(header("TRANSFORM", 48) + bytes(47) + b"x" for _ in range(10)), "broken_bodies"),
    "half a message": (tdata(1)[:100], "stalled"),
    "half a header": (tdata(1)[:10], "stalled"),
}


@pytest.mark.parametrize("data, counter", HOSTILE.values(), ids=HOSTILE)
@in_a_loop
async def test_a_hostile_client_is_closed_and_the_others_go_on(data, counter):
    engine = PlainEngine()
    async with serving(engine, message_s=0.3) as server, connected(server) as good, connected(server) as bad:
        await bad.send(data)
        await bad.end()
        await good.send(tdata(1))
        await good.receive("STRING")
        assert server.report().counters[counter] >= 1
        assert server.report().connections == 1
    assert numbers(engine) == [1]


@in_a_loop
async def test_a_client_of_one_byte_at_a_time_is_closed_when_its_message_takes_too_long():
    engine = PlainEngine()
    async with serving(engine, message_s=0.3) as server, connected(server) as peer:
        with pytest.raises((ConnectionError, TimeoutError)):
            for byte in tdata(1) * 10:
                await peer.send(bytes([byte]))
                await asyncio.sleep(0.02)
        assert server.report().counters["stalled"] == 1
    assert engine.samples == []


@in_a_loop
async def test_a_broken_body_costs_that_message_alone():
    engine = PlainEngine()
    wrong = bytearray(tdata(2))
    wrong[-1] ^= 1
    async with serving(engine) as server, connected(server) as peer:
        await peer.send(tdata(1), bytes(wrong), tdata(3))
        await until(lambda: len(engine.samples) == 2)
        assert server.report().counters["broken_bodies"] == 1
    assert numbers(engine) == [1, 3]


@in_a_loop
async def test_an_idle_client_may_stay_and_an_image_is_passed_over():
    engine = PlainEngine()
    async with serving(engine, message_s=0.2) as server, connected(server) as peer:
        await asyncio.sleep(0.5)
        await peer.send(header("IMAGE", 100_000), bytes(100_000), tdata(1))
        await until(lambda: engine.samples)
        assert server.report().counters["ignored"] == 1


@in_a_loop
async def test_a_client_that_vanishes_in_the_middle_leaves_no_trace():
    engine = PlainEngine()
    async with serving(engine) as server:
        for n in range(20):
            async with connected(server) as peer:
                await peer.send(tdata(n), tdata(n)[: 20 + n])
                peer.writer.transport.abort()
        await until(lambda: server.report().connections == 0)
        async with connected(server) as peer:
            await peer.send(tdata(99))
            await peer.receive("STRING")


@in_a_loop
async def test_a_client_that_half_closes_still_gets_its_answer():
    engine = PlainEngine()
    async with serving(engine) as server, connected(server) as peer:
        await peer.send(encode(Message(Query("GET_CAPABIL"), "me")))
        peer.writer.write_eof()
        assert (await peer.receive("CAPABILITY")).device == "me"
        await peer.end()


@in_a_loop
async def test_connections_beyond_the_limit_are_refused_and_the_others_live():
    engine = PlainEngine()
    async with serving(engine, max_clients=3) as server:
        peers = [await asyncio.open_connection("127.0.0.1", port_of(server)) for _ in range(200)]
        await until(lambda: server.report().counters.get("refused_full") == 197)
        assert server.report().connections == 3
        peers[0][1].write(tdata(1))
        await until(lambda: engine.samples)
        for _, writer in peers:
            writer.transport.abort()
        await until(lambda: server.report().connections == 0)
        async with connected(server) as peer:
            assert (await peer.receive()).content.type == "STATUS"


@in_a_loop
async def test_an_engine_that_fails_costs_one_client():
    class Failing(PlainEngine):
        def push(self, name, sample):
            if sample.positions[0, 0] == 13:
                raise ZeroDivisionError
            return super().push(name, sample)

    engine = Failing()
    async with serving(engine) as server, connected(server) as good, connected(server) as bad:
        await bad.send(tdata(13))
        await bad.end()
        await good.send(tdata(1))
        await good.receive("STRING")
        assert server.report().counters["errors"] == 1


@in_a_loop
async def test_a_device_whose_name_is_no_text_is_answered_all_the_same():
    engine = PlainEngine()
    question = bytearray(encode(Message(Query("GET_CAPABIL"), "x")))
    question[14:34] = b"\xff" * 20
    async with serving(engine) as server, connected(server) as peer:
        await peer.send(bytes(question))
        assert (await peer.receive("CAPABILITY")).device == "breathcast.state"
        assert server.report().counters.get("errors") is None


@in_a_loop
async def test_an_output_that_cannot_be_told_is_a_fault_and_the_next_one_is_told(monkeypatch):
    whole = Encoded.bytes_of

    def failing(self, kind, version):
        if self.output.sequence == 1:
            raise ZeroDivisionError
        return whole(self, kind, version)

    monkeypatch.setattr(Encoded, "bytes_of", failing)
    engine = PlainEngine()
    async with serving(engine) as server, connected(server) as peer:
        await peer.receive("STATUS")
        await peer.send(tdata(1), tdata(2))
        assert (await peer.receive()).content.name == "FAULT"
        assert (await peer.receive("STATUS")).content.name == "OK"
        assert server.report().counters["errors"] == 1


# ------------------------------------------------------------------------------------------------------------- who may


@in_a_loop
async def test_who_is_not_in_the_allowed_networks_is_refused_unheard():
    engine = PlainEngine()
    async with serving(engine, allow=("192.0.2.0/24",)) as server, connected(server) as peer:
        await peer.end()
        assert server.report().counters == {"refused_addresses": 1}


def test_another_address_needs_networks():
    with pytest.raises(ValueError, match="no authentication") as error:
        LinkSettings(address="0.0.0.0")
    assert "allow" in str(explained(error.value))
    assert LinkSettings(address="0.0.0.0", allow=("192.168.7.0/24",)).permits("192.168.7.9")


@pytest.mark.parametrize(
    ("allow", "host", "may"),
    [
        ((), "127.0.0.1", True),
        ((), "::1", True),
        ((), "::ffff:127.0.0.1", True),
        ((), "192.168.7.9", False),
        (("192.168.7.0/24",), "192.168.7.9", True),
        (("192.168.7.0/24",), "::ffff:192.168.7.9", True),
        (("192.168.7.0/24",), "192.168.8.9", False),
        (("192.168.7.0/24",), "127.0.0.1", False),
        (("fe80::/10",), "fe80::1%eth0", True),
        (("192.168.7.0/24",), "somewhere", False),
    ],
)
def test_the_networks_decide(allow, host, may):
    assert LinkSettings(allow=allow).permits(host) is may


@pytest.mark.parametrize(
    "settings",
    [
        {"allow": ("192.168.7.1/24",)},
        {"devices": {"a": "A", "b": "A"}},
        {"devices": {"a name of 21 letters.": "A"}},
        {"port": 70000},
        {"colour": "red"},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(ValueError, match=r"."):
        LinkSettings.model_validate(settings)


@in_a_loop
async def test_a_report_says_where_and_how_much():
    engine = PlainEngine()
    async with serving(engine) as server, connected(server) as peer:
        await peer.send(tdata(1))
        await peer.receive("STRING")
        report = server.report()
        assert report.name == "OpenIGTLink"
        assert report.address.startswith("igtl://127.0.0.1:")
        assert report.connections == 1
        assert report.counters == {"connections": 1, "messages": 1, "samples": 1}
