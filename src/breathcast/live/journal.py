"""The journal of a session: SQLite in a folder of its own. What is not in it does not leave the session.

FOLDER/journal.sqlite   samples, forecasts and events, in write-ahead mode: a killed process loses nothing committed
FOLDER/checkpoint.npz   the state of the learner some samples ago, so that a resume is quick; a journal works without
FOLDER/lock             held by the process that writes
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from breathcast.errors import BreathcastError
from breathcast.files import replace_file
from breathcast.forecasters.method import Array
from breathcast.live.lock import Lock
from breathcast.live.model import Sample, Transition, Verdict
from breathcast.live.settings import SessionSettings
from breathcast.version import __version__

FORMAT = 1
_BUSY_S = 0.05  # s to wait for another program that holds the file; longer, and the session holds
_TABLES = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE samples (
    n INTEGER PRIMARY KEY, arrival REAL NOT NULL, device REAL, source TEXT NOT NULL, positions BLOB NOT NULL);
CREATE TABLE forecasts (
    n INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, verdict TEXT NOT NULL, positions BLOB, state TEXT NOT NULL,
    cause TEXT NOT NULL);
CREATE TABLE events (
    id INTEGER PRIMARY KEY, after_sample INTEGER NOT NULL, sequence INTEGER NOT NULL, time REAL NOT NULL,
    kind TEXT NOT NULL, data TEXT NOT NULL);
"""
REARM, TRANSITION, SETTINGS, RESUME = "rearm", "transition", "settings", "resume"
_CURE = "see that the disk has room and the folder can be written to, then resume the session"


@dataclass(frozen=True, slots=True)
class Step:
    """What one sample left in the journal. `forecasts` is what the method said, also where it was held back."""

    n: int
    sample: Sample
    sequence: int
    verdict: Verdict
    forecasts: Array | None
    state: str
    cause: str


@dataclass(frozen=True, slots=True)
class Event:
    """Anything else that happened: an operator's re-arming, a change of state, the settings, a resume."""

    id: int
    after_sample: int
    sequence: int
    time: float
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a session's core after a sample and an event."""

    sample: int
    event: int
    state: dict[str, NDArray[Any]]


class Journal:
    """One writer. Every method raises BreathcastError where SQLite or the disk fails."""

    def __init__(self, folder: Path, *, write: bool, create: bool = False) -> None:
        """Open a journal that is there, or make one with `create`; use the class methods."""
        self.folder, self.file = folder, folder / "journal.sqlite"
        self._lock = Lock(folder / "lock") if write else None
        if self._lock is not None:
            self._lock.take()
        try:
            self._db = self._connect(write, create)
            self._inode = self.file.stat().st_ino if write else 0
        except BaseException:
            if self._lock is not None:
                self._lock.release()
            raise

    @classmethod
    def create(cls, folder: Path, settings: SessionSettings, time: float) -> Journal:
        """Begin one, in a folder that holds none."""
        if (folder / "journal.sqlite").exists():
            cure = "give the session another name, or resume it"
            raise BreathcastError("a session of this name has a journal already", file=folder, cure=cure)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            cure = "name a folder for journals that you may write to"
            raise BreathcastError(f"cannot be made: {error.strerror}", file=folder, cure=cure) from error
        journal = cls(folder, write=True, create=True)
        with journal._failing():
            journal._db.execute("BEGIN IMMEDIATE")
            for statement in _TABLES.split(";"):
                journal._db.execute(statement)
            about = {"format": str(FORMAT), "breathcast": __version__, "settings": json.dumps(settings.to_dict())}
            journal._db.executemany("INSERT INTO about VALUES (?, ?)", about.items())
            journal._event(0, 0, time, SETTINGS, settings.to_dict())
            journal._db.execute("COMMIT")
            journal._durability(settings)
        return journal

    @classmethod
    def open(cls, folder: Path, *, write: bool = False) -> Journal:
        """Open one to read, or with `write` to go on."""
        if not (folder / "journal.sqlite").is_file():
            cure = "breathcast sessions list shows the journals there are"
            raise BreathcastError("holds no journal of a session", file=folder, cure=cure)
        journal = cls(folder, write=write)
        try:
            journal._check_format()
            if write:
                with journal._failing():
                    journal._durability(journal.settings())
        except BaseException:
            journal.close()
            raise
        return journal

    def _connect(self, write: bool, create: bool) -> sqlite3.Connection:
        mode = "rwc" if create else "rw" if write or os.access(self.folder, os.W_OK) else "ro"
        with self._failing():
            database = self._connection(mode)
            if write:
                database.execute("PRAGMA journal_mode=WAL")
                database.execute("PRAGMA wal_autocheckpoint=0")  # `tidy` does it, beside the samples' way
            else:
                database.execute("PRAGMA query_only=1")
            return database

    def _connection(self, mode: str) -> sqlite3.Connection:
        address = f"{self.file.resolve().as_uri()}?mode={mode}"
        return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=_BUSY_S)

    def _durability(self, settings: SessionSettings) -> None:
        level = "FULL" if settings.durability == "power" else "NORMAL"
        self._db.execute(f"PRAGMA synchronous={level}")

    def _check_format(self) -> None:
        found = self.about().get("format")
        if found != str(FORMAT):
            cure = f"use the breathcast that wrote it ({self.about().get('breathcast', 'unknown')})"
            raise BreathcastError(f"has the format {found}, not {FORMAT}", file=self.file, cure=cure)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """What SQLite or the disk says, as our own error."""
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, OverflowError) as error:
            if hasattr(self, "_db"):
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
            raise BreathcastError(f"the journal fails: {error}", file=self.file, cure=_CURE) from error

    # --- writing ---

    def write(self, step: Step, transition: Transition | None) -> None:
        """One sample, its forecast and the change of state that came with it: all of them, or none."""
        sample, forecasts = step.sample, step.forecasts
        with self._failing():
            run = self._db.execute
            run("BEGIN IMMEDIATE")
            run(
                "INSERT INTO samples VALUES (?, ?, ?, ?, ?)",
                (step.n, sample.time_arrival, sample.time_device, sample.source, packed(sample.positions)),
            )
            said = None if forecasts is None else packed(forecasts)
            row = (step.n, step.sequence, step.verdict, said, step.state, step.cause)
            run("INSERT INTO forecasts VALUES (?, ?, ?, ?, ?, ?)", row)
            if transition is not None:
                self._event(step.n, step.sequence, transition.time, TRANSITION, told(transition))
            run("COMMIT")

    def record(
        self,
        after_sample: int,
        sequence: int,
        time: float,
        *,
        transition: Transition | None = None,
        kind: str | None = None,
        **data: Any,
    ) -> int:
        """An event without a sample, with the change of state that came of it; the number of the last event."""
        with self._failing():
            self._db.execute("BEGIN IMMEDIATE")
            number = 0
            if kind is not None:
                number = self._event(after_sample, sequence, time, kind, data)
            if transition is not None:
                number = self._event(after_sample, sequence, transition.time, TRANSITION, told(transition))
            self._db.execute("COMMIT")
        return number

    def _event(self, after_sample: int, sequence: int, time: float, kind: str, data: Mapping[str, Any]) -> int:
        row = (after_sample, sequence, time, kind, json.dumps(data))
        done = self._db.execute(
            "INSERT INTO events (after_sample, sequence, time, kind, data) VALUES (?, ?, ?, ?, ?)", row
        )
        return int(done.lastrowid or 0)

    def check(self) -> None:
        """Raise where the file has gone from under us: SQLite would write on, for nobody."""
        with self._failing():
            if self.file.stat().st_ino != self._inode:
                raise OSError("the file was replaced")

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Put a checkpoint in place of the one before; may run in another thread."""
        buffer = io.BytesIO()
        where = np.array([checkpoint.sample, checkpoint.event], dtype=np.int64)
        arrays: dict[str, Any] = {"where": where, "version": np.array(__version__), **checkpoint.state}
        np.savez(buffer, **arrays)
        replace_file(self.folder / "checkpoint.npz", buffer.getvalue())

    def tidy(self) -> None:
        """Move what is written from the log into the database file, without disturbing the writer; in any thread."""
        with self._failing(), closing(self._connection("rw")) as other:
            other.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Let go of the file and of the lock."""
        with suppress(sqlite3.Error):
            self._db.close()
        if self._lock is not None:
            self._lock.release()

    # --- reading ---

    def about(self) -> dict[str, str]:
        """Format, version of breathcast, settings."""
        with self._failing():
            return dict(self._db.execute("SELECT key, value FROM about"))

    def settings(self) -> SessionSettings:
        """The settings that the session began with."""
        with self._failing():
            return SessionSettings.model_validate_json(self.about()["settings"])

    def counts(self) -> tuple[int, int, int]:
        """The last sample, the last sequence number and the last event."""
        with self._failing():
            query = (
                "SELECT (SELECT COALESCE(MAX(n), 0) FROM samples), "
                "MAX(COALESCE((SELECT MAX(sequence) FROM forecasts WHERE n = (SELECT MAX(n) FROM forecasts)), 0), "
                "COALESCE((SELECT MAX(sequence) FROM events), 0)), "
                "(SELECT COALESCE(MAX(id), 0) FROM events)"
            )
            last, sequence, event = self._db.execute(query).fetchone()
            return int(last), int(sequence), int(event)

    def span(self) -> tuple[float, float] | None:
        """When the first and the last sample came."""
        with self._failing():
            first, last = self._db.execute("SELECT MIN(arrival), MAX(arrival) FROM samples").fetchone()
        return None if first is None else (float(first), float(last))

    def steps(self, after: int = 0) -> Iterator[Step]:
        """All steps after a sample, in order."""
        shape = self.settings().shape
        query = (
            "SELECT n, arrival, device, source, samples.positions, sequence, verdict, forecasts.positions, state, "
            "cause FROM samples JOIN forecasts USING (n) WHERE n > ? ORDER BY n"
        )
        with self._failing():
            for n, arrival, device, source, positions, sequence, verdict, said, state, cause in self._db.execute(
                query, (after,)
            ):
                forecasts = None if said is None else unpacked(said, (-1, *shape))
                sample = Sample(unpacked(positions, shape), arrival, device, source)
                yield Step(n, sample, sequence, Verdict(verdict), forecasts, state, cause)

    def events(self, after: int = 0, kind: str | None = None) -> list[Event]:
        """All events after one, in order."""
        query = "SELECT id, after_sample, sequence, time, kind, data FROM events WHERE id > ?"
        with self._failing():
            rows = self._db.execute(f"{query} AND (? IS NULL OR kind = ?) ORDER BY id", (after, kind, kind)).fetchall()
            return [Event(row[0], row[1], row[2], row[3], row[4], json.loads(row[5])) for row in rows]

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        with self._failing():
            found = [str(row[0]) for row in self._db.execute("PRAGMA quick_check(5)")]
        return [] if found == ["ok"] else found

    def checkpoint(self) -> Checkpoint | None:
        """The last checkpoint; None where there is none that can be used, which costs time and nothing else."""
        try:
            content = io.BytesIO((self.folder / "checkpoint.npz").read_bytes())
            with np.load(content, allow_pickle=False) as file:
                arrays = {key: file[key] for key in file.files}
            sample, event = (int(value) for value in arrays.pop("where"))
            if str(arrays.pop("version")) != __version__:
                return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return Checkpoint(sample, event, arrays)


def packed(positions: Array) -> bytes:
    """The bits of an array, the same on every machine."""
    return np.ascontiguousarray(positions, dtype="<f8").tobytes()


def unpacked(bits: bytes, shape: tuple[int, ...]) -> Array:
    """The array of these bits."""
    return np.frombuffer(bits, dtype="<f8").astype(np.float64).reshape(shape)


def told(transition: Transition) -> dict[str, Any]:
    """A change of state, ready for JSON."""
    return {
        "before": str(transition.before),
        "after": str(transition.after),
        "cause": transition.cause,
        "detail": transition.detail,
    }


def journals(data: Path) -> list[Path]:
    """The folders below `data` that hold a journal."""
    return sorted(file.parent for file in data.glob("*/journal.sqlite"))
