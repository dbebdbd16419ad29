"""Study files: TOML in, a checked spec out; an error names the line."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from breathcast.errors import BreathcastError
from breathcast.studies.spec import Spec, from_mapping
from breathcast.toml_places import Place, line_of, places


def read_spec(path: Path) -> Spec:
    """The study in a file; its recordings are found from the folder of the file on."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        cure = f"name a study file; `breathcast reproduce --write {path.name}` writes one to start from"
        raise BreathcastError("does not exist", file=path, cure=cure) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BreathcastError(f"cannot be read: {error}", file=path, cure="give a TOML file in UTF-8") from error
    spec = parse_spec(text, path)
    found = tuple(str((path.parent / Path(place).expanduser()).resolve()) for place in spec.recordings)
    return spec.changed(recordings=found)


def published_names() -> list[str]:
    """The published studies that come with the program."""
    return sorted(entry.name.removesuffix(".toml") for entry in _published().iterdir() if entry.name.endswith(".toml"))


def published_text(name: str) -> str:
    """The study file of a published study."""
    if name not in published_names():
        raise BreathcastError(
            f"there is no published study {name!r}", cure=f"use one of: {', '.join(published_names())}"
        )
    text: str = (_published() / f"{name}.toml").read_text(encoding="utf-8")
    return text


def published_spec(name: str) -> Spec:
    """A published study."""
    return parse_spec(published_text(name), Path(f"{name}.toml"))


def _published() -> Any:
    return files("breathcast.studies") / "published"


def parse_spec(text: str, path: Path) -> Spec:
    """The study in a text; `path` is for the errors."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+)", str(error))
        line = int(at[1]) if at else len(text.splitlines())
        problem = str(error).split(" (at ", maxsplit=1)[0]
        raise BreathcastError(f"is no TOML: {problem}", file=path, line=line, cure="mend that line") from error
    try:
        return from_mapping(values)
    except ValidationError as error:
        slips = sorted(
            error.errors(), key=lambda found: found["type"] != "extra_forbidden"
        )  # it may explain the others
        raise _explained(slips[0], text, path) from error


def _explained(error: ErrorDetails, text: str, path: Path) -> BreathcastError:
    """The first thing that is wrong, with its line."""
    place = tuple(part for part in error["loc"] if not _is_alternative(part))
    name = ".".join(str(part) for part in place if isinstance(part, str))
    line = line_of(place, text)
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, ValueError):
        line = line_of(_named(place, getattr(cause, "problem", str(cause)), text), text)
    if isinstance(cause, BreathcastError):
        return BreathcastError(cause.problem, file=path, line=line, cure=cause.cure)
    if error["type"] == "extra_forbidden":
        return BreathcastError(f"there is no setting {name!r}", file=path, line=line, cure=_known(place))
    if error["type"] == "missing":
        return BreathcastError(
            f"{name} is missing", file=path, line=line, cure="give it; docs/studies.md lists them all"
        )
    problem = error["msg"].removeprefix("Value error, ")
    given = "" if cause is not None else f" (given: {error['input']!r})"
    said = f"{name}: {problem}{given}" if name else problem
    return BreathcastError(said, file=path, line=line, cure="docs/studies.md says what each setting takes")


def _is_alternative(part: str | int) -> bool:
    """Whether pydantic means one of several types a value may have, and no key of the file."""
    return isinstance(part, str) and (part in {"Steps", "Range", "bool", "int", "float", "str"} or "[" in part)


def _known(place: Place) -> str:
    """The settings there are beside an unknown one."""
    from breathcast.studies.spec import Entry, Range, Search, Steps

    parents: dict[str | int, type[BaseModel]] = {"method": Entry, "search": Search, "ranges": Range, "horizons": Steps}
    parent = next((parents[part] for part in reversed(place[:-1]) if part in parents), Spec)
    return f"use one of: {', '.join(parent.model_fields)}"


def _named(place: Place, problem: str, text: str) -> Place:
    """Below this place the first value whose key the problem names, or the place itself."""
    words = set(re.findall(r"\w+", problem))
    below = (found for found, _ in places(text) if found[: len(place)] == place and found[-1] in words)
    return next(below, place)
