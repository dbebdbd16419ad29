"""When to trust a session: a pure state machine. Findings go in, a state comes out, and each change has a cause.

It fails to HOLD: whatever is found that is not listed here, and whatever is not known to be well, holds forecasts back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from breathcast.live.model import State


class Cause(StrEnum):
    """A word for each reason; docs/live.md has a sentence on each."""

    NO_SAMPLE = "no_sample"
    LEARNING = "learning"
    REARMED = "rearmed"
    RESUMED = "resumed"
    LOST = "lost"
    IMPUTED = "imputed"
    WORSE = "worse"
    UNTIMED = "untimed"
    STALE = "stale"
    GAP = "gap"
    MARKER = "marker"
    IMPLAUSIBLE = "implausible"
    SHAPE = "shape"
    REGION = "region"
    DRIFT = "drift"
    NOT_FINITE = "not_finite"
    DEADLINE = "deadline"
    RATE = "rate"
    CLOCK = "clock"
    SOURCE = "source"
    JOURNAL = "journal"
    BROKEN = "broken"


# What each cause leads to; all others hold.
_WARMS = frozenset({Cause.NO_SAMPLE, Cause.LEARNING, Cause.REARMED, Cause.RESUMED})
_DEGRADES = frozenset({Cause.LOST, Cause.IMPUTED, Cause.WORSE, Cause.UNTIMED, Cause.SOURCE})
_FAULTS = frozenset({Cause.BROKEN})
# An operator cannot re-arm these away: the learner and the journal no longer agree, so the session is to be resumed.
_NEEDS_RESUME = frozenset({Cause.JOURNAL, Cause.BROKEN})
_ORDER = (State.OK, State.DEGRADED, State.WARMUP, State.HOLD, State.FAULT)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    cause: Cause
    detail: str

    @property
    def leads_to(self) -> State:
        """The state that this finding alone asks for."""
        if self.cause in _FAULTS:
            return State.FAULT
        if self.cause in _WARMS:
            return State.WARMUP
        return State.DEGRADED if self.cause in _DEGRADES else State.HOLD


@dataclass(frozen=True, slots=True)
class Safety:
    """The state of a session; `held` is what it holds for until re-armed or, without latch, until all is well."""

    state: State = State.WARMUP
    cause: str = Cause.NO_SAMPLE
    detail: str = "no sample has come yet"
    held: Finding | None = None
    well_since: float | None = None  # s, while `held`: since when nothing asks for HOLD

    @property
    def speaks(self) -> bool:
        """Whether forecasts may leave."""
        return self.state in (State.OK, State.DEGRADED)

    @property
    def needs_resume(self) -> bool:
        """Whether only a resume from the journal helps."""
        return self.held is not None and self.held.cause in _NEEDS_RESUME


def step(safety: Safety, findings: Iterable[Finding], now: float, *, latch: bool, recover_s: float) -> Safety:
    """The next state, given all that is found now; `now` in s, on any clock that only goes forward."""
    worst = _worst(findings)
    if safety.state is State.FAULT or safety.needs_resume:
        return safety
    if worst is not None and worst.leads_to in (State.HOLD, State.FAULT):
        new = worst if safety.held is None or worst.cause in _NEEDS_RESUME else safety.held
        return _held(new, None)
    if safety.held is not None:
        since = now if safety.well_since is None else safety.well_since
        if latch or now - since < recover_s:
            return _held(safety.held, since)
    if worst is None:
        return Safety(State.OK, "", "")
    return Safety(worst.leads_to, worst.cause, worst.detail)


def rearm(safety: Safety) -> Safety:
    """An operator has looked. Nothing is trusted before the next sample, which may hold again."""
    if safety.held is None or safety.needs_resume:
        return safety
    return Safety(State.WARMUP, Cause.REARMED, "re-armed; the next sample decides")


def _worst(findings: Iterable[Finding]) -> Finding | None:
    """The first of the gravest; one that needs a resume is the gravest of those that hold."""
    return max(
        findings,
        key=lambda finding: (_ORDER.index(finding.leads_to), finding.cause in _NEEDS_RESUME),
        default=None,
    )


def _held(finding: Finding, well_since: float | None) -> Safety:
    return Safety(finding.leads_to, finding.cause, finding.detail, finding, well_since)


def resumed(safety: Safety) -> Safety:
    """What a session starts from when it is resumed: a HOLD stays, but for the causes that the resume has mended."""
    if safety.held is not None and not safety.needs_resume:
        return replace(safety, well_since=None)
    return Safety(State.WARMUP, Cause.RESUMED, "resumed from the journal; the next sample decides")
