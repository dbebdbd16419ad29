"""Texts of options as objects: `uoro,lms(learning_rate=0.02,history=3)` and `0.1,0.5`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

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
    from breathcast.forecasters.table import METHODS, make

    form = re.fullmatch(r"\s*([^()]*?)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
    if form is None or not form[1]:
        cure = (
            f"write a name, with hyper-parameters like lms(learning_rate=0.02,history=3); names: {', '.join(METHODS)}"
        )
        raise BreathcastError(f"{text.strip()!r} is no method", cure=cure)
    name, inside = form[1], (form[2] or "").strip()
    default = make(name)
    given: dict[str, Any] = {}
    for assignment in inside.split(",") if inside else []:
        key, equals, value = (part.strip() for part in assignment.partition("="))
        if not equals or key in given:
            problem = f"is there twice in {name}(...)" if key in given else f"has no value in {name}(...)"
            raise BreathcastError(f"{key!r} {problem}", cure=f"write {name}(key=value,...): {_known(default)}")
        kind = get_type_hints(type(default)).get(key) if key in default.hyperparameters() else None
        given[key] = value if kind is None else _value(name, key, value, kind)
    return default.replace(**given)  # which refuses a key that there is not, and lists the others


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


def _value(name: str, key: str, text: str, kind: Any) -> Any:
    """The value of a hyper-parameter, of the type it has."""
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise BreathcastError(f"{name}: {key} is {text!r}", cure=f"give one of: {', '.join(get_args(kind))}")
        return text
    words: dict[Any, tuple[Callable[[str], Any], str]] = {
        int: (int, "a whole number"),
        float: (float, "a number"),
        str: (str, "a text"),
    }
    convert, wanted = words[kind]
    try:
        return convert(text)
    except ValueError as error:
        raise BreathcastError(f"{name}: {key} is {text!r}", cure=f"give {wanted}") from error


def _known(method: Method) -> str:
    return ", ".join(f"{key}={value}" for key, value in method.hyperparameters().items())
