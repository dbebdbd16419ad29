"""The server from outside: every protocol, and that no client can stop the others."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.sync.client import connect

import breathcast as bc
from breathcast.errors import BreathcastError
from breathcast.live import again
from breathcast.live.messages import Budget
from breathcast.live.transports import lines as lines_module
from breathcast.live.transports import web as web_module
from tests.live.feeding import RATE, positions, settings
from tests.live.running import Lines, Running, config, eventually, message, serving

ROWS = positions(120)
LENIENT = {"stale_ms": 60_000.0, "deadline_ms": 20_000.0}  # what a busy computer does is not the matter of these tests


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    sessions = [settings(name, limits=LENIENT) for name in ("one", "two")]
    with serving(config(tmp_path / "journals", *sessions)) as server:
        yield server


def fed(running: Running, session: str = "one", count: int = 60, first: int = 0) -> list[Any]:
    with Lines(running) as peer:
        answers = []
        for n in range(first, first + count):
            peer.send(message(ROWS[n], 5 + n / RATE, session))
            answers.append(peer.next())
        return answers


def alive(running: Running, session: str = "two") -> None:
    """A whole session works, whatever else goes on."""
    last = fed(running, session, 40)[-1]
    assert (last["sample"], last["state"] in ("OK", "DEGRADED")) == (40, True)
    assert last["forecasts"][0]["position"] is not None


def test_lines_over_tcp_give_the_forecasts_of_a_stream(running: Running) -> None:
    stream = bc.LMS(history=1, training=3).start(rate=RATE, markers=2, horizons=[0.2, 0.5])
    for row, answer in zip(ROWS, fed(running), strict=False):
        wanted = stream.update(row)
        assert answer["position"] == row.tolist()
        for got, forecast in zip(answer["forecasts"], wanted, strict=True):
            assert got["position"] == (forecast.position.tolist() if answer["state"] != "WARMUP" else None)
    assert answer["verdict"] == "taken"


def test_all_protocols_at_once_reach_all_who_listen(running: Running) -> None:
    target = running.target("one")
    with connect(target.stream(), proxy=None) as page, Lines(running) as listener, running.datagrams() as datagrams:
        listener.send({"type": "subscribe", "session": "one"})
        eventually(lambda: len(running.server.engine._subscriptions) == 2)  # type: ignore[union-attr]
        datagrams.send(json.dumps(message(ROWS[0], 5.0)).encode())
        answers = [json.loads(datagrams.recv(65536)), json.loads(page.recv(timeout=10)), listener.next()]
        assert answers[0] == answers[1] == answers[2]
        page.send(json.dumps({"type": "sample", "time": 5.1, "positions": ROWS[1].tolist()}))
        assert json.loads(page.recv(timeout=10))["verdict"] == "foreign"  # the datagrams feed this session
        page.send("nonsense")
        assert json.loads(page.recv(timeout=10))["type"] == "error"


def test_the_api(running: Running) -> None:
    about = running.ask("GET", "/api/about")
    assert "not for beam control" in about["notice"] and len(about["transports"]) == 4
    made = running.ask("POST", "/api/sessions", {"name": "three", "markers": ["a", "b"], "rate": 10})
    assert made["state"] == "WARMUP" and made["horizons"][0]["steps"] == 1
    with pytest.raises(BreathcastError, match="already"):
        running.ask("POST", "/api/sessions", {"name": "three"})
    with pytest.raises(BreathcastError, match="no method 'magic'"):
        running.ask("POST", "/api/sessions", {"name": "four", "method": "magic"})
    with pytest.raises(BreathcastError, match="name"):
        running.ask("POST", "/api/sessions", {"name": "../../etc"})
    output = running.ask("POST", "/api/sessions/three/samples", {"time": 1.0, "positions": ROWS[0].tolist()})
    assert output["position"] == ROWS[0].tolist()
    assert running.ask("POST", "/api/sessions/three/rearm", {"by": "me"})["sequence"] == 2
    assert [entry["sequence"] for entry in running.ask("GET", "/api/sessions/three/recent")] == [1, 2]
    assert running.ask("GET", "/api/sessions/three/transitions")[0]["cause"] == "learning"
    assert running.ask("GET", "/api/journals") == ["one", "three", "two"]
    running.ask("DELETE", "/api/sessions/three")
    assert [entry["name"] for entry in running.ask("GET", "/api/sessions")] == ["one", "two"]
    assert running.ask("POST", "/api/sessions/three/resume")["counters"]["taken"] == 1
    with pytest.raises(BreathcastError, match="running"):
        running.ask("POST", "/api/sessions/three/resume")


def test_a_broken_journal_holds_and_a_resume_mends_it_while_others_go_on(running: Running) -> None:
    assert running.server is not None and running.server.settings.data is not None
    fed(running, count=40)
    journal = running.server.engine.session("one").journal
    assert journal is not None
    (journal.folder / "journal.sqlite").rename(journal.folder / "away")
    eventually(lambda: running.ask("GET", "/api/sessions/one")["state"] == "HOLD")
    told = running.ask("GET", "/api/sessions/one")
    assert told["cause"] == "journal" and "journal.sqlite" in told["detail"]
    with pytest.raises(BreathcastError, match="resume"):
        running.ask("POST", "/api/sessions/one/rearm", {"by": "me"})
    alive(running)
    (journal.folder / "away").rename(journal.folder / "journal.sqlite")
    assert running.ask("POST", "/api/sessions/one/resume")["counters"]["taken"] == 40
    assert fed(running, count=1, first=40)[0]["sample"] == 41


def test_stale_input_is_told_without_a_sample(tmp_path: Path) -> None:
    with serving(config(None, settings(limits={"stale_ms": 300.0, "deadline_ms": 20_000.0}))) as running:
        with connect(running.target("one").stream(), proxy=None) as page:
            fed(running, count=1)
            told = [json.loads(page.recv(timeout=10)) for _ in range(2)]
        assert (told[1]["state"], told[1]["cause"], told[1]["sample"]) == ("HOLD", "stale", None)
        assert running.ask("GET", "/api/sessions/one")["latched"]


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00\xff\xfe\n",
        b"{}\n",
        b"[" * 5000 + b"\n",
        b'{"type": "sample", "positions": [[1e999, 0, 0]]}\n',
        b'{"type": "sample", "session": "one", "positions": [[NaN, 0, 0], [0, 0, 0]]}\n',
        b'{"type": "sample", "session": "one", "positions": [[1, 2], [3]]}\n',
        b'{"type": "sample", "session": "nobody", "positions": [[1, 2, 3]]}\n',
        b'{"type": "sample", "session": "one", "positions": [[1, 2, 3]], "more": 1}\n',
        b'{"type": "sample", "positions": [[1, 2, 3]]}\n',
        b"GET / HTTP/1.1\r\n",
    ],
)
def test_garbage_is_answered_and_the_line_goes_on(running: Running, garbage: bytes) -> None:
    with Lines(running) as peer:
        peer.send(garbage)
        told = peer.next()
        assert told["type"] == "error" and told["problem"]
        peer.send(message(ROWS[0], 5.0))
        assert peer.next()["verdict"] == "taken"
    alive(running)


def test_random_bytes_on_every_port(running: Running) -> None:
    rng = np.random.default_rng(0)
    for scheme in ("tcp", "http"):
        for _ in range(20):
            with running.connect(scheme) as peer:
                peer.sendall(rng.integers(0, 256, 3000, dtype=np.uint8).tobytes())
    with running.datagrams() as peer:
        for _ in range(50):
            peer.send(rng.integers(0, 256, 500, dtype=np.uint8).tobytes())
    alive(running)


def test_a_line_without_end_is_cut_off(running: Running) -> None:
    with Lines(running) as peer:
        peer.send(b"x" * (lines_module.LINE_BYTES + 2))
        assert "longer than" in peer.next()["problem"]
        assert peer.next() is None
    alive(running)


def test_one_byte_at_a_time_does_not_last(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "LINE_S", 0.5)
    with Lines(running) as peer:
        begun = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - begun < 20:
                peer.send(b"x")
                time.sleep(0.05)
        assert time.monotonic() - begun < 10
    alive(running)


def test_a_request_that_does_not_end_does_not_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_module, "HEAD_S", 0.5)
    with serving(config(None, settings("two", limits=LENIENT))) as running:
        with running.connect("http") as peer:
            peer.sendall(b"GET /api/about HTTP/1.1\r\nHost: loc")
            assert peer.recv(100) == b""
        alive(running)


def test_an_open_stream_lasts_longer_than_a_head_may_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_module, "HEAD_S", 0.3)
    with serving(config(None, settings("two", limits=LENIENT))) as running:
        with connect(running.target("two").stream(), proxy=None) as stream:
            begun = time.monotonic()
            while time.monotonic() - begun < 1.2:
                stream.ping().wait(5)  # what the client sends must not start the clock again
                time.sleep(0.05)
            assert stream.ping().wait(5)
        alive(running)


def test_every_answer_tells_the_browser_what_it_may_not_do(running: Running) -> None:
    import urllib.request

    for path in ("/", "/api/about", "/docs"):
        with urllib.request.urlopen(running.target().web + path, timeout=10) as answer:
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
            assert answer.headers["Cache-Control"] == "no-cache"


def test_a_slow_reader_loses_the_oldest_and_delays_nobody(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "WAITING", 16)
    target = running.target(scheme="tcp")
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    slow.connect((target.host, target.port))
    with slow:
        slow.sendall(b'{"type": "subscribe", "session": "one"}\n')
        with Lines(running) as peer:
            for n in range(3000):
                row = ROWS[n % len(ROWS)]
                peer.send(message(row, 5 + n / RATE))
                assert peer.next()["sample"] == n + 1
                if n % 100 == 99 and running.ask("GET", "/api/about")["transports"][1]["counters"].get("dropped"):
                    break
            else:
                pytest.fail("nothing was dropped")
        alive(running)


def test_half_open_and_reset_connections(running: Running) -> None:
    for _ in range(30):
        peer = running.connect()
        peer.sendall(json.dumps(message(ROWS[0], 5.0)).encode() + b"\n" + b'{"type": "sam')
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, no farewell
        peer.close()
    alive(running)
    assert running.server is not None
    eventually(lambda: running.ask("GET", "/api/about")["transports"][1]["connections"] == 0)


def test_a_thousand_connections(running: Running) -> None:
    kept: list[socket.socket] = []
    try:
        with Lines(running) as first:
            first.send(message(ROWS[0], 5.0))
            assert first.next()["verdict"] == "taken"
            for n in range(1000):
                peer = running.connect("tcp" if n % 2 else "http")
                kept.append(peer)
                if len(kept) > 600:  # this process has its own limit of handles
                    kept.pop(0).close()
            first.send(message(ROWS[1], 5.1))
            assert first.next()["verdict"] == "taken"
    finally:
        for peer in kept:
            peer.close()
    eventually(lambda: _answers(running), 20)
    assert running.ask("GET", "/api/about")["transports"][1]["counters"]["turned away"] > 0
    alive(running)


def _answers(running: Running) -> bool:
    try:
        return bool(running.ask("GET", "/api/about"))
    except BreathcastError:
        return False


def test_a_flood_is_cut_to_the_rate(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "Budget", lambda: Budget(50.0))
    with Lines(running) as peer:
        line = json.dumps(message(ROWS[0], 5.0)).encode() + b"\n"
        peer.send(line * 200)
        eventually(lambda: running.ask("GET", "/api/about")["transports"][1]["counters"].get("over the rate", 0) > 100)


def test_oversized_and_foreign_requests(running: Running) -> None:
    import http.client

    target = running.target()

    def status(method: str, path: str, body: bytes | None = None, **headers: str) -> int:
        connection = http.client.HTTPConnection(target.host, target.port, timeout=10)
        try:
            connection.request(method, path, body, {key.replace("_", "-"): value for key, value in headers.items()})
            return connection.getresponse().status
        finally:
            connection.close()

    assert status("POST", "/api/sessions", b"x" * 70_000) == 413
    assert status("GET", "/api/sessions", Host="evil.example") == 421
    assert status("GET", "/api/sessions", Origin="http://evil.example") == 403
    assert status("GET", "/api/sessions", Origin=target.web) == 200
    assert status("POST", "/api/sessions", b"{") == 422
    assert status("GET", "/api/sessions/..%2f..%2fetc") in (404, 422)
    assert status("GET", "/../../etc/passwd") == 404
    assert status("GET", "/docs") == 200
    alive(running)


def test_a_page_from_elsewhere_gets_no_stream(running: Running) -> None:
    from websockets.exceptions import InvalidStatus

    with pytest.raises(InvalidStatus):
        connect(running.target("one").stream(), origin="http://evil.example", proxy=None)  # type: ignore[arg-type]


def test_loss_duplication_reordering_and_bursts_over_udp(running: Running) -> None:
    rng = np.random.default_rng(1)
    order = [n for n in range(100) if rng.random() > 0.05]
    order += [order[k] for k in rng.integers(0, len(order), 10)]
    order.sort(key=lambda n: n + rng.normal(0, 0.6))
    with running.datagrams() as peer:
        answers = []
        for begin in range(0, len(order), 7):
            burst = order[begin : begin + 7]
            for n in burst:
                peer.send(json.dumps(message(ROWS[n], 5 + n / RATE)).encode())
            answers += [json.loads(peer.recv(65536)) for _ in burst]
    verdicts = {answer["verdict"] for answer in answers}
    assert verdicts >= {"taken", "duplicate"} and verdicts <= {"taken", "duplicate", "late"}
    assert [a["sequence"] for a in answers] == list(range(1, len(order) + 1))
    assert running.server is not None and running.server.settings.data is not None
    running.ask("DELETE", "/api/sessions/one")
    assert again.verify(running.server.settings.data / "one").ok
    alive(running)


# --- other addresses ---


def test_another_address_must_be_asked_for_twice() -> None:
    with pytest.raises(BreathcastError, match="--allow-remote"), serving(config(host="0.0.0.0")):
        pass


def test_with_a_token_nothing_goes_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    chosen = config(None, settings(limits=LENIENT), token_file=tmp_path / "token")
    with serving(chosen) as running:
        token = running.token
        assert token is not None and (tmp_path / "token").stat().st_mode & 0o777 == 0o600
        assert running.ask("GET", "/api/about")["token_needed"]
        for wrong in (None, "x" * len(token), token[:-1]):
            running.token = wrong
            with pytest.raises(BreathcastError, match="token is needed"):
                running.ask("GET", "/api/sessions")
            with connect(running.target("one").stream(), proxy=None) as page:
                page.send(json.dumps({"type": "hello", "token": wrong}))
                with pytest.raises(Exception, match="token"):
                    page.recv(timeout=10)
            with Lines(running, wrong) as peer:
                peer.send(message(ROWS[0], 5.0))
                assert "token" in peer.next()["problem"]
                assert peer.next() is None
        with running.datagrams() as peer:
            peer.settimeout(0.5)
            peer.send(json.dumps(message(ROWS[0], 5.0)).encode())
            with pytest.raises(TimeoutError):
                peer.recv(65536)  # whoever has no token is told nothing
            peer.send(json.dumps(message(ROWS[0], 5.0) | {"token": token}).encode())
            peer.settimeout(10)
            assert json.loads(peer.recv(65536))["sample"] == 1
        running.token = token
        headers = {"Authorization": f"Bearer {token}"}
        with connect(running.target("one").stream(), additional_headers=headers, proxy=None) as page:
            page.send(json.dumps({"type": "rearm"}))
            assert json.loads(page.recv(timeout=10))["type"] == "output"
        running.token = None
        with connect(running.target("one").stream(), proxy=None) as page:
            page.send(json.dumps({"type": "hello", "token": token}))
            page.send(json.dumps({"type": "rearm"}))
            assert json.loads(page.recv(timeout=10))["type"] == "output"
        assert token not in caplog.text


def test_too_many_sessions(tmp_path: Path) -> None:
    with (
        serving(config(None, settings("one"), max_sessions=1)) as running,
        pytest.raises(BreathcastError, match="end one"),
    ):
        running.ask("POST", "/api/sessions", {"name": "more"})


def test_an_address_in_use_is_said_before_anything_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        chosen = config(port=taken.getsockname()[1])
        with pytest.raises(BreathcastError, match="choose another with --port"), serving(chosen):
            pass


def test_a_restart_goes_on_with_the_journals(tmp_path: Path) -> None:
    chosen = config(tmp_path, settings(limits=LENIENT))
    with serving(chosen) as running:
        fed(running, count=80)
    with serving(chosen) as running:
        answers = fed(running, count=20, first=80)
        assert answers[0]["sample"] == 81
        assert answers[-1]["forecasts"][1]["rmse_mm"] is not None
    assert again.verify(tmp_path / "one").ok
    with pytest.raises(BreathcastError, match="other settings"), serving(config(tmp_path, settings(rate=20.0))):
        pass


def test_the_demo_breathes() -> None:
    with serving(config(), demo=True) as running:
        eventually(lambda: running.ask("GET", "/api/sessions/demo")["counters"]["taken"] > 10)
