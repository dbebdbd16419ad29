"""Notes of several recordings, each said once."""

from __future__ import annotations

from breathcast.recordings.notes import merged


def test_what_all_parts_say_is_said_without_names() -> None:
    assert merged([("a", ["x", "y"]), ("b", ["y", "x", "y"])]) == ["x", "y"]
    assert merged([("a", ["x"])]) == ["x"]
    assert merged([]) == []


def test_what_some_parts_say_is_said_with_their_names() -> None:
    assert merged([("a", ["x"]), ("b", ["y"]), ("c", ["x"])]) == ["a, c: x", "b: y"]
    many = merged([*((name, ["x"]) for name in "abcde"), ("f", [])])
    assert many == ["a, b, c and 2 more: x"]
