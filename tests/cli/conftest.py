from __future__ import annotations

from pathlib import Path

import pytest

import breathcast as bc
from tests.cli.calling import recording


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two short recordings; nobody writes here."""
    place = tmp_path_factory.mktemp("recordings")
    for seed, name in enumerate(("one", "two")):
        bc.write(recording(name, seed), place / f"{name}.csv")
    return place


@pytest.fixture(scope="session")
def file(folder: Path) -> Path:
    return folder / "one.csv"
