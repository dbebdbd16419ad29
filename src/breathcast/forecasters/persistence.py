"""Two forecasts that learn nothing: no prediction, and the newest target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from breathcast.forecasters.method import Array, Learner, Method, Scale, Task


@dataclass(frozen=True)
class Persistence(Method):
    """No prediction: the forecast is the newest measured position, y(t + h) = y(t). What the machine's delay costs."""

    name: ClassVar[str] = "persistence"
    title: ClassVar[str] = "No prediction"
    scale: ClassVar[Scale] = "none"

    def learner(self, task: Task) -> Learner:
        """Return a learner that repeats the newest sample."""
        return RepeatLearner(0)


@dataclass(frozen=True)
class RepeatTarget(Method):
    """Repeat the newest target that feedback has given: no skill, only what the protocol lets a method know.

    With delayed feedback that is y(t), as without prediction. Immediate feedback uses targets before they can be
    measured: there it is y(t + h - 1), and whatever is good under that protocol has to be compared with this.
    """

    name: ClassVar[str] = "repeat"
    title: ClassVar[str] = "Repeat newest target"
    scale: ClassVar[Scale] = "none"

    def learner(self, task: Task) -> Learner:
        """Return a learner that repeats the newest target it was given."""
        return RepeatLearner(0 if task.feedback == "delayed" else task.horizon - 1)


class RepeatLearner(Learner):
    """The forecast at t is the sample at t + `ahead`."""

    window = 1
    reach = 1

    def __init__(self, ahead: int) -> None:
        """`ahead` is 0 but under immediate feedback."""
        self._ahead = ahead

    def advance(
        self, series: Array, clean: NDArray[np.int64], origin: int, first: int, last: int, speak: int, out: Array
    ) -> None:
        """Copy."""
        out[:] = series[first + self._ahead : last + self._ahead]

    def state(self) -> dict[str, NDArray[Any]]:
        """Nothing is remembered."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Nothing is remembered."""
