"""The words that tables, pages and the command line share: scores, hyper-parameters, feedback, the notice."""

from __future__ import annotations

from dataclasses import dataclass

from breathcast.evaluation.evaluate import IMMEDIATE_WARNING
from breathcast.forecasters.method import Feedback

REFERENCE = "persistence"  # the method that every other one is held against: no prediction
GAIN_SCORE = "rmse"  # the score of the relative gain

FEEDBACK: dict[Feedback, str] = {
    "delayed": "A method learns a target when it is measured, as it would beside the machine.",
    "immediate": f"This protocol {IMMEDIATE_WARNING}: it reproduces published numbers and cannot be had in real time.",
}


@dataclass(frozen=True)
class ScoreWords:
    """How a score is called and shown."""

    short: str  # a column head
    long: str
    unit: str
    decimals: int
    meaning: str
    ranked: bool = True  # whether less is simply better

    @property
    def head(self) -> str:
        """The column head with its unit."""
        return f"{self.short} {self.unit}".strip()

    @property
    def axis(self) -> str:
        """The title of an axis."""
        return f"{self.long} ({self.unit})" if self.unit else self.long


SCORE_WORDS: dict[str, ScoreWords] = {
    "mae": ScoreWords("MAE", "Mean error", "mm", 2, "mean 3-D distance between forecast and truth"),
    "rmse": ScoreWords("RMSE", "Root mean square error", "mm", 2, "root of the mean squared 3-D distance"),
    "nrmse": ScoreWords("nRMSE", "Normalised RMSE", "", 3, "RMSE divided by the spread of the truth; 1 is no skill"),
    "max_error": ScoreWords("max", "Largest error", "mm", 1, "largest 3-D distance"),
    "jitter": ScoreWords(
        "jitter",
        "Jitter",
        "mm",
        2,
        "mean 3-D distance between successive forecasts; that of 'No prediction' is the motion's own",
        ranked=False,
    ),
}

# Unit and meaning of a hyper-parameter; one that is not here is listed without.
HYPERPARAMETERS: dict[str, tuple[str, str]] = {
    "training": ("s", "start of the recording, to scale or fit on"),
    "history": ("s", "past in the input"),
    "hidden": ("units", "hidden units"),
    "learning_rate": ("", "step size"),
    "init_std": ("", "spread of the initial weights"),
    "clip": ("", "largest norm of the gradient"),
    "epsilon": ("", "keeps the normalisation finite"),
    "credit_rate": ("", "step size of the credit assignment"),
    "optimizer": ("", "gradient descent: sgd or adam"),
    "fade": ("s", "in which the weight of a lag falls to 1/e"),
    "lags": ("", "looks into the past, at most"),
    "components": ("", "principal components of the coordinates"),
    "memory": ("s", "in which what was seen loses its weight"),
    "penalty": ("s", "of data that the penalty on weights outweighs"),
    "neighbours": ("", "windows most alike, to go by"),
    "stretch": ("", "largest change of a remembered motion's size"),
    "stiffness": ("", "what such a change costs"),
    "width": ("", "of the Gaussian kernel"),
    "landmarks": ("", "windows that others are compared with, at most"),
    "novelty": ("", "from which a window becomes a landmark"),
    "experts": ("", "the methods that are weighed"),
    "aggregation": ("", "how: stack, regret or weights"),
    "strength": ("horizons", "by which equal weights outweigh the learned"),
    "rate": ("", "how fast exponential weights move"),
    "readout": ("", "forecast from the state after or before the newest input"),
}
