"""What is said is in the journal; from the journal a session goes on bit for bit, and each forecast comes out again."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from breathcast.errors import BreathcastError
from breathcast.live import again
from breathcast.live.journal import TRANSITION, Journal
from breathcast.live.model import Output, State
from breathcast.live.safety import Cause
from tests.live.feeding import Fed, engine_with, positions, samples, shifted

ROWS = positions(300).copy()
ROWS[120:123, 0] = np.nan


def eventful(folder: Path, stop: int = 250, **changes: Any) -> Fed:
    """A session with all that can happen in one: losses, duplicates, a gap that holds, a re-arm, silence."""
    fed = Fed(folder, limits={"stale_ms": 600.0}, **changes)
    for n, sample in enumerate(samples(ROWS)):
        if n == stop:
            break
        if n in (70, 71) or 150 <= n < 154:
            continue
        fed.push(sample)
        if n % 40 == 7:
            fed.push(sample)
        if n == 160:
            fed.session.rearm("tester")
    return fed


def bits(state: dict[str, Any]) -> dict[str, bytes]:
    return {key: value.tobytes() for key, value in state.items()}


def told(output: Output) -> Any:
    return output.state, output.cause, output.position, [(f.position, f.radius_mm) for f in output.forecasts]


def test_all_is_in_the_journal(tmp_path: Path) -> None:
    fed = eventful(tmp_path / "one")
    journal = Journal.open(tmp_path / "one")
    steps = list(journal.steps())
    assert [step.n for step in steps] == list(range(1, fed.session.samples + 1))
    by_number = {output.sample: output for output in fed.session.recent if output.sample}
    for step in steps[-100:]:
        output = by_number[step.n]
        assert (step.state, step.cause, step.verdict) == (output.state, output.cause, output.verdict)
        for k, forecast in enumerate(output.forecasts):
            if forecast.position is not None:
                assert step.forecasts is not None
                assert step.forecasts[k].tolist() == forecast.position
    recorded = [(e.data["before"], e.data["after"], e.data["cause"]) for e in journal.events(kind=TRANSITION)]
    assert recorded == [(c.before, c.after, c.cause) for c in fed.session.transitions]
    assert journal.settings() == fed.session.settings
    journal.close()
    fed.session.close()


@pytest.mark.parametrize("checkpoint", ["none", "early", "late", "damaged"])
def test_resume_goes_on_bit_for_bit(tmp_path: Path, checkpoint: str) -> None:
    whole = eventful(tmp_path / "whole")
    fed = eventful(tmp_path / "one", stop=140 if checkpoint == "early" else 200)
    file = tmp_path / "one" / "checkpoint.npz"
    if checkpoint != "none":
        assert fed.session.journal is not None
        fed.session.journal.save_checkpoint(fed.session.checkpoint())
    if checkpoint == "damaged":
        file.write_bytes(file.read_bytes()[:-300])
    kept = file.read_bytes() if file.exists() else None
    assert fed.session.journal is not None
    fed.session.journal.close()  # as a killed process would
    if checkpoint == "early":
        more = eventful(tmp_path / "more", stop=200)
        more.session.close()
        shutil.copy(tmp_path / "more" / "journal.sqlite", tmp_path / "one" / "journal.sqlite")
        for rest in (tmp_path / "one").glob("journal.sqlite-*"):
            rest.unlink()
    if kept is not None:
        file.write_bytes(kept)
    session = again.resume(tmp_path / "one")
    on = Fed()
    on.session, session._now = session, on.clock
    rest = list(samples(ROWS))[200:250]
    outputs = [on.push(sample) for sample in rest]
    wanted = {o.time: o for o in whole.session.recent if o.verdict == "taken"}
    for output in outputs:
        other = wanted[output.time]
        assert told(output)[2:] == told(other)[2:]
    assert bits(session.core.stream.state()) == bits(whole.session.core.stream.state())
    assert again.verify(tmp_path / "one").ok
    session.close()


def test_a_checkpoint_holds_all_that_the_next_sample_depends_on(tmp_path: Path) -> None:
    fed = eventful(tmp_path / "one")
    state = fed.session.core.state()
    copy = Fed().session.core
    copy.restore(state)
    assert bits(copy.state()) == bits(state)
    for sample in samples(ROWS[250:], 250):
        mine, other = fed.session.core.take(sample), copy.take(sample)
        assert mine.findings == other.findings
        assert mine.forecasts is not None and other.forecasts is not None
        assert mine.forecasts.tobytes() == other.forecasts.tobytes()
    fed.session.close()


def test_verify_finds_nothing_wrong_and_then_each_kind_of_tampering(tmp_path: Path) -> None:
    eventful(tmp_path / "one").session.close()
    found = again.verify(tmp_path / "one")
    assert found.ok and found.forecasts > 200 and found.samples == found.forecasts + 7
    for n, statement in enumerate(
        (
            "UPDATE forecasts SET positions = zeroblob(length(positions)) WHERE n = 100",
            "UPDATE samples SET positions = zeroblob(length(positions)) WHERE n = 100",
            "DELETE FROM forecasts WHERE n = 100",
            "DELETE FROM forecasts WHERE n = (SELECT MAX(n) FROM forecasts)",
            "UPDATE forecasts SET verdict = 'late' WHERE n = 100",
        )
    ):
        copy = tmp_path / f"copy{n}"
        shutil.copytree(tmp_path / "one", copy)
        database = sqlite3.connect(copy / "journal.sqlite")
        database.execute(statement)
        database.commit()
        database.close()
        assert not again.verify(copy).ok


def test_a_full_disk_holds_and_says_so_and_a_resume_mends_it(tmp_path: Path) -> None:
    fed = Fed(tmp_path / "one")
    outputs = fed.run(ROWS[:60])
    assert fed.session.journal is not None
    database = fed.session.journal._db
    pages = database.execute("PRAGMA page_count").fetchone()[0]
    database.execute(f"PRAGMA max_page_count = {pages + 1}")  # SQLite's own "database or disk is full"
    outputs += fed.run(ROWS[60:200], 60)
    held = next(output for output in outputs if output.state is State.HOLD)
    assert held.cause == Cause.JOURNAL and "full" in held.detail
    assert all(f.position is None for f in held.forecasts) and held.position is not None
    last = outputs[-1]
    assert (last.state, last.verdict, last.cause) == (State.HOLD, "refused", Cause.JOURNAL)
    with pytest.raises(BreathcastError, match="resume"):
        fed.session.rearm("me")
    fed.session.close()
    session = again.resume(tmp_path / "one")
    assert session.samples == held.sample - 1 if held.sample else False
    assert session.safety.cause == Cause.RESUMED
    assert again.verify(tmp_path / "one").ok
    session.close()


def test_a_journal_that_vanishes_holds(tmp_path: Path) -> None:
    fed = Fed(tmp_path / "one")
    fed.run(ROWS[:40])
    (tmp_path / "one" / "journal.sqlite").unlink()
    output = fed.session.check_journal()
    assert output is not None and (output.state, output.cause) == (State.HOLD, Cause.JOURNAL)
    fed.session.close()


def test_a_locked_journal_holds(tmp_path: Path) -> None:
    fed = Fed(tmp_path / "one")
    fed.run(ROWS[:40])
    other = sqlite3.connect(tmp_path / "one" / "journal.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    output = fed.run([ROWS[40]], 40)[0]
    assert (output.state, output.cause) == (State.HOLD, Cause.JOURNAL)
    assert "locked" in output.detail
    other.close()
    fed.session.close()


def test_a_folder_that_cannot_be_written_is_said_and_the_engine_lives(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    engine = engine_with(tmp_path / "file")
    with pytest.raises(BreathcastError, match="What to do: name a folder"):
        engine.create(Fed().session.settings)
    assert engine.names() == []
    engine.close()


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, "one")
    with pytest.raises(BreathcastError, match="in use"):
        again.resume(tmp_path / "one")
    engine.close()
    again.resume(tmp_path / "one").close()


def test_a_name_is_not_taken_twice(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, "one")
    engine.end("one")
    with pytest.raises(BreathcastError, match="resume it"):
        engine.create(Fed().session.settings)
    assert engine.journals() == ["one"]
    assert engine.resume("one").name == "one"
    for name in ("../one", "nobody", ""):
        with pytest.raises(BreathcastError):
            engine.resume(name)
    engine.close()


@pytest.mark.parametrize("content", [b"", b"no database at all" * 100])
def test_a_file_that_is_no_journal(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "journal.sqlite").write_bytes(content)
    with pytest.raises(BreathcastError, match=r"journal\.sqlite: "):
        again.verify(tmp_path / "one")
    with pytest.raises(BreathcastError, match="holds no journal"):
        again.verify(tmp_path / "two")


def test_the_engine_takes_checkpoints_and_many_sessions(tmp_path: Path) -> None:
    engine = engine_with(tmp_path, "one", "two")
    heard: list[Output] = []
    engine.listen(heard.append)
    mine, all_of_them = engine.subscribe("one", room=5), engine.subscribe()
    for sample in samples(ROWS[:120]):
        engine.push("one", sample)
        engine.push("two", shifted(sample, 1.0))
    engine.tick()
    engine.end("one")
    assert (tmp_path / "one" / "checkpoint.npz").exists()
    assert mine.closed and mine.dropped > 100 and len(heard) >= 240
    assert {output.session for output in iter(all_of_them.take, None)} == {"one", "two"}
    with pytest.raises(BreathcastError, match="there are: two"):
        engine.push("one", sample)
    engine.close()
    for name in ("one", "two"):
        assert again.verify(tmp_path / name).ok
