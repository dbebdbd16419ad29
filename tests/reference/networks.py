"""Slow, obvious references of the on-line learning algorithms of a vanilla recurrent network.

The network (Pohl et al. 2022, Eqs. of `F_st` and `F_out`), with u_n = [1, window]:

    z_n = W_a x_n + W_b u_n,   x_{n+1} = tanh(z_n),   y_{n+1} = W_c x_{n+1},
    e_{n+1} = y*_{n+1} - y_{n+1},   L_{n+1} = 1/2 ||e_{n+1}||^2.

Shapes: U (N, m+1), Y (N, p), W_a (q, q), W_b (q, m+1), W_c (p, q), signs (N, q). The state, the influence estimates
and theta-tilde start from zero. Each algorithm is a class with `step(u, y_target, sign, learn=...)`, and a function
`run_*` that takes it through a recording. "Algorithm 1" and its line numbers are those of Pohl et al. 2022, with
`For n = 1, 2, ...` as line 15.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tests.reference.common import Array, Named, Optimiser, OptimizerName, Step, Trajectory, as_float, clipped, run

EPS_NORM = 1e-7  # Algorithm 1, line 6
EPS_PROP = 1e-7

Learn = NDArray[np.bool_] | None
Readout = Literal["after", "before"]
Tangent = Literal["exact", "difference"]


class Network:
    """The weights, the state and the optimiser; the algorithms below add how they get their gradient."""

    def __init__(
        self,
        W_a: Array,
        W_b: Array,
        W_c: Array,
        learning_rate: float,
        clip: float | None = None,
        *,
        optimizer: OptimizerName = "sgd",
    ) -> None:
        self.W_a, self.W_b, self.W_c = as_float(W_a), as_float(W_b), as_float(W_c)
        self.q, self.p, self.m = self.W_a.shape[0], self.W_c.shape[0], self.W_b.shape[1] - 1
        if self.W_a.shape != (self.q, self.q) or self.W_b.shape[0] != self.q or self.W_c.shape[1] != self.q:
            raise ValueError("W_a is (q, q), W_b is (q, m+1), W_c is (p, q)")
        self.x = np.zeros(self.q)
        self.optimiser = Optimiser(learning_rate, clip, optimizer)

    def weights(self) -> Named:
        return {"W_a": self.W_a, "W_b": self.W_b, "W_c": self.W_c}

    def state(self) -> Array:
        return self.x

    def internals(self) -> Named:
        return {}

    def forecast(self, windows: Array, steps_made: int) -> Array:
        """Run on from the state through the windows not yet learned from, with the weights of now, and read out."""
        x = self.x
        for u in windows[steps_made:]:
            x = np.tanh(self.W_a @ x + self.W_b @ u)
        return self.W_c @ x

    def learn_from(self, gradient: Named, learn: bool) -> None:
        """Clip and step, unless this step is one at which the weights are left alone."""
        if learn:
            updated = self.optimiser.update(self.weights(), gradient)
            self.W_a, self.W_b, self.W_c = updated["W_a"], updated["W_b"], updated["W_c"]

    def named_gradient(self, over_state_and_input: Array, readout: Array) -> Named:
        """The gradient by name, from that with respect to [W_a, W_b] side by side (q, q+m+1) and to W_c (p, q)."""
        return {"W_a": over_state_and_input[:, : self.q], "W_b": over_state_and_input[:, self.q :], "W_c": readout}


# --------------------------------------------------------------------------------------------------------------- UORO


class UoroStep:
    """Unbiased on-line recurrent optimisation: Algorithm 1 of Pohl et al. 2022, line by line and in its order.

    theta = [W_a, W_b, W_c] is one vector of |W| = q (q + m+1 + p) entries and so are theta-tilde, delta-theta and
    delta-theta_g, zeros included. They are unrolled row by row, where the paper goes column by column: no result
    depends on it. The rank-one estimate of the influence dx_n/dtheta is x~_n theta~_n.

    tangent="difference" is line 21 as printed; "exact" is its limit, phi'(z_n) * (W_a x~_n).
    """

    def __init__(
        self,
        W_a: Array,
        W_b: Array,
        W_c: Array,
        learning_rate: float,
        clip: float | None = None,
        *,
        tangent: Tangent = "exact",
        optimizer: OptimizerName = "sgd",
    ) -> None:
        if tangent not in ("exact", "difference"):
            raise ValueError(f"unknown tangent {tangent!r}")
        (self.q, n_inputs), self.p = W_b.shape, W_c.shape[0]
        self.end_a = self.q * self.q  # |W_a|
        self.end_b = self.end_a + self.q * n_inputs  # |W_a| + |W_b|
        self.theta = np.concatenate([as_float(W_a).ravel(), as_float(W_b).ravel(), as_float(W_c).ravel()])
        self.x = np.zeros(self.q)  # line 11
        self.x_tilde = np.zeros(self.q)
        self.theta_tilde = np.zeros(self.theta.size)
        self.delta_theta = np.zeros(self.theta.size)  # line 12
        self.delta_theta_g = np.zeros(self.theta.size)
        self.rho = np.zeros(2)
        self.tangent = tangent
        self.optimiser = Optimiser(learning_rate, clip, optimizer)

    def rolled(self, vector: Array) -> tuple[Array, Array, Array]:
        """The W_a, W_b and W_c parts of a parameter vector, as matrices that share its memory."""
        return (
            vector[: self.end_a].reshape(self.q, self.q),
            vector[self.end_a : self.end_b].reshape(self.q, -1),
            vector[self.end_b :].reshape(self.p, self.q),
        )

    def step(self, u: Array, y_target: Array, sign: Array | None = None, *, learn: bool = True) -> Step:
        if sign is None:
            raise ValueError("UORO needs a sign vector at every step")
        W_a, W_b, W_c = self.rolled(self.theta)
        x = self.x

        input_drive = W_b @ u
        z = W_a @ x + input_drive
        x_new = np.tanh(z)  # line 16
        phi_prime = 1.0 - x_new**2
        prediction = W_c @ x_new  # line 17
        e = y_target - prediction
        self.delta_theta[self.end_b :] = -np.outer(e, x_new).ravel()  # line 18
        grad_x = -e @ W_c  # line 19
        gradient = (grad_x @ self.x_tilde) * self.theta_tilde + self.delta_theta

        nu = np.asarray(sign, dtype=np.float64)  # line 20
        if self.tangent == "exact":  # line 21
            x_tilde = phi_prime * (W_a @ self.x_tilde)
        else:
            x_tilde = (np.tanh(W_a @ (x + EPS_PROP * self.x_tilde) + input_drive) - x_new) / EPS_PROP
        aux = nu * phi_prime  # line 22
        self.delta_theta_g[: self.end_a] = np.outer(aux, x).ravel()  # line 23
        self.delta_theta_g[self.end_a : self.end_b] = np.outer(aux, u).ravel()  # line 24

        norm = np.linalg.norm
        rho0 = np.sqrt(norm(self.theta_tilde) / (norm(x_tilde) + EPS_NORM)) + EPS_NORM  # line 26
        rho1 = np.sqrt(norm(self.delta_theta_g) / (norm(nu) + EPS_NORM)) + EPS_NORM
        self.x_tilde = rho0 * x_tilde + rho1 * nu  # line 27
        self.theta_tilde = self.theta_tilde / rho0 + self.delta_theta_g / rho1
        self.rho = np.array([rho0, rho1])

        if learn:  # lines 28 to 34
            self.theta = self.optimiser.update({"theta": self.theta}, {"theta": gradient})["theta"]
        self.x = x_new
        names = ("W_a", "W_b", "W_c")
        return Step(prediction, dict(zip(names, self.rolled(gradient), strict=True)), self.weights())

    def weights(self) -> Named:
        return dict(zip(("W_a", "W_b", "W_c"), self.rolled(self.theta), strict=True))

    def state(self) -> Array:
        return self.x

    def internals(self) -> Named:
        """x~ (q,), theta~ (|W|,), [rho0, rho1], after the step."""
        return {"x_tilde": self.x_tilde, "theta_tilde": self.theta_tilde, "rho": self.rho}

    def forecast(self, windows: Array, steps_made: int) -> Array:
        """Run on from the state through the windows not yet learned from, with the weights of now, and read out."""
        W_a, W_b, W_c = self.rolled(self.theta)
        x = self.x
        for u in windows[steps_made:]:
            x = np.tanh(W_a @ x + W_b @ u)
        return W_c @ x


def run_uoro(
    U: Array,
    Y: Array,
    W_a: Array,
    W_b: Array,
    W_c: Array,
    *,
    signs: Array,
    learning_rate: float,
    clip: float | None = None,
    tangent: Tangent = "exact",
    learn: Learn = None,
    optimizer: OptimizerName = "sgd",
    keep_internals: bool = False,
) -> Trajectory:
    """UORO over a recording; internals: `x_tilde` (N, q), `theta_tilde` (N, |W|), `rho` (N, 2)."""
    stepper = UoroStep(W_a, W_b, W_c, learning_rate, clip, tangent=tangent, optimizer=optimizer)
    return run(stepper, U, Y, signs, learn, keep_internals=keep_internals)


# --------------------------------------------------------------------------------------------------------------- RTRL


class RtrlStep(Network):
    """Real-time recurrent learning (Williams & Zipser 1989; Pohl et al. 2022, Eq. `influence update`).

    The influence J[k, i, j] = d x_k / d W_ij, with W = [W_a, W_b] side by side and v_n = [x_n; u_n], moves on as

        J_{n+1}[k, i, j] = phi'(z_k) ( sum_l W_a[k, l] J_n[l, i, j] + (k == i) v_j ).

    readout="after": the prediction W_c x_{n+1} and dL/dW = -e^T W_c J_{n+1}, the exact gradient.
    readout="before": the prediction W_c x_n, which does not see the newest window, and dL/dW = -e^T W_c J_n; then the
    state and the influence move on, with the weights from before the update.
    """

    def __init__(
        self,
        W_a: Array,
        W_b: Array,
        W_c: Array,
        learning_rate: float,
        clip: float | None = None,
        *,
        readout: Readout = "after",
        optimizer: OptimizerName = "sgd",
    ) -> None:
        super().__init__(W_a, W_b, W_c, learning_rate, clip, optimizer=optimizer)
        if readout not in ("after", "before"):
            raise ValueError(f"unknown readout {readout!r}")
        self.readout = readout
        self.influence = np.zeros((self.q, self.q, self.q + self.m + 1))

    def propagated(self, v: Array, phi_prime: Array) -> Array:
        """J_{n+1} from J_n."""
        new = (self.W_a @ self.influence.reshape(self.q, -1)).reshape(self.influence.shape)
        units = np.arange(self.q)
        new[units, units] += v  # the immediate influence: W_ij acts on x_i alone
        new *= phi_prime[:, None, None]
        return new

    def step(self, u: Array, y_target: Array, sign: Array | None = None, *, learn: bool = True) -> Step:
        v = np.concatenate([self.x, u])
        x_new = np.tanh(self.W_a @ self.x + self.W_b @ u)
        influence_new = self.propagated(v, 1.0 - x_new**2)

        x_read, influence_read = (x_new, influence_new) if self.readout == "after" else (self.x, self.influence)
        prediction = self.W_c @ x_read
        e = y_target - prediction
        over_state_and_input = np.tensordot(-e @ self.W_c, influence_read, axes=1)
        gradient = self.named_gradient(over_state_and_input, -np.outer(e, x_read))

        self.x, self.influence = x_new, influence_new
        self.learn_from(gradient, learn)
        return Step(prediction, gradient, self.weights())

    def internals(self) -> Named:
        """The influence (q, q, q+m+1) after the step."""
        return {"influence": self.influence}

    def forecast(self, windows: Array, steps_made: int) -> Array:
        if self.readout == "after":
            return super().forecast(windows, steps_made)
        if steps_made >= len(windows):
            raise ValueError("the readout before the newest window needs a window that has not been learned from")
        return super().forecast(windows[:-1], steps_made)


def run_rtrl(
    U: Array,
    Y: Array,
    W_a: Array,
    W_b: Array,
    W_c: Array,
    *,
    learning_rate: float,
    clip: float | None = None,
    readout: Readout = "after",
    learn: Learn = None,
    optimizer: OptimizerName = "sgd",
    keep_internals: bool = False,
) -> Trajectory:
    """RTRL over a recording; internals: `influence` (N, q, q, q+m+1)."""
    stepper = RtrlStep(W_a, W_b, W_c, learning_rate, clip, readout=readout, optimizer=optimizer)
    return run(stepper, U, Y, None, learn, keep_internals=keep_internals)


# ------------------------------------------------------------------------------------------------------------- SnAp-1


class Snap1Step(Network):
    """SnAp-1 (Menick et al. 2020): the influence kept only where a weight acts on its own unit within one step.

        I_{n+1}[i, j] = phi'(z_i) ( W_a[i, i] I_n[i, j] + v_j ),   dL/dW_ij = (-W_c^T e)_i I_{n+1}[i, j].

    The prediction is W_c x_{n+1}.
    """

    def __init__(
        self,
        W_a: Array,
        W_b: Array,
        W_c: Array,
        learning_rate: float,
        clip: float | None = None,
        *,
        optimizer: OptimizerName = "sgd",
    ) -> None:
        super().__init__(W_a, W_b, W_c, learning_rate, clip, optimizer=optimizer)
        self.influence = np.zeros((self.q, self.q + self.m + 1))

    def step(self, u: Array, y_target: Array, sign: Array | None = None, *, learn: bool = True) -> Step:
        v = np.concatenate([self.x, u])
        x_new = np.tanh(self.W_a @ self.x + self.W_b @ u)
        prediction = self.W_c @ x_new
        e = y_target - prediction

        phi_prime = 1.0 - x_new**2
        self.influence = phi_prime[:, None] * (np.diag(self.W_a)[:, None] * self.influence + v[None, :])
        gradient = self.named_gradient((-self.W_c.T @ e)[:, None] * self.influence, -np.outer(e, x_new))

        self.x = x_new
        self.learn_from(gradient, learn)
        return Step(prediction, gradient, self.weights())

    def internals(self) -> Named:
        """The kept influence (q, q+m+1) after the step."""
        return {"influence": self.influence}


class MaskedRtrlStep(RtrlStep):
    """SnAp-1 a second way: all of RTRL, with the influence set to zero outside J[i, i, :] after every step."""

    def propagated(self, v: Array, phi_prime: Array) -> Array:
        kept = np.eye(self.q, dtype=bool)[:, :, None]
        return np.where(kept, super().propagated(v, phi_prime), 0.0)


def run_snap1(
    U: Array,
    Y: Array,
    W_a: Array,
    W_b: Array,
    W_c: Array,
    *,
    learning_rate: float,
    clip: float | None = None,
    learn: Learn = None,
    optimizer: OptimizerName = "sgd",
    keep_internals: bool = False,
) -> Trajectory:
    """SnAp-1 over a recording; internals: `influence` (N, q, q+m+1)."""
    stepper = Snap1Step(W_a, W_b, W_c, learning_rate, clip, optimizer=optimizer)
    return run(stepper, U, Y, None, learn, keep_internals=keep_internals)


# ---------------------------------------------------------------------------------------------------------------- DNI


def dni_residual(A: Array, a: Array, a_next: Array, dx: Array, D: Array) -> Array:
    """How far the credit is from consistent: f = a_n A - dx - a_{n+1} A D."""
    return a @ A - dx - (a_next @ A) @ D


def dni_credit_gradient(A: Array, a: Array, a_next: Array, dx: Array, D: Array) -> Array:
    """The derivative of 1/2 ||f||^2 with respect to A: a_n^T f - a_{n+1}^T (f D^T)."""
    f = dni_residual(A, a, a_next, dx, D)
    return np.outer(a, f) - np.outer(a_next, f @ D.T)


class DniStep(Network):
    """Decoupled neural interfaces with a linear credit, as in Pohl et al. 2025 (after Marschall et al. 2020).

    a_n = [x_n, y*_n, 1] with y*_n the target of the previous step (a_0 = [0, ..., 0, 1]); the credit c = a_n A stands
    for the derivative of present and later losses with respect to the state. Each step moves A down the gradient of
    1/2 ||f||^2, then the network down (c^T * phi'(z)) [x_n; u_n]^T and -e x_{n+1}^T, clipped together.

    A moves by plain gradient descent, whatever the optimizer of the network, and stays at steps with learn=False.
    """

    def __init__(
        self,
        W_a: Array,
        W_b: Array,
        W_c: Array,
        learning_rate: float,
        clip: float | None = None,
        *,
        A0: Array,
        rate_A: float,
        clip_A: float | None = None,
        optimizer: OptimizerName = "sgd",
    ) -> None:
        super().__init__(W_a, W_b, W_c, learning_rate, clip, optimizer=optimizer)
        self.A = as_float(A0)
        if self.A.shape != (self.q + self.p + 1, self.q):
            raise ValueError("A is (q+p+1, q)")
        self.rate_A = rate_A
        self.clip_A = clip_A
        self.a = np.concatenate([np.zeros(self.q + self.p), [1.0]])

    def step(self, u: Array, y_target: Array, sign: Array | None = None, *, learn: bool = True) -> Step:
        v = np.concatenate([self.x, u])
        x_new = np.tanh(self.W_a @ self.x + self.W_b @ u)
        prediction = self.W_c @ x_new
        e = y_target - prediction

        phi_prime = 1.0 - x_new**2
        D = phi_prime[:, None] * self.W_a  # d x_{n+1} / d x_n
        dx = -e @ self.W_c
        a_next = np.concatenate([x_new, y_target, [1.0]])
        gradient_A = clipped({"A": dni_credit_gradient(self.A, self.a, a_next, dx, D)}, self.clip_A)["A"]
        if learn:
            self.A = self.A - self.rate_A * gradient_A

        c = self.a @ self.A
        gradient = self.named_gradient(np.outer(c * phi_prime, v), -np.outer(e, x_new))

        self.x, self.a = x_new, a_next
        self.learn_from(gradient, learn)
        return Step(prediction, gradient, self.weights())

    def internals(self) -> Named:
        """A (q+p+1, q) and a_{n+1} (q+p+1,) after the step."""
        return {"A": self.A, "a": self.a}


def run_dni(
    U: Array,
    Y: Array,
    W_a: Array,
    W_b: Array,
    W_c: Array,
    *,
    A0: Array,
    learning_rate: float,
    rate_A: float,
    clip: float | None = None,
    clip_A: float | None = None,
    learn: Learn = None,
    optimizer: OptimizerName = "sgd",
    keep_internals: bool = False,
) -> Trajectory:
    """DNI over a recording; internals: `A` (N, q+p+1, q), `a` (N, q+p+1)."""
    stepper = DniStep(W_a, W_b, W_c, learning_rate, clip, A0=A0, rate_A=rate_A, clip_A=clip_A, optimizer=optimizer)
    return run(stepper, U, Y, None, learn, keep_internals=keep_internals)


# -------------------------------------------------------------------------------------------------------------- fixed


class FixedStep(Network):
    """A reservoir: W_a and W_b stay as drawn (their gradient is reported as zero), W_c learns by -e x_{n+1}^T."""

    def step(self, u: Array, y_target: Array, sign: Array | None = None, *, learn: bool = True) -> Step:
        self.x = np.tanh(self.W_a @ self.x + self.W_b @ u)
        prediction = self.W_c @ self.x
        e = y_target - prediction
        gradient = self.named_gradient(np.zeros((self.q, self.q + self.m + 1)), -np.outer(e, self.x))
        self.learn_from(gradient, learn)
        return Step(prediction, gradient, self.weights())


def run_fixed(
    U: Array,
    Y: Array,
    W_a: Array,
    W_b: Array,
    W_c: Array,
    *,
    learning_rate: float,
    clip: float | None = None,
    learn: Learn = None,
    optimizer: OptimizerName = "sgd",
) -> Trajectory:
    """The fixed network over a recording."""
    return run(FixedStep(W_a, W_b, W_c, learning_rate, clip, optimizer=optimizer), U, Y, None, learn)
