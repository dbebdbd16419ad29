"""The verbs of the live engine on the command line, against a server in this process."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import breathcast as bc
from breathcast.cli import serving as verbs
from breathcast.live.config import read_config
from tests.cli.calling import call
from tests.live.feeding import RATE, positions, samples, settings
from tests.live.running import Process, Running, config, serving
from tests.live.test_journal import eventful

LENIENT = {"stale_ms": 60_000.0, "deadline_ms": 20_000.0}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with serving(config(tmp_path / "journals", settings(limits=LENIENT))) as server:
        yield server


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    file = tmp_path / "motion.csv"
    bc.write(bc.Recording(positions(40), RATE, name="motion"), file)
    return file


@pytest.mark.parametrize("scheme", ["http", "tcp", "udp"])
def test_replay_plays_a_recording(running: Running, recording: Path, scheme: str) -> None:
    address = running.addresses[scheme]
    result = call("replay", recording, "--to", address, "--session", "one", "--speed", 20, "--from", 1)
    assert (result.code, result.out) == (0, ""), result.err
    assert "Sent 30 samples; 30 answers came" in result.err
    told = running.ask("GET", "/api/sessions/one")
    assert told["counters"]["taken"] == 30


def test_replay_begins_a_session_with_the_recordings_own_markers(running: Running, recording: Path) -> None:
    result = call("replay", recording, "--to", running.addresses["http"] + "/new", "--speed", 50, "--method", "linear")
    assert result.code == 0 and "Began the session new at 10 Hz" in result.err
    told = running.ask("GET", "/api/sessions/new")
    assert told["settings"]["markers"] == ["marker 1", "marker 2"] and told["settings"]["method"] == "linear"


def test_watch_tells_changes_of_state(running: Running, recording: Path) -> None:
    address = running.addresses["http"]
    feeder = threading.Thread(target=call, args=("replay", recording, "--to", address + "/one", "--speed", 10))
    feeder.start()
    lines = call("watch", address + "/one", "--for", 1)
    feeder.join()
    assert lines.code == 0 and "one  WARMUP: " in lines.out


def test_watch_leaves_in_time_where_nothing_happens(running: Running) -> None:
    begun = time.monotonic()
    assert call("watch", running.addresses["http"] + "/one", "--for", 0.5).code == 0
    assert time.monotonic() - begun < 20  # of the 60 after which silence would be a change of state


def test_watch_as_lines_of_json(running: Running, recording: Path) -> None:
    address = running.addresses["http"]
    feeder = threading.Thread(target=call, args=("replay", recording, "--to", address + "/one", "--speed", 10))
    feeder.start()
    result = call("watch", address, "--lines", "--for", 1)
    feeder.join()
    assert {json.loads(line)["type"] for line in result.out.splitlines()} == {"output"}


def test_rearm_and_resume_by_the_command_line(running: Running) -> None:
    address = running.addresses["http"]
    result = call("sessions", "rearm", "one", "--by", "operator", "--at", address)
    assert (result.code, result.out.split(":")[0]) == (0, "one")
    running.ask("DELETE", "/api/sessions/one")
    result = call("sessions", "resume", "one", "--at", address)
    assert result.code == 0 and "one goes on after 0 samples" in result.out
    result = call("sessions", "resume", "one", "--at", address)
    assert result.code == 1 and "one is running" in result.err


@pytest.fixture
def journals(tmp_path: Path) -> Path:
    eventful(tmp_path / "all" / "one").session.close()
    return tmp_path / "all"


def test_list_and_verify(journals: Path) -> None:
    shown = call("sessions", "list", "--data", journals, "--json", "-").json
    assert [(entry["session"], entry["samples"]) for entry in shown["journals"]] == [("one", 251)]
    assert "251 samples" in call("sessions", "list", "--data", journals).out
    result = call("sessions", "verify", "one", "--data", journals)
    assert result.code == 0 and "identical" in result.out
    assert call("sessions", "verify", journals / "one", "--json", "-").json["ok"]


def test_verify_of_a_journal_that_was_changed(journals: Path) -> None:
    import sqlite3

    database = sqlite3.connect(journals / "one" / "journal.sqlite")
    database.execute("UPDATE forecasts SET positions = zeroblob(length(positions)) WHERE n = 100")
    database.commit()
    database.close()
    result = call("sessions", "verify", "one", "--data", journals)
    assert result.code == 1 and "1 of 251 samples differ, the first is 100" in result.err


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_export(journals: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"out{ending}"
    assert call("sessions", "export", "one", "--data", journals, "-o", out).code == 0
    table = pl.read_csv(out) if ending == ".csv" else pl.read_parquet(out)
    assert table.height == 251
    taken = table.filter(pl.col("verdict") == "taken")
    first = next(samples(positions(300)))
    assert taken["marker 1 x mm" if "marker 1 x mm" in table.columns else table.columns[8]][0] == first.positions[0, 0]
    held = table.filter(pl.col("state") == "HOLD")
    assert held.height and not held["sent"].any() and taken["sent"].any()
    events = tmp_path / f"events{ending}"
    assert call("sessions", "export", "one", "--data", journals, "-o", events, "--table", "events").code == 0


def test_errors_are_clear(tmp_path: Path, recording: Path) -> None:
    for arguments, code, said in (
        (("sessions", "list", "--data", tmp_path / "none"), 1, "is no folder"),
        (("sessions", "verify", "nobody", "--data", tmp_path), 1, "holds no journal"),
        (("sessions", "export", "nobody", "-o", tmp_path / "x.doc"), 2, ".csv or .parquet"),
        (("replay", recording, "--to", "gopher://x"), 1, "is no address"),
        (("replay", recording, "--to", "http://127.0.0.1:9"), 1, "has no name"),
        (("replay", recording, "--to", "http://127.0.0.1:9/one"), 1, "no server answers"),
        (("replay", recording, "--to", "tcp://127.0.0.1:9"), 1, "nothing listens"),
        (("replay", recording, "--to", "tcp://127.0.0.1:9", "--speed", 0), 2, "is no speed"),
        (("watch", "http://127.0.0.1:9"), 1, "no stream"),
        (("serve", "--host", "0.0.0.0", "--port", 0), 1, "--allow-remote"),
        (("serve", "--tls-cert", recording, "--port", 0), 1, "both tls_cert and tls_key"),
        (("serve", "--tls-cert", recording, "--tls-key", recording, "--port", 0), 1, "TLS cannot be had"),
        (("serve", "--config", tmp_path / "no.toml"), 1, "cannot be read"),
        (("serve", "--data", recording, "--config", tmp_path / "ok.toml", "--port", 0), 1, "cannot be made"),
    ):
        (tmp_path / "ok.toml").write_text('[[session]]\nname = "one"\n')
        result = call(*arguments)
        assert result.code == code, result.err
        assert (said in result.err and "What to do" in result.err) or code == 2


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("[server]\nport = 'x'\n", 2, "server.port"),
        ("[server]\n\nprot = 1\n", 3, "prot"),
        ('[[session]]\nname = "a"\n[[session]]\nname = "b"\nmethod = "magic"\n', 5, "no method 'magic'"),
        ('[[session]]\nname = "a"\n[session.limits]\nstale_ms = -1\n', 4, "stale_ms"),
        ("[server\n", 1, "is no TOML"),
    ],
)
def test_a_configuration_that_is_wrong_names_the_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    file = tmp_path / "server.toml"
    file.write_text(text)
    with pytest.raises(bc.BreathcastError) as caught:
        read_config(file)
    assert caught.value.line == line and said in str(caught.value)


def test_the_example_configuration_of_the_documents(tmp_path: Path) -> None:
    import re

    page = (Path(__file__).parents[2] / "docs" / "live.md").read_text(encoding="utf-8")
    found = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert found is not None
    (tmp_path / "room.toml").write_text(found[1])
    chosen = read_config(tmp_path / "room.toml")
    assert chosen.session and chosen.server.data == tmp_path / "journals"


def test_the_python_of_the_api_page_runs() -> None:
    import re

    page = (Path(__file__).parents[2] / "docs" / "live-api.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert found is not None
    exec(found[1], {})


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "find_spec", lambda name: None)
    result = call("serve", "--demo")
    assert result.code == 1 and 'pip install "breathcast[live]"' in result.err


def test_serve_says_where_it_listens_and_ends_on_a_signal(tmp_path: Path) -> None:
    server = Process("--data", tmp_path / "journals")
    try:
        assert "not for beam control" in "".join(server.said)
        assert set(server.addresses) == {"http", "tcp", "udp"}
        assert server.ask("GET", "/api/about")["journals"]
    finally:
        assert server.end() == 0
