"""The dual form against the step kernel: gradient by gradient from the same weights, and in distribution over runs."""

from __future__ import annotations

import numpy as np
import pytest

import breathcast as bc
from breathcast import DNI, LMS, RTRL, UORO, Fixed, SnAp1
from breathcast.errors import BreathcastError
from breathcast.forecasters import dual as form
from breathcast.forecasters.dual import DualLearner
from breathcast.forecasters.method import Method, Task
from breathcast.forecasters.network import Network, NetworkLearner, draw_signs, draw_weights
from breathcast.kernels import dual as kernel
from tests.kernels.cases import HISTORY, HORIZON, WIDTH, a_series, pair, weights, windows_and_targets

SMALL = {"hidden": 6, "history": float(HISTORY), "init_std": 0.3, "learning_rate": 0.01}
METHODS = [
    UORO(**SMALL),
    UORO(**SMALL | {"clip": 0.3}),
    RTRL(**SMALL),
    RTRL(**SMALL | {"clip": 0.3}),
    RTRL(**SMALL, readout="before"),
    SnAp1(**SMALL | {"init_std": 0.6}),
    SnAp1(**SMALL | {"clip": 0.3}),
    DNI(**SMALL, credit_rate=0.01),
    DNI(**SMALL | {"clip": 0.3}),
    Fixed(**SMALL),
]
IDS = [f"{m.name}-clip{m.clip:g}-{getattr(m, 'readout', '')}" for m in METHODS]
PRECISION = {"dual": 1e-9, "dual32": 2e-3}  # of forecasts of unit size, after rounding has grown over a whole series


def in_form(method: Method, series: np.ndarray, name: str, *, feedback="immediate", horizon=HORIZON, clean=None):
    """The forecasts at every sample, (n, p)."""
    learner = method.learner(Task(1.0, series.shape[1], horizon, feedback, 0, (3,), name))
    stop = len(series) - (horizon if feedback == "immediate" else 0)
    out = np.full((1, stop, series.shape[1]), np.nan)
    clean = np.arange(1, len(series) + 1) if clean is None else clean
    learner.advance(series, clean, 0, 0, stop, 0, out)
    return out[0]


@pytest.mark.parametrize("name", PRECISION)
@pytest.mark.parametrize("feedback", ["immediate", "delayed"])
@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("horizon", [1, 7])
def test_where_training_is_not_chaotic_forecasts_agree(method: Network, feedback: str, name: str, horizon: int) -> None:
    series = a_series(120)
    clean = np.arange(1, 121)
    clean[50:] = np.arange(70)  # sample 50 is missing
    expected = in_form(method, series, "step", feedback=feedback, horizon=horizon, clean=clean)
    actual = in_form(method, series, name, feedback=feedback, horizon=horizon, clean=clean)
    assert (np.isnan(actual) == np.isnan(expected)).all()
    assert np.nanstd(expected) > 0.05  # it has learned to say something
    np.testing.assert_allclose(actual, expected, rtol=0, atol=PRECISION[name])


def dual_weights(method: Network, series: np.ndarray, steps: int) -> dict[str, np.ndarray]:
    """The weights of the dual form after so many steps, in the layout of the equations."""
    part = np.ascontiguousarray(series[: steps + HISTORY - 1 + HORIZON])
    windows = form.Windows(b"%d" % steps, part, HISTORY)
    matrix, units, noisy = windows.matrix, method.hidden, isinstance(method, UORO)
    W_a, W_b, W_c = (method.init_std * W for W in draw_weights(0, 0, units, matrix.shape[1], WIDTH))
    q = 8
    task = Task(1.0, WIDTH, HORIZON, "immediate", 0, (0,), "dual")
    work = form.work_for(method, task, len(matrix), "float64")
    form._begin(work, method, task, 0)
    work.recurrent[0, :units, :units], work.readout[:, :units] = W_a.T if noisy else W_a, W_c
    start = np.zeros((len(matrix), q))
    start[:, :units] = matrix @ W_b.T
    clean, out = np.arange(1, len(part) + 1), np.empty_like(part)
    shared = (DualLearner(method, task)._settings(), work, matrix @ matrix.T, start, part, clean)
    if noisy:
        signs = np.concatenate([draw_signs(0, 0, block, units) for block in range(2)])[HISTORY - 1 :]
        padded = np.zeros((len(signs), q))
        padded[:, :units] = signs
        kernel.uoro_run(*shared, padded, 0, out)
        recurrent = work.recurrent[0, :units, :units].T
        coefficients = -work.fade[1, :steps, None] * work.terms[:steps, :units]
    else:
        kernel.terms_run(*shared, 0, out)
        recurrent = work.recurrent[steps % len(work.recurrent), :units, :units]
        coefficients = work.coefficients[:steps, :units]
    return {"W_a": recurrent, "W_b": W_b + coefficients.T @ matrix[:steps], "W_c": work.readout[:, :units]}


@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("steps", [1, 15, 16, 17, 40])
def test_one_step_changes_the_weights_as_in_the_slow_twin(method: Network, steps: int) -> None:
    series = a_series(60)
    before, after = dual_weights(method, series, steps), dual_weights(method, series, steps + 1)
    U, Y = windows_and_targets(series)
    both = pair(method)
    twin = both.twin(method)
    for n in range(steps):
        twin.step(U[n], Y[n], both.signs[n])
    slow = twin.step(U[steps], Y[steps], both.signs[steps])
    size = np.sqrt(sum((g**2).sum() for g in slow.gradient.values()))
    scale = method.learning_rate * min(1.0, method.clip / size)
    for name, matrix in after.items():
        np.testing.assert_allclose(matrix, slow.weights[name], rtol=0, atol=1e-11)
        largest = np.abs(slow.gradient[name]).max()
        np.testing.assert_allclose(
            (before[name] - matrix) / scale, slow.gradient[name], rtol=1e-10, atol=1e-10 * max(1, largest)
        )


def test_the_step_kernel_agrees_with_what_the_dual_form_learned() -> None:
    method, series = RTRL(**SMALL), a_series(60)
    learner = NetworkLearner(method, Task(1.0, WIDTH, HORIZON, "immediate", 0, (0,)))
    steps = 30
    stop = steps + HISTORY - 1
    learner.advance(series, np.arange(1, 61), 0, 0, stop, 0, np.empty((1, stop, WIDTH)))
    for name, matrix in dual_weights(method, series, steps).items():
        np.testing.assert_allclose(matrix, weights(learner)[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", PRECISION)
@pytest.mark.parametrize("feedback", ["immediate", "delayed"])
@pytest.mark.parametrize("method", [UORO(hidden=20, history=2.0), RTRL(hidden=10, history=2.0)], ids=["uoro", "rtrl"])
def test_where_training_is_chaotic_scores_agree_in_distribution(method: Network, feedback: str, name: str) -> None:
    recording = bc.simulate("irregular", duration=60, seed=4)
    runs = 24

    def rmse(form: str) -> np.ndarray:
        result = bc.evaluate(
            method, recording, horizon=0.5, feedback=feedback, runs=runs, form=form, test_start=40.0, workers=1
        )
        return result.by_run["rmse"]

    first, second = rmse("step"), rmse(name)
    assert not (first == second).any()
    error = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / runs)
    assert abs(first.mean() - second.mean()) < 3 * error
    assert 0.4 < first.std() / second.std() < 2.5


def test_tanh_goes_to_all_digits_in_double_and_all_but_one_in_single_precision() -> None:
    for kind, digits in ((np.float64, 5e-16), (np.float32, 4.5e-7)):
        z = np.concatenate([np.linspace(-12, 12, 20001), np.logspace(-30, 0, 1001), [-700.0, 700.0]]).astype(kind)
        out = np.empty_like(z)
        kernel._tanh(z, out)
        np.testing.assert_allclose(out.astype(float), np.tanh(z.astype(float)), rtol=digits, atol=0)
        assert np.abs(out).max() <= 1
        kernel._tanh(np.full(9, np.nan, kind), out := np.zeros(9, kind))
        assert np.isnan(out).all()


@pytest.mark.parametrize("name", ["step", *PRECISION])
@pytest.mark.parametrize("method", [UORO(**SMALL), RTRL(**SMALL)], ids=["uoro", "rtrl"])
def test_what_is_not_finite_stays_visible(method: Network, name: str) -> None:
    series = a_series(60)
    series[30] = np.nan  # a stream never lets this through; here nothing says that it is missing
    out = in_form(method, series, name)
    assert np.isfinite(out[20:26]).all() and np.isnan(out[40:]).all()


def test_a_recording_too_long_for_the_form_goes_through_the_step_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "LONGEST", 50)
    series = a_series(90)
    np.testing.assert_array_equal(in_form(METHODS[0], series, "dual"), in_form(METHODS[0], series, "step"))


def test_it_takes_a_whole_recording_in_one_call() -> None:
    learner = METHODS[0].learner(Task(1.0, WIDTH, HORIZON, "immediate", 0, (0,), "dual"))
    with pytest.raises(BreathcastError, match="in one call"):
        learner.advance(a_series(60), np.arange(1, 61), 0, 10, 60, 0, np.empty((1, 50, WIDTH)))


@pytest.mark.parametrize("method", [LMS(history=5.0), UORO(**SMALL, optimizer="adam")], ids=["lms", "adam"])
def test_a_method_without_a_dual_form_is_the_same_in_every_form(method: Method) -> None:
    series = a_series(60)
    np.testing.assert_array_equal(in_form(method, series, "dual32"), in_form(method, series, "step"))
