"""A method as text: `lms`, `lms()` or `lms(learning_rate=0.02,history=3)`, on the command line and in settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Method


def method_from_text(text: str) -> Method:
    """One method: `lms`, `lms()` or `lms(learning_rate=0.02,history=3)`."""
    from breathcast.forecasters.table import METHODS, make  # which imports every method

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
