"""Messages to the server as JSON: by line, datagram, WebSocket or request, checked before they are believed."""

from __future__ import annotations

import json
import time
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from breathcast.errors import BreathcastError
from breathcast.forecasters.method import Array
from breathcast.live import clock
from breathcast.live.engine import Engine
from breathcast.live.model import Output, Sample
from breathcast.live.settings import NAME, explained

LINE_BYTES = 64 * 1024  # of one message
MESSAGES_PER_S = 1000.0  # of one connection

Coordinate = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=NAME)]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    session: Name | None = Field(default=None, description="may be left out where it is clear")
    token: Annotated[str, Field(max_length=200)] | None = Field(default=None, description="in a datagram")


class SampleMessage(_Message):
    """Positions, as a tracker measured them."""

    type: Literal["sample"] = "sample"
    time: Coordinate | None = Field(default=None, description="s, of the device's clock; null or 0: it has none")
    positions: Annotated[
        list[Annotated[list[Coordinate | None], Field(min_length=1, max_length=3)] | None],
        Field(min_length=1, max_length=64, description="(marker, dimension) in mm; null where missing"),
    ]

    def array(self, dimension: int) -> Array:
        """The positions, NaN where missing."""
        rows = [[None] * dimension if row is None else row for row in self.positions]
        if len({len(row) for row in rows}) > 1:
            cure = f"give {dimension} coordinates for each marker, null where missing"
            raise BreathcastError("the markers have different numbers of coordinates", cure=cure)
        return np.array(rows, dtype=np.float64)


class RearmMessage(_Message):
    """An operator has looked, and ends a latched HOLD."""

    type: Literal["rearm"] = "rearm"
    by: Annotated[str, Field(min_length=1, max_length=100)] = Field(default="unnamed", description="who")


class SubscribeMessage(_Message):
    """Send me the outputs of a session, whoever feeds it."""

    type: Literal["subscribe"]


class HelloMessage(_Message):
    """The first message where a token is asked for."""

    type: Literal["hello"]


Message = SampleMessage | RearmMessage | SubscribeMessage | HelloMessage


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Annotated[Message, Field(discriminator="type")])


def decode(text: bytes | str) -> Message:
    """The message, or an error that says what is wrong with it."""
    try:
        message: Message = _adapter().validate_json(text)
    except ValidationError as error:
        raise explained(error) from None
    return message


def complaint(error: BreathcastError) -> bytes:
    """An error as a message."""
    said = {"type": "error", "problem": error.problem, "cure": error.cure}
    return json.dumps(said).encode()


class Budget:
    """So many messages a second, with as many saved up at the most."""

    def __init__(self, per_second: float = MESSAGES_PER_S) -> None:
        """A full second's worth is there at once."""
        self._rate = self._left = per_second
        self._last = time.monotonic()
        self.refused = 0

    def spend(self) -> bool:
        """Whether one more is within the budget."""
        now = time.monotonic()
        self._left = min(self._rate, self._left + (now - self._last) * self._rate)
        self._last = now
        if self._left < 1.0:
            self.refused += 1
            return False
        self._left -= 1.0
        return True


def sole_session(engine: Engine, given: str | None, default: str | None = None) -> str:
    """Which session a message is for."""
    if given is not None and default is not None and given != default:
        raise BreathcastError(f"this address is of the session {default}", cure="leave the session out")
    if name := given or default:
        return name
    names = engine.names()
    if len(names) != 1:
        raise BreathcastError(f"there are {len(names)} sessions", cure='name one: "session": "..."')
    return names[0]


def act(engine: Engine, message: SampleMessage | RearmMessage, source: str, default: str | None = None) -> Output:
    """Do what a message asks; the output that answers it."""
    name = sole_session(engine, message.session, default)
    if isinstance(message, RearmMessage):
        return engine.rearm(name, message.by)
    arrived = clock.now()
    positions = message.array(engine.session(name).settings.dimension)
    return engine.push(name, Sample(positions, arrived, message.time, source))
