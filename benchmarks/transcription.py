"""Plain NumPy transcriptions of the published algorithms, line by line as printed: the yardstick of the benchmarks.

They keep what the paper keeps: one parameter vector θ, unrolled column by column and rebuilt at every step (lines 21-37
of Algorithm 1), the finite-difference tangent, and, for RTRL, the influence matrix of every weight.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


class PaperUORO:
    """Algorithm 1 of Pohl et al. 2022."""

    def __init__(self, q: int, m: int, p: int, eta: float, tau: float, rng: np.random.Generator) -> None:
        self.q, self.m, self.p, self.eta, self.tau = q, m, p, eta, tau
        self.W_a = 0.02 * rng.standard_normal((q, q))
        self.W_b = 0.02 * rng.standard_normal((q, m + 1))
        self.W_c = 0.02 * rng.standard_normal((p, q))
        self.size_a, self.size_b = q * q, q * (m + 1)
        self.size = self.size_a + self.size_b + p * q
        self.x = np.zeros(q)
        self.x_tilde = np.zeros(q)
        self.theta_tilde = np.zeros(self.size)
        self.d_theta = np.zeros(self.size)
        self.d_theta_g = np.zeros(self.size)

    def step(self, u: np.ndarray, target: np.ndarray, nu: np.ndarray) -> np.ndarray:
        a, ab, eps = self.size_a, self.size_a + self.size_b, 1e-7
        z = self.W_a @ self.x + self.W_b @ u
        x_new = np.tanh(z)
        y = self.W_c @ x_new
        e = target - y
        self.d_theta[ab:] = -np.outer(e, x_new).ravel(order="F")
        gradient = (-e @ self.W_c @ self.x_tilde) * self.theta_tilde + self.d_theta
        shifted = np.tanh(self.W_a @ (self.x + eps * self.x_tilde) + self.W_b @ u)
        self.x_tilde = (shifted - x_new) / eps
        aux = nu / np.cosh(z) ** 2
        self.d_theta_g[:a] = np.outer(aux, self.x).ravel(order="F")
        self.d_theta_g[a:ab] = np.outer(aux, u).ravel(order="F")
        rho0 = np.sqrt(np.linalg.norm(self.theta_tilde) / (np.linalg.norm(self.x_tilde) + eps)) + eps
        rho1 = np.sqrt(np.linalg.norm(self.d_theta_g) / (np.linalg.norm(nu) + eps)) + eps
        self.x_tilde = rho0 * self.x_tilde + rho1 * nu
        self.theta_tilde = self.theta_tilde / rho0 + self.d_theta_g / rho1
        theta = np.concatenate([W.ravel(order="F") for W in (self.W_a, self.W_b, self.W_c)])
        size = np.linalg.norm(gradient)
        if size > self.tau:
            gradient = self.tau / size * gradient
        theta = theta - self.eta * gradient
        self.W_a = theta[:a].reshape((self.q, self.q), order="F")
        self.W_b = theta[a:ab].reshape((self.q, self.m + 1), order="F")
        self.W_c = theta[ab:].reshape((self.p, self.q), order="F")
        self.x = x_new
        return y


class PaperRTRL:
    """Real-time recurrent learning with the influence ∂x/∂w_j of the weights of each unit j, (q, q, q + m + 1)."""

    def __init__(self, q: int, m: int, p: int, eta: float, tau: float, rng: np.random.Generator) -> None:
        self.q, self.eta, self.tau = q, eta, tau
        self.W = 0.02 * rng.standard_normal((q, q + m + 1))
        self.W_c = 0.02 * rng.standard_normal((p, q))
        self.x = np.zeros(q)
        self.influence = np.zeros((q, q, q + m + 1))

    def step(self, u: np.ndarray, target: np.ndarray) -> np.ndarray:
        q = self.q
        v = np.concatenate([self.x, u])
        x_new = np.tanh(self.W @ v)
        slope = 1.0 - x_new**2
        for j in range(q):
            moved = self.W[:, :q] @ self.influence[j]
            moved[j] += v
            self.influence[j] = slope[:, None] * moved
        y = self.W_c @ x_new
        e = target - y
        pull = -e @ self.W_c
        gradient = np.stack([pull @ self.influence[j] for j in range(q)])
        gradient_c = -np.outer(e, x_new)
        size = np.sqrt((gradient**2).sum() + (gradient_c**2).sum())
        scale = self.eta * min(1.0, self.tau / size if size > 0 else 1.0)
        self.W = self.W - scale * gradient
        self.W_c = self.W_c - scale * gradient_c
        self.x = x_new
        return y


def _windows(samples: np.ndarray, history: int, steps: int) -> list[np.ndarray]:
    ends = range(history, history + steps)
    return [np.concatenate([[1.0], samples[end - history : end].ravel()]) for end in ends]


def uoro_call(q: int, history: int, samples: np.ndarray, steps: int) -> Callable[[], None]:
    """So many steps of UORO on a series (n, p)."""
    rng, width = np.random.default_rng(0), samples.shape[1]
    net = PaperUORO(q, width * history, width, 0.1, 2.0, rng)
    windows, signs = _windows(samples, history, steps), rng.choice([-1.0, 1.0], (steps, q))

    def work() -> None:
        for n in range(steps):
            net.step(windows[n], samples[history + n + 4], signs[n])

    return work


def rtrl_call(q: int, history: int, samples: np.ndarray, steps: int) -> Callable[[], None]:
    """So many steps of RTRL on a series (n, p)."""
    width = samples.shape[1]
    net = PaperRTRL(q, width * history, width, 0.1, 2.0, np.random.default_rng(0))
    windows = _windows(samples, history, steps)

    def work() -> None:
        for n in range(steps):
            net.step(windows[n], samples[history + n + 4])

    return work
