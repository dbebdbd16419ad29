"""Published numbers beside ours: what agrees, what chance explains, which claims hold."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from breathcast.evaluation.scores import SCORES
from breathcast.studies.reproduction import Claim, Published, comparable, compare, deviations, published, verdicts
from breathcast.studies.spec_file import published_names, published_spec
from tests.studies.small import small
from tests.studies.test_statistics import TEST_ROWS, results, runs, setting

REFERENCE = Path(__file__).parents[3] / "shared" / "reference"


def known(claims: list[dict[str, Any]] = [], **values: dict[str, str]) -> Published:  # noqa: B006
    return Published.model_validate(
        {"source": "Somebody, Somewhere", "recordings": ["one", "two"], "values": {"all": values}, "claims": claims}
    )


def verdict(claim: dict[str, Any], rows: list[dict[str, Any]] = TEST_ROWS) -> tuple[bool | None, str]:
    (found,) = verdicts(results(rows), known([claim]))
    return found.held, found.found


@pytest.mark.parametrize(
    ("printed", "within"),
    [
        ("3.00 ± 0.01", True),  # ours is exactly that
        ("4.76 ± 0.10", True),  # our own half-width is 1.757
        ("4.80", False),  # √(0² + 1.757²) + 0.005
        ("4.76", True),
        ("4.8", True),  # printed with one digit: ± 0.05
        ("1.20 ± 0.30", False),  # √(0.3² + 1.757²) = 1.782, and 0.005
        ("1.22 ± 0.30", True),
    ],
)
def test_the_combined_interval_and_the_rounding_of_the_print(printed: str, within: bool) -> None:
    values = dict.fromkeys(SCORES, printed)
    found = {each.score: each for each in compare(results(TEST_ROWS), known(uoro=values))}
    assert found["rmse"].ours == pytest.approx(3.0)
    assert found["rmse"].interval == pytest.approx(4.302652729911275 / math.sqrt(3) * math.sqrt(8) / 4)
    assert found["rmse"].within is within
    assert found["rmse"].difference == pytest.approx(3.0 / float(printed.split(" ", maxsplit=1)[0]) - 1)


def test_another_reading_of_a_method_is_held_against_the_same_print() -> None:
    spec = small()
    entries = [entry.model_dump() for entry in spec.method]
    entries[0]["label"] = "uoro-other"
    rows = [row | {"title": "uoro-other"} for row in TEST_ROWS if row["title"] == "uoro"]
    found = compare(results(rows, spec=spec.changed(method=entries)), known(uoro=dict.fromkeys(SCORES, "3.0")))
    assert {each.title for each in found} == {"uoro-other"}


def test_the_lowest() -> None:
    """uoro has 1.5 and 4.5, lms 3 and 4."""
    claim = {"kind": "lowest", "title": "uoro", "score": "rmse", "first": 0.2, "last": 0.2}
    assert verdict(claim) == (True, "at all 1 horizons")
    assert verdict(claim | {"last": 0.5}) == (False, "at 1 of 2 horizons; lowest is at 0.5 s lms")
    assert verdict(claim | {"first": 0.7, "last": 0.9})[0] is None


def test_no_prediction_does_not_take_part() -> None:
    rows = TEST_ROWS + runs("persistence", "one", 0.2, [0.1])
    claim = {"kind": "lowest", "title": "uoro", "score": "jitter", "first": 0.2, "last": 0.2}
    assert verdict(claim, rows)[0] is True


def test_below_and_near() -> None:
    below = {"kind": "below", "title": "uoro", "score": "rmse", "first": 0.2, "last": 0.5, "value": 4.6}
    assert verdict(below) == (True, "at most 4.5, at 0.5 s")
    assert verdict(below | {"value": 4.5})[0] is False
    near = {"kind": "near", "title": "uoro", "score": "rmse", "horizon": 0.5, "value": 4.4}
    assert verdict(near) == (True, "4.5 (+2.3%)")
    assert verdict(near | {"value": 4.3})[0] is False
    assert verdict(near | {"horizon": 0.9})[0] is None


def test_influence_of_a_hyper_parameter() -> None:
    claim = {"kind": "influence", "title": "uoro", "parameter": "hidden", "highest": 2.05, "lowest": 1.0}
    assert verdict(claim) == (None, "not computed")
    selection = [setting(3, 0.05, name, 2.0) for name in ("one", "two")]
    selection += [setting(6, 0.05, name, 1.0) for name in ("one", "two")]
    (found,) = verdicts(results(TEST_ROWS, selection), known([claim]))
    assert (found.held, found.found) == (True, "2.000 (-2.4%) to 1.000 (+0.0%)")
    (found,) = verdicts(results(TEST_ROWS, selection), known([claim | {"highest": 2.1}]))
    assert found.held is False


def test_a_time_on_another_machine_gets_no_verdict() -> None:
    claim = {"kind": "time", "title": "uoro", "hidden": 90, "history": 9.0, "milliseconds": 2.8}
    assert verdict(claim) == (None, "not computed")


def test_claims_on_methods_that_were_not_run_are_left_out() -> None:
    assert verdicts(results(TEST_ROWS), known([{"kind": "below", "title": "rtrl", "value": 1.0}])) == []


def test_recordings_of_others_are_not_compared() -> None:
    assert comparable(results(TEST_ROWS), known())
    assert not comparable(results(TEST_ROWS), known().model_copy(update={"recordings": ("one", "three")}))
    assert published("small") is None


@pytest.mark.parametrize("name", published_names())
def test_published_numbers_belong_to_methods_groups_and_scores_of_the_study(name: str) -> None:
    numbers, spec = published(name), published_spec(name)
    assert numbers is not None
    assert set(numbers.values) <= {"all", *spec.groups}
    for methods in numbers.values.values():
        assert set(methods) <= {entry.title for entry in spec.method}
        assert all(set(scores) == set(SCORES) for scores in methods.values())
    assert {claim.title for claim in numbers.claims} <= {entry.title for entry in spec.method}
    assert set(spec.lengths) <= set(numbers.recordings) and len(numbers.recordings) == 9


@pytest.mark.parametrize(("name", "file"), [("pohl2022", "pohl2022_table3.json"), ("pohl2025", "pohl2025_10hz.json")])
def test_published_numbers_are_copied_without_a_slip(name: str, file: str) -> None:
    if not (REFERENCE / file).exists():
        pytest.skip(f"{file} is not here")
    reference, ours = json.loads((REFERENCE / file).read_text()), published(name)
    assert ours is not None
    values = reference["values"] if name == "pohl2022" else {"all": reference["values"]}
    for group, methods in values.items():
        for method, scores in methods.items():
            for score, value in scores.items():
                if score in SCORES and method in ours.values[group]:
                    printed = [float(part) for part in ours.values[group][method][score].split(" ± ")]
                    assert printed == (value if isinstance(value, list) else [value]), (group, method, score)


def test_grids_are_the_published_ones() -> None:
    points = {entry.title: len(entry.candidates()) for entry in published_spec("pohl2022").method}
    assert points == {"uoro": 150, "rtrl": 192, "rtrl-before": 192, "lms": 35, "linear": 9, "persistence": 1}
    assert len(published_spec("pohl2022").ahead) == 20
    points = {entry.title: len(entry.candidates()) for entry in published_spec("pohl2025").method}
    assert points == {"snap1": 90, "dni": 90, "uoro": 90, "rtrl": 45, "lms": 15, "persistence": 1}


def test_what_was_changed_of_the_protocol_is_said() -> None:
    spec = published_spec("pohl2022")
    assert deviations(results([], spec=spec.with_methods())) == []
    changed = spec.changed(selection_runs=2, horizons=[0.1, 0.5], feedback="delayed")
    said = deviations(results([], spec=changed))
    assert said == [
        "selection runs: 2 instead of 50",
        "horizons: 2 (0.1-0.5 s) instead of 20 (0.1-2 s)",
        "feedback: delayed instead of immediate",
    ]
    thinned = spec.changed(method=[entry.model_copy(update={"grid": {}}) for entry in spec.method])
    assert deviations(results([], spec=thinned)) == ["a smaller grid for uoro, rtrl, rtrl-before, lms, linear"]
    assert deviations(results([])) == []


def test_claims_are_told_in_words() -> None:
    from breathcast.reports.study_tables import claim_in_words

    known_claims = published("pohl2022")
    assert known_claims is not None
    told = [claim_in_words(claim) for claim in known_claims.claims]
    assert "uoro has the lowest RMSE at 0.6-2 s" in told
    assert "a step of rtrl with 55 units and 5.5 s takes 55.2 ms (Matlab, i9-9900K)" in told
    assert claim_in_words(Claim(kind="lowest", title="lms", first=0.1, last=0.1)) == "lms has the lowest RMSE at 0.1 s"
