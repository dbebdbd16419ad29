"""What the documents say can be done: the Python of the README runs, names are public, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import breathcast as bc

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_the_python_of_the_readme_runs() -> None:
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    names: dict[str, object] = {}
    exec(found.group(1), names)
    assert len(names["forecasts"]) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_are_public_and_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    called = set(re.findall(r"\bbc\.(\w+)", text)) | set(re.findall(r"`breathcast\.(\w+)\(", text))
    assert called <= set(bc.__all__)
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)  # those with a colon lead out
    assert not [link for link in links if not (page.parent / link).exists()]
