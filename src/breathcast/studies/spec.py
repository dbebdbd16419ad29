"""What a study is: a TOML file, checked as a whole before anything runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from breathcast.errors import BreathcastError
from breathcast.evaluation.scores import SCORES
from breathcast.forecasters.method import Feedback, Form, Method
from breathcast.forecasters.table import METHODS, make

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Value = bool | int | float | str


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Range(_Part):
    """Where a search may look for a hyper-parameter."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError("give finite numbers with low below high")
        if self.log and self.low <= 0:
            raise ValueError("a logarithmic range begins above 0")
        return self


class Search(_Part):
    """Optuna instead of a grid: `trials` settings, each proposed from what the ones before it reached."""

    trials: Count
    ranges: dict[str, Range | list[Value]]


class Entry(_Part):
    """A method of the study: what is fixed, and what is chosen for each recording and horizon."""

    name: str
    label: str = ""
    settings: dict[str, Value] = {}
    grid: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    search: Search | None = None
    validation: tuple[Annotated[float, Field(ge=0)], Seconds] = (30.0, 60.0)
    optional: bool = False  # left out unless it is named

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in METHODS:
            raise ValueError(f"there is no method {name!r}; use one of: {', '.join(METHODS)}")
        return name

    @model_validator(mode="after")
    def _possible(self) -> Entry:
        if self.grid and self.search:
            raise ValueError("give a grid or a search, not both")
        if self.validation[0] >= self.validation[1]:
            raise ValueError("the validation part ends before it begins")
        self.candidates()
        if self.search:
            self.base().replace(**{key: _middle(span) for key, span in self.search.ranges.items()})
        return self

    @property
    def title(self) -> str:
        """The name under which results are kept."""
        return self.label or self.name

    def base(self) -> Method:
        """The method with what is fixed."""
        return make(self.name, **self.settings)

    def candidates(self) -> list[Method]:
        """Every point of the grid, the last name varying fastest; the method itself where there is none."""
        points = itertools.product(*self.grid.values())
        return [self.base().replace(**dict(zip(self.grid, point, strict=True))) for point in points]

    @property
    def selects(self) -> bool:
        """Whether there is anything to choose."""
        return self.search is not None or len(self.candidates()) > 1


def _middle(span: Range | list[Value]) -> Value:
    if isinstance(span, list):
        return span[0]
    return round(span.low) if span.whole else span.low


class Steps(_Part):
    """Evenly spaced horizons."""

    first: Seconds
    last: Seconds
    step: Seconds

    def values(self) -> tuple[float, ...]:
        """Every one of them, the last included."""
        count = math.floor((self.last - self.first) / self.step + 1e-9) + 1
        return tuple(round(self.first + n * self.step, 9) for n in range(count))


class Spec(_Part):
    """All that decides the results of a study."""

    name: str = Field(min_length=1)
    title: str = ""
    recordings: tuple[str, ...] = ()  # files or folders, from the folder of the file on; none: the simulated cohort
    feedback: Feedback = "delayed"
    form: Form = "dual"
    horizons: tuple[Seconds, ...] | Steps
    select: str = "rmse"
    selection_runs: Count = 10
    screening_runs: Annotated[int, Field(ge=2)] | None = None  # after these, settings that cannot win are given up
    test_runs: Count = 50
    test_start: Seconds = 60.0
    seed: Annotated[int, Field(ge=0)] = 0
    traces: bool = True  # keep forecasts of the first run and the loss over time, for figures
    groups: dict[str, tuple[Count, ...]] = {}  # recordings by place, from 1; "all" is always there
    lengths: dict[str, Seconds] = {}  # s, of recordings by name of which only the beginning is used
    method: tuple[Entry, ...] = Field(min_length=1)

    @field_validator("select")
    @classmethod
    def _score(cls, score: str) -> str:
        if score not in SCORES:
            raise ValueError(f"there is no score {score!r}; use one of: {', '.join(SCORES)}")
        return score

    @model_validator(mode="after")
    def _distinct(self) -> Spec:
        titles = [entry.title for entry in self.method]
        twice = sorted({title for title in titles if titles.count(title) > 1})
        if twice:
            raise ValueError(f"two methods are called {twice[0]!r}; give one of them a label")
        if not self.ahead:
            raise ValueError("horizons is empty")
        if self.screening_runs is not None and self.screening_runs >= self.selection_runs:
            raise ValueError(f"screening_runs must be fewer than the {self.selection_runs} selection_runs")
        return self

    @property
    def ahead(self) -> tuple[float, ...]:
        """The horizons in seconds."""
        return self.horizons.values() if isinstance(self.horizons, Steps) else self.horizons

    def screens(self, entry: Entry) -> bool:
        """Whether a method is screened: only where a run is one of many is there anything to save."""
        return self.screening_runs is not None and bool(entry.grid) and entry.selects and METHODS[entry.name].random

    def members(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The recordings of each group by name; all of them first."""
        found = {"all": tuple(names)}
        for group, places in self.groups.items():
            if max(places) > len(names):
                cure = f"the places run from 1 to {len(names)}, in the order of the file names"
                raise BreathcastError(f"group {group!r} has recording {max(places)}, but there is none", cure=cure)
            found[group] = tuple(names[place - 1] for place in places)
        return found

    def with_methods(self, titles: Sequence[str] | None = None) -> Spec:
        """The study with these methods alone; without titles, with all but the optional ones."""
        if titles is None:
            return self.changed(method=[entry for entry in self.method if not entry.optional])
        known = [entry.title for entry in self.method]
        if unknown := [title for title in titles if title not in known]:
            raise BreathcastError(
                f"the study {self.name} has no method {unknown[0]!r}", cure=f"use one of: {', '.join(known)}"
            )
        return self.changed(method=[entry for entry in self.method if entry.title in titles])

    def changed(self, **changes: Any) -> Spec:
        """A copy with other values, checked again."""
        return Spec.model_validate(self.model_dump() | changes)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return self.model_dump(mode="json")


def from_mapping(values: Mapping[str, Any]) -> Spec:
    """A spec from plain values, as TOML or JSON gives them."""
    return Spec.model_validate(values)
