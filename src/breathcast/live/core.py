"""The part of a session that depends on nothing but its samples: the same samples give the same bits, live or again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from breathcast.forecasters.method import Array
from breathcast.live.guard import Guard
from breathcast.live.model import Sample, Verdict
from breathcast.live.safety import Cause, Finding
from breathcast.live.scoring import Score, Scorer
from breathcast.live.settings import SessionSettings
from breathcast.live.timeline import Timeline

_PARTS = ("stream", "timeline", "guard", "scorer")
_COUNTED = (*(verdict.value for verdict in Verdict if verdict is not Verdict.REFUSED), "missing", "invalid")


@dataclass(frozen=True, slots=True)
class Taken:
    """What the core made of a sample. `forecasts` is None where the sample was not taken."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    forecasts: Array | None = None  # (horizon, marker, dimension), mm; NaN where the method has nothing to say


class Core:
    """Timeline, guard, method and scores of one session; `take`, `rearm` and `release` are all that changes them."""

    def __init__(self, settings: SessionSettings) -> None:
        """Start the method: the first time in a process that takes seconds, in which kernels are compiled."""
        self.settings = settings
        markers, dimension = settings.shape
        self.steps = settings.steps()
        seconds = [steps / settings.rate for steps in self.steps]
        self.stream = settings.make_method().start(
            rate=settings.rate, markers=markers, dimension=dimension, horizons=seconds, seed=settings.seed
        )
        self.timeline = Timeline(settings)
        self.guard = Guard(settings)
        self.scorer = Scorer(settings)
        self.score: Score = self.scorer.score()
        self.counts = dict.fromkeys(_COUNTED, 0)
        self.source: str | None = None
        self._spoken = np.zeros(len(seconds), dtype=np.bool_)  # horizons that have had a forecast of their own
        self._known = np.full(settings.shape, np.nan)

    @property
    def position(self) -> Array:
        """Where the markers were last known to be; NaN for one never seen."""
        return self._known

    def take(self, sample: Sample) -> Taken:
        """Judge a sample, learn from it if it is taken, and forecast."""
        if self._is_foreign(sample):
            detail = f"{sample.source} sends too, while {self.source} feeds the session"
            return self._counted(Taken(Verdict.FOREIGN, (Finding(Cause.SOURCE, detail),)))
        place = self.timeline.place(sample)
        if place.verdict is not Verdict.TAKEN:
            return self._counted(Taken(place.verdict, place.findings))
        self.source = sample.source
        clean, findings, refused = self.guard.check(sample.positions, place.slots)
        self.counts["missing"] += place.slots - 1
        self.counts["invalid"] += refused
        rows = np.full((place.slots, *self.settings.shape), np.nan)
        rows[-1] = clean
        forecasts, said = self._forecast(rows)
        self.score = self.scorer.score()
        found = (*place.findings, *findings, *said, *self.scorer.findings(self.score))
        return self._counted(Taken(Verdict.TAKEN, found, forecasts))

    def _is_foreign(self, sample: Sample) -> bool:
        """One source at a time; another may take over when the first has been silent."""
        if self.source in (None, sample.source):
            return False
        return sample.time_arrival - self.timeline.last_arrival < self.settings.limits.stale_ms / 1000

    def _counted(self, taken: Taken) -> Taken:
        self.counts[taken.verdict.value] += 1
        return taken

    def _forecast(self, rows: Array) -> tuple[Array, list[Finding]]:
        """The forecasts from the newest of the rows, all but which are missing samples."""
        made = self.stream.extend(rows)
        own = np.where(made.learned[0][:, :, None, None], made.positions[0], np.nan)
        for row, forecasts in zip(rows, own, strict=True):
            self.scorer.add(forecasts, row, not np.isnan(row).any())
        self._known = np.where(np.isnan(rows[-1]), self._known, rows[-1])
        learned = made.learned[0, -1]
        findings = []
        if (self._spoken & ~learned).any():
            findings.append(Finding(Cause.NOT_FINITE, "the method's forecast is not a finite number"))
        if not (self._spoken | learned).all():
            findings.append(Finding(Cause.LEARNING, "the method has not seen enough yet"))
        elif made.imputed[-1].any():
            findings.append(Finding(Cause.IMPUTED, "a sample that forecasts rest on was missing"))
        self._spoken |= learned
        return own[-1], findings

    def rearm(self) -> None:
        """An operator has looked: what is measured now is where markers begin, and the test for drift begins again."""
        self.guard.recentre()
        self.scorer.drift.reset()

    def release(self) -> None:
        """Whoever fed the session has lost the line, as the server began anew: anybody may feed it."""
        self.source = None

    def state(self) -> dict[str, NDArray[Any]]:
        """Copies of everything that the next sample's treatment depends on."""
        state: dict[str, NDArray[Any]] = {
            "counts": np.array([self.counts[key] for key in _COUNTED], dtype=np.int64),
            "source": np.array(json.dumps(self.source)),
            "spoken": self._spoken.copy(),
            "known": self._known.copy(),
        }
        for part in _PARTS:
            state |= {f"{part}.{key}": value for key, value in getattr(self, part).state().items()}
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on, bit for bit, from what `state` gave."""
        for part in _PARTS:
            head = f"{part}."
            inner = {key[len(head) :]: value for key, value in state.items() if key.startswith(head)}
            getattr(self, part).restore(inner)
        self.counts = dict(zip(_COUNTED, (int(value) for value in state["counts"]), strict=True))
        self.source = json.loads(str(state["source"]))
        self._spoken, self._known = np.array(state["spoken"]), np.array(state["known"])
        self.score = self.scorer.score()
