"""What a session is asked to do, checked before it begins."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, field_validator, model_validator

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Method
from breathcast.forecasters.naming import method_from_text
from breathcast.forecasters.stream import horizon_steps
from breathcast.forecasters.table import DEFAULT

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"  # a session's name is also the name of its folder

_LARGEST = {
    "history": 60.0,
    "training": 300.0,
    "hidden": 500,
    "memory": 3600.0,
    "landmarks": 500,
    "lags": 100,
}  # what one session may ask of memory and time

Milliseconds = Annotated[float, Field(strict=True, gt=0, le=60_000, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=1, le=64)]
Names = Annotated[tuple[str, ...], Field(min_length=1, max_length=64)]
Millimetres = Annotated[float, Field(strict=True, gt=0, le=10_000, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Limits(_Part):
    """When forecasts are held back."""

    stale_ms: Milliseconds = Field(default=500.0, description="no sample for this long, or samples this late: HOLD")
    gap_ms: Milliseconds = Field(default=300.0, description="samples or a marker missing for longer than this: HOLD")
    max_step_mm: Millimetres = Field(default=20.0, description="a marker that moves further between samples: HOLD")
    max_radius_mm: Millimetres = Field(
        default=150.0, description="a marker further than this from where it began or was re-armed: HOLD"
    )
    region_mm: Millimetres | None = Field(default=None, description="a region of larger radius: HOLD; null: no limit")
    deadline_ms: Milliseconds = Field(default=100.0, description="a forecast that takes longer is withheld: HOLD")
    rate_tolerance: Annotated[float, Field(strict=True, gt=0, le=0.5)] = Field(
        default=0.1, description="share by which the measured rate may differ from the nominal one: HOLD beyond"
    )
    latch: StrictBool = Field(default=True, description="HOLD stays until an operator re-arms the session")
    recover_ms: Milliseconds = Field(
        default=1000.0, description="without latch: how long all must be well before HOLD ends"
    )


class Drift(_Part):
    """The sequential test of whether forecasts have become worse than no prediction; docs/live.md explains it."""

    on: StrictBool = True
    ratio: Annotated[float, Field(strict=True, ge=1, le=10)] = Field(
        default=1.5, description="how many times the error of no prediction a forecast may have"
    )
    block_s: Annotated[float, Field(strict=True, ge=0.5, le=60)] = Field(
        default=3.0, description="errors are averaged over this long before each step of the test"
    )
    false_alarm_h: Annotated[float, Field(strict=True, ge=0.01, le=1000)] = Field(
        default=2.0, description="at least this many hours between false alarms, on average"
    )


class SessionSettings(_Part):
    """One session: one patient, one source of positions."""

    name: str = Field(pattern=NAME)
    method: Annotated[str, Field(max_length=300)] = Field(
        default=DEFAULT, description="as on the command line, for example lms(history=3)"
    )
    seed: Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)] = 0
    markers: Count | Names = Field(default=3, description="how many markers, or their names")
    dimension: Annotated[int, Field(strict=True, ge=1, le=3)] = 3
    rate: Annotated[float, Field(strict=True, ge=0.5, le=500, allow_inf_nan=False)] = Field(
        default=30.0, description="Hz, nominal"
    )
    horizons_ms: Annotated[tuple[Milliseconds, ...], Field(min_length=1, max_length=16)] = (100.0, 300.0, 500.0)
    clock: Literal["device", "arrival"] = Field(
        default="device", description="whose time stamps count; arrival where the device sends none, or 0"
    )
    region_level: Annotated[float, Field(strict=True, gt=0, lt=1)] = Field(
        default=0.9, description="share of the recent errors that stayed within the radius that is sent"
    )
    error_window_s: Annotated[float, Field(strict=True, ge=1, le=120)] = Field(
        default=30.0, description="what the running errors and the region look back on"
    )
    checkpoint_samples: Annotated[int, Field(strict=True, ge=10, le=100_000)] = 900
    durability: Literal["process", "power"] = Field(
        default="process",
        description="process: nothing is lost when the process is killed; power: nor when the machine is (slower)",
    )
    limits: Limits = Limits()
    drift: Drift = Drift()

    @field_validator("method")
    @classmethod
    def _known(cls, text: str) -> str:
        chosen = method_from_text(text)
        for key, value in chosen.to_dict().items():
            if key in _LARGEST and value > _LARGEST[key]:
                raise ValueError(f"{chosen.name}: {key} is {value:g}; give at most {_LARGEST[key]:g}")
        return text

    @model_validator(mode="after")
    def _possible(self) -> SessionSettings:
        if len(set(self.marker_names)) != len(self.marker_names):
            raise ValueError("two markers have one name")
        if any(not 0 < len(name) <= 64 for name in self.marker_names):
            raise ValueError("the name of a marker has 1 to 64 letters")
        self.steps()
        return self

    @property
    def marker_names(self) -> tuple[str, ...]:
        """A name for each marker."""
        if isinstance(self.markers, int):
            return tuple(f"marker {n + 1}" for n in range(self.markers))
        return self.markers

    @property
    def shape(self) -> tuple[int, int]:
        """Markers and coordinates of a sample."""
        return len(self.marker_names), self.dimension

    def steps(self) -> tuple[int, ...]:
        """The horizons in samples: the nearest whole numbers, at least one."""
        return tuple(horizon_steps(ms / 1000, self.rate) for ms in self.horizons_ms)

    def make_method(self) -> Method:
        """The method, ready to start."""
        return method_from_text(self.method)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return self.model_dump(mode="json")


def explained(error: Any) -> BreathcastError:
    """The first thing that pydantic found wrong, as our own error."""
    slip = error.errors()[0]
    place = ".".join(str(part) for part in slip["loc"] if part != "body" and "[" not in str(part))
    cause = slip.get("ctx", {}).get("error")
    if isinstance(cause, BreathcastError):
        return BreathcastError(f"{place}: {cause.problem}" if place else cause.problem, cure=cause.cure)
    problem = slip["msg"].removeprefix("Value error, ")
    return BreathcastError(
        f"{place}: {problem}" if place else problem, cure="docs/live.md says what each setting takes"
    )
