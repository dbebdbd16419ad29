"""A small version of the table of docs/accuracy.md: three recordings, two horizons, and what was measured there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import breathcast as bc
from breathcast.studies.spec_file import read_spec
from tests.extmarker import needs_recordings, recordings

STUDY = Path(__file__).parents[2] / "benchmarks" / "accuracy.toml"
SHORT = (4, 5, 6)  # places, from 0, of short recordings


def test_the_study_of_the_table_is_sound() -> None:
    spec = read_spec(STUDY)
    assert spec.feedback == "delayed"
    assert len(spec.ahead) == 20
    assert {entry.name for entry in spec.method} >= {"persistence", "lms", "ridge", "analog", "kernel", "blend"}
    assert [entry.title for entry in spec.with_methods().method][-1] == "blend"  # the ablations are asked for


@needs_recordings
@pytest.mark.slow
def test_the_blend_is_about_the_best_of_its_parts_and_far_better_than_lms() -> None:
    def rmse(name: str, horizon: float) -> np.ndarray:
        cases = [bc.evaluate(bc.METHODS[name](), recordings()[n], horizon=horizon, workers=1) for n in SHORT]
        return np.array([case.scores["rmse"].mean for case in cases])

    for horizon in (0.2, 1.2):
        blend, nothing = rmse("blend", horizon), rmse("persistence", horizon)
        assert (blend < 0.8 * nothing).all()  # on every one of them
        assert blend.mean() < 0.65 * rmse("lms", horizon).mean()
        assert blend.mean() < 1.03 * min(rmse(name, horizon).mean() for name in ("ridge", "analog", "kernel"))
