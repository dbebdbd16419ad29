"""A study goes on where it was, counts nothing twice, and records what went wrong."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import polars as pl
import pytest

import breathcast as bc
from breathcast.errors import BreathcastError
from breathcast.recordings.recording import Recording
from breathcast.studies.executors import Cores
from breathcast.studies.run import Progress, results, run
from breathcast.studies.store import Store
from breathcast.studies.tasks import Source, Task, selection_tasks
from breathcast.studies.work import Outcome, perform
from tests.studies.small import Here, recordings, small, tables


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The study done in one go; nobody writes here."""
    store = Store(tmp_path_factory.mktemp("whole"))
    run(small(), recordings(), store, Here())
    return store


def test_scores_are_those_of_evaluate(whole: Store) -> None:
    found = results(whole)
    choice = next(c for c in found.choices if (c.title, c.recording, c.horizon) == ("uoro", "two", 0.5))
    expected = bc.evaluate(choice.method, recordings()[1], horizon=0.5, runs=4, test_start=20.0, form="dual")
    rows = found.test.filter((pl.col("title") == "uoro") & (pl.col("recording") == "two") & (pl.col("horizon") == 0.5))
    for score, values in expected.by_run.items():
        assert rows[score].to_list() == values.tolist()
    candidates = [m for entry in found.spec.method if entry.name == "uoro" for m in entry.candidates()]
    best = bc.select(candidates, recordings()[1], horizon=0.5, start=10.0, end=20.0, runs=3)
    assert choice.method == best  # the step kernel's forecasts differ in the last digits only on so short a recording


def test_done_is_done(whole: Store, tmp_path: Path) -> None:
    again = Here()
    run(small(), recordings(), whole, again)
    assert again.done == 0
    assert not results(whole).missing["test"] and not results(whole).missing["selection"]


def test_stopped_anywhere_it_ends_the_same(whole: Store, tmp_path: Path) -> None:
    store = Store(tmp_path)
    done = 0
    for stop in (0, 1, 4, 3):
        here = Here(stop=stop)
        with pytest.raises(KeyboardInterrupt):
            run(small(), recordings(), store, here)
        done += here.done
        assert sum(results(store).missing.values()) > 0
    last = Here()
    run(small(), recordings(), store, last)
    files = [file for kind in ("selection", "test") for file in (store.folder / kind).rglob("*.parquet")]
    assert done + last.done == len(files)  # nothing was done twice
    assert tables(store) == tables(whole)


def test_cores_give_the_same_bytes(whole: Store, tmp_path: Path) -> None:
    store, seen = Store(tmp_path), []
    run(
        small(), recordings(), store, Cores(2), report=lambda progress: seen.append((progress.stage, progress.computed))
    )
    assert tables(store) == tables(whole)
    assert seen[0] == ("selection", 0) and seen[-1][0] == "test"


def test_results_do_not_depend_on_the_order_of_the_tasks(whole: Store, tmp_path: Path) -> None:
    class Backwards(Here):
        def run(self, jobs):  # type: ignore[no-untyped-def]
            return super().run(reversed(list(jobs)))

    run(small(), recordings(), Store(tmp_path), Backwards())
    assert tables(Store(tmp_path)) == tables(whole)


def test_a_task_is_named_by_all_that_decides_its_result() -> None:
    spec, sources = small(), [Source.of(recording) for recording in recordings()]
    task = next(selection_tasks(spec, sources, {}))
    others = {
        "stage": "screening",
        "title": "other",
        "methods": task.methods[:1],
        "recording": "three",
        "data": "0",
        "horizons": (0.3,),
        "feedback": "immediate",
        "form": "dual32",
        "runs": 7,
        "seed": 1,
        "start": 11.0,
        "end": 19.0,
        "search": None,
        "score": "mae",
        "traces": True,
    }
    assert set(others) == {field.name for field in dataclasses.fields(Task)}
    keys = {dataclasses.replace(task, **{name: value}).key for name, value in others.items() if name != "search"}
    assert len(keys) == len(others) - 1 and task.key not in keys
    assert task.key == dataclasses.replace(task).key


def test_the_version_of_a_method_decides_too(monkeypatch: pytest.MonkeyPatch) -> None:
    task = next(selection_tasks(small(), [Source.of(recordings()[0])], {}))
    before = task.key
    monkeypatch.setattr(bc.UORO, "revision", 99)
    assert task.key != before


def fail_on_lms(task: Task, recording: Recording) -> Outcome:
    if task.title == "lms" and task.stage == "selection" and task.recording == "one":
        return Outcome(pl.DataFrame(), failure="ValueError: no luck")
    return perform(task, recording)


def test_a_failed_task_is_a_result_and_can_be_tried_again(whole: Store, tmp_path: Path) -> None:
    store = Store(tmp_path)
    found = run(small(), recordings(), store, Here(fail_on_lms))
    assert [(each["title"], each["recording"], each["why"]) for each in found.failures] == [
        ("lms", "one", "ValueError: no luck")
    ]
    assert not any(c.title == "lms" and c.recording == "one" for c in found.choices)
    assert sum(found.missing.values()) == 0
    again = Here()
    run(small(), recordings(), store, again)
    assert again.done == 0
    mended = run(small(), recordings(), store, Here(), retry=True)
    assert not mended.failures and tables(store) == tables(whole)


def test_whatever_goes_wrong_in_a_task_is_told(tmp_path: Path) -> None:
    short = bc.simulate("regular", duration=15.0, markers=2, seed=1, name="short")
    found = run(small(), [recordings()[0], short], Store(tmp_path), Here())
    assert {each["recording"] for each in found.failures} == {"short"}
    assert all("test part" in each["why"] for each in found.failures)
    assert len(found.test) > 0


def test_diverged_runs_are_counted_and_left_out(tmp_path: Path) -> None:
    spec = small(
        method=[{"name": "lms", "settings": {"training": 5.0, "history": 0.5, "learning_rate": 1e200, "clip": 1e300}}]
    )
    found = run(spec, recordings()[:1], Store(tmp_path), Here())
    assert found.test["diverged"].all() and found.test["rmse"].is_nan().all()


def test_a_folder_of_another_study_is_refused(whole: Store) -> None:
    with pytest.raises(BreathcastError, match="holds the study 'small'"):
        run(small(name="other"), recordings(), whole, Here())


def test_what_a_killed_process_had_begun_to_write_is_removed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(small(), recordings(), store, Here(stop=1))
    torn = tmp_path / "selection" / ".breathcast-1-aa.tmp"
    torn.write_bytes(b"PAR1")
    run(small(), recordings(), store, Here())
    assert not torn.exists()


def test_a_result_that_cannot_be_read_is_named_with_its_cure(whole: Store, tmp_path: Path) -> None:
    store = Store(tmp_path)
    run(small(), recordings(), store, Here())
    file = next((tmp_path / "test").rglob("*.parquet"))
    file.write_bytes(b"PAR1")
    with pytest.raises(BreathcastError) as caught:
        results(store)
    assert caught.value.file == file and "run the study again" in str(caught.value.cure)
    file.unlink()
    again = Here()
    run(small(), recordings(), store, again)
    assert again.done == 1 and tables(store) == tables(whole)


def test_a_folder_without_a_study_is_named(tmp_path: Path) -> None:
    with pytest.raises(BreathcastError, match="holds no study"):
        results(Store(tmp_path))


def test_only_the_beginning_of_a_recording_can_be_used(tmp_path: Path) -> None:
    found = run(small(lengths={"two": 30.0}), recordings(), Store(tmp_path), Here())
    told = {each["name"]: each for each in Store(tmp_path).description()["recordings"]}
    assert told["two"]["samples"] == 300 and "only the first 30 s are used" in told["two"]["notes"]
    assert told["one"]["samples"] == 400
    task = next(task for task in found.test_tasks if task.recording == "two")
    assert Store(tmp_path).trace(task)["time"].max() < 30.0
    with pytest.raises(BreathcastError, match="lengths names 'three'"):
        run(small(lengths={"three": 30.0}), recordings(), Store(tmp_path / "x"), Here())


def test_screening_gives_up_what_cannot_win_and_chooses_the_same(tmp_path: Path) -> None:
    many = {"grid": {"learning_rate": [0.0001, 0.001, 0.05, 0.1], "hidden": [3, 6]}}
    entry = small().method[0].model_dump() | many
    spec = small(method=[entry], selection_runs=12)
    plain = run(spec, recordings(), Store(tmp_path / "plain"), Here())
    screened = run(spec.changed(screening_runs=4), recordings(), Store(tmp_path / "screened"), Here())
    assert [c.method for c in screened.choices] == [c.method for c in plain.choices]
    assert 0 < len(screened.selection) < len(plain.selection)
    assert screened.test.drop("seconds").equals(plain.test.drop("seconds"))
    assert list(screened.missing) == ["screening", "selection", "test"]
    assert sum(screened.missing.values()) == 0


def test_progress_of_a_screened_study_counts_what_is_to_come(tmp_path: Path) -> None:
    spec = small(screening_runs=2)
    seen: list[Progress] = []
    with pytest.raises(KeyboardInterrupt):
        run(spec, recordings(), Store(tmp_path), Here(stop=1), report=seen.append)
    missing = results(Store(tmp_path)).missing
    assert missing == {"screening": 3, "selection": 4 + 2, "test": 12}
    assert seen[-1].left is not None and seen[-1].left > 0


def test_the_description_tells_how_the_results_were_made(whole: Store) -> None:
    told = json.loads((whole.folder / "study.json").read_text())
    assert told["spec"]["name"] == "small" and told["spec"]["seed"] == 0
    assert {"breathcast", "numpy", "numba", "polars", "python"} <= set(told["versions"])
    assert [each["name"] for each in told["recordings"]] == ["one", "two"]
    assert len({each["hash"] for each in told["recordings"]}) == 2
