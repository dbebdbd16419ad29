"""What a task stores beside its scores."""

from __future__ import annotations

import numpy as np
import pytest

import breathcast as bc
from breathcast.studies.tasks import Source, selection_tasks, test_tasks
from breathcast.studies.work import perform
from tests.studies.small import recordings, small


def test_a_step_is_a_sample_with_a_full_window() -> None:
    """Up to sample 200, 0.2 s ahead: rows from sample 2 on, windows of 5 or 10 samples."""
    recording = recordings()[0]
    tasks = list(selection_tasks(small(), [Source.of(recording)], {}))
    steps = {
        (row["title"], row["settings"].split('"history": ')[1][:3]): (row["steps"], row["runs"])
        for task in tasks
        for row in perform(task, recording).scores.filter(horizon=0.2).iter_rows(named=True)
    }
    assert steps["lms", "0.5"] == (200 - 2 - 4, 1)
    assert steps["lms", "1.0"][0] == steps["lms", "0.5"][0] - 5
    assert steps["uoro", "0.5"][0] == 3 * steps["lms", "0.5"][0]


def test_the_score_of_every_run_is_kept() -> None:
    recording = recordings()[0]
    task = next(selection_tasks(small(), [Source.of(recording)], {}))
    for row in perform(task, recording).scores.iter_rows(named=True):
        assert row["rmse"] == pytest.approx(np.mean(row["by_run"])) and len(row["by_run"]) == 3


def test_the_trace_holds_the_first_run_and_the_mean_loss() -> None:
    recording = recordings()[0]
    (task,) = (t for t in test_tasks(small(horizons=[0.5]), [Source.of(recording)], {}) if t.title == "persistence")
    trace = perform(task, recording).trace
    assert trace is not None
    expected = bc.evaluate(bc.Persistence(), recording, horizon=0.5, test_start=20.0)
    np.testing.assert_allclose(np.array(trace["forecast"].to_list()), expected.predictions[0].reshape(-1, 6), rtol=1e-6)
    np.testing.assert_allclose(trace["loss"].to_numpy(), expected.loss, rtol=1e-6)
    assert trace["time"].to_list() == expected.times.tolist()
