"""Outputs of a session as messages: no forecast in HOLD, names that fit, version 2 beside version 1."""

from __future__ import annotations

import json

import numpy as np
import pytest

from breathcast.live.model import HorizonForecast, Output, Sample, State, Verdict
from breathcast.live.openigtlink import Decoder, Message, Position, Status, Text, TrackingData, position_in
from breathcast.live.openigtlink.names import forecast_name, horizon_labels, short_names
from breathcast.live.openigtlink.outgoing import Encoded
from tests.live.openigtlink_peers import PlainEngine

MARKERS = ("A", "B")
KINDS = ("STATUS", "TDATA", "TRANSFORM", "POSITION", "STRING")


def output(state: State = State.OK, time: float | None = 50.0, positions=((1, 2, 3), (4, 5, 6)), **more) -> Output:
    engine = PlainEngine(**more)
    engine.state = State.OK  # forecasts are there in any case: the encoder must hold them back by itself
    found = engine.output(Sample(np.array(positions, float), 60.0, time))
    return Output(**{**{name: getattr(found, name) for name in found.__slots__}, "state": state})


def sent(kind: str, of: Output, markers=MARKERS, version: int = 1) -> list[Message]:
    events = Decoder().feed(Encoded(of, markers).bytes_of(kind, version))
    assert all(isinstance(event, Message) for event in events)
    return events


def test_transforms_are_named_by_marker_and_horizon_with_the_measurement_as_horizon_0():
    found = {m.device: position_in(m.content.matrix) for m in sent("TRANSFORM", output())}
    assert found == {
        "A@100": (2, 3, 4),
        "B@100": (5, 6, 7),
        "A@500": (6, 7, 8),
        "B@500": (9, 10, 11),
        "A@0": (1, 2, 3),
        "B@0": (4, 5, 6),
    }


def test_tdata_holds_forecasts_alone():
    (message,) = sent("TDATA", output())
    assert [e.name for e in message.content.elements] == ["A@100", "B@100", "A@500", "B@500"]
    assert position_in(message.content.elements[0].matrix) == (2, 3, 4)


@pytest.mark.parametrize("state", [State.HOLD, State.WARMUP, State.FAULT])
def test_no_forecast_leaves_in_hold_warmup_or_fault(state):
    assert sent("TDATA", output(state))[0].content == TrackingData(())
    assert [m.device for m in sent("TRANSFORM", output(state))] == ["A@0", "B@0"]
    assert [m.device for m in sent("POSITION", output(state))] == ["A@0", "B@0"]


@pytest.mark.parametrize(("state", "code"), [("OK", 1), ("DEGRADED", 1), ("WARMUP", 13), ("HOLD", 15), ("FAULT", 2)])
def test_the_state_is_a_status_with_its_name_and_the_notice(state, code):
    (message,) = sent("STATUS", output(State(state)))
    assert isinstance(message.content, Status)
    assert (message.content.code, message.content.name) == (code, state)
    assert "not for beam control" in message.content.text


def test_details_are_the_output_as_json():
    (message,) = sent("STRING", output())
    assert isinstance(message.content, Text)
    told = json.loads(message.content.text)
    assert (told["session"], told["sequence"], told["forecasts"][1]["horizon_ms"]) == ("default", 0, 500.0)


def test_details_that_do_not_fit_into_a_string_say_so():
    many = output(positions=np.full((64, 3), -1e5 / 3), markers=64, horizons_ms=tuple(range(100, 1700, 100)))
    (message,) = sent("STRING", many, markers=tuple(f"M{n}" for n in range(64)))
    assert json.loads(message.content.text)["type"] == "too_long"


def test_positions_are_the_same_points():
    found = {m.device: m.content for m in sent("POSITION", output())}
    assert found["B@500"] == Position((9, 10, 11))


def test_the_time_stamp_is_that_of_the_sample():
    assert {m.time for kind in KINDS for m in sent(kind, output())} == {50.0}


@pytest.mark.parametrize("time", [None, -3.0, 1e12])
def test_a_time_that_the_protocol_cannot_express_is_no_time(time):
    of = output()
    of = Output(**{**{name: getattr(of, name) for name in of.__slots__}, "time": time})
    assert sent("STATUS", of)[0].time is None


@pytest.mark.parametrize("bad", [np.nan, 1e39, -1e300])
def test_a_point_that_cannot_be_sent_is_left_out(bad):
    found = [m.device for m in sent("TRANSFORM", output(positions=((1, 2, bad), (4, 5, 6))))]
    assert found == ["B@100", "B@500", "B@0"]


def test_a_trace_has_zeros_on_the_other_axes():
    of = output(positions=((7,), (8,)), dimension=1)
    assert [position_in(m.content.matrix) for m in sent("TRANSFORM", of)][-1] == (8, 0, 0)


def test_version_2_carries_session_state_number_and_horizon():
    of = output()
    for kind in KINDS:
        ones, twos = sent(kind, of), sent(kind, of, version=2)
        assert [m.content for m in ones] == [m.content for m in twos]
        assert {m.version for m in twos} == {2}
    metadata = dict(sent("TRANSFORM", of, version=2)[2].metadata)
    assert metadata == {"session": "default", "state": "OK", "sequence": "0", "horizon_ms": "500", "used_ms": "500"}


def test_a_horizon_without_forecast_is_left_out():
    of = output()
    silent = HorizonForecast(100.0, 100.0, 1, None, None, None, None)
    of = Output(**{**{name: getattr(of, name) for name in of.__slots__}, "forecasts": [silent, of.forecasts[1]]})
    assert [m.device for m in sent("TRANSFORM", of)] == ["A@500", "B@500", "A@0", "B@0"]
    assert of.verdict is Verdict.TAKEN


def test_names_fit_and_differ():
    assert short_names(["left", "right"]) == ("left", "right")
    assert short_names(["twelve bytes", "x"]) == ("twelve bytes", "x")
    assert short_names(["thirteen byte", "x"]) == ("M1", "M2")
    assert short_names(["thirteen byte", "M1"]) == ("N1", "N2")
    assert horizon_labels([100.0, 33.3333]) == ("100", "33.3333")
    assert horizon_labels([100.0, 100.00001]) == ("h1", "h2")
    for ms in (0.001, 59999.9, 60000.0, 33.3333333, 1e-5):
        (label,) = horizon_labels([ms])
        assert len(forecast_name("é" * 6, label).encode()) <= 20
