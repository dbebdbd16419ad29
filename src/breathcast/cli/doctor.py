"""`breathcast doctor`: is everything there, and does it compute what it should?"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial

import typer

from breathcast.cli import exits, options
from breathcast.cli.output import check_targets, emit_json
from breathcast.cli.waiting import interruptible, waiting

_REINSTALL = "install breathcast again, in a new environment"
_COMPUTES_WRONG = "set BREATHCAST_DEBUG=1 and report what this command prints; do not trust results from this machine"


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, whether it is well, and what to do if not."""

    name: str
    ok: bool
    detail: str
    cure: str | None = None


def doctor(json: options.Json = None) -> None:
    """Check the installation: versions, compiled methods, a self-test.

    It leaves with exit code 0 if all is well, and 3 if something is not. It takes a few seconds, and 10-30 s more if
    the methods have to be compiled first.

    \b
    Examples:
      breathcast doctor
      breathcast doctor --json doctor.json
      breathcast doctor --json - | jq '.findings[] | select(.ok | not)'
    """
    check_targets([json])
    with waiting("Examining (10-30 s more if the methods must be compiled first)"):
        found = interruptible(lambda: list(examine()))
    healthy = all(finding.ok for finding in found)
    if not emit_json({"ok": healthy, "findings": [asdict(finding) for finding in found]}, json):
        for finding in found:
            _print(finding)
        typer.echo("\nAll is well." if healthy else "\nSomething is wrong; see the lines that say FAIL.")
    if not healthy:
        raise typer.Exit(exits.BROKEN)


def examine() -> Iterator[Finding]:
    """All findings, one after the other; a check that fails does not stop the next."""
    yield from _versions()
    yield Finding("cores", True, f"{os.cpu_count()}")
    begin = time.perf_counter()
    yield _tried("import", lambda: _import(begin), _REINSTALL)
    yield _tried("cache", _cache, "set NUMBA_CACHE_DIR to a folder that you can write to")
    yield _tried("first call", _first_call, _REINSTALL)
    yield from _self_test()
    yield _tried("report", _report, "install plotly again")


def _tried(name: str, check: Callable[[], str], cure: str) -> Finding:
    try:
        return Finding(name, True, check())
    except Exception as error:
        return Finding(name, False, " ".join(f"{type(error).__name__}: {error}".split())[:300], cure)


def _versions() -> Iterator[Finding]:
    from breathcast.reports.versions import versions

    for name, version in versions().items():
        missing = version == "missing"
        yield Finding(name, not missing, version, _REINSTALL if missing else None)


def _import(begin: float) -> str:
    from breathcast.cli import selftest  # noqa: F401 - brings numpy, polars and the methods
    from breathcast.cli.kernels import kernel_functions

    kernel_functions()
    return f"{time.perf_counter() - begin:.1f} s"


def _cache() -> str:
    from breathcast.cli.kernels import kernel_cache

    state = kernel_cache()
    if state is None:
        return "nothing is compiled, because NUMBA_DISABLE_JIT is set: correct, and very slow"
    if not state.writable:
        raise PermissionError(f"{state.folder} cannot be written to, so methods are compiled at every start")
    return f"{state.folder}, {'filled' if state.filled else 'empty: the methods are compiled at first use'}"


def _first_call() -> str:
    """Call every method once, and see whether that compiled it."""
    from breathcast.cli.kernels import kernel_functions
    from breathcast.cli.selftest import first_call
    from breathcast.forecasters.table import METHODS

    begin = time.perf_counter()
    for kind in METHODS.values():
        first_call(kind)
    compiled = sum(sum(function.stats.cache_misses.values()) for function in kernel_functions())
    return f"{time.perf_counter() - begin:.1f} s, {'compiled now' if compiled else 'loaded from the cache'}"


def _self_test() -> Iterator[Finding]:
    try:
        from breathcast.cli import selftest
        from breathcast.forecasters.table import METHODS
    except Exception as error:
        yield Finding("self-test", False, f"cannot start: {error}", _REINSTALL)
        return
    for name, kind in METHODS.items():
        yield _tried(name, partial(selftest.stream_equals_batch, kind), _COMPUTES_WRONG)
    yield _tried("ramp", selftest.ramp_is_exact, _COMPUTES_WRONG)
    yield _tried("files", selftest.files_come_back, "check that the temporary folder can be written to")


def _report() -> str:
    from breathcast.reports.html import plotly

    return f"plotly.js, {len(plotly()) / 1e6:.1f} MB"


def _print(finding: Finding) -> None:
    mark = typer.style("ok  ", fg="green") if finding.ok else typer.style("FAIL", fg="red", bold=True)
    color = None if sys.stdout.isatty() else False
    typer.echo(f"{mark}  {finding.name:<12}  {finding.detail}", color=color)
    if not finding.ok:
        typer.echo(f"      What to do: {finding.cure}")
