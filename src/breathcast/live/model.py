"""What goes into a session and what comes out of it; docs/live-api.md shows the same as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, Literal

from breathcast.forecasters.method import Array

Positions = list[list[float | None]]  # (marker, dimension) in mm; None where missing


class State(StrEnum):
    """Whether to trust a session; forecasts leave it in OK and DEGRADED alone."""

    WARMUP = "WARMUP"  # the method has nothing to say yet
    OK = "OK"
    DEGRADED = "DEGRADED"  # forecasts leave, with a reason to be careful
    HOLD = "HOLD"  # no forecast leaves
    FAULT = "FAULT"  # the session itself is broken, and has to be resumed from its journal


class Verdict(StrEnum):
    """What became of a sample."""

    TAKEN = "taken"
    DUPLICATE = "duplicate"  # its time was seen before
    LATE = "late"  # older than one that was taken
    EARLY = "early"  # less than half a period after the last one that was taken
    FOREIGN = "foreign"  # another source feeds the session
    REFUSED = "refused"  # the session cannot take samples: FAULT, or a broken journal


@dataclass(frozen=True, slots=True)
class Sample:
    """What a tracker measured."""

    positions: Array  # (marker, dimension), mm; NaN where missing
    time_arrival: float  # s, of `breathcast.live.clock.now`
    time_device: float | None = None  # s, of the device's own clock
    source: str = "local"  # who sent it: a session listens to one at a time


@dataclass(frozen=True, slots=True)
class HorizonForecast:
    """The forecast for one horizon. `position` is null unless the state is OK or DEGRADED."""

    horizon_ms: float  # as asked
    used_ms: float  # the nearest whole number of samples
    steps: int
    position: Positions | None
    radius_mm: float | None  # region_level of the recent errors stayed within this; null: too few yet
    rmse_mm: float | None  # of this horizon's forecasts over the last error_window_s
    no_prediction_rmse_mm: float | None  # what "no prediction" would have had on the same samples


@dataclass(frozen=True, slots=True)
class ClockReport:
    """What is known of the clocks of a session."""

    used: Literal["device", "arrival"]
    offset_ms: float | None = None  # arrival minus device, its running mean
    jitter_ms: float | None = None  # its running standard deviation; of the intervals, where arrival counts
    rate_hz: float | None = None  # measured
    gaps: int = 0  # times that samples were missing


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of state and why."""

    time: float  # s, of `breathcast.live.clock.now`
    before: State
    after: State
    cause: str
    detail: str


@dataclass(frozen=True, slots=True)
class Output:
    """What a session says after a sample, or when its state changes without one."""

    session: str
    sequence: int  # 1, 2, ... without a hole: a hole means that something was lost on the way
    sample: int | None  # number of the sample that this answers; null: a change of state alone
    verdict: Verdict | None  # what became of that sample
    time: float | None  # s, of the newest sample taken, by the clock that counts
    time_arrival: float  # s, when the sample came, or the state changed
    state: State
    cause: str  # "" in OK
    detail: str
    position: Positions | None  # no prediction: where the markers were last known to be; there in every state
    forecasts: list[HorizonForecast]
    latency_ms: float  # from arrival to here
    counters: dict[str, int] = field(default_factory=dict)
    clock: ClockReport = ClockReport("arrival")
    type: Literal["output"] = "output"


@dataclass(frozen=True, slots=True)
class Summary:
    """A session at a glance."""

    name: str
    state: State
    cause: str
    detail: str
    since: float  # s, of the newest transition
    latched: bool  # an operator has to re-arm it
    source: str | None
    settings: dict[str, Any]
    horizons: list[dict[str, float]]  # asked_ms, used_ms, steps
    counters: dict[str, int]
    clock: ClockReport
    sequence: int
    journal: str | None  # its file; null where nothing is kept


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Output)


def to_json(output: Output) -> bytes:
    """One line of JSON, without its end."""
    line: bytes = _adapter().dump_json(output)
    return line
