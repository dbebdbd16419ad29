"""Study files: what is wrong is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from breathcast.errors import BreathcastError
from breathcast.studies.spec_file import parse_spec, published_names, published_spec, read_spec

GOOD = """\
name = "mine"
recordings = ["recordings"] # from the folder of this file
horizons = [0.5, 1.0]

[[method]]
name = "persistence"

[[method]]
name = "lms"
grid.learning_rate = [
    0.01,
    0.02, # a comment with a bracket ]
]
grid.history = [1.0, 3.0]

[[method]]
name = "uoro"
[method.search]
trials = 5
ranges.hidden = { low = 5, high = 20, whole = true }
"""

WRONG = [
    ("horizons = [0.5, 1.0]", "horizons = [0.5, -1.0]", 3, "horizons"),
    ("horizons = [0.5, 1.0]", "horizons = [0.5, 1.0", 5, "no TOML"),
    ("horizons = [0.5, 1.0]", "horizons = []", 3, "horizons is empty"),
    ("horizons = [0.5, 1.0]", "horizons = [1]\nruns = 3", 4, "no setting 'runs'"),
    ('name = "lms"', 'name = "lsm"', 9, "no method 'lsm'"),
    ("grid.history = [1.0, 3.0]", "grid.histories = [1.0, 3.0]", 14, "'histories'"),
    ("grid.history = [1.0, 3.0]", "grid.history = [1.0, -3.0]", 14, "history"),
    ("grid.history = [1.0, 3.0]", "settings.clip = 0", 14, "clip"),
    ("trials = 5", "trials = 0", 19, "trials"),
    ("trials = 5", "trails = 5", 19, "no setting 'method.search.trails'"),
    ("low = 5, high = 20", "low = 50, high = 20", 20, "low below high"),
    ('name = "persistence"', 'name = "lms"', None, "two methods"),
]


def test_a_good_file_is_read_with_its_recordings_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    spec = read_spec(file)
    assert spec.recordings == (str(tmp_path / "recordings"),)
    assert [len(entry.candidates()) for entry in spec.method] == [1, 4, 1]


@pytest.mark.parametrize(("right", "wrong", "line", "says"), WRONG, ids=[w[1][:30] for w in WRONG])
def test_an_error_names_the_line(right: str, wrong: str, line: int | None, says: str) -> None:
    assert right in GOOD
    with pytest.raises(BreathcastError, match=says) as caught:
        parse_spec(GOOD.replace(right, wrong, 1), Path("mine.toml"))
    assert caught.value.line == line
    assert caught.value.cure


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BreathcastError, match="does not exist"):
        read_spec(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("name", "points"),
    [("pohl2022", {"uoro": 150, "rtrl": 192, "lms": 35, "linear": 9}), ("pohl2025", {"snap1": 90, "rtrl": 45})],
)
def test_the_published_studies_have_the_published_grids(name: str, points: dict[str, int]) -> None:
    spec = published_spec(name)
    grids = {entry.title: len(entry.candidates()) for entry in spec.with_methods().method}
    assert points.items() <= grids.items()
    assert (spec.feedback, spec.selection_runs, spec.test_runs) == ("immediate", 50, 300)
    assert name in published_names()


def test_methods_are_taken_by_name_and_optional_ones_only_so() -> None:
    spec = published_spec("pohl2022")
    assert "rtrl-before" not in [entry.title for entry in spec.with_methods().method]
    assert [entry.title for entry in spec.with_methods(["lms", "rtrl-before"]).method] == ["rtrl-before", "lms"]
    with pytest.raises(BreathcastError, match="no method 'lsm'"):
        spec.with_methods(["lsm"])
