"""Every command and every option has help, an example, and a place in docs/commands.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from breathcast.cli.main import app
from tests.cli.calling import call

DOCS = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
GROUP: Any = typer.main.get_command(app)


def leaves(group: Any, prefix: str = "") -> dict[str, Any]:
    """Commands by what is typed; those of a group, as `study`, with its name before them."""
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        found |= leaves(command, f"{name} ") if hasattr(command, "commands") else {prefix + name: command}
    return found


COMMANDS = leaves(GROUP)
SHARED = DOCS.split("### Options for reading")[1].split("\n## ")[0]


def section(name: str) -> str:
    found = re.search(rf"^## {name}$(.*?)(?=^## |\Z)", DOCS, re.MULTILINE | re.DOTALL)
    assert found, f"docs/commands.md has no section on {name}"
    return found[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_command(name: str) -> None:
    command, text = COMMANDS[name], section(name)
    shown = call(*name.split(), "--help")
    assert shown.code == 0
    assert f"  breathcast {name}" in shown.out.split("Examples:")[1]
    assert max(map(len, shown.out.splitlines())) <= 90  # examples are not wrapped
    for parameter in command.params:
        if parameter.param_type_name == "option":
            assert parameter.help, f"{name} {parameter.name} has no help"
            for word in parameter.opts:
                assert f"`{word}" in text, f"docs/commands.md, {name}: {word} is missing"
    for example in re.findall(rf"^  +(breathcast {name}.*)$", shown.out, re.MULTILINE):
        assert example in text, f"docs/commands.md, {name}: the example of --help is missing: {example}"


def test_options_of_the_program_and_shared_ones() -> None:
    assert "--version" in DOCS
    for word in ("--format", "--columns", "--unit", "--rate", "--decimal"):
        assert f"`{word}" in SHARED
    for code in (0, 1, 2, 3, 130):
        assert f"| {code} |" in DOCS


def test_no_option_is_documented_that_there_is_not() -> None:
    for name, command in COMMANDS.items():
        real = {word for parameter in command.params for word in parameter.opts} | {"--help"}
        assert set(re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", section(name))) <= real, name
