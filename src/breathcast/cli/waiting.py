"""What a user sees while waiting, on standard error; and long work that Ctrl-C ends at once."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

import typer

Result = TypeVar("Result")
Progress = Callable[[int, int, str], None]  # done, total, what

_PATIENCE = 2.0  # s without a word
_REPEAT = 15.0  # s between lines where there is no terminal


def say(text: str) -> None:
    """A message, on standard error."""
    typer.echo(text, err=True)


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """A spinner while this lasts; without a terminal one line, if it lasts."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.text import Text

        with Console(file=sys.stderr).status(Text(text)):
            yield
        return
    timer = threading.Timer(_PATIENCE, say, [f"{text} ..."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def progress(beginning: str) -> Iterator[Progress]:
    """A bar that the function it gives moves on; without a terminal a line now and then."""
    if not sys.stderr.isatty():
        with _lines(beginning) as report:
            yield report
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=20),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
    )
    with rich.Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(beginning, total=None)
        yield lambda done, total, what: bar.update(task, completed=done, total=total, description=what)


@contextmanager
def _lines(beginning: str) -> Iterator[Progress]:
    last = time.monotonic()

    def report(done: int, total: int, what: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _REPEAT:
            last = time.monotonic()
            say(f"{done} of {total}: {what}")

    with waiting(beginning):
        yield report


def interruptible(work: Callable[[], Result]) -> Result:
    """Do long work in another thread, so that this one hears Ctrl-C at once: compiled code cannot be interrupted."""
    result: Future[Result] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)  # a wait without end would not hear Ctrl-C everywhere
    return result.result()
