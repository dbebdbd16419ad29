"""`breathcast methods`: which methods there are, and their hyper-parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from breathcast.cli import options, parse
from breathcast.cli.output import check_targets, emit_json

if TYPE_CHECKING:
    from breathcast.forecasters.method import Method


def methods(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Only these methods.")] = None,
    json: options.Json = None,
) -> None:
    """List the methods, their hyper-parameters and defaults.

    Each hyper-parameter is listed with its unit and the values that published studies searched.

    \b
    Examples:
      breathcast methods
      breathcast methods uoro lms
      breathcast methods --json - | jq '.methods[].name'
    """
    from breathcast.forecasters.table import METHODS
    from breathcast.reports.tables import method_table
    from breathcast.reports.terminal import bullets, console, show

    check_targets([json])
    with parse.option("NAME"):
        wanted = [parse.method(name) for name in names or METHODS]
    if emit_json({"methods": [described(method) for method in wanted]}, json):
        return
    target = console()
    for method in wanted:
        show(method_table(method), target)
    bullets(['Change a hyper-parameter like this: --methods "uoro(hidden=50,history=3),linear"'], target)


def described(method: Method) -> dict[str, Any]:
    """A method as data."""
    from breathcast.reports.glossary import HYPERPARAMETERS
    from breathcast.reports.tables import values

    return {
        "name": method.name,
        "title": method.title,
        "random": method.random,
        "hyperparameters": [
            {
                "name": key,
                "default": value,
                "unit": HYPERPARAMETERS.get(key, ("", ""))[0],
                "meaning": HYPERPARAMETERS.get(key, ("", ""))[1],
                "grid": list(method.grid.get(key, ())),
            }
            for key, value in values(method).items()
        ],
    }
