"""The state machine alone: a table of what leads where, and what holds whatever happens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breathcast.live.model import State
from breathcast.live.safety import Cause, Finding, Safety, rearm, resumed, step

DEGRADES = {Cause.LOST, Cause.IMPUTED, Cause.WORSE, Cause.UNTIMED, Cause.SOURCE}
WARMS = {Cause.NO_SAMPLE, Cause.LEARNING, Cause.REARMED, Cause.RESUMED}
FOR_GOOD = {Cause.JOURNAL, Cause.BROKEN}
HOLDS = set(Cause) - DEGRADES - WARMS - {Cause.BROKEN}
FINDINGS = st.lists(st.sampled_from(Cause).map(lambda cause: Finding(cause, f"because of {cause}")), max_size=3)


def stepped(safety: Safety, *causes: Cause, now: float = 0.0, latch: bool = True) -> Safety:
    return step(safety, [Finding(cause, "") for cause in causes], now, latch=latch, recover_s=1.0)


@pytest.mark.parametrize("cause", Cause)
def test_where_each_cause_leads(cause: Cause) -> None:
    after = stepped(Safety(State.OK, "", ""), cause)
    wanted = (
        State.DEGRADED
        if cause in DEGRADES
        else State.WARMUP
        if cause in WARMS
        else State.FAULT
        if cause is Cause.BROKEN
        else State.HOLD
    )
    assert (after.state, after.cause) == (wanted, cause)
    assert after.speaks == (cause in DEGRADES)


def test_nothing_found_is_ok() -> None:
    assert stepped(Safety()).state is State.OK


def test_the_gravest_wins_and_the_first_of_equals() -> None:
    ok = Safety(State.OK, "", "")
    assert stepped(ok, Cause.LOST, Cause.GAP, Cause.LEARNING, Cause.STALE).cause == Cause.GAP
    assert stepped(ok, Cause.GAP, Cause.JOURNAL).cause == Cause.JOURNAL
    assert stepped(ok, Cause.JOURNAL, Cause.BROKEN).cause == Cause.BROKEN
    assert stepped(stepped(ok, Cause.GAP), Cause.STALE).cause == Cause.GAP  # what it was latched for


@pytest.mark.parametrize("cause", sorted(HOLDS - FOR_GOOD))
def test_a_latched_hold_ends_only_by_an_operator(cause: Cause) -> None:
    held = stepped(Safety(State.OK, "", ""), cause)
    for now in range(100):
        held = stepped(held, now=float(now))
        assert (held.state, held.cause) == (State.HOLD, cause)
    armed = rearm(held)
    assert (armed.state, armed.cause) == (State.WARMUP, Cause.REARMED)
    assert stepped(armed).state is State.OK
    assert stepped(armed, cause).state is State.HOLD


def test_without_latch_hold_ends_when_all_was_well_long_enough() -> None:
    held = stepped(Safety(State.OK, "", ""), Cause.GAP, latch=False)
    states = []
    for now, causes in ((0.0, []), (0.5, []), (0.9, [Cause.GAP]), (1.0, []), (1.9, [Cause.LOST]), (2.1, [])):
        held = stepped(held, *causes, now=now, latch=False)
        states.append(held.state)
    assert states == [State.HOLD] * 5 + [State.OK]


@pytest.mark.parametrize("cause", sorted(FOR_GOOD))
def test_a_broken_journal_or_method_needs_a_resume(cause: Cause) -> None:
    for before in (Safety(State.OK, "", ""), stepped(Safety(), Cause.GAP)):
        held = stepped(before, cause)
        assert held.needs_resume
        assert rearm(held) == held == stepped(held, latch=False, now=1e9)
        assert resumed(held).state is State.WARMUP
    assert resumed(stepped(Safety(), Cause.GAP)).state is State.HOLD


@settings(deadline=None)
@given(st.lists(st.tuples(FINDINGS, st.booleans()), max_size=30), st.booleans())
def test_whatever_happens(history: list[tuple[list[Finding], bool]], latch: bool) -> None:
    now, safety = 0.0, Safety()
    for findings, operator in history:
        if operator:
            safety = rearm(safety)
        before, now = safety, now + 0.4
        safety = step(before, findings, now, latch=latch, recover_s=1.0)
        graver = [f for f in findings if f.leads_to in (State.HOLD, State.FAULT)]
        if graver or before.needs_resume or (before.held and latch):
            assert safety.state in (State.HOLD, State.FAULT)
        if safety.speaks:
            assert all(f.cause in DEGRADES for f in findings)
        assert (safety.cause == "") == (safety.state is State.OK)
        assert (safety.held is not None) == (safety.state in (State.HOLD, State.FAULT))
