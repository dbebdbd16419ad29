"""Small experiments with known answers: does this installation compute what it should?"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from breathcast.evaluation.evaluate import evaluate
from breathcast.forecasters.persistence import Persistence
from breathcast.recordings.reading import read
from breathcast.recordings.recording import Recording
from breathcast.recordings.simulation import simulate
from breathcast.recordings.writing import write

if TYPE_CHECKING:
    from breathcast.forecasters.method import Method
    from breathcast.forecasters.stream import Stream

_HORIZON = 0.5  # s
_SMALL = {"training": 4.0, "history": 1.0, "hidden": 8}  # so that a method speaks within seconds


def small(kind: type[Method]) -> Method:
    """A method that learns within a few seconds."""
    known = kind.hyperparameters()
    return kind().replace(**{key: value for key, value in _SMALL.items() if key in known})


def first_call(kind: type[Method]) -> None:
    """Compile or load what the method needs."""
    recording = _short()
    _start(small(kind), recording).extend(recording.positions)


def stream_equals_batch(kind: type[Method]) -> str:
    """Sample by sample and all at once must give the same bits, and finite forecasts that were learned."""
    method, recording = small(kind), _short()
    stream = _start(method, recording)
    one_by_one = np.array([stream.update(sample)[0].position for sample in recording.positions])
    batch = _start(method, recording).extend(recording.positions)
    _demand(np.array_equal(one_by_one, batch.positions[0, :, 0]), "a stream and a batch give different forecasts")
    _demand(bool(np.isfinite(one_by_one).all()), "a forecast is not finite")
    _demand(bool(batch.learned[0, -1, 0]), "nothing was learned")
    scores = evaluate(method, recording, horizon=_HORIZON, test_start=6.0).scores
    _demand(all(math.isfinite(score.mean) for score in scores.values()), "a score is not finite")
    return "stream and batch agree bit for bit, scores are finite"


def _short() -> Recording:
    return simulate("regular", duration=12.0, rate=10.0, markers=2, seed=1)


def _start(method: Method, recording: Recording) -> Stream:
    return method.start(rate=recording.rate, markers=len(recording.markers), horizons=[_HORIZON])


def ramp_is_exact() -> str:
    """On a ramp of 1 mm a sample, no prediction is wrong by exactly the horizon in samples."""
    steps = 5
    ramp = Recording(np.arange(100.0), rate=10.0)
    error = evaluate(Persistence(), ramp, horizon=steps / 10.0, test_start=2.0).scores["rmse"].mean
    _demand(error == steps, f"no prediction is wrong by {error!r} mm instead of {steps}")
    return f"no prediction, {steps} samples ahead on a ramp, is wrong by exactly {steps} mm"


def files_come_back() -> str:
    """A recording that is written and read again has the same bits."""
    recording = _short()
    with tempfile.TemporaryDirectory() as folder:
        for ending in (".csv", ".parquet"):
            path = Path(folder) / f"recording{ending}"
            write(recording, path)
            again = read(path)
            same = isinstance(again, Recording) and np.array_equal(again.positions, recording.positions)
            _demand(same, f"a {ending} file comes back different")
    return "written and read again, bit for bit"


def _demand(met: bool, problem: str) -> None:
    if not met:
        raise ArithmeticError(problem)
