from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import breathcast as bc
from breathcast.cli import inspect as verb
from tests.cli.calling import call

PROGRAM = [sys.executable, "-m", "breathcast"]
LISTENING = (  # where the tests run in the background, their children would not hear Ctrl-C
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from breathcast.cli.main import main; main()"
)


def failing(error: BaseException) -> object:
    def fail(*_: object) -> None:
        raise error

    return fail


def test_version_and_help() -> None:
    assert call("--version").out == f"breathcast {bc.__version__}\n"
    assert call("-h").code == 0
    assert "Exit codes:" in call("--help").out
    assert "130  interrupted" in call("--help").out


def test_no_or_an_unknown_command_is_wrong_usage() -> None:
    nothing = call()
    assert nothing.code in (0, 2)  # as the version of Typer sees it
    assert "compare" in nothing.out + nothing.err
    result = call("compar")
    assert result.code == 2
    assert "'compar'" in result.err


def test_a_fault_of_ours_is_one_line_with_how_to_report_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "check_targets", failing(KeyError("what\never")))
    result = call("inspect", file)
    assert (result.code, result.out) == (3, "")
    assert "breathcast itself failed (KeyError:" in result.err
    assert "breathcast doctor" in result.err
    assert len(result.err.splitlines()) == 2


def test_debugging_shows_where_it_happened(file: Path) -> None:
    code = "import breathcast.cli.inspect as v; v.check_targets = None; from breathcast.cli.main import main; main()"
    environment = os.environ | {"BREATHCAST_DEBUG": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", str(file)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 3
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (MemoryError(), 1, "not enough memory"),
        (RuntimeError("cannot cache function 'f': no locator available"), 1, "NUMBA_CACHE_DIR"),
        (KeyboardInterrupt(), 130, "Interrupted"),
    ],
)
def test_what_may_happen_anywhere(
    file: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, words: str
) -> None:
    monkeypatch.setattr(verb, "check_targets", failing(error))
    result = call("inspect", file)
    assert (result.code, result.out) == (code, "")
    assert words in result.err


def test_nothing_heavy_is_loaded_for_help() -> None:
    code = (
        "import sys; from breathcast.cli.main import run; run(['compare', '--help']); "
        "print({'numpy', 'numba', 'polars', 'plotly', 'scipy'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "set()\n"


def test_a_reader_that_leaves_is_no_failure(file: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "inspect", str(file), "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read().splitlines()
    assert not [line for line in said if not line.endswith(b" ...")]  # on a busy machine it says what it is doing
    assert process.returncode == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send")
def test_ctrl_c_leaves_nothing_half_written(tmp_path: Path) -> None:
    source = tmp_path / "long.csv"
    bc.write(bc.simulate("regular", duration=900.0, rate=20.0, seed=1), source)
    targets = ["--html", str(tmp_path / "r.html"), "--json", str(tmp_path / "r.json")]
    with subprocess.Popen(
        [sys.executable, "-c", LISTENING, "compare", str(source), "--methods", "uoro", "--runs", "64", *targets],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        while not process.stderr.readline().endswith(" ...\n"):  # said after two seconds; the work goes on for minutes
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        out, err = process.communicate()
    assert process.returncode == 130
    assert time.monotonic() - begin < 5.0
    assert (out, err.splitlines()[-1]) == ("", "Interrupted; nothing is half-written.")
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["long.csv"]
