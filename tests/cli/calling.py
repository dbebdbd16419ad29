"""Calls of the command line inside this process, and recordings to call it with."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import breathcast as bc
from breathcast.cli.main import run

SMALL = "uoro(hidden=4,history=0.5,training=5),lms(history=0.5,training=5)"  # quick, and one of them random
FAST = ("--methods", SMALL, "--horizons", "0.2,0.5", "--test-start", "10", "--runs", "2")
LABEL = "uses targets before they can be measured"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=_refuse)


def call(*arguments: object) -> Result:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    assert "Traceback" not in out.getvalue() + err.getvalue()
    return Result(code, out.getvalue(), err.getvalue())


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(), parse_constant=_refuse)


def recording(name: str = "one", seed: int = 0) -> bc.Recording:
    return bc.simulate("regular", duration=20.0, rate=10.0, markers=2, seed=seed, dropout=0.02, name=name)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")
