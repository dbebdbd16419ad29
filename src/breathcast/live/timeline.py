"""Where a sample belongs on the even grid of the session, and what the two clocks do meanwhile."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from breathcast.live.model import ClockReport, Sample, Verdict
from breathcast.live.safety import Cause, Finding
from breathcast.live.settings import SessionSettings

_RATE_S = 2.0  # s over which the measured rate is smoothed, and before which it is not judged
_LONGEST_FILL_S = 10.0  # s of missing samples that are put in; the pairs that straddle a longer gap are broken anyway
_BASE_LEAK = 1e-4  # how fast the smallest delay is forgotten, s per s: more than any two clocks drift apart
_EARLY = 0.5  # of a period
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sample belongs: `slots` periods after the last one taken, of which all but the last are missing."""

    verdict: Verdict
    slots: int
    time: float
    findings: tuple[Finding, ...] = ()


class Timeline:
    """Counts periods by the clock that the session was told to use, from one sample to the next.

    The difference of two neighbouring times is rounded to periods, so a clock that runs 1 % fast loses nothing: an
    error cannot add up. Where the device sends no time, or 0, arrival counts from then on, and it is said.
    """

    def __init__(self, settings: SessionSettings) -> None:
        """Nothing is known yet."""
        self._rate, self._limits, self._wanted = settings.rate, settings.limits, settings.clock
        self._share = 1.0 / max(2.0, _RATE_S * settings.rate)
        self._arrives = settings.clock == "arrival"
        self._untimed = False
        self._last = self._last_arrival = math.nan
        self._ratio = 1.0  # measured period in nominal ones, smoothed
        self._judged = 0  # samples in it
        self._loss = 0.0  # share of samples that came after missing ones, smoothed
        self._offset = self._variance = self._base = math.nan
        self._gaps = 0

    @property
    def last_arrival(self) -> float:
        """When the newest sample was taken; NaN before the first."""
        return self._last_arrival

    @property
    def last(self) -> float | None:
        """The time of the newest sample taken, by the clock that counts."""
        return None if math.isnan(self._last) else self._last

    def place(self, sample: Sample) -> Place:
        """Judge the time of a sample; unless it is taken, nothing changes but what is known of the clocks."""
        findings: list[Finding] = []
        if not self._arrives and self._is_timeless(sample):
            self._fall_back(findings)
        time = sample.time_arrival if self._arrives or sample.time_device is None else sample.time_device
        first = math.isnan(self._last)
        periods = 1.0 if first else (time - self._last) * self._rate
        gap = self._limits.gap_ms / 1000 * self._rate
        if periods < -gap:
            detail = f"the clock went back by {-periods / self._rate:.3g} s"
            findings.append(Finding(Cause.CLOCK, detail))
            periods = self._by_arrival(sample)
            self._offset = math.nan  # what was known of the delay was of the other time
        elif periods < _EARLY:
            verdict = Verdict.DUPLICATE if periods == 0 else Verdict.LATE if periods < 0 else Verdict.EARLY
            return Place(verdict, 0, self._last, tuple(findings))
        slots = max(1, round(min(periods, _LONGEST_FILL_S * self._rate)))
        findings += self._missing(periods, slots)
        if not first:
            findings += self._judge_rate(periods, slots)
        findings += self._judge_delay(sample)
        self._last, self._last_arrival = time, sample.time_arrival
        return Place(Verdict.TAKEN, slots, time, tuple(findings))

    def _is_timeless(self, sample: Sample) -> bool:
        """Whether the device sends no time: the first 0 may be where its clock begins, any other is none."""
        return sample.time_device is None or (sample.time_device == 0 and not math.isnan(self._last))

    def _fall_back(self, findings: list[Finding]) -> None:
        """The device sends no time: arrival counts from now on."""
        if not math.isnan(self._last) and self._last != 0:
            findings.append(Finding(Cause.CLOCK, "the device stopped sending its time; the time of arrival counts now"))
        self._last = self._last_arrival
        self._arrives = self._untimed = True

    def _by_arrival(self, sample: Sample) -> float:
        """Periods since the last sample as its arrival tells, where the clock that counts went back."""
        return max(1.0, (sample.time_arrival - self._last_arrival) * self._rate)

    def _missing(self, periods: float, slots: int) -> list[Finding]:
        lost = (periods - 1.0) / self._rate
        if slots == 1:
            return []
        self._gaps += 1
        detail = f"no sample for {periods / self._rate:.3g} s, {slots - 1} missing"
        return [Finding(Cause.GAP if lost * 1000 > self._limits.gap_ms else Cause.LOST, detail)]

    def _judge_rate(self, periods: float, slots: int) -> list[Finding]:
        self._loss += self._share * ((slots > 1) - self._loss)
        if self._loss > _HALF:
            detail = f"every other sample is missing: does the source send {self._rate:g} Hz?"
            return [Finding(Cause.RATE, detail)]
        if slots > 1:
            return []  # a gap says nothing about the rate
        self._ratio += self._share * (periods - self._ratio)
        self._judged += 1
        if self._judged * self._share < 1.0 or abs(self._ratio - 1.0) <= self._limits.rate_tolerance:
            return []
        detail = f"samples come at {self._rate / self._ratio:.4g} Hz, not {self._rate:g} Hz: horizons would be wrong"
        return [Finding(Cause.RATE, detail)]

    def _judge_delay(self, sample: Sample) -> list[Finding]:
        """Samples that took much longer than the fastest ones describe the past, however evenly they come."""
        if sample.time_device is None or self._arrives:
            return self._untimed_finding()
        offset = sample.time_arrival - sample.time_device
        if math.isnan(self._offset) or abs(offset - self._offset) > 10.0:  # the first, or the clock was set
            self._offset, self._variance, self._base = offset, 0.0, offset
            return []
        change = offset - self._offset
        self._offset += self._share * change
        self._variance += self._share * (change * change - self._variance)
        self._base = min(offset, self._base + _BASE_LEAK * (sample.time_arrival - self._last_arrival))
        late = (offset - self._base) * 1000
        if late <= self._limits.stale_ms:
            return []
        return [Finding(Cause.STALE, f"samples arrive {late:.0f} ms later than the fastest did: they are old")]

    def _untimed_finding(self) -> list[Finding]:
        if not self._untimed:
            return []
        return [Finding(Cause.UNTIMED, "the device sends no time; the time of arrival counts")]

    def report(self) -> ClockReport:
        """What is known of the clocks."""
        used: Literal["device", "arrival"] = "arrival" if self._arrives else "device"
        known = not math.isnan(self._offset)
        return ClockReport(
            used,
            self._offset * 1000 if known else None,
            math.sqrt(self._variance) * 1000 if known else None,
            self._rate / self._ratio if self._judged * self._share >= 1.0 else None,
            self._gaps,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that the next judgement depends on."""
        clocks = [self._offset, self._variance, self._base]
        numbers = [self._last, self._last_arrival, self._ratio, self._loss, *clocks]
        return {
            "numbers": np.array(numbers),
            "counts": np.array([self._judged, self._gaps, self._arrives, self._untimed], dtype=np.int64),
        }

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `state` gave."""
        numbers = [float(value) for value in state["numbers"]]
        self._last, self._last_arrival, self._ratio, self._loss = numbers[:4]
        self._offset, self._variance, self._base = numbers[4:]
        self._judged, self._gaps = int(state["counts"][0]), int(state["counts"][1])
        self._arrives, self._untimed = bool(state["counts"][2]), bool(state["counts"][3])
