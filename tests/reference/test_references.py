"""The references checked against mathematics: derivatives, expectations, and each other."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from tests.reference.bptt import bptt_gradient, finite_difference_gradient
from tests.reference.common import Array, Named, Optimiser, Stepper, Trajectory, central_difference, run
from tests.reference.delayed import delayed_forecasts
from tests.reference.linear import LmsStep, NlmsStep
from tests.reference.networks import (
    DniStep,
    FixedStep,
    MaskedRtrlStep,
    RtrlStep,
    Snap1Step,
    UoroStep,
    dni_credit_gradient,
    dni_residual,
    run_dni,
    run_fixed,
    run_rtrl,
    run_snap1,
    run_uoro,
)

N, Q, M, P = 12, 4, 5, 3
RATE, CLIP = 0.1, 0.5


class Case:
    """A small network and a recording, drawn once from a seed."""

    def __init__(self, n: int = N, q: int = Q, m: int = M, p: int = P, *, seed: int = 7) -> None:
        rng = np.random.default_rng(seed)
        self.U = np.column_stack([np.ones(n), rng.normal(size=(n, m))])
        self.Y = rng.normal(size=(n, p))
        self.W_a = 0.6 * rng.normal(size=(q, q))
        self.W_b = 0.6 * rng.normal(size=(q, m + 1))
        self.W_c = 0.6 * rng.normal(size=(p, q))
        self.A0 = rng.normal(size=(q + p + 1, q)) / np.sqrt(q)
        self.signs = rng.choice([-1.0, 1.0], size=(n, q))

    @property
    def data(self) -> tuple[Array, Array, Array, Array, Array]:
        return self.U, self.Y, self.W_a, self.W_b, self.W_c

    @property
    def weights(self) -> tuple[Array, Array, Array]:
        return self.W_a, self.W_b, self.W_c


@pytest.fixture
def case() -> Case:
    return Case()


def steppers(case: Case, optimizer: str = "sgd", rate: float = RATE) -> dict[str, Callable[[], Stepper]]:
    w, W0 = case.weights, np.zeros((P, M + 1))
    return {
        "uoro": lambda: UoroStep(*w, rate, CLIP, tangent="exact", optimizer=optimizer),
        "uoro difference": lambda: UoroStep(*w, rate, CLIP, tangent="difference", optimizer=optimizer),
        "rtrl": lambda: RtrlStep(*w, rate, CLIP, readout="after", optimizer=optimizer),
        "rtrl before": lambda: RtrlStep(*w, rate, CLIP, readout="before", optimizer=optimizer),
        "snap1": lambda: Snap1Step(*w, rate, CLIP, optimizer=optimizer),
        "dni": lambda: DniStep(*w, rate, CLIP, A0=case.A0, rate_A=0.01, clip_A=1.0, optimizer=optimizer),
        "fixed": lambda: FixedStep(*w, rate, CLIP, optimizer=optimizer),
        "lms": lambda: LmsStep(W0, rate, CLIP, optimizer),
        "nlms": lambda: NlmsStep(W0, rate, 1e-3),
    }


NAMES = list(steppers(Case()))


def assert_named_close(actual: Named, expected: Named, atol: float) -> None:
    assert actual.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(actual[name], expected[name], rtol=0, atol=atol, err_msg=name)


def gradient_at(trajectory: Trajectory, n: int) -> Named:
    return {name: history[n] for name, history in trajectory.gradients.items()}


def used_until(trajectory: Trajectory, n: int) -> list[tuple[Array, Array]]:
    """(W_a, W_b) as used at the steps 0, ..., n."""
    before = [trajectory.weights_before(k) for k in range(n + 1)]
    return [(w["W_a"], w["W_b"]) for w in before]


# --------------------------------------------------------------------------------------------------------------- RTRL


def test_rtrl_is_back_propagation_through_time_while_the_weights_change(case: Case) -> None:
    trajectory = run_rtrl(*case.data, learning_rate=RATE, clip=CLIP)
    assert np.abs(trajectory.weights["W_a"][-1] - case.W_a).max() > 0.01
    for n in range(N):
        history, W_c = used_until(trajectory, n), trajectory.weights_before(n)["W_c"]
        expected = bptt_gradient(case.U[: n + 1], case.Y[n], np.zeros(Q), history, W_c)
        assert_named_close(gradient_at(trajectory, n), expected, atol=1e-10)


def test_rtrl_is_the_finite_difference_with_constant_weights(case: Case) -> None:
    trajectory = run_rtrl(*case.data, learning_rate=0.0)
    for n in (0, 1, N - 1):
        history = [(case.W_a, case.W_b)] * (n + 1)
        expected = finite_difference_gradient(case.U[: n + 1], case.Y[n], np.zeros(Q), history, case.W_c)
        assert_named_close(gradient_at(trajectory, n), expected, atol=1e-8)


def test_back_propagation_is_the_finite_difference_of_all_steps_together_with_changing_weights(case: Case) -> None:
    history, W_c = used_until(run_rtrl(*case.data, learning_rate=RATE, clip=CLIP), N - 1), case.W_c
    x0 = np.linspace(-0.5, 0.5, Q)
    args = (case.U, case.Y[-1], x0, history, W_c)
    assert_named_close(bptt_gradient(*args), finite_difference_gradient(*args), atol=1e-8)


def test_rtrl_read_before_the_newest_window_is_the_gradient_through_the_earlier_steps(case: Case) -> None:
    trajectory = run_rtrl(*case.data, learning_rate=RATE, clip=CLIP, readout="before")
    np.testing.assert_array_equal(trajectory.predictions[0], 0.0)
    for n in range(1, N):
        W_c = trajectory.weights_before(n)["W_c"]
        np.testing.assert_allclose(trajectory.predictions[n], W_c @ trajectory.states[n - 1], rtol=0, atol=1e-14)
        history = used_until(trajectory, n - 1)
        expected = bptt_gradient(case.U[:n], case.Y[n], np.zeros(Q), history, W_c)
        assert_named_close(gradient_at(trajectory, n), expected, atol=1e-10)


# ------------------------------------------------------------------------------------------------------------- SnAp-1


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_snap1_is_rtrl_with_a_masked_influence(case: Case, optimizer: str) -> None:
    one = run_snap1(*case.data, learning_rate=RATE, clip=CLIP, optimizer=optimizer, keep_internals=True)
    stepper = MaskedRtrlStep(*case.weights, RATE, CLIP, optimizer=optimizer)
    two = run(stepper, case.U, case.Y, keep_internals=True)
    np.testing.assert_allclose(one.predictions, two.predictions, rtol=0, atol=1e-13)
    assert_named_close(one.gradients, two.gradients, atol=1e-13)
    assert_named_close(one.weights, two.weights, atol=1e-13)
    diagonal = np.array([[J[i, i] for i in range(Q)] for J in two.internals["influence"]])
    np.testing.assert_allclose(one.internals["influence"], diagonal, rtol=0, atol=1e-13)


def test_snap1_is_exact_while_the_state_does_not_feed_back(case: Case) -> None:
    case.W_a = np.zeros((Q, Q))
    one = run_snap1(*case.data, learning_rate=0.0)
    assert_named_close(one.gradients, run_rtrl(*case.data, learning_rate=0.0).gradients, atol=1e-14)


# --------------------------------------------------------------------------------------------------------------- UORO


@pytest.mark.parametrize(("m", "n_steps"), [(1, 4), (2, 3)])
def test_the_mean_of_uoro_over_all_signs_is_the_influence(m: int, n_steps: int) -> None:
    small = Case(n=n_steps, q=2, m=m, p=2, seed=3)
    exact = run_rtrl(*small.data, learning_rate=0.0, keep_internals=True)
    entries = small.W_a.size + small.W_b.size
    total_influence = np.zeros((n_steps, 2, entries + small.W_c.size))
    total_gradient = {name: np.zeros_like(g) for name, g in exact.gradients.items()}
    sequences = list(itertools.product([-1.0, 1.0], repeat=2 * n_steps))
    for sequence in sequences:
        signs = np.reshape(sequence, (n_steps, 2))
        sample = run_uoro(*small.data, signs=signs, learning_rate=0.0, keep_internals=True)
        x_tilde, theta_tilde = sample.internals["x_tilde"], sample.internals["theta_tilde"]
        total_influence += x_tilde[:, :, None] * theta_tilde[:, None, :]
        for name in total_gradient:
            total_gradient[name] += sample.gradients[name]

    # The influence of RTRL has W_a and W_b side by side; theta~ has W_a row by row, then W_b row by row, then W_c.
    J = exact.internals["influence"]  # (n_steps, 2, 2, 2 + m + 1)
    unrolled = np.concatenate([J[..., :2].reshape(n_steps, 2, -1), J[..., 2:].reshape(n_steps, 2, -1)], axis=2)
    mean = total_influence / len(sequences)
    np.testing.assert_allclose(mean[:, :, :entries], unrolled, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(mean[:, :, entries:], 0.0)

    # Algorithm 1 multiplies the newest error with the influence on the *old* state: its gradient is that on average.
    e = small.Y - exact.predictions
    for n in range(n_steps):
        J_old = J[n - 1] if n > 0 else np.zeros_like(J[0])
        expected = np.tensordot(-e[n] @ small.W_c, J_old, axes=1)
        mean_a, mean_b = (total_gradient[name][n] / len(sequences) for name in ("W_a", "W_b"))
        np.testing.assert_allclose(np.hstack([mean_a, mean_b]), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            total_gradient["W_c"][n] / len(sequences), exact.gradients["W_c"][n], rtol=0, atol=1e-12
        )


def test_the_two_tangents_of_uoro_agree(case: Case) -> None:
    exact = run_uoro(*case.data, signs=case.signs, learning_rate=RATE, clip=CLIP, tangent="exact", keep_internals=True)
    difference = run_uoro(
        *case.data, signs=case.signs, learning_rate=RATE, clip=CLIP, tangent="difference", keep_internals=True
    )
    np.testing.assert_allclose(exact.predictions, difference.predictions, rtol=0, atol=1e-6)
    assert_named_close(exact.weights, difference.weights, atol=1e-6)
    assert_named_close(exact.gradients, difference.gradients, atol=5e-6)
    np.testing.assert_allclose(exact.internals["x_tilde"], difference.internals["x_tilde"], rtol=0, atol=5e-6)


def test_one_step_of_uoro_by_hand() -> None:
    """q = p = 1, m = 0, all in scalars: the second step, where every term is at work."""
    a, b, c, rate, tau = 0.5, 0.8, 1.5, 0.1, 0.3
    targets, nu = (0.7, -0.4), (1.0, -1.0)
    weights = np.array([[a]]), np.array([[b]]), np.array([[c]])
    stepper = UoroStep(*weights, rate, tau)
    for y_target, sign in zip(targets, nu, strict=True):
        last = stepper.step(np.ones(1), np.array([y_target]), np.array([sign]))

    x1 = np.tanh(b)
    e1 = targets[0] - c * x1
    slope1 = 1 - x1**2
    rho1 = np.sqrt(slope1 / (1 + 1e-7)) + 1e-7  # ||delta theta_g|| = |nu phi'| |[x_0, u]| = phi' |[0, 1]|
    x_tilde, theta_tilde_b = rho1 * nu[0], nu[0] * slope1 / rho1  # x_0 = 0: nothing in the W_a part
    g_c = -e1 * x1
    shrink = tau / abs(g_c) if abs(g_c) > tau else 1.0
    c = c - rate * shrink * g_c  # at the first step x~ = theta~ = 0: only W_c moves

    x2 = np.tanh(a * x1 + b)
    y2 = c * x2
    e2 = targets[1] - y2
    g_b = -e2 * c * x_tilde * theta_tilde_b
    np.testing.assert_allclose(last.prediction, [y2], rtol=1e-14)
    np.testing.assert_array_equal(last.gradient["W_a"], [[0.0]])
    np.testing.assert_allclose(last.gradient["W_b"], [[g_b]], rtol=1e-13)
    np.testing.assert_allclose(last.gradient["W_c"], [[-e2 * x2]], rtol=1e-13)
    size = np.hypot(g_b, e2 * x2)
    assert size > tau
    np.testing.assert_allclose(last.weights["W_b"], [[b - rate * tau / size * g_b]], rtol=1e-13)
    np.testing.assert_allclose(last.weights["W_c"], [[c + rate * tau / size * e2 * x2]], rtol=1e-13)

    slope2 = 1 - x2**2
    propagated = slope2 * a * x_tilde
    rho0 = np.sqrt(abs(theta_tilde_b) / (abs(propagated) + 1e-7)) + 1e-7
    rho1 = np.sqrt(slope2 * np.hypot(x1, 1) / (1 + 1e-7)) + 1e-7
    np.testing.assert_allclose(stepper.x_tilde, [rho0 * propagated + rho1 * nu[1]], rtol=1e-13)
    expected = [nu[1] * slope2 * x1 / rho1, theta_tilde_b / rho0 + nu[1] * slope2 / rho1, 0.0]
    np.testing.assert_allclose(stepper.theta_tilde, expected, rtol=1e-13)


# ---------------------------------------------------------------------------------------------------------------- DNI


def test_the_gradient_of_the_credit_matrix_is_the_derivative_of_half_the_squared_residual() -> None:
    rng = np.random.default_rng(5)
    A, D = rng.normal(size=(Q + P + 1, Q)), rng.normal(size=(Q, Q))
    a, a_next, dx = rng.normal(size=Q + P + 1), rng.normal(size=Q + P + 1), rng.normal(size=Q)

    def half_square(B: Array) -> float:
        return 0.5 * float(np.sum(dni_residual(B, a, a_next, dx, D) ** 2))

    numerical = central_difference(half_square, A)
    np.testing.assert_allclose(dni_credit_gradient(A, a, a_next, dx, D), numerical, rtol=0, atol=1e-7)


def test_one_step_of_dni_entry_by_entry(case: Case) -> None:
    """The second step of a run, with every matrix product written as a sum."""
    rate_A = 0.02
    trajectory = run_dni(*case.data, A0=case.A0, learning_rate=RATE, rate_A=rate_A, keep_internals=True)
    w, A = trajectory.weights_before(1), trajectory.internals["A"][0]
    x, u, y_target = trajectory.states[0], case.U[1], case.Y[1]
    x_new = trajectory.states[1]
    phi_prime = 1 - x_new**2
    e = y_target - trajectory.predictions[1]
    a, a_next = np.r_[x, case.Y[0], 1.0], np.r_[x_new, y_target, 1.0]
    units, rows = range(Q), range(Q + P + 1)
    D = [[phi_prime[i] * w["W_a"][i, j] for j in units] for i in units]
    credit, credit_next = ([sum(b[r] * A[r, j] for r in rows) for j in units] for b in (a, a_next))
    dx = [-sum(e[k] * w["W_c"][k, j] for k in range(P)) for j in units]
    f = [credit[j] - dx[j] - sum(credit_next[i] * D[i][j] for i in units) for j in units]
    A_new = np.array(
        [
            [A[r, j] - rate_A * (a[r] * f[j] - a_next[r] * sum(f[i] * D[j][i] for i in units)) for j in units]
            for r in rows
        ]
    )
    np.testing.assert_allclose(trajectory.internals["A"][1], A_new, rtol=0, atol=1e-13)
    c = [sum(a[r] * A_new[r, j] for r in rows) for j in units]
    expected = {
        "W_a": np.array([[c[i] * phi_prime[i] * x[j] for j in units] for i in units]),
        "W_b": np.array([[c[i] * phi_prime[i] * u[j] for j in range(M + 1)] for i in units]),
        "W_c": np.array([[-e[k] * x_new[j] for j in units] for k in range(P)]),
    }
    assert_named_close(gradient_at(trajectory, 1), expected, atol=1e-13)


def test_the_gradient_of_the_credit_matrix_is_clipped_on_its_own(case: Case) -> None:
    rates = {"learning_rate": RATE, "rate_A": 0.02}
    free = run_dni(*case.data, A0=case.A0, **rates, keep_internals=True)
    short = run_dni(*case.data, A0=case.A0, **rates, clip_A=0.1, keep_internals=True)
    move, shortened = free.internals["A"][0] - case.A0, short.internals["A"][0] - case.A0
    assert np.linalg.norm(move) > 0.02 * 0.1
    np.testing.assert_allclose(shortened, 0.02 * 0.1 * move / np.linalg.norm(move), rtol=0, atol=1e-15)


# ------------------------------------------------------------------------------------------------------ fixed network


def test_the_fixed_network_moves_its_readout_only(case: Case) -> None:
    trajectory = run_fixed(*case.data, learning_rate=RATE, clip=CLIP)
    np.testing.assert_array_equal(trajectory.weights["W_a"][-1], case.W_a)
    np.testing.assert_array_equal(trajectory.weights["W_b"][-1], case.W_b)
    assert np.abs(trajectory.weights["W_c"][-1] - case.W_c).max() > 0.01
    exact = run_rtrl(*case.data, learning_rate=0.0)
    np.testing.assert_allclose(trajectory.states, exact.states, rtol=0, atol=1e-14)
    np.testing.assert_allclose(trajectory.gradients["W_c"][0], exact.gradients["W_c"][0], rtol=0, atol=1e-14)


# ---------------------------------------------------------------------------------------------- clipping, Adam, learn


def test_two_steps_of_adam_by_hand() -> None:
    """Gradients 0.5 then -0.2. m = 0.05, 0.025; v = 0.00025, 0.00028975; 1-beta1^2 = 0.19, 1-beta2^2 = 0.001999."""
    optimiser = Optimiser(0.1, None, "adam")
    w = optimiser.update({"W": np.array([1.0])}, {"W": np.array([0.5])})
    first = 1.0 - 0.1 * 0.5 / (0.5 + 1e-8)
    np.testing.assert_allclose(w["W"], [first], rtol=1e-13)
    w = optimiser.update(w, {"W": np.array([-0.2])})
    second = first - 0.1 * (0.025 / 0.19) / (np.sqrt(0.00028975 / 0.001999) + 1e-8)
    np.testing.assert_allclose(w["W"], [second], rtol=1e-13)


def test_adam_clips_before_its_moments() -> None:
    """Gradients 30 then -0.2 with clip 0.5 are the gradients of the case above."""
    optimiser = Optimiser(0.1, 0.5, "adam")
    w = {"W": np.array([1.0])}
    for g in (30.0, -0.2):
        w = optimiser.update(w, {"W": np.array([g])})
    np.testing.assert_allclose(optimiser.first["W"], [0.025], rtol=1e-13)
    np.testing.assert_allclose(optimiser.second["W"], [0.00028975], rtol=1e-13)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "nlms"])
def test_clipping_takes_the_norm_of_all_weights_together(case: Case, name: str) -> None:
    # The networks' gradients here are of order one and more, so that the threshold of 0.5 acts at most steps.
    trajectory = run(steppers(case)[name](), case.U, case.Y, case.signs)
    acted = 0
    for n in range(N):
        gradient, before = gradient_at(trajectory, n), trajectory.weights_before(n)
        size = np.sqrt(sum(np.sum(g**2) for g in gradient.values()))
        shrink = min(1.0, CLIP / size) if size > 0 else 1.0
        acted += shrink < 1.0
        for part, g in gradient.items():
            expected = before[part] - RATE * shrink * g
            np.testing.assert_allclose(trajectory.weights[part][n], expected, rtol=0, atol=1e-14)
    assert acted > 0


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("name", NAMES)
def test_without_learning_the_weights_stay_and_the_rest_moves_on(case: Case, name: str, optimizer: str) -> None:
    learn = np.ones(N, dtype=bool)
    learn[:3] = learn[6] = False
    stepper = steppers(case, optimizer)[name]()
    trajectory = run(stepper, case.U, case.Y, case.signs, learn, keep_internals=True)
    for n in range(N):
        before = trajectory.weights_before(n)
        same = all(np.array_equal(trajectory.weights[part][n], before[part]) for part in before)
        assert same is not bool(learn[n])
    if optimizer == "adam" and name != "nlms":
        assert stepper.optimiser.count == learn.sum()

    if name == "dni":  # its A learns too, at a rate of its own
        np.testing.assert_array_equal(trajectory.internals["A"][:3], [case.A0] * 3)
        return
    # Three steps that do not learn are three steps at rate zero: the same states, influence estimates and gradients.
    idle = run(steppers(case, optimizer, rate=0.0)[name](), case.U[:3], case.Y[:3], case.signs, keep_internals=True)
    np.testing.assert_array_equal(trajectory.states[:3], idle.states)
    for part, values in idle.internals.items():
        np.testing.assert_array_equal(trajectory.internals[part][:3], values)
    for part, values in idle.gradients.items():
        np.testing.assert_array_equal(trajectory.gradients[part][:3], values)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "nlms"])
def test_adam_is_descent_along_its_own_direction(case: Case, name: str) -> None:
    trajectory = run(steppers(case, "adam", rate=0.01)[name](), case.U, case.Y, case.signs)
    m, v = dict.fromkeys(trajectory.initial, 0.0), dict.fromkeys(trajectory.initial, 0.0)
    for n in range(N):
        gradient, before = gradient_at(trajectory, n), trajectory.weights_before(n)
        size = np.sqrt(sum(np.sum(g**2) for g in gradient.values()))
        for part, raw in gradient.items():
            g = raw * (CLIP / size if size > CLIP else 1.0)
            m[part], v[part] = 0.9 * m[part] + 0.1 * g, 0.999 * v[part] + 0.001 * g**2
            move = m[part] / (1 - 0.9 ** (n + 1)) / (np.sqrt(v[part] / (1 - 0.999 ** (n + 1))) + 1e-8)
            np.testing.assert_allclose(trajectory.weights[part][n], before[part] - 0.01 * move, rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------------------------------ delayed


@pytest.mark.parametrize("name", NAMES)
def test_delayed_by_one_step_is_the_immediate_protocol(case: Case, name: str) -> None:
    make = steppers(case)[name]
    immediate = run(make(), case.U, case.Y, case.signs)
    np.testing.assert_array_equal(delayed_forecasts(make(), case.U, case.Y, 1, case.signs), immediate.predictions)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "rtrl before"])
def test_delayed_by_no_step_is_the_immediate_protocol_read_after_the_update(case: Case, name: str) -> None:
    make = steppers(case)[name]
    immediate = run(make(), case.U, case.Y, case.signs)
    if "W" in immediate.weights:
        expected = np.array([W @ u for W, u in zip(immediate.weights["W"], case.U, strict=True)])
    else:
        expected = np.array([W @ x for W, x in zip(immediate.weights["W_c"], immediate.states, strict=True)])
    stepper = make()
    np.testing.assert_array_equal(delayed_forecasts(stepper, case.U, case.Y, 0, case.signs), expected)
    for part, W in stepper.weights().items():
        np.testing.assert_array_equal(W, immediate.weights[part][-1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("h", [2, 5, N + 1])
def test_delayed_forecasts_from_the_immediate_run_alone(case: Case, name: str, h: int) -> None:
    """From weights and states of the immediate run, h steps late; with some steps that do not learn."""
    make = steppers(case)[name]
    learn = np.arange(N) % 3 != 1
    immediate = run(make(), case.U, case.Y, case.signs, learn)
    forecasts = delayed_forecasts(make(), case.U, case.Y, h, case.signs, learn=learn)
    for t in range(N):
        done = max(0, t - h + 1)
        w = immediate.weights_before(done)
        if "W" in w:
            expected = w["W"] @ case.U[t]
        else:
            x = immediate.states[done - 1] if done > 0 else np.zeros(Q)
            last = t if name == "rtrl before" else t + 1
            for n in range(done, last):
                x = np.tanh(w["W_a"] @ x + w["W_b"] @ case.U[n])
            expected = w["W_c"] @ x
        np.testing.assert_array_equal(forecasts[t], expected)


@pytest.mark.parametrize("name", NAMES)
def test_delayed_forecasts_do_not_see_what_comes_later(case: Case, name: str) -> None:
    h, t = 3, 7
    make = steppers(case)[name]
    plain = delayed_forecasts(make(), case.U, case.Y, h, case.signs)
    U, Y = case.U.copy(), case.Y.copy()
    U[t + 1 :, 1:] += 1.0
    Y[t - h + 1 :] -= 2.0  # the target of step n is measured at n + h
    changed = delayed_forecasts(make(), U, Y, h, case.signs)
    np.testing.assert_array_equal(changed[: t + 1], plain[: t + 1])
    assert np.abs(changed[t + 1 :] - plain[t + 1 :]).max() > 1e-6


# --------------------------------------------------------------------------------------------------- memory, mistakes


@pytest.mark.parametrize("name", NAMES)
def test_a_run_leaves_its_arguments_alone_and_repeats(case: Case, name: str) -> None:
    untouched = Case()
    make = steppers(case)[name]
    first, second = (run(make(), case.U, case.Y, case.signs) for _ in range(2))
    np.testing.assert_array_equal(first.predictions, second.predictions)
    for field, value in vars(untouched).items():
        np.testing.assert_array_equal(getattr(case, field), value)


def test_mistakes_are_refused(case: Case) -> None:
    with pytest.raises(ValueError, match="tangent"):
        UoroStep(*case.weights, RATE, tangent="secant")
    with pytest.raises(ValueError, match="sign"):
        UoroStep(*case.weights, RATE).step(case.U[0], case.Y[0])
    with pytest.raises(ValueError, match="readout"):
        RtrlStep(*case.weights, RATE, readout="during")
    with pytest.raises(ValueError, match="W_c"):
        FixedStep(case.W_a, case.W_b, case.W_c.T, RATE)
    with pytest.raises(ValueError, match="A is"):
        DniStep(*case.weights, RATE, A0=case.A0.T, rate_A=0.1)
    with pytest.raises(ValueError, match="optimizer"):
        LmsStep(np.zeros((P, M + 1)), RATE, optimizer="rmsprop")
    with pytest.raises(ValueError, match="not been learned"):
        delayed_forecasts(RtrlStep(*case.weights, RATE, readout="before"), case.U, case.Y, 0)
    with pytest.raises(ValueError, match="horizon"):
        delayed_forecasts(FixedStep(*case.weights, RATE), case.U, case.Y, -1)
