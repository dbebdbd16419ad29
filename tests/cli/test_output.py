from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pytest

from breathcast.cli import waiting
from breathcast.cli.output import distinct, emit_json, file_names, save
from breathcast.errors import BreathcastError


def test_a_file_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.json"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BreathcastError, match="No space left on device"):
        save(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_json_holds_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    assert emit_json({"a": [float("nan"), float("inf"), 1.5], "b": ("x", {"c": -float("inf")})}, "-")
    assert json.loads(capsys.readouterr().out) == {"a": [None, None, 1.5], "b": ["x", {"c": None}]}
    assert not emit_json({}, None)


def test_names() -> None:
    assert distinct(["a", "b", "a", "a (2)", "a"]) == ["a", "b", "a (2)", "a (2) (2)", "a (3)"]
    assert file_names(["../x", "a/b", "a\\b", "", "é 1"]) == ["_x", "a_b", "a_b (2)", "recording", "é 1"]


def test_work_in_another_thread_gives_its_result_or_its_error() -> None:
    assert waiting.interruptible(lambda: 3) == 3
    with pytest.raises(BreathcastError):
        waiting.interruptible(lambda: (_ for _ in ()).throw(BreathcastError("no")))


def test_waiting_says_so_only_when_it_lasts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waiting, "_PATIENCE", 0.05)
    monkeypatch.setattr(waiting, "_REPEAT", 0.0)
    with waiting.waiting("Quick"):
        pass
    with waiting.waiting("Slow"):
        time.sleep(0.2)
    with waiting.progress("Begin") as report:
        report(1, 2, "a")
    assert capsys.readouterr().err.splitlines() == ["Slow ...", "1 of 2: a"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_spinner_and_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with waiting.waiting("Reading [red]x"):
        time.sleep(0.15)
    with waiting.progress("Begin") as report:
        report(1, 2, "uoro on [bold]")
        time.sleep(0.15)
    assert "Reading [red]x" in screen.getvalue()
    assert "uoro on [bold]" in screen.getvalue()
    assert "1/2" in screen.getvalue()
