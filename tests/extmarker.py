"""The nine real recordings of the published studies, where they are at hand: the repository does not hold them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import breathcast as bc

FOLDER = Path(os.environ.get("BREATHCAST_DATA") or Path(__file__).parents[2] / "shared" / "data" / "extmarker")
REGULAR, IRREGULAR = (1, 4, 5, 7, 8), (0, 2, 3)  # positions in file-name order; the seventh is in no group
GROUPS = {"all": tuple(range(9)), "regular": REGULAR, "irregular": IRREGULAR}

needs_recordings = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"the ExtMarker recordings are not in {FOLDER}; set BREATHCAST_DATA to their folder"
)


@cache
def recordings() -> tuple[bc.Recording, ...]:
    """All nine, in file-name order."""
    found = bc.read(FOLDER)
    assert isinstance(found, list)
    return tuple(found)


def as_published() -> tuple[bc.Recording, ...]:
    """The recordings, but of the first only 220 of its 222 s: with 2200 samples, and no other length, they agree."""
    first, *others = recordings()
    return bc.Recording(first.positions[:2200], first.rate, markers=first.markers, name=first.name), *others


def group_means(table: np.ndarray) -> dict[str, np.ndarray]:
    """Mean over the recordings of each group and over horizons, of a table (9, horizons, 5)."""
    return {name: table[list(members)].mean(axis=(0, 1)) for name, members in GROUPS.items()}
