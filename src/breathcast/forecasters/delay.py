"""What the methods on delay coordinates share: how a window is described, and the learner around a kernel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from breathcast.forecasters.method import Array, Learner, Method, Scale, Task, whole

if TYPE_CHECKING:
    from breathcast.kernels.delay import Embedding, Settings

_PLACE = 0.6  # weight of where the newest sample is, beside weights of unit norm for the lags
_PACE = (0.2, 2.0)  # s over which the pace is taken, and its weight


@dataclass(frozen=True)
class DelayMethod(Method):
    """A window is described in principal components: past minus now at lags up to `history`, place and pace.

    The components are those of the first `training` seconds. The lags lie closer the newer they are, and count less
    the older they are. What is learned and forecast is the displacement from the newest sample.
    """

    scale: ClassVar[Scale] = "pooled"

    history: float = 3.0  # s, the longest lag
    fade: float = 0.8  # s, in which the weight of a lag falls to 1/e
    lags: int = 12  # how many, at most
    components: int = 3  # principal components of the coordinates

    def __post_init__(self) -> None:
        """Check the values."""
        super().__post_init__()
        self.require(history=self.history, fade=self.fade)
        for key in ("lags", "components"):
            object.__setattr__(self, key, whole(f"{self.name}: {key}", getattr(self, key), 1))

    @abstractmethod
    def learner(self, task: Task) -> DelayLearner:
        """Return a fresh learner."""

    def embedding(self, task: Task) -> Embedding:
        """The lags in samples and their weights, of unit norm."""
        from breathcast.kernels.delay import Embedding

        longest = task.samples(self.history)
        spaced = np.round(longest * (np.arange(1, self.lags + 1) / self.lags) ** 2)
        lags = np.unique(np.maximum(spaced, 1)).astype(np.int64)
        gaps = np.diff(lags, prepend=0)  # a lag stands for those that are left out before it
        weights = np.sqrt(gaps) * np.exp(-lags / (self.fade * task.rate))
        norm = float(np.sqrt((weights**2).sum()))
        pace_lag = min(task.samples(_PACE[0]), longest)
        return Embedding(lags, weights / norm if norm > 0 else weights, _PLACE, _PACE[1], pace_lag, longest + 1)

    def depth(self, task: Task) -> int:
        """How many numbers describe a window."""
        return (len(self.embedding(task).lags) + 2) * min(self.components, task.width)

    def settings(self, task: Task, **special: Any) -> Settings:
        """The settings of the kernel, those that a method does not use at values that do nothing."""
        from breathcast.kernels.delay import Settings

        given: dict[str, Any] = {
            "forgetting": 1.0,
            "penalty": 1.0,
            "width": 1.0,
            "novelty": 1.0,
            "neighbours": 1,
            "stretch": 1.0,
            "stiffness": 1.0,
            "stride": 1,
        }
        return Settings(self.embedding(task), task.horizon, task.feedback == "delayed", **(given | special))


class DelayLearner(Learner):
    """One horizon: finds the components when the training part is in, and then calls the kernel for one run."""

    def __init__(self, method: DelayMethod, task: Task, settings: Settings) -> None:
        """Lay out what all of them remember; `arrays` is what a state holds."""
        self.settings = settings
        self.window = settings.embedding.window
        self._training = task.samples(method.training)
        self.reach = max(self.window + task.horizon, self._training)
        self.axes = np.zeros((min(method.components, task.width), task.width))
        self.x, self.d = np.zeros(method.depth(task)), np.zeros(task.width)
        self._fitted = np.zeros(1, dtype=np.int64)
        self.arrays: dict[str, NDArray[Any]] = {"axes": self.axes, "fitted": self._fitted}

    @abstractmethod
    def run(self, *given: Any) -> None:
        """Call the kernel with the arguments of `advance`, `out` being that of one run."""

    def advance(
        self, series: Array, clean: NDArray[np.int64], origin: int, first: int, last: int, speak: int, out: Array
    ) -> None:
        """Wait for the training part, which comes in one call, and go on from there."""
        if not self._fitted[0]:
            if len(series) - origin < self._training:
                return
            self._fit(series, clean, origin)
        if first < last:
            self.run(series, clean, origin, first, last, speak, out[0])
            out[1:] = out[0]  # every run is the same

    def _fit(self, series: Array, clean: NDArray[np.int64], origin: int) -> None:
        """Principal axes of the training part, such that the first component has unit variance."""
        from breathcast.kernels.delay import covariance

        variances, vectors = np.linalg.eigh(covariance(series, clean, origin, origin + self._training))
        axes = vectors[:, ::-1][:, : len(self.axes)].T
        signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
        unit = np.sqrt(variances[-1]) if variances[-1] > 0 else 1.0
        self.axes[...] = axes * signs[:, None] / unit
        self._fitted[0] = 1

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of all arrays."""
        return {key: value.copy() for key, value in self.arrays.items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Put saved arrays in place."""
        for key, value in self.arrays.items():
            value[...] = state[key]
