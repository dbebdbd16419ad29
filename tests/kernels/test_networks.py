"""The compiled networks against their slow twins, and the relation between the two feedback modes."""

from __future__ import annotations

import numpy as np
import pytest

from breathcast import DNI, RTRL, UORO, Fixed, SnAp1
from breathcast.forecasters.network import Network
from tests.kernels.cases import HISTORY, HORIZON, a_series, forecasts, pair, weights, windows_and_targets
from tests.reference.bptt import bptt_gradient
from tests.reference.common import run
from tests.reference.delayed import delayed_forecasts

SMALL = {"hidden": 6, "history": float(HISTORY), "init_std": 0.3, "learning_rate": 0.02}
METHODS = [
    UORO(**SMALL),
    UORO(**SMALL, clip=0.5),
    RTRL(**SMALL),
    RTRL(**SMALL, clip=0.5, readout="before"),
    SnAp1(**SMALL),
    SnAp1(**SMALL | {"clip": 0.5}),
    DNI(**SMALL, credit_rate=0.01),
    DNI(**SMALL | {"clip": 0.5}, credit_rate=0.01),
    Fixed(**SMALL | {"clip": 0.5}),
    *(cls(**SMALL, optimizer="adam") for cls in (UORO, RTRL, SnAp1, DNI, Fixed)),
]
IDS = [f"{m.name}-{m.optimizer}-clip{m.clip:g}" for m in METHODS]


def close(actual: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_forecasts_and_weights_are_those_of_the_slow_twin(method: Network) -> None:
    series = a_series(90)
    both = pair(method)
    U, Y = windows_and_targets(series)
    slow = run(both.twin(method), U, Y, both.signs[: len(U)])
    close(forecasts(both.learner, series, stop=HORIZON)[HISTORY:], slow.predictions[1:])
    for name, matrix in weights(both.learner).items():
        close(matrix, slow.weights[name][-1])


@pytest.mark.parametrize("method", [m for m in METHODS if m.optimizer == "sgd"], ids=repr)
def test_the_gradient_of_one_step_is_that_of_the_twin(method: Network) -> None:
    series = a_series(60)
    both = pair(method)
    forecasts(both.learner, series[:-1], stop=HORIZON)
    before = weights(both.learner)
    clean = np.arange(1, len(series) + 1)
    both.learner.advance(series, clean, 0, len(series) - 1 - HORIZON, len(series) - HORIZON, 0, np.empty((1, 1, 3)))
    U, Y = windows_and_targets(series)
    gradients = run(both.twin(method), U, Y, both.signs[: len(U)]).gradients
    size = np.sqrt(sum((g[-1] ** 2).sum() for g in gradients.values()))
    scale = method.learning_rate * min(1.0, method.clip / size)
    for name, after in weights(both.learner).items():
        np.testing.assert_allclose(before[name] - after, scale * gradients[name][-1], rtol=1e-10, atol=1e-14)


def test_rtrl_is_back_propagation_through_time_with_the_weights_of_each_step() -> None:
    method = RTRL(**SMALL | {"init_std": 0.5}, clip=1e9)
    series = a_series(40)
    both = pair(method)
    U, Y = windows_and_targets(series)
    history = []
    clean = np.arange(1, len(series) + 1)
    for s in range(HISTORY - 1, len(series) - HORIZON):
        now = weights(both.learner)
        history.append((now["W_a"], now["W_b"]))
        n = len(history)
        expected = bptt_gradient(U[:n], Y[n - 1], np.zeros(method.hidden), history, now["W_c"])
        both.learner.advance(series, clean, 0, s, s + 1, 0, np.empty((1, 1, 3)))
        after = weights(both.learner)
        for name in ("W_a", "W_b", "W_c"):
            taken = (now[name] - after[name]) / method.learning_rate
            np.testing.assert_allclose(taken, expected[name], rtol=1e-10, atol=1e-10 * np.abs(expected[name]).max())


@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_nothing_is_learned_from_what_is_missing(method: Network) -> None:
    series = a_series(70)
    both = pair(method)
    clean = np.arange(1, 71)
    clean[30:] = np.arange(40)  # sample 30 is missing: no window that ends at 30..34, no target 30
    learn = np.ones(70 - HISTORY + 1 - HORIZON, dtype=bool)
    learn[30 - HISTORY + 1 : 30 + 1] = False
    learn[30 - HORIZON - HISTORY + 1] = False
    U, Y = windows_and_targets(series)
    slow = run(both.twin(method), U, Y, both.signs[: len(U)], learn)
    close(forecasts(both.learner, series, clean, stop=HORIZON)[HISTORY:], slow.predictions[1:])


@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("horizon", [1, 4])
def test_delayed_forecasts_are_those_of_the_slow_definition(method: Network, horizon: int) -> None:
    series = a_series(60)
    both = pair(method, "delayed", horizon)
    U, Y = windows_and_targets(series, horizon=0)
    Y = np.vstack([series[HISTORY - 1 + horizon :], np.full((horizon, series.shape[1]), np.nan)])
    slow = delayed_forecasts(both.twin(method), U, Y, horizon, both.signs[: len(U)])
    fast = forecasts(both.learner, series)[HISTORY - 1 :]
    assert np.isnan(fast[:horizon]).all()  # nothing has been learned yet
    close(fast[horizon:], slow[horizon:])


@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_the_delayed_weights_are_the_immediate_ones_h_steps_later(method: Network) -> None:
    series = a_series(60)
    early, late = pair(method).learner, pair(method, "delayed").learner
    clean, out = np.arange(1, 61), np.empty((1, 1, 3))
    trajectory = []
    for t in range(60 - HORIZON):
        early.advance(series, clean, 0, t, t + 1, 0, out)
        trajectory.append(early.state())
    for t in range(60):
        late.advance(series, clean, 0, t, t + 1, 0, out)
        if t >= HORIZON:
            now = late.state()
            for key in ("weights", "readout", "hidden", "trace", "tangent", "credit", "moments"):
                np.testing.assert_array_equal(now[key], trajectory[t - HORIZON][key], err_msg=f"{key} at {t}")


def test_runs_of_a_batch_do_not_touch_each_other() -> None:
    from breathcast.forecasters.method import Task

    series = a_series(50)
    clean = np.arange(1, 51)
    method = UORO(**SMALL)
    together = method.learner(Task(1.0, 3, HORIZON, "delayed", 0, (0, 1, 2)))
    out = np.full((3, 50, 3), np.nan)
    together.advance(series, clean, 0, 0, 50, 0, out)
    for r in range(3):
        np.testing.assert_array_equal(forecasts(pair(method, "delayed", run=r).learner, series), out[r])


def test_rtrl_stops_its_sum_long_before_the_memory_of_steps_ends() -> None:
    from breathcast.kernels.network_types import DEPTH

    method = RTRL(**SMALL | {"init_std": 0.5}, clip=1e9)
    both = pair(method)
    series = a_series(300)
    U, Y = windows_and_targets(series)
    slow = run(both.twin(method), U, Y)
    assert len(U) > 2 * DEPTH
    close(forecasts(both.learner, series, stop=HORIZON)[HISTORY:], slow.predictions[1:])
    assert both.learner.state()["clock"][0, 3] == 0


def test_rtrl_counts_the_steps_at_which_its_sum_was_cut() -> None:
    # W_a has a spectral radius of 1.01 and the units stay near 0, so what is carried back hardly shrinks.
    method = RTRL(**SMALL | {"init_std": 0.5, "learning_rate": 1e-9}, clip=1e9)
    learner = pair(method).learner
    forecasts(learner, 1e-3 * a_series(300), stop=HORIZON)
    assert learner.state()["clock"][0, 3] > 0


def test_uoro_is_unbiased_over_all_sign_vectors() -> None:
    """The mean of x̃ θ̃ over every sequence of signs is the influence ∂x/∂W of the textbook, for fixed weights."""
    from itertools import product

    from breathcast.forecasters.method import Task
    from breathcast.kernels.network import advance
    from tests.reference.networks import run_rtrl

    units, steps, horizon = 2, 3, 1
    method = UORO(hidden=units, history=1.0, init_std=0.8, learning_rate=1e-300, clip=1e9)
    series, clean = a_series(steps + horizon, width=1), np.arange(1, steps + horizon + 1)
    mean = np.zeros((units, units, units + 2))
    sequences = list(product([-1, 1], repeat=units * steps))
    for sequence in sequences:
        learner = method.learner(Task(1.0, 1, horizon, "immediate"))
        signs = np.zeros((1, steps, 8), dtype=np.int8)
        signs[0, :, :units] = np.reshape(sequence, (steps, units))
        out = np.empty((1, steps, 1))
        advance(learner._settings, learner._state, learner._scratch, series, clean, 0, 0, steps, 0, signs, 0, out)
        theta = np.delete(learner._state.trace[0, :, :units].T, slice(units, 8), axis=1)
        mean += learner._state.tangent[0, :units, None, None] * theta / len(sequences)
    U, Y = windows_and_targets(series, history=1, horizon=horizon)
    W = weights(method.learner(Task(1.0, 1, horizon, "immediate")))
    exact = run_rtrl(U, Y, W["W_a"], W["W_b"], W["W_c"], learning_rate=0.0, keep_internals=True)
    np.testing.assert_allclose(mean, exact.internals["influence"][-1], rtol=0, atol=1e-12)
