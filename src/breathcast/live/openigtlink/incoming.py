"""Messages of a tracker to samples of a session."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from breathcast.forecasters.method import Array
from breathcast.live.model import Sample
from breathcast.live.openigtlink.contents import Element, Point, Position, TrackingData, Transform, position_in
from breathcast.live.openigtlink.message import Message
from breathcast.live.openigtlink.names import short_names


class Assembler:
    """Gathers what one connection sends into samples of all markers.

    A TDATA is a sample: markers that it lacks are missing. TRANSFORM and POSITION carry one marker each; those whose
    time stamps lie within half a period of the first belong together. Such a sample is complete with its last marker.
    If a marker is not seen, the next message that cannot belong to it ends it, a period later: TDATA is better.
    """

    def __init__(
        self, markers: Sequence[str], dimension: int, rate: float, devices: Mapping[str, str], source: str
    ) -> None:
        """`devices` maps names on the wire to names of markers; without it they are the same."""
        self.counters: Counter[str] = Counter()
        self._shape, self._half, self._source = (len(markers), dimension), 0.5 / rate, source
        own = {name: n for n, name in enumerate(markers)}
        for n, name in enumerate(short_names(markers)):
            own.setdefault(name, n)
        self._marker = {wire: own[name] for wire, name in devices.items() if name in own} if devices else own
        self._pending: dict[int, Point] = {}
        self._since: tuple[float | None, float] = (None, 0.0)  # by the device, at arrival

    def take(self, message: Message, arrival: float) -> list[Sample]:
        """The samples that this message completes: none, one, or two."""
        match message.content:
            case TrackingData(elements):
                return self._finish() + self._tracked(elements, message.time, arrival)
            case Transform(matrix):
                return self._single(message.device, position_in(matrix), message.time, arrival)
            case Position(position):
                return self._single(message.device, position, message.time, arrival)
            case _:
                return []

    def _tracked(self, elements: tuple[Element, ...], time: float | None, arrival: float) -> list[Sample]:
        """A sample of what TDATA holds; elements of other devices are passed over."""
        found: dict[int, Point] = {}
        for element in elements:
            marker = self._marker.get(element.name)
            if marker is None:
                self.counters["unknown_devices"] += 1
            elif marker in found:
                # Which of the two is the marker nobody can tell, so it counts as not seen.
                self.counters["ambiguous_markers"] += 1
                found[marker] = (math.nan, math.nan, math.nan)
            else:
                found[marker] = position_in(element.matrix)
        if elements and not found:
            return []  # another device's: an empty TDATA, in contrast, says that no marker was seen
        return [self._sample(found, time, arrival)]

    def _single(self, device: str, position: Point, time: float | None, arrival: float) -> list[Sample]:
        """Add a marker to the sample that it belongs to."""
        marker = self._marker.get(device)
        if marker is None:
            self.counters["unknown_devices"] += 1
            return []
        done = [] if self._belongs(marker, time) else self._finish()
        if not self._pending:
            self._since = (time, arrival)
        self._pending[marker] = position
        return done + (self._finish() if len(self._pending) == self._shape[0] else [])

    def _belongs(self, marker: int, time: float | None) -> bool:
        """Whether a marker with this time stamp is part of the sample that is being gathered."""
        if marker in self._pending:
            return False
        first = self._since[0]
        if time is None or first is None:
            return time is first
        return abs(time - first) < self._half

    def _finish(self) -> list[Sample]:
        """The sample that was being gathered, if any."""
        if not self._pending:
            return []
        found, self._pending = self._pending, {}
        return [self._sample(found, *self._since)]

    def _sample(self, found: Mapping[int, Point], time: float | None, arrival: float) -> Sample:
        positions: Array = np.full(self._shape, np.nan)
        for marker, position in found.items():
            positions[marker] = position[: self._shape[1]]
        return Sample(positions, arrival, time, self._source)
