"""The command `breathcast`: one verb a file, and no traceback for a user."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import Annotated

import typer

from breathcast.cli import (
    compare,
    convert,
    demo,
    doctor,
    exits,
    forecast,
    inspect,
    methods,
    replay,
    reproduce,
    serve,
    sessions,
    simulate,
    study,
    watch,
)
from breathcast.cli.waiting import say
from breathcast.errors import BreathcastError
from breathcast.version import __version__

app = typer.Typer(
    name="breathcast",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: half the start-up time, and nothing squeezed at 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (demo.demo, compare.compare, forecast.forecast, inspect.inspect, simulate.simulate, convert.convert):
    app.command()(verb)
app.command()(reproduce.reproduce)
app.add_typer(study.app)
app.command()(serve.serve)
app.command()(replay.replay)
app.command()(watch.watch)
app.add_typer(sessions.app)
app.command()(methods.methods)
app.command()(doctor.doctor)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"breathcast {__version__}")
        raise typer.Exit


@app.callback()
def breathcast(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Forecast the positions of breathing markers, and compare methods that do.

    Research use only; not a medical device; not for beam control.

    \b
    Examples:
      breathcast demo -o demo
      breathcast simulate -o recordings
      breathcast compare recordings --methods uoro,lms --html report.html
      breathcast reproduce pohl2022 --quick -o quick
      breathcast compare --help

    \b
    Exit codes:
      0    fine
      1    something in the data or the values; the message says what to do
      2    wrong usage
      3    doctor found a fault, or the program has one
      130  interrupted
    """


def main() -> None:
    """Run the command line of this process, and leave."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows another, and nothing fails
    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")  # whole cases share the cores; NumPy is not loaded yet
    if not _debugging():
        warnings.simplefilter("ignore")  # of libraries, to developers; what concerns users is in the results
    code = run()
    if code == exits.INTERRUPTED:
        # Compiled work in other threads cannot be stopped; every file is whole, so nobody has to wait for it.
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code; every message is on standard error."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return _interrupted()
    except BreathcastError as error:
        say(f"Error: {error}")
        return exits.MENDABLE
    except BrokenPipeError:  # the reader of our output has left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.MENDABLE
    except MemoryError:
        say("Error: there is not enough memory\n  What to do: take fewer or shorter recordings, or fewer runs")
        return exits.MENDABLE
    except Exception as error:  # the last resort: a user never sees a traceback
        return _fault(error)


def _run(arguments: list[str] | None) -> int:
    try:
        app(args=arguments, prog_name="breathcast")
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else exits.FINE
        return _interrupted() if code == exits.INTERRUPTED else code
    finally:
        sys.stdout.flush()
    return exits.FINE


def _interrupted() -> int:
    say("Interrupted; nothing is half-written.")
    return exits.INTERRUPTED


def _fault(error: Exception) -> int:
    if _debugging():
        traceback.print_exception(error)
        return exits.BROKEN
    if isinstance(error, RuntimeError) and "cannot cache function" in str(error):
        cure = "set NUMBA_CACHE_DIR to a folder that you can write to"
        say(f"Error: there is no place to keep the compiled methods\n  What to do: {cure}")
        return exits.MENDABLE
    what = " ".join(f"{type(error).__name__}: {error}".split())
    say(
        f"Error: breathcast itself failed ({what[:300]})\n"
        "  What to do: report it with this line and what `breathcast doctor` prints; "
        "BREATHCAST_DEBUG=1 shows where it happened"
    )
    return exits.BROKEN


def _debugging() -> bool:
    return os.environ.get("BREATHCAST_DEBUG", "") not in ("", "0")
