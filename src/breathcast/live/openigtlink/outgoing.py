"""Outputs of a session to messages, encoded once for all clients of a version."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from breathcast.live.model import Output, State, Summary, to_json
from breathcast.live.openigtlink.contents import (
    Content,
    Element,
    Point,
    Position,
    Status,
    Text,
    TrackingData,
    Transform,
    matrix_at,
)
from breathcast.live.openigtlink.errors import OpenIGTLinkError
from breathcast.live.openigtlink.header import stamp_of
from breathcast.live.openigtlink.message import Message, encode
from breathcast.live.openigtlink.names import DETAIL, STATE, TRACKING, forecast_name, horizon_labels, short_names
from breathcast.version import NOTICE

CODES = {State.OK: 1, State.DEGRADED: 1, State.WARMUP: 13, State.HOLD: 15, State.FAULT: 2}
EXITING = Status(19, 0, "CLOSING", "breathcast stops. " + NOTICE)
NO_SESSION = Status(4, 0, "NO SESSION", "The session of this port does not exist yet. " + NOTICE)
UNTOLD = Status(2, 0, "FAULT", "An output cannot be sent; the log of the server says why. " + NOTICE)

SPEAKING = (State.OK, State.DEGRADED)  # the states in which forecasts leave

Horizon = tuple[str, float] | None  # as asked, and in whole samples, ms

_LARGEST = 3.4e38  # what 32 bits hold
_LONGEST = 65_535  # bytes of a STRING


class Encoded:
    """One output, ready to be sent: what each kind of message needs is computed when the first client wants it."""

    def __init__(self, output: Output, markers: Sequence[str]) -> None:
        """`markers` are the names of the session's markers."""
        self.output = output
        self._names = short_names(markers)
        self._done: dict[tuple[str, int], bytes] = {}

    def bytes_of(self, kind: str, version: int) -> bytes:
        """All messages of a kind: STATUS, TRANSFORM, POSITION, STRING or TDATA."""
        key = (kind, version)
        if key not in self._done:
            self._done[key] = b"".join(self._encode(*message, version) for message in self._messages(kind))
        return self._done[key]

    def _messages(self, kind: str) -> Iterator[tuple[str, Content, Horizon]]:
        """Device, content and horizon of each message of a kind."""
        match kind:
            case "STATUS":
                yield STATE, status_of(self.output), None
            case "STRING":
                yield DETAIL, Text(_details(self.output)), None
            case "TDATA":
                # Forecasts alone: who reads by place must never find a measured position where a forecast was.
                found = tuple(Element(name, matrix_at(point)) for name, point, _ in self._forecasts())
                yield TRACKING, TrackingData(found), None
            case _:
                for name, point, horizon in (*self._forecasts(), *self._measured()):
                    content: Content = Transform(matrix_at(point)) if kind == "TRANSFORM" else Position(point)
                    yield name, content, horizon

    def _forecasts(self) -> Iterator[tuple[str, Point, Horizon]]:
        """Name, place and horizon of each forecast; none unless the state lets them leave, whatever was computed."""
        forecasts = self.output.forecasts if self.output.state in SPEAKING else []
        labels = horizon_labels([forecast.horizon_ms for forecast in forecasts])
        for label, forecast in zip(labels, forecasts, strict=True):
            yield from self._rows(label, forecast.position, forecast.used_ms)

    def _measured(self) -> Iterator[tuple[str, Point, Horizon]]:
        """Name and place of each marker, as last known."""
        yield from self._rows("0", self.output.position, 0.0)

    def _rows(
        self, label: str, positions: Sequence[Sequence[float | None]] | None, used_ms: float
    ) -> Iterator[tuple[str, Point, Horizon]]:
        for name, row in zip(self._names, positions or (), strict=False):
            point = _point(row)
            if point is not None:
                yield forecast_name(name, label), point, (label, used_ms)

    def _encode(self, device: str, content: Content, horizon: Horizon, version: int) -> bytes:
        """Version 2 says beside each message what version 1 can only say in the STRING."""
        stamp = _stamp(self.output.time)
        if version == 1:
            return encode(Message(content, device, stamp))
        output = self.output
        metadata = [("session", output.session), ("state", str(output.state)), ("sequence", str(output.sequence))]
        if horizon is not None:
            metadata += [("horizon_ms", horizon[0]), ("used_ms", f"{horizon[1]:g}")]
        return encode(Message(content, device, stamp, version, output.sequence & 0xFFFFFFFF, tuple(metadata)))


def status_of(said: Output | Summary) -> Status:
    """The state of a session: a code that any peer knows, the number of the output, and why in words."""
    reason = ": ".join(part for part in (said.cause, said.detail) if part)
    return Status(CODES[said.state], said.sequence, str(said.state), f"{reason}. {NOTICE}" if reason else NOTICE)


def _details(output: Output) -> str:
    """The output as JSON; too long for a STRING, it says where to find the rest."""
    text = to_json(output).decode()
    if len(text.encode()) <= _LONGEST:
        return text
    short = {"type": "too_long", "session": output.session, "sequence": output.sequence, "state": str(output.state)}
    return json.dumps(short)


def _point(row: Sequence[float | None]) -> Point | None:
    """Three numbers that 32 bits hold; axes that the session lacks are 0; None if anything is missing."""
    numbers = [math.nan if value is None else float(value) for value in row]
    if not all(abs(value) < _LARGEST for value in numbers):  # NaN is smaller than nothing
        return None
    x, y, z = [*numbers, 0.0, 0.0][:3]
    return (x, y, z)


def _stamp(time: float | None) -> int:
    """The time of the sample; 0 where a device counts in a way that OpenIGTLink cannot express."""
    try:
        return stamp_of(time)
    except OpenIGTLinkError:
        return 0
