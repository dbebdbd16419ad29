"""Forecasts and losses over time from the store of a study, by names that a person gives."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Array
from breathcast.reports.figures import widest
from breathcast.reports.inspections import axes
from breathcast.studies.run import Results
from breathcast.studies.store import Store

_SPACE = 3  # coordinates of a marker where the names of the markers were not kept


@dataclass(frozen=True)
class Trace:
    """One method on one recording at one horizon, from the beginning of the recording."""

    times: Array  # (N), s
    loss: Array  # (N), mm², mean over the runs
    forecast: Array  # (N, marker, dimension), mm, first run
    truth: Array  # likewise


@dataclass(frozen=True)
class Moment:
    """What a figure over time shows: all methods on one recording at one horizon."""

    recording: str
    place: int  # of the recording in the study, from 1
    horizon: float
    markers: tuple[str, ...]
    traces: dict[str, Trace]  # by title, those that are there

    @property
    def truth(self) -> Array:
        """The truth, from the first trace: it is the same in all."""
        return next(iter(self.traces.values())).truth


class Traces:
    """The traces of a study; a name that is not there is an error that says which are."""

    def __init__(self, results: Results, store: Store) -> None:
        """Read nothing yet."""
        self.results, self.store = results, store
        self._tasks = {(task.title, task.recording, task.horizons[0]): task for task in results.test_tasks}

    @cached_property
    def described(self) -> dict[str, dict[str, Any]]:
        """What the store says about each recording, by name."""
        return {told["name"]: told for told in self.store.description()["recordings"]}

    def recording(self, name: str) -> str:
        """A recording of the study."""
        if name not in self.results.recordings:
            cure = f"use one of: {', '.join(self.results.recordings)}"
            raise BreathcastError(f"the study has no recording {name!r}", cure=cure)
        return name

    def horizon(self, seconds: float) -> float:
        """A horizon of the study."""
        ahead = self.results.spec.ahead
        found = next((h for h in ahead if math.isclose(h, seconds, abs_tol=1e-9)), None)
        if found is None:
            cure = f"use one of: {', '.join(f'{h:g}' for h in ahead)}"
            raise BreathcastError(f"the study has no horizon of {seconds:g} s", cure=cure)
        return found

    def moment(self, recording: str, horizon: float) -> Moment:
        """The traces of all methods there."""
        found, width = {}, 0
        for title in (entry.title for entry in self.results.spec.method):
            task = self._tasks.get((title, recording, horizon))
            frame = pl.DataFrame() if task is None else self.store.trace(task)
            if len(frame):
                width = len(frame["truth"][0])
                found[title] = _trace(frame, len(self.markers(recording, width)))
        markers = self.markers(recording, width) if found else ()
        return Moment(recording, self.results.recordings.index(recording) + 1, horizon, markers, found)

    def markers(self, recording: str, width: int) -> tuple[str, ...]:
        """The names of the markers, or numbers for a study that did not keep them."""
        named = self.described[recording].get("markers")
        if named:
            return tuple(named)
        count = width // _SPACE if width % _SPACE == 0 else 1
        return tuple(f"marker {n + 1}" for n in range(count))

    def choose(self, recording: str | None, horizon: float | None) -> Moment | None:
        """The moment that was asked for; what was not is the first recording and the middle horizon with traces."""
        names = [self.recording(recording)] if recording is not None else self.results.recordings
        ahead = [self.horizon(horizon)] if horizon is not None else _middle_first(self.results.spec.ahead)
        found = (self.moment(name, h) for name in names for h in ahead)
        return next((moment for moment in found if moment.traces), None)

    def spread(self, count: int) -> list[float]:
        """At most this many horizons, evenly spread, the first and the last among them."""
        ahead = self.results.spec.ahead
        places = np.linspace(0, len(ahead) - 1, min(count, len(ahead)))
        return [ahead[round(place)] for place in places.tolist()]


def coordinate(moment: Moment, shown: Array, marker: int | None, axis: int | None) -> tuple[int, int]:
    """The marker and axis (from 1) that were asked for, as places; what was not is that which moves most."""
    count, dimension = shown.shape[1:]
    for word, given, names in (("marker", marker, moment.markers), ("axis", axis, axes(dimension))):
        if given is not None and not 1 <= given <= len(names):
            cure = f"use one of: {', '.join(f'{n} ({name})' for n, name in enumerate(names, 1))}"
            raise BreathcastError(f"{moment.recording} has no {word} {given}", cure=cure)
    markers = range(count) if marker is None else [marker - 1]
    along = range(dimension) if axis is None else [axis - 1]
    places = [(m, a) for m in markers for a in along]
    found = np.stack([shown[:, m, a] for m, a in places], axis=1)[:, None]
    return places[widest(found)]


def _trace(frame: pl.DataFrame, markers: int) -> Trace:
    def positions(name: str) -> Array:
        flat: Array = frame[name].explode().to_numpy().astype(np.float64)
        return flat.reshape(len(frame), markers, -1)

    loss = frame["loss"].to_numpy().astype(np.float64)
    return Trace(frame["time"].to_numpy(), loss, positions("forecast"), positions("truth"))


def _middle_first(ahead: Sequence[float]) -> Iterator[float]:
    middle = (len(ahead) - 1) / 2
    yield from sorted(ahead, key=lambda h: abs(ahead.index(h) - middle))
