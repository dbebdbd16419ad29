"""Messages of a tracker to samples: which markers belong together, what is missing, whose device it is."""

from __future__ import annotations

import math

import numpy as np

from breathcast.live.openigtlink import (
    Element,
    Message,
    Position,
    Query,
    TrackingData,
    Transform,
    matrix_at,
    stamp_of,
)
from breathcast.live.openigtlink.incoming import Assembler

A, B = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
NONE = [math.nan] * 3


def assembler(markers=("A", "B"), dimension=3, rate=30.0, **devices: str) -> Assembler:
    return Assembler(markers, dimension, rate, devices, "test")


def tdata(time: float | None, **markers: list[float]) -> Message:
    elements = tuple(Element(name, matrix_at(position)) for name, position in markers.items())
    return Message(TrackingData(elements), "tracker", stamp_of(time))


def transform(device: str, position: list[float], time: float | None = None) -> Message:
    return Message(Transform(matrix_at(position)), device, stamp_of(time))


def taken(of: Assembler, *messages: Message) -> list[tuple[float | None, float, list[list[float]]]]:
    """Device time, arrival (0, 1, 2, ...) and positions of the samples."""
    samples = [sample for n, message in enumerate(messages) for sample in of.take(message, float(n))]
    return [(s.time_device, s.time_arrival, s.positions.tolist()) for s in samples]


def same(found, expected) -> bool:
    return all(
        (a[0], a[1]) == (b[0], b[1]) and np.array_equal(a[2], b[2], equal_nan=True)
        for a, b in zip(found, expected, strict=True)
    )


def test_tdata_is_a_sample_whatever_the_order_of_its_elements():
    assert taken(assembler(), tdata(5.0, B=B, A=A)) == [(5.0, 0.0, [A, B])]


def test_markers_that_tdata_lacks_are_missing():
    assert same(taken(assembler(), tdata(5.0, B=B)), [(5.0, 0.0, [NONE, B])])
    assert same(taken(assembler(), tdata(5.0)), [(5.0, 0.0, [NONE, NONE])])


def test_a_device_that_sends_time_0_has_no_time():
    ((time, arrival, _),) = taken(assembler(), tdata(None, A=A, B=B))
    assert (time, arrival) == (None, 0.0)


def test_tdata_of_another_device_is_no_sample():
    of = assembler()
    assert taken(of, tdata(5.0, stylus=A)) == []
    assert of.counters["unknown_devices"] == 1


def test_a_marker_that_stands_twice_in_a_tdata_counts_as_not_seen():
    of = assembler()
    message = Message(TrackingData(tuple(Element(name, matrix_at(A)) for name in ("A", "A", "B"))), "x", stamp_of(1.0))
    assert same(taken(of, message), [(1.0, 0.0, [NONE, A])])
    assert of.counters["ambiguous_markers"] == 1


def test_transforms_of_one_time_are_one_sample():
    found = taken(assembler(), transform("B", B, 7.0), transform("A", A, 7.015625))
    assert found == [(7.0, 0.0, [A, B])]


def test_the_next_period_ends_an_incomplete_sample():
    found = taken(assembler(), transform("A", A, 7.0), transform("B", B, 7.03125), transform("A", A, 7.03125))
    assert same(found, [(7.0, 0.0, [A, NONE]), (7.03125, 1.0, [A, B])])


def test_without_time_stamps_a_repeated_marker_begins_the_next_sample():
    found = taken(assembler(), *[transform("A", A), transform("A", B), transform("B", B)])
    assert same(found, [(None, 0.0, [A, NONE]), (None, 1.0, [B, B])])


def test_a_message_with_a_time_does_not_join_one_without():
    found = taken(assembler(), transform("A", A, None), transform("B", B, 3.0))
    assert same(found, [(None, 0.0, [A, NONE])])


def test_tdata_ends_what_was_gathered_before_it():
    found = taken(assembler(), transform("A", A, 1.0), tdata(2.0, A=A, B=B))
    assert same(found, [(1.0, 0.0, [A, NONE]), (2.0, 1.0, [A, B])])


def test_devices_are_mapped_to_markers_and_then_nothing_else_is_taken():
    of = assembler(Tracker="B", probe="A")
    assert taken(of, transform("Tracker", B, 1.0), transform("probe", A, 1.0)) == [(1.0, 0.0, [A, B])]
    assert taken(of, transform("A", A, 2.0)) == []
    assert of.counters["unknown_devices"] == 1


def test_position_feeds_a_marker_too():
    of = assembler(markers=("A",))
    assert taken(of, Message(Position((1.0, 2.0, 3.0)), "A", stamp_of(9.0))) == [(9.0, 0.0, [A])]


def test_a_trace_takes_the_first_axes():
    assert taken(assembler(markers=("A",), dimension=1), transform("A", A, 1.0)) == [(1.0, 0.0, [[1.0]])]


def test_long_names_of_markers_are_numbered():
    of = assembler(markers=("a marker on the left", "a marker on the right"))
    assert taken(of, tdata(1.0, M2=B, M1=A)) == [(1.0, 0.0, [A, B])]


def test_other_messages_are_no_samples():
    assert taken(assembler(), Message(Query("GET_CAPABIL"))) == []
