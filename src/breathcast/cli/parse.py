"""Texts of options as objects: `uoro,lms(learning_rate=0.02,history=3)` and `0.1,0.5`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from breathcast.errors import BreathcastError

if TYPE_CHECKING:
    from breathcast.forecasters.method import Method

ALL = "all"


@contextmanager
def option(name: str) -> Iterator[None]:
    """What is wrong in here is wrong with this option: an error of usage."""
    try:
        yield
    except BreathcastError as error:
        raise typer.BadParameter(str(error), param_hint=f"'{name}'") from error


def horizons(text: str) -> list[float]:
    """Seconds, parted by commas; sorted, each once."""
    found = set()
    for piece in text.split(","):
        try:
            value = float(piece)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            cure = "give positive numbers of seconds with commas between them, like 0.1,0.5,2"
            raise BreathcastError(f"{piece.strip()!r} is no horizon", cure=cure)
        found.add(value)
    return sorted(found)


def methods(text: str) -> list[Method]:
    """Methods by name, parted by commas, each with its hyper-parameters in parentheses if they are not the defaults."""
    from breathcast.forecasters.table import METHODS

    if text.strip() == ALL:
        return [method() for method in METHODS.values()]
    found: list[Method] = []
    for piece in _pieces(text):
        wanted = method(piece)
        if wanted in found:
            raise BreathcastError(f"{piece} is there twice", cure="name it once, or give other hyper-parameters")
        found.append(wanted)
    return found


def method(text: str) -> Method:
    """One method: `lms`, `lms()` or `lms(learning_rate=0.02,history=3)`."""
    from breathcast.forecasters.naming import method_from_text

    return method_from_text(text)


def _pieces(text: str) -> list[str]:
    """Split at the commas that are not in parentheses."""
    pieces, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
        if depth not in (0, 1):
            break
    if depth:
        raise BreathcastError(f"the parentheses of {pieces[-1].strip()!r} do not match", cure="close each one")
    return pieces
