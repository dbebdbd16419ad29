"""What the kernel tests share: a small series, its windows and targets, and the learner beside its slow twin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from breathcast.forecasters.method import Task
from breathcast.forecasters.network import Network, NetworkLearner, draw_signs, draw_weights
from tests.reference import networks as twin

HISTORY, WIDTH, HORIZON = 5, 3, 4


def a_series(samples: int, width: int = WIDTH, seed: int = 0) -> np.ndarray:
    """Noisy oscillations of unit size, one sample a second."""
    rng = np.random.default_rng(seed)
    t = np.arange(samples)[:, None]
    return np.sin(0.3 * t + np.arange(width)) + 0.3 * rng.standard_normal((samples, width))


def windows_and_targets(series: np.ndarray, history: int = HISTORY, horizon: int = HORIZON):
    """U (N, 1 + m), Y (N, p): step n reads the window that ends at sample n + history - 1."""
    newest = range(history - 1, len(series) - horizon)
    U = np.array([np.concatenate([[1.0], series[s - history + 1 : s + 1].ravel()]) for s in newest])
    return U, series[history - 1 + horizon :]


@dataclass
class Pair:
    """A learner and what its twin starts from."""

    learner: NetworkLearner
    W_a: np.ndarray
    W_b: np.ndarray
    W_c: np.ndarray
    signs: np.ndarray
    A0: np.ndarray

    def twin(self, method: Network) -> twin.Network | twin.UoroStep:
        """The stepper that does the same, slowly."""
        weights = (self.W_a, self.W_b, self.W_c, method.learning_rate, method.clip)
        options = {"optimizer": method.optimizer}
        match method.name:
            case "uoro":
                return twin.UoroStep(*weights, **options)
            case "rtrl":
                return twin.RtrlStep(*weights, readout=method.readout, **options)
            case "snap1":
                return twin.Snap1Step(*weights, **options)
            case "dni":
                return twin.DniStep(*weights, A0=self.A0, rate_A=method.credit_rate, **options)
            case _:
                return twin.FixedStep(*weights, **options)


def pair(method: Network, feedback: str = "immediate", horizon: int = HORIZON, run: int = 0) -> Pair:
    """Both of them, from the same draws."""
    learner = NetworkLearner(method, Task(1.0, WIDTH, horizon, feedback, 0, (run,)))
    drawn = draw_weights(0, run, method.hidden, 1 + WIDTH * HISTORY, WIDTH)
    signs = np.concatenate([draw_signs(0, run, block, method.hidden) for block in (0, 1)])[HISTORY - 1 :]
    A, q = learner.state()["credit"][0], method.hidden
    A0 = np.delete(A, slice(q, -WIDTH - 1), axis=0)[:, :q]  # without the units that only fill a cache line
    return Pair(learner, *(method.init_std * W for W in drawn), signs, A0)


def forecasts(
    learner: NetworkLearner, series: np.ndarray, clean: np.ndarray | None = None, *, stop: int = 0
) -> np.ndarray:
    """What the learner gives for each sample of the series but the last `stop`, (n, p)."""
    clean = np.arange(1, len(series) + 1) if clean is None else clean
    out = np.full((1, len(series) - stop, series.shape[1]), np.nan)
    learner.advance(series, clean, 0, 0, len(series) - stop, 0, out)
    return out[0]


def weights(learner: NetworkLearner) -> dict[str, np.ndarray]:
    """The learner's matrices in the twin's layout, without the units that only fill a cache line."""
    state, units = learner.state(), learner._settings.units
    q = state["hidden"].shape[1]
    W = state["weights"][0, :, :units].T
    return {"W_a": W[:, :units], "W_b": W[:, q:], "W_c": state["readout"][0, :, :units]}
