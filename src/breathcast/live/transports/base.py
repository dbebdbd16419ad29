"""What a transport is: bytes of a protocol on one side, samples and outputs of the engine on the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from breathcast.live.engine import Engine


@dataclass
class TransportReport:
    """What a transport is doing, for people."""

    name: str
    address: str
    connections: int = 0
    counters: dict[str, int] = field(default_factory=dict)


class Transport(Protocol):
    """One listening place. It runs in the event loop of the server and must never block it.

    A sample goes to `engine.push(name, sample)`, which gives the Output; what other sources cause comes from
    `engine.subscribe(name)`, a bounded queue. Whatever arrives from outside, no exception leaves a transport.
    """

    name: str

    async def start(self, engine: Engine) -> None:
        """Listen."""

    async def stop(self) -> None:
        """Close everything, within seconds."""

    def report(self) -> TransportReport:
        """Say where it listens, and how much is going on."""
