"""The numbers of Pohl et al. 2022, Table 3, under its own protocol: immediate feedback, test from 60 s to the end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from breathcast import LMS, UORO, LinearRegression, Method, Persistence, RepeatTarget, evaluate
from breathcast.evaluation.scores import SCORES, score
from breathcast.evaluation.selection import grid, select
from tests.extmarker import as_published, group_means, needs_recordings, recordings

pytestmark = [needs_recordings, pytest.mark.slow]
HORIZONS = [h / 10 for h in range(1, 21)]

# mae, rmse, nrmse, max_error, jitter as printed; the averages over the recordings of a group and 0.1-2.0 s
PUBLISHED = {
    "persistence": {
        "all": ("3.27", "4.243", "0.9312", "14.8", "0.4395"),
        "regular": ("2.89", "3.952", "1.006", "13.9", "0.3877"),
        "irregular": ("3.43", "4.461", "0.9833", "18.2", "0.5045"),
    },
    "lms": {
        "all": ("0.957", "1.370", "0.3116", "9.31", "1.596"),
        "regular": ("0.907", "1.247", "0.2987", "8.59", "1.646"),
        "irregular": ("1.18", "1.818", "0.4198", "12.9", "1.724"),
    },
    "linear": {
        "all": ("4.45", "6.089", "1.411", "30.6", "0.7767"),
        "regular": ("3.23", "4.454", "1.181", "23.2", "0.6011"),
        "irregular": ("6.57", "9.164", "2.132", "49.0", "1.078"),
    },
}


def table(method: Method, **selection: float) -> dict[str, np.ndarray]:
    """Group means of the five scores, hyper-parameters chosen for each recording and horizon where there is a grid."""

    def cell(case: tuple[int, float]) -> list[float]:
        recording, horizon = as_published()[case[0]], case[1]
        chosen = method
        if method.grid:
            chosen = select(grid(method), recording, horizon=horizon, feedback="immediate", workers=1, **selection)
        scores = evaluate(chosen, recording, horizon=horizon, feedback="immediate", workers=1).scores
        return [scores[name].mean for name in SCORES]

    with ThreadPoolExecutor(2) as pool:
        cells = list(pool.map(cell, [(i, h) for i in range(9) for h in HORIZONS]))
    return group_means(np.array(cells).reshape(9, len(HORIZONS), 5))


def rounding(printed: str) -> float:
    """Half a unit of the last printed digit."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


def assert_published(ours: dict[str, np.ndarray], name: str) -> None:
    """To the last printed digit."""
    for group, printed in PUBLISHED[name].items():
        for column, value, text in zip(SCORES, ours[group], printed, strict=True):
            said = f"{name}, {group}, {column}: {value:.5f}, not {text}"
            assert abs(value - float(text)) <= rounding(text) + 1e-9, said


def test_no_prediction_is_as_published() -> None:
    assert_published(table(Persistence()), "persistence")


def test_no_other_length_of_the_first_recording_agrees() -> None:
    """The published numbers tell that the study used 220 s of it, and not the whole."""
    first, *others = recordings()
    rows = [scores_of(recording.positions) for recording in others]

    def agrees(samples: int) -> bool:
        means = group_means(np.array([scores_of(first.positions[:samples]), *rows])[:, None])
        return all(
            abs(value - float(text)) <= rounding(text) + 1e-9
            for group, printed in PUBLISHED["persistence"].items()
            for value, text in zip(means[group], printed, strict=True)
        )

    assert [samples for samples in range(2150, len(first) + 1) if agrees(samples)] == [2200]


def scores_of(positions: np.ndarray) -> np.ndarray:
    """No prediction, scored from 60 s on: mean over the horizons."""
    ahead = [score(positions[600 - h : -h], positions[600:]) for h in range(1, 21)]
    return np.mean([[each[name] for name in SCORES] for each in ahead], axis=0)


def test_lms_is_as_published() -> None:
    assert_published(table(LMS()), "lms")


def test_linear_regression_is_as_published() -> None:
    assert_published(table(LinearRegression(), start=54.0), "linear")


def test_uoro_two_seconds_ahead_is_as_good_as_published() -> None:
    errors = []
    for recording in recordings():
        chosen = select(grid(UORO()), recording, horizon=2.0, feedback="immediate", runs=4)
        errors.append(evaluate(chosen, recording, horizon=2.0, feedback="immediate", runs=10).scores["rmse"].mean)
    assert np.mean(errors) <= 1.40, errors  # the paper: below 1.33


def test_repeating_the_newest_target_needs_no_skill_under_that_protocol() -> None:
    early = [evaluate(RepeatTarget(), r, horizon=2.0, feedback="immediate").scores["rmse"].mean for r in recordings()]
    honest = [evaluate(RepeatTarget(), r, horizon=2.0).scores["rmse"].mean for r in recordings()]
    without = [evaluate(Persistence(), r, horizon=2.0).scores["rmse"].mean for r in recordings()]
    assert np.mean(early) < 0.7  # better than every published network, and no forecast at all
    assert honest == without
