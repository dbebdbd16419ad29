"""The compiled linear filters and the regression against their slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from breathcast import LMS, NLMS
from breathcast.forecasters.linear import least_norm
from breathcast.forecasters.method import Task
from tests.kernels.cases import HISTORY, HORIZON, a_series, forecasts, windows_and_targets
from tests.reference.common import run
from tests.reference.delayed import delayed_forecasts
from tests.reference.linear import LmsStep, NlmsStep, fit_linear

METHODS = [
    LMS(history=HISTORY, learning_rate=0.02, clip=1e9),
    LMS(history=HISTORY, learning_rate=0.05, clip=0.5),
    NLMS(history=HISTORY, learning_rate=0.5, epsilon=0.1),
]


def slow_twin(method: LMS | NLMS) -> LmsStep | NlmsStep:
    W0 = np.zeros((3, 1 + 3 * HISTORY))
    if isinstance(method, NLMS):
        return NlmsStep(W0, method.learning_rate, method.epsilon)
    return LmsStep(W0, method.learning_rate, method.clip)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_filters_are_their_twins(method: LMS | NLMS) -> None:
    series = a_series(80)
    learner = method.learner(Task(1.0, 3, HORIZON, "immediate"))
    U, Y = windows_and_targets(series)
    slow = run(slow_twin(method), U, Y)
    fast = forecasts(learner, series, stop=HORIZON)[HISTORY:]
    np.testing.assert_allclose(fast, slow.predictions[1:], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_delayed_filters_are_the_slow_definition(method: LMS | NLMS) -> None:
    series = a_series(80)
    learner = method.learner(Task(1.0, 3, HORIZON))
    U, _ = windows_and_targets(series, horizon=0)
    Y = np.vstack([series[HISTORY - 1 + HORIZON :], np.full((HORIZON, 3), np.nan)])
    fast = forecasts(learner, series)[HISTORY - 1 + HORIZON :]
    slow = delayed_forecasts(slow_twin(method), U, Y, HORIZON)[HORIZON:]
    np.testing.assert_allclose(fast, slow, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_the_delayed_weights_are_the_immediate_ones_h_steps_later(method: LMS | NLMS) -> None:
    series, clean, out = a_series(40), np.arange(1, 41), np.empty((1, 1, 3))
    early = method.learner(Task(1.0, 3, HORIZON, "immediate"))
    late = method.learner(Task(1.0, 3, HORIZON))
    trajectory = []
    for t in range(40 - HORIZON):
        early.advance(series, clean, 0, t, t + 1, 0, out)
        trajectory.append(early.state()["weights"])
    for t in range(40):
        late.advance(series, clean, 0, t, t + 1, 0, out)
        if t >= HORIZON:
            np.testing.assert_array_equal(late.state()["weights"], trajectory[t - HORIZON])


@pytest.mark.parametrize("rows", [12, 40])
def test_the_regression_is_the_least_norm_fit(rows: int) -> None:
    rng = np.random.default_rng(1)
    U, Y = rng.standard_normal((rows, 20)), rng.standard_normal((rows, 3))
    fitted = least_norm(U, Y)
    np.testing.assert_allclose(fitted.T, fit_linear(U, Y), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fitted, np.linalg.lstsq(U, Y, rcond=None)[0], rtol=1e-8, atol=1e-10)
