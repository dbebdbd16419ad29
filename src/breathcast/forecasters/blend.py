"""A mixture of forecasters, weighed on line by losses that are known when they are measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from breathcast.errors import BreathcastError
from breathcast.forecasters.analog import Analog
from breathcast.forecasters.delay import DelayMethod
from breathcast.forecasters.kernel import KernelRegression
from breathcast.forecasters.method import Array, Learner, Method, Scale, Task
from breathcast.forecasters.ridge import RidgeRegression

Aggregation = Literal["stack", "regret", "weights"]
EXPERTS: dict[str, DelayMethod] = {
    "analog": Analog(),
    "long-analog": Analog(history=5.0, fade=1.5),
    "kernel": KernelRegression(),
    "long-kernel": KernelRegression(history=5.0, fade=1.5, components=3),
    "ridge": RidgeRegression(history=1.5, fade=0.5, penalty=0.001),
}
_SOON = 0.5  # s, up to which motion goes on as a straight line would have it, and what it once did tells less


def prior(members: Sequence[DelayMethod], ahead: float) -> Array:
    """The weights before anything is learned, `ahead` s from now: ridges near, neighbours far, kernels throughout."""
    soon = math.exp(-ahead / _SOON)
    shares = {RidgeRegression: 4.0 * soon, Analog: 1.0 - soon}
    found = np.array([shares.get(type(member), 1.0) for member in members])
    shared: Array = found / found.sum()
    return shared


@dataclass(frozen=True)
class Blend(Method):
    """y(t+h) = Σ_k w_k f_k(t), the weights w learned from what the experts forecast h samples ago and what then came.

    `aggregation`: "stack" is ridge regression of the target on the forecasts, with forgetting, drawn towards prior
    weights; "regret" is delayed regret matching+, weights that are positive and sum to one with a bound on the regret;
    "weights" is exponential weights of the forgotten squared errors. All start from `prior`. `experts` names the
    members of `EXPERTS`.
    """

    name: ClassVar[str] = "blend"
    title: ClassVar[str] = "Blend of experts"
    scale: ClassVar[Scale] = "pooled"

    experts: str = "analog,long-analog,kernel,long-kernel,ridge"
    aggregation: Aggregation = "weights"
    memory: float = 100.0  # s, in which a loss is forgotten to 1/e
    strength: float = 100.0  # stack: multiples of the horizon by which the prior outweighs what is learned
    rate: float = 0.03  # weights: η, for each horizon of losses

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        self.require(memory=self.memory, strength=self.strength, rate=self.rate)
        if self.aggregation not in ("stack", "regret", "weights"):
            cure = "use 'stack', 'regret' or 'weights'"
            raise BreathcastError(f"{self.name}: aggregation is {self.aggregation!r}", cure=cure)
        self.members()

    def members(self) -> list[DelayMethod]:
        """The experts, with the training part of this method."""
        names = [name.strip() for name in self.experts.split(",")]
        for name in names:
            if name not in EXPERTS:
                raise BreathcastError(
                    f"{self.name}: there is no expert {name!r}", cure=f"use some of: {', '.join(EXPERTS)}"
                )
        return [EXPERTS[name].replace(training=self.training) for name in names]

    def learner(self, task: Task) -> Learner:
        """Return a fresh learner."""
        return BlendLearner(self, task)


class BlendLearner(Learner):
    """The experts' learners, and what weighs them."""

    def __init__(self, method: Blend, task: Task) -> None:
        """Lay out what is remembered."""
        from breathcast.kernels import blend as kernel

        members = method.members()
        weights = prior(members, task.horizon / task.rate)
        self._experts = [member.learner(task) for member in members]
        self.window = max(expert.window for expert in self._experts)
        self.reach = max(*(expert.reach for expert in self._experts), self.window + task.horizon)
        self._settings = kernel.Settings(
            kind=("stack", "regret", "weights").index(method.aggregation),
            horizon=task.horizon,
            delayed=task.feedback == "delayed",
            forgetting=math.exp(-1.0 / (method.memory * task.rate)),
            strength=float(method.strength * task.horizon),
            rate=float(method.rate / task.horizon),
            window=self.window,
            prior=weights,
        )
        count, p, slots = len(self._experts), task.width, task.horizon + 1
        self._state = kernel.State(
            said=np.zeros((slots, count, p)),
            known=np.zeros((slots, count), dtype=np.int64),
            gram=np.zeros((count, count)),
            cross=np.zeros(count),
            losses=np.zeros(count),
            total=np.zeros(2),
            weights=weights.copy(),
        )
        self._mixed, self._matrix, self._vector = np.zeros((2, p)), np.zeros((count, count)), np.zeros(count)

    def advance(
        self, series: Array, clean: NDArray[np.int64], origin: int, first: int, last: int, speak: int, out: Array
    ) -> None:
        """Let the experts forecast from the beginning, so that there is something to weigh them by; then mix."""
        from breathcast.kernels.blend import advance

        if last <= first:
            return
        said = np.full((len(self._experts), 1, last - first, series.shape[1]), np.nan)
        for k, expert in enumerate(self._experts):
            expert.advance(series, clean, origin, first, last, first, said[k])
        scratch = self._mixed, self._matrix, self._vector
        given = series, clean, origin, first, last, speak, out[0]
        advance(self._settings, self._state, *scratch, said[:, 0], *given)
        out[1:] = out[0]  # every run is the same

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of the weights, the sums behind them, and the states of the experts."""
        state = {key: value.copy() for key, value in self._state._asdict().items()}
        for k, expert in enumerate(self._experts):
            state |= {f"{k}.{key}": value for key, value in expert.state().items()}
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Put saved arrays in place."""
        for key, value in self._state._asdict().items():
            value[...] = state[key]
        for k, expert in enumerate(self._experts):
            head = f"{k}."
            expert.restore({key[len(head) :]: value for key, value in state.items() if key.startswith(head)})
