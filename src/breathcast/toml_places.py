"""Where a value stands in a TOML file: the parser does not say, and an error should."""

from __future__ import annotations

import re
from collections.abc import Iterator

Place = tuple[str | int, ...]  # ("method", 1, "grid", "history"): the keys and numbers that lead to a value


def line_of(place: Place, text: str) -> int | None:
    """The line of a value, or of the nearest table around it."""
    lines = dict(places(text))
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place)


_HEAD = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?")
_KEY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=(.*)$""")


def places(text: str) -> Iterator[tuple[Place, int]]:
    """Where each key stands; a value over many lines counts as where its key is."""
    table: Place = ()
    counts: dict[Place, int] = {}
    depth = 0  # of brackets still open
    for number, line in enumerate(text.splitlines(), 1):
        if depth > 0:
            depth += _opened(line)
            continue
        if head := _HEAD.match(line):
            keys: Place = _keys(head[2])
            if head[1] == "[[":
                counts[keys] = counts.get(keys, -1) + 1
                table = (*keys, counts[keys])
            else:
                table = (*keys[:1], counts[keys[:1]], *keys[1:]) if keys[:1] in counts else keys
            yield table, number
        elif pair := _KEY.match(line):
            keys = _keys(pair[1])
            for length in range(1, len(keys) + 1):
                yield (*table, *keys[:length]), number
            depth = max(0, _opened(pair[2]))


def _keys(dotted: str) -> Place:
    return tuple(key.strip().strip("\"'") for key in dotted.split("."))


def _opened(line: str) -> int:
    """Brackets opened less those closed, outside of strings and comments."""
    bare = re.sub(r'"(?:\\.|[^"\\])*"|\'[^\']*\'', "", line).split("#", maxsplit=1)[0]
    return sum(bare.count(sign) for sign in "[{") - sum(bare.count(sign) for sign in "]}")
