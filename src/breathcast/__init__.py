"""breathcast forecasts the 3-D positions of breathing markers early enough to cancel a machine's delay.

Research use only; not a medical device; not for beam control.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from breathcast.version import __version__

if TYPE_CHECKING:
    from breathcast.errors import BreathcastError
    from breathcast.evaluation.compare import Comparison, compare
    from breathcast.evaluation.evaluate import Evaluation, evaluate
    from breathcast.evaluation.scores import Score, score
    from breathcast.evaluation.selection import grid, select
    from breathcast.forecasters.analog import Analog
    from breathcast.forecasters.blend import Blend
    from breathcast.forecasters.dni import DNI
    from breathcast.forecasters.fixed import Fixed
    from breathcast.forecasters.kernel import KernelRegression
    from breathcast.forecasters.linear import LinearRegression
    from breathcast.forecasters.lms import LMS, NLMS
    from breathcast.forecasters.method import Learner, Method, Task
    from breathcast.forecasters.persistence import Persistence, RepeatTarget
    from breathcast.forecasters.ridge import RidgeRegression
    from breathcast.forecasters.rtrl import RTRL
    from breathcast.forecasters.snap1 import SnAp1
    from breathcast.forecasters.stream import Forecast, Stream
    from breathcast.forecasters.table import METHODS
    from breathcast.forecasters.uoro import UORO
    from breathcast.recordings.inspection import Inspection, inspect
    from breathcast.recordings.reading import read, read_all
    from breathcast.recordings.recording import Recording
    from breathcast.recordings.resampling import resample
    from breathcast.recordings.simulation import PATTERNS, cohort, simulate
    from breathcast.recordings.writing import write

# Where each public name lives; loaded on first use, so that `import breathcast` is quick and compiles nothing.
_HOMES = {
    "breathcast.errors": ("BreathcastError",),
    "breathcast.evaluation.compare": ("Comparison", "compare"),
    "breathcast.evaluation.evaluate": ("Evaluation", "evaluate"),
    "breathcast.evaluation.scores": ("Score", "score"),
    "breathcast.evaluation.selection": ("grid", "select"),
    "breathcast.forecasters.analog": ("Analog",),
    "breathcast.forecasters.blend": ("Blend",),
    "breathcast.forecasters.dni": ("DNI",),
    "breathcast.forecasters.fixed": ("Fixed",),
    "breathcast.forecasters.kernel": ("KernelRegression",),
    "breathcast.forecasters.linear": ("LinearRegression",),
    "breathcast.forecasters.lms": ("LMS", "NLMS"),
    "breathcast.forecasters.method": ("Learner", "Method", "Task"),
    "breathcast.forecasters.persistence": ("Persistence", "RepeatTarget"),
    "breathcast.forecasters.ridge": ("RidgeRegression",),
    "breathcast.forecasters.rtrl": ("RTRL",),
    "breathcast.forecasters.snap1": ("SnAp1",),
    "breathcast.forecasters.stream": ("Forecast", "Stream"),
    "breathcast.forecasters.table": ("METHODS",),
    "breathcast.forecasters.uoro": ("UORO",),
    "breathcast.recordings.inspection": ("Inspection", "inspect"),
    "breathcast.recordings.reading": ("read", "read_all"),
    "breathcast.recordings.recording": ("Recording",),
    "breathcast.recordings.resampling": ("resample",),
    "breathcast.recordings.simulation": ("PATTERNS", "cohort", "simulate"),
    "breathcast.recordings.writing": ("write",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022 - in the order of a first session
    "read",
    "read_all",
    "simulate",
    "cohort",
    "PATTERNS",
    "Recording",
    "inspect",
    "Inspection",
    "resample",
    "write",
    "METHODS",
    "UORO",
    "RTRL",
    "SnAp1",
    "DNI",
    "Fixed",
    "LMS",
    "NLMS",
    "LinearRegression",
    "RidgeRegression",
    "Analog",
    "KernelRegression",
    "Blend",
    "Persistence",
    "RepeatTarget",
    "evaluate",
    "Evaluation",
    "compare",
    "Comparison",
    "grid",
    "select",
    "score",
    "Score",
    "Stream",
    "Forecast",
    "Method",
    "Learner",
    "Task",
    "BreathcastError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'breathcast' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
