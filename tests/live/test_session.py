"""A session, hazard by hazard: what it says, and that it never says a forecast that it should not."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import breathcast as bc
from breathcast.errors import BreathcastError
from breathcast.live.model import Output, Sample, State, Verdict, to_json
from breathcast.live.safety import Cause
from tests.live.feeding import RATE, START, Fed, positions, samples, shifted

ROWS = positions(400)
LEARNT = 60  # samples after which the method of these tests speaks
SILENT = {State.WARMUP, State.HOLD, State.FAULT}


def ready(**changes: Any) -> Fed:
    fed = Fed(**changes)
    fed.run(ROWS[:LEARNT])
    assert fed.session.safety.state in (State.OK, State.DEGRADED)
    return fed


def said(output: Output | None) -> tuple[State, str]:
    assert output is not None
    if output.state in SILENT:
        assert all(forecast.position is None for forecast in output.forecasts)
    assert output.position is not None  # no prediction, always
    return output.state, output.cause


def test_the_forecasts_are_those_of_a_stream() -> None:
    stream = bc.LMS(history=1, training=3).start(rate=RATE, markers=2, horizons=[0.2, 0.5])
    for output, row in zip(Fed().run(ROWS), ROWS, strict=True):
        forecasts = stream.update(row)
        assert output.position == row.tolist()
        if output.state in SILENT:
            continue
        for got, wanted in zip(output.forecasts, forecasts, strict=True):
            assert got.position == wanted.position.tolist()
    assert output.state in (State.OK, State.DEGRADED)


def test_warmup_says_nothing() -> None:
    outputs = Fed().run(ROWS[:29])
    assert {said(output) for output in outputs} == {(State.WARMUP, Cause.LEARNING)}


def test_horizons_are_whole_samples_and_said() -> None:
    output = Fed(horizons_ms=(230.0, 40.0001 + 15)).run(ROWS[:1])[0]
    assert [(f.horizon_ms, f.used_ms, f.steps) for f in output.forecasts] == [(230.0, 200.0, 2), (55.0001, 100.0, 1)]


def test_running_errors_are_those_computed_afterwards() -> None:
    outputs = Fed(error_window_s=10.0).run(ROWS)
    h, n = 2, len(ROWS) - 1
    spoken = {o.sample: o.forecasts[0].position for o in outputs if o.sample is not None}
    due = range(n - 99, n + 1)
    forecast = [((np.array(spoken[t - h + 1]) - ROWS[t]) ** 2).sum(axis=1) for t in due]
    nothing = [((ROWS[t - h] - ROWS[t]) ** 2).sum(axis=1) for t in due]
    last = outputs[-1].forecasts[0]
    assert last.rmse_mm == pytest.approx(np.sqrt(np.mean(forecast)))
    assert last.no_prediction_rmse_mm == pytest.approx(np.sqrt(np.mean(nothing)))
    largest = np.sort(np.sqrt(np.max(forecast, axis=1)))
    assert last.radius_mm == pytest.approx(largest[int(np.ceil(0.9 * 101)) - 1])


def test_stale_input_holds_until_rearmed() -> None:
    fed = ready()
    assert fed.tick(0.4) is None
    assert said(fed.tick(0.2)) == (State.HOLD, Cause.STALE)
    assert fed.tick(10.0) is None
    later = [shifted(sample, 12.0) for sample in samples(ROWS[LEARNT:], LEARNT)]
    assert said(fed.push(later[0]))[0] is State.HOLD
    assert said(fed.session.rearm("me")) == (State.WARMUP, Cause.REARMED)
    assert fed.push(later[1]).state in (State.OK, State.DEGRADED)
    assert fed.push(later[1]).forecasts[0].position is None  # a duplicate brings no forecast


def test_silence_after_a_rearm_holds_again() -> None:
    fed = ready()
    fed.tick(1.0)
    fed.session.rearm("me")
    assert said(fed.tick(0.1)) == (State.HOLD, Cause.STALE)


def test_old_samples_are_stale_however_evenly_they_come() -> None:
    fed = ready()
    for n, row in enumerate(ROWS[LEARNT : LEARNT + 3], LEARNT):
        output = fed.push(Sample(row, START + 0.7 + n / RATE, 5.0 + n / RATE, "test"))
    assert said(output) == (State.HOLD, Cause.STALE)


@pytest.mark.parametrize(("lost", "state", "cause"), [(2, State.DEGRADED, Cause.LOST), (8, State.HOLD, Cause.GAP)])
def test_lost_samples(lost: int, state: State, cause: Cause) -> None:
    fed = ready()
    output = fed.run(ROWS[LEARNT + lost : LEARNT + lost + 1], LEARNT + lost)[0]
    assert said(output) == (state, cause)
    assert output.counters["missing"] == lost
    assert output.clock.gaps == 1


def test_lost_samples_are_as_missing_ones_to_the_method() -> None:
    fed, stream = ready(), bc.LMS(history=1, training=3).start(rate=RATE, markers=2, horizons=[0.2, 0.5])
    stream.extend(ROWS[:LEARNT])
    stream.extend(np.full((2, 2, 3), np.nan))
    wanted = stream.update(ROWS[LEARNT + 2])
    output = fed.run([ROWS[LEARNT + 2]], LEARNT + 2)[0]
    assert output.forecasts[1].position == wanted[1].position.tolist()


def test_a_marker_out_of_sight() -> None:
    fed = ready()
    rows = ROWS[LEARNT : LEARNT + 6].copy()
    rows[:, 1] = np.nan
    states = [said(output) for output in fed.run(rows, LEARNT)]
    assert states == [(State.DEGRADED, Cause.LOST)] * 3 + [(State.HOLD, Cause.MARKER)] * 3
    last = fed.session.recent[-1]
    assert last.position is not None and last.position[1] == ROWS[LEARNT - 1, 1].tolist()


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300, 60.0])
def test_a_marker_where_none_can_be(value: float) -> None:
    fed = ready()
    row = ROWS[LEARNT].copy()
    row[0, 2] = ROWS[LEARNT - 1, 0, 2] + value
    output = fed.run([row], LEARNT)[0]
    assert said(output) == (State.HOLD, Cause.IMPLAUSIBLE)
    assert output.counters["invalid"] == 1
    assert output.position is not None and output.position[0] == ROWS[LEARNT - 1, 0].tolist()


def test_a_marker_that_wanders_off() -> None:
    fed = ready(limits={"max_radius_mm": 30.0, "stale_ms": 60_000.0})
    away = ROWS[LEARNT] + np.arange(1, 9)[:, None, None] * np.array([0.0, 8.0, 0.0])
    states = [said(output) for output in fed.run(away, LEARNT)]
    assert states[1][0] is not State.HOLD
    assert states[-1] == (State.HOLD, Cause.IMPLAUSIBLE)
    fed.session.rearm("me")  # the operator knows that the patient was moved
    assert fed.run(away[-1:], LEARNT + 8)[0].state in (State.OK, State.DEGRADED)


def test_a_wide_region_holds() -> None:
    fed = Fed(limits={"region_mm": 0.01})
    assert said(fed.run(ROWS[:150])[-1]) == (State.HOLD, Cause.REGION)


def test_forecasts_that_become_worse_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    fed = ready(drift={"block_s": 1.0}, horizons_ms=(200.0,), limits={"stale_ms": 60_000.0})
    honest = fed.session.core.stream.extend

    def astray(rows: Any) -> Any:
        made = honest(rows)
        made.positions[...] += 15.0
        return made

    monkeypatch.setattr(fed.session.core.stream, "extend", astray)
    outputs = fed.run(ROWS[LEARNT:], LEARNT)
    causes = [said(output) for output in outputs]
    assert (State.HOLD, Cause.DRIFT) in causes
    assert causes.index((State.HOLD, Cause.DRIFT)) < 30 * RATE


def test_a_forecast_that_is_no_number_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    fed = ready()
    learner = fed.session.core.stream._learners[1]
    monkeypatch.setattr(learner, "advance", lambda *given: given[-1].fill(np.nan))
    assert said(fed.run([ROWS[LEARNT]], LEARNT)[0]) == (State.HOLD, Cause.NOT_FINITE)


def test_a_missed_deadline_withholds_the_forecast() -> None:
    fed = ready(limits={"deadline_ms": 50.0})
    sample = next(samples([ROWS[LEARNT]], LEARNT))
    fed.clock.time = sample.time_arrival + 0.051
    assert said(fed.push(sample)) == (State.HOLD, Cause.DEADLINE)


def test_a_method_that_fails_is_a_fault_and_nobody_else_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    fed = ready()

    def fail(rows: Any) -> Any:
        raise ZeroDivisionError("what\never")

    monkeypatch.setattr(fed.session.core.stream, "extend", fail)
    assert said(fed.run([ROWS[LEARNT]], LEARNT)[0]) == (State.FAULT, Cause.BROKEN)
    refused = fed.run([ROWS[LEARNT + 1]], LEARNT + 1)[0]
    assert (refused.verdict, refused.counters["refused"]) == (Verdict.REFUSED, 1)
    with pytest.raises(BreathcastError, match="ZeroDivisionError: what ever"):
        fed.session.rearm("me")


def test_duplicates_and_reordered_samples_change_nothing() -> None:
    plain, fed = Fed(), Fed()
    wanted = plain.run(ROWS[:100])
    given = list(samples(ROWS[:100]))
    got: list[Output] = []
    for n, sample in enumerate(given):
        got.append(fed.push(sample))
        if n % 7 == 3:
            fed.push(sample)
            fed.push(given[n - 1])
    assert [o.forecasts[0].position for o in got] == [o.forecasts[0].position for o in wanted]
    assert got[-1].counters["duplicate"] == got[-1].counters["late"] == 14


def test_a_burst_of_twice_the_rate_is_thinned() -> None:
    fed = ready()
    dense = [Sample(ROWS[LEARNT], START + 6 + k / 100, 5.0 + 6 + k / 100, "test") for k in range(20)]
    verdicts = [fed.push(sample).verdict for sample in dense]
    assert verdicts.count(Verdict.TAKEN) <= 4
    assert verdicts.count(Verdict.EARLY) >= 16


@pytest.mark.parametrize("factor", [0.7, 1.3, 2.0])
def test_another_rate_than_the_nominal_one_holds(factor: float) -> None:
    fed = Fed()
    for n in range(200):
        output = fed.push(Sample(ROWS[n], START + factor * n / RATE, 5.0 + factor * n / RATE, "test"))
    assert said(output) == (State.HOLD, Cause.RATE)


@pytest.mark.parametrize(("step", "cause"), [(-3600.0, Cause.CLOCK), (-1.0, Cause.CLOCK), (3600.0, Cause.GAP)])
def test_a_step_of_the_device_clock(step: float, cause: Cause) -> None:
    fed = ready()
    jumped = [
        Sample(s.positions, s.time_arrival, (s.time_device or 0) + step, s.source)
        for s in samples(ROWS[LEARNT : LEARNT + 5], LEARNT)
    ]
    assert said(fed.push(jumped[0])) == (State.HOLD, cause)
    fed.push(jumped[1])
    fed.session.rearm("me")
    after = fed.push(jumped[2])  # going back, nothing was lost; going forward, forecasts rest on what is missing
    assert said(after)[0] in (State.OK, State.DEGRADED)
    assert (after.cause == Cause.IMPUTED) == (step > 0)


@pytest.mark.parametrize("time", [None, 0.0])
def test_a_device_without_time_falls_back_to_arrival(time: float | None) -> None:
    fed = Fed()
    for sample in samples(ROWS[:80]):
        output = fed.push(Sample(sample.positions, sample.time_arrival, time, "test"))
    assert output.clock.used == "arrival"
    assert said(output) == (State.DEGRADED, Cause.UNTIMED)
    assert output.time == pytest.approx(START + 7.9)


def test_a_device_that_stops_sending_its_time_holds() -> None:
    fed = ready()
    sample = next(samples([ROWS[LEARNT]], LEARNT))
    assert said(fed.push(Sample(sample.positions, sample.time_arrival, 0.0, "test"))) == (State.HOLD, Cause.CLOCK)


def test_arrival_can_be_chosen() -> None:
    output = Fed(clock="arrival").run(ROWS[:80])[-1]
    assert output.clock.used == "arrival"
    assert output.cause != Cause.UNTIMED


def test_one_source_at_a_time() -> None:
    fed = ready()
    other = next(samples([ROWS[LEARNT]], LEARNT, "intruder"))
    output = fed.push(other)
    assert (output.verdict, *said(output)) == (Verdict.FOREIGN, State.DEGRADED, Cause.SOURCE)
    assert fed.run([ROWS[LEARNT]], LEARNT)[0].cause != Cause.SOURCE
    taken_over = fed.push(shifted(other, 3.0))
    assert taken_over.verdict is Verdict.TAKEN


def test_a_foreign_sample_does_not_make_a_warming_session_speak() -> None:
    fed = Fed()
    fed.run(ROWS[:10])
    assert fed.push(next(samples([ROWS[10]], 10, "intruder"))).state is State.WARMUP


def test_a_wrong_shape_holds() -> None:
    fed = ready()
    assert said(fed.push(Sample(np.zeros((3, 3)), START + 6, 11.0, "test"))) == (State.HOLD, Cause.SHAPE)


def test_without_latch_it_recovers_by_itself() -> None:
    fed = ready(limits={"latch": False, "recover_ms": 500.0})
    outputs = fed.run(ROWS[LEARNT + 8 : LEARNT + 40], LEARNT + 8)
    states = [output.state for output in outputs]
    assert states[:4] == [State.HOLD] * 4
    assert states[-1] in (State.OK, State.DEGRADED)


def test_every_change_of_state_is_told_with_its_cause() -> None:
    fed = ready()
    fed.tick(1.0)
    fed.session.rearm("me")
    changes = list(fed.session.transitions)
    assert all(a.after is b.before for a, b in itertools.pairwise(changes))
    assert [c.cause for c in changes[-2:]] == [Cause.STALE, Cause.REARMED]
    assert all(change.detail or change.after is State.OK for change in changes)


ANY = st.floats(allow_nan=True, allow_infinity=True)


@hypothesis_settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_comes_the_output_is_json_and_speaks_only_when_it_may(data: st.DataObject) -> None:
    fed = Fed(method="persistence(training=1)", markers=1, dimension=2)
    for n in range(data.draw(st.integers(1, 25))):
        device = data.draw(st.one_of(st.none(), st.just(5.0 + n / RATE), ANY.filter(np.isfinite)))
        position = data.draw(st.lists(st.one_of(ANY, st.floats(-5, 5)), min_size=2, max_size=2))
        output = fed.push(Sample(np.array([position]), START + n / RATE, device, data.draw(st.sampled_from("ab"))))
        told = json.loads(to_json(output), parse_constant=pytest.fail)
        for forecast in told["forecasts"]:
            if output.state in SILENT or output.verdict is not Verdict.TAKEN:
                assert forecast["position"] is None
        assert output.sequence == n + 1
