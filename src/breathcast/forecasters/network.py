"""What the recurrent networks share: hyper-parameters, random numbers, and the learner around the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Array, Learner, Method, Task, whole

_BLOCK = 256  # steps whose signs are drawn together; any block can be drawn again from the seed, so none is saved


@dataclass(frozen=True)
class Network(Method):
    """A vanilla recurrent network (tanh, bias input, Gaussian initial weights), one joint model for all markers."""

    random: ClassVar[bool] = True
    rule: ClassVar[int]  # which gradient, see kernels.network

    hidden: int = 90  # q, units
    history: float = 7.0  # L, seconds of the past in the input
    learning_rate: float = 0.1  # η
    init_std: float = 0.02  # σ_init, of every initial weight
    clip: float = 2.0  # τ, largest norm of the gradient
    optimizer: Literal["sgd", "adam"] = "sgd"

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        self.require(
            history=self.history,
            learning_rate=self.learning_rate,
            init_std=self.init_std,
            clip=self.clip,
        )
        object.__setattr__(self, "hidden", whole(f"{self.name}: hidden", self.hidden, 1))  # JSON has no NumPy numbers
        if self.optimizer not in ("sgd", "adam"):
            raise BreathcastError(f"{self.name}: optimizer is {self.optimizer!r}", cure="use 'sgd' or 'adam'")

    def learner(self, task: Task) -> Learner:
        """Return fresh networks, one for each run."""
        if task.form != "step" and self.optimizer == "sgd":
            from breathcast.forecasters.dual import DualLearner

            return DualLearner(self, task)
        return NetworkLearner(self, task)


def _generator(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def draw_weights(seed: int, run: int, hidden: int, inputs: int, outputs: int) -> tuple[Array, Array, Array]:
    """W_a (q, q), W_b (q, inputs), W_c (outputs, q) of one run, standard normal; every horizon starts from the same."""
    rng = _generator(seed, run, 0)
    return (
        rng.standard_normal((hidden, hidden)),
        rng.standard_normal((hidden, inputs)),
        rng.standard_normal((outputs, hidden)),
    )


def draw_signs(seed: int, run: int, block: int, hidden: int) -> NDArray[np.int8]:
    """The signs ν of a block of steps, (block, q): step n of a run is the one whose window ends at sample n."""
    signs = 2 * _generator(seed, run, 1, block).integers(0, 2, (_BLOCK, hidden), dtype=np.int8) - 1
    return signs.astype(np.int8)


def draw_credit(seed: int, run: int, hidden: int, outputs: int) -> Array:
    """The first A of DNI, (q + p + 1, q), Gaussian with variance 1 / q (Marschall et al. 2020)."""
    drawn: Array = _generator(seed, run, 2).standard_normal((hidden + outputs + 1, hidden)) / np.sqrt(hidden)
    return drawn


class NetworkLearner(Learner):
    """The networks of all runs for one horizon, and the arrays that the kernel works on."""

    def __init__(self, method: Network, task: Task) -> None:
        """Draw the initial weights and lay out the memory of the rule."""
        from breathcast.kernels import network_types as kernel

        units, p, runs = method.hidden, task.width, len(task.runs)
        q = kernel.padded(units)
        self.window = task.samples(method.history)
        rule, adam = method.rule, method.optimizer == "adam"
        depth = kernel.DEPTH if rule == kernel.RTRL else 0
        self.reach = self.window + (task.horizon if task.feedback == "delayed" else 0) + depth
        self._task, self._noisy = task, rule == kernel.UORO
        self._settings = kernel.Settings(
            rule=rule,
            units=units,
            history=self.window,
            horizon=task.horizon,
            delayed=task.feedback == "delayed",
            before=getattr(method, "readout", "after") == "before",
            adam=adam,
            learning_rate=float(method.learning_rate),
            clip=float(method.clip),
            credit_rate=float(getattr(method, "credit_rate", 0.0)),
        )
        rows = q + 1 + p * self.window
        trace = rule in (kernel.UORO, kernel.SNAP1)
        credit = q + p + 1 if rule == kernel.DNI else 0
        zeros = kernel.aligned
        self._state = kernel.State(
            weights=zeros(runs, rows, q),
            readout=zeros(runs, p, q),
            hidden=zeros(runs, q),
            ahead=zeros(runs, q),
            trace=zeros(runs, rows if trace else 0, q),
            tangent=zeros(runs, q + 1),
            credit=zeros(runs, credit, q),
            feature=zeros(runs, credit),
            past_hidden=zeros(runs, depth, q),
            past_slope=zeros(runs, depth, q),
            past_recurrent=zeros(runs, depth, q, q),
            moments=zeros(runs, 2 if adam else 0, rows, q),
            readout_moments=zeros(runs, 2 if adam else 0, p, q),
            clock=np.zeros((runs, 4), dtype=np.int64),
        )
        self._scratch = kernel.Scratch(
            input=zeros(rows),
            next=zeros(rows),
            new=zeros(q),
            slope=zeros(q),
            pull=zeros(q),
            work=zeros(4, q),
            output=zeros(2, p),
            deltas=zeros(max(depth, 1), q),
            inputs=zeros(max(depth, 1)),
            grad=zeros(rows if rule == kernel.RTRL or adam else 0, q),
            readout_grad=zeros(p, q),
            projected=zeros(task.horizon, q),
        )
        for r, run in enumerate(task.runs):
            self._begin(r, run, method.init_std)
        self._signs: tuple[range, NDArray[np.int8]] = (range(0), np.zeros((runs, 1, q), dtype=np.int8))

    def _begin(self, r: int, run: int, spread: float) -> None:
        """Put the initial weights of a run in place."""
        state, units, seed, p = self._state, self._settings.units, self._task.seed, self._task.width
        q = state.hidden.shape[1]
        W_a, W_b, W_c = draw_weights(seed, run, units, 1 + p * self.window, p)
        state.weights[r, :units, :units] = spread * W_a.T
        state.weights[r, q:, :units] = spread * W_b.T
        state.readout[r, :, :units] = spread * W_c
        if state.credit.size:
            drawn = draw_credit(seed, run, units, p)
            state.credit[r, :units, :units] = drawn[:units]
            state.credit[r, q:, :units] = drawn[units:]
            state.feature[r, -1] = 1.0

    def advance(
        self, series: Array, clean: NDArray[np.int64], origin: int, first: int, last: int, speak: int, out: Array
    ) -> None:
        """Call the kernel for all runs."""
        from breathcast.kernels.network import advance

        if last <= first:
            return
        lag = self._settings.horizon if self._settings.delayed else 0
        begin, signs = self._draw(first - lag - origin, last - lag - origin)
        advance(
            self._settings,
            self._state,
            self._scratch,
            series,
            clean,
            origin,
            first,
            last,
            speak,
            signs,
            begin + origin,
            out,
        )

    def _draw(self, first: int, last: int) -> tuple[int, NDArray[np.int8]]:
        """The signs of the learner's steps first..last-1, counted from the beginning of the recording."""
        if not self._noisy or last <= 0:
            return 0, self._signs[1]
        blocks = range(max(first, 0) // _BLOCK, (last - 1) // _BLOCK + 1)
        if blocks != self._signs[0]:
            seed, runs = self._task.seed, self._task.runs
            units = self._settings.units
            signs = np.zeros((len(runs), len(blocks) * _BLOCK, self._state.hidden.shape[1]), dtype=np.int8)
            for r, run in enumerate(runs):
                signs[r, :, :units] = np.concatenate([draw_signs(seed, run, block, units) for block in blocks])
            self._signs = (blocks, signs)
        return blocks.start * _BLOCK, self._signs[1]

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of the kernel's state."""
        return {key: value.copy() for key, value in self._state._asdict().items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Put a saved state in place."""
        for key, value in self._state._asdict().items():
            value[...] = state[key]
