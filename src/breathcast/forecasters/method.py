"""The contract of a forecasting method: a small frozen dataclass of hyper-parameters that makes learners."""

from __future__ import annotations

import dataclasses
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from breathcast.errors import BreathcastError

if TYPE_CHECKING:
    from breathcast.forecasters.stream import Stream

Array: TypeAlias = NDArray[np.float64]
Feedback: TypeAlias = Literal["delayed", "immediate"]
Scale: TypeAlias = Literal["standard", "pooled", "displacement", "none"]
Form: TypeAlias = Literal["step", "dual", "dual32"]
FORMS: dict[Form, str] = {
    "step": "the step kernel, sample by sample, as live",
    "dual": "sums of rank-one terms for the networks, which add up in another order",
    "dual32": "the same in single precision",
}

_LONGEST = 10**6  # samples; a window or part longer than that is a slip of the pen


def samples(seconds: float, rate: float) -> int:
    """How many samples `seconds` are, at least one."""
    if seconds * rate > _LONGEST:
        cure = f"give at most {_LONGEST / rate:g} s"
        raise BreathcastError(f"{seconds:g} s at {rate:g} Hz are more than {_LONGEST} samples", cure=cure)
    return max(1, round(seconds * rate))


def whole(name: str, value: Any, least: int) -> int:
    """A whole number as Python's own, or an error that names what is wrong."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise BreathcastError(f"{name} is {value!r}", cure=f"give a whole number, at least {least}")
    return int(value)


@dataclass(frozen=True)
class Task:
    """What a learner is made for: one horizon of one recording, for one or many random runs at once."""

    rate: float  # samples per second
    width: int  # p, coordinates in a sample
    horizon: int  # h, samples ahead
    feedback: Feedback = "delayed"
    seed: int = 0
    runs: tuple[int, ...] = (0,)
    form: Form = "step"  # how the arithmetic is arranged; a method without another form has only this

    def samples(self, seconds: float) -> int:
        """How many samples `seconds` are, at least one."""
        return samples(seconds, self.rate)


class Learner(ABC):
    """A method at work on one horizon. All that it remembers is in plain arrays; its caller keeps the series."""

    window: int  # how many samples, the newest included, a forecast reads
    reach: int  # how many samples before the newest it may still read

    @abstractmethod
    def advance(
        self, series: Array, clean: NDArray[np.int64], origin: int, first: int, last: int, speak: int, out: Array
    ) -> None:
        """Take in the samples first..last-1 of `series`, and write what is forecast h samples beyond each of them.

        series  (n, p), scaled, imputed where missing; its row `origin` is where the recording begins (may be negative)
        clean   (n), how many samples in a row, up to this one, were really measured: learn from no others
        speak   no forecast is wanted before this sample
        out     (runs, last - first, p), filled with NaN; a row stays NaN where there is no forecast yet
        """

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of all arrays that the next step depends on."""

    @abstractmethod
    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on, bit for bit, from what `state` gave."""


@dataclass(frozen=True)
class Method(ABC):
    """Hyper-parameters of a forecasting method: comparable, hashable, JSON-able; times are in seconds."""

    name: ClassVar[str]  # as on the command line
    title: ClassVar[str]  # as in a table
    random: ClassVar[bool] = False  # whether a run depends on the seed
    # Zero mean and unit spread over `training`, of each coordinate or of all; from the first sample; or as it is.
    scale: ClassVar[Scale] = "standard"
    grid: ClassVar[Mapping[str, Sequence[float]]] = {}  # what the published studies searched
    revision: ClassVar[int] = 1  # raise it when the numbers change: stored results of studies are then made anew

    training: float = (
        30.0  # s at the start of a recording, from which the scale is taken; no forecast of its own before
    )

    @abstractmethod
    def learner(self, task: Task) -> Learner:
        """Return a fresh learner for this task."""

    def start(
        self,
        *,
        rate: float,
        markers: int,
        dimension: int = 3,
        horizons: Sequence[float],
        seed: int = 0,
    ) -> Stream:
        """Open a stream: `update(position)` learns from what was just measured and forecasts each horizon (in s).

        The first stream ever takes some 10 s, in which the kernels are compiled; no later call waits for that.
        """
        from breathcast.forecasters.stream import Stream

        self.warm_up()
        return Stream(self, rate=rate, markers=markers, dimension=dimension, horizons=horizons, seed=seed)

    def warm_up(self, form: Form = "step") -> None:
        """Compile, or load from the cache, what a learner of this method runs."""
        learner = self.learner(Task(rate=1.0, width=1, horizon=1, form=form))
        n = max(samples(self.training, 1.0), learner.window) + 4
        series = np.arange(float(n))[:, None]
        learner.advance(series, np.arange(1, n + 1), 0, 0, n, 0, np.full((1, n, 1), np.nan))

    def to_dict(self) -> dict[str, Any]:
        """Return the name and the hyper-parameters, ready for JSON."""
        return {"method": self.name, **dataclasses.asdict(self)}

    @classmethod
    def hyperparameters(cls) -> dict[str, Any]:
        """Return the names of the hyper-parameters with their defaults."""
        return {field.name: field.default for field in dataclasses.fields(cls)}

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other hyper-parameters, or an error that lists the ones there are."""
        unknown = sorted(set(changes) - set(self.hyperparameters()))
        if unknown:
            known = ", ".join(f"{k}={v}" for k, v in dataclasses.asdict(self).items())
            raise BreathcastError(f"{self.name} has no hyper-parameter {unknown[0]!r}", cure=f"use one of: {known}")
        return dataclasses.replace(self, **changes)

    def require(self, **positive: Any) -> None:
        """Raise an error for the first value that is not a positive finite number."""
        for key, value in positive.items():
            real = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if not real or not 0 < value < math.inf:
                raise BreathcastError(f"{self.name}: {key} is {value!r}", cure="give a positive number")

    def __post_init__(self) -> None:
        """Check what every method has."""
        self.require(training=self.training)
