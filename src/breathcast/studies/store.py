"""The folder of a study: its spec, and for each task that is done one file, which is there whole or not at all."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from breathcast.errors import BreathcastError
from breathcast.files import left_over, replace_file
from breathcast.studies.tasks import Stage, Task
from breathcast.studies.work import SCHEMAS, TRACE, Outcome


class Store:
    """Results by the key of their task.

    FOLDER/study.json               the spec, the versions, the names of the recordings
    FOLDER/selection/ab/abcd….parquet   scores of a selection task; screening/ and test/ likewise
    FOLDER/traces/ab/abcd….parquet  forecasts over time of a test task
    FOLDER/failed/abcd….json        why a task could not be done
    """

    def __init__(self, folder: Path) -> None:
        """Take a folder; nothing is made before something is written."""
        self.folder = folder

    # --- the description ---

    @property
    def _description(self) -> Path:
        return self.folder / "study.json"

    def describe(self, told: dict[str, Any]) -> None:
        """Write what the study is, or refuse a folder that holds another one."""
        if self._description.exists() and self.description()["spec"]["name"] != told["spec"]["name"]:
            raise BreathcastError(
                f"holds the study {self.description()['spec']['name']!r}",
                file=self.folder,
                cure="name another folder with -o, or remove this one",
            )
        if self.folder.exists() and not self.folder.is_dir():
            raise BreathcastError("is a file", file=self.folder, cure="name a folder with -o")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BreathcastError(
                f"cannot be made: {error.strerror}", file=self.folder, cure="name a folder that you may write to"
            ) from error
        for file in left_over(self.folder):
            file.unlink(missing_ok=True)
        replace_file(self._description, json.dumps(told, indent=1).encode())

    def description(self) -> dict[str, Any]:
        """What `describe` wrote."""
        try:
            told: dict[str, Any] = json.loads(self._description.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            cure = "name the folder that `breathcast study run -o` or `breathcast reproduce -o` wrote"
            raise BreathcastError("holds no study", file=self.folder, cure=cure) from error
        except (OSError, ValueError) as error:
            cure = "run the study again with the same folder: what is done is kept"
            raise BreathcastError(f"cannot be read: {error}", file=self._description, cure=cure) from error
        return told

    # --- results ---

    def _file(self, kind: str, key: str) -> Path:
        return self.folder / kind / key[:2] / f"{key}.parquet"

    def _failure(self, key: str) -> Path:
        return self.folder / "failed" / f"{key}.json"

    def done(self, task: Task) -> bool:
        """Whether its result is there, be it that it failed."""
        return self._file(task.stage, task.key).exists() or self._failure(task.key).exists()

    def missing(self, tasks: Iterable[Task]) -> list[Task]:
        """Those still to do, in their order."""
        return [task for task in tasks if not self.done(task)]

    def put(self, task: Task, outcome: Outcome) -> None:
        """Keep a result: the trace first, so that a task whose scores are there has its trace too."""
        if outcome.failure is not None:
            told = {"task": task.key, "title": task.title, "recording": task.recording, "why": outcome.failure}
            self._write(self._failure(task.key), json.dumps(told, indent=1).encode())
            return
        if outcome.trace is not None:
            self._write(self._file("traces", task.key), _parquet(outcome.trace))
        self._write(self._file(task.stage, task.key), _parquet(outcome.scores))

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)

    def forget_failures(self, tasks: Iterable[Task]) -> None:
        """Have these tasks tried again."""
        for task in tasks:
            self._failure(task.key).unlink(missing_ok=True)

    def failures(self, tasks: Iterable[Task]) -> list[dict[str, Any]]:
        """Which of the tasks failed, and why."""
        files = [self._failure(task.key) for task in tasks]
        return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]

    def scores(self, stage: Stage, tasks: Sequence[Task]) -> pl.DataFrame:
        """The results of tasks of one stage that are there, in the order of the tasks: the same bytes every time."""
        files = [self._file(task.stage, task.key) for task in tasks]
        parts = [_read(file) for file in files if file.exists()]
        return pl.concat(parts) if parts else pl.DataFrame(schema=SCHEMAS[stage])

    def trace(self, task: Task) -> pl.DataFrame:
        """Forecasts over time of one task; empty where none were kept."""
        file = self._file("traces", task.key)
        return _read(file) if file.exists() else pl.DataFrame(schema=TRACE)


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _read(file: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(file, memory_map=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        cure = "remove this file and run the study again: only this task is computed anew"
        raise BreathcastError(f"cannot be read: {error}", file=file, cure=cure) from error
