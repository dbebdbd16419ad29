"""Where OpenIGTLink is spoken, with whom, and for which session."""

from __future__ import annotations

import ipaddress
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from breathcast.errors import BreathcastError
from breathcast.live.openigtlink.header import NAME_SIZE, PORT

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Sent = Literal["TRANSFORM", "POSITION", "STATUS", "STRING"]


class LinkSettings(BaseModel):
    """One listening place. It serves one session, so that no client can take one patient's forecast for another's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    session: str | None = Field(
        default=None, description="the session that is fed and heard here; none: the only one that the server has"
    )
    address: str = Field(default="127.0.0.1", description="where to listen; anything but loopback needs `allow`")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(default=PORT, description="0: any free one")
    allow: tuple[str, ...] = Field(default=(), description="networks that may connect, such as 192.168.7.0/24")
    devices: dict[str, str] = Field(
        default={}, description="name of a device, or of an element of TDATA, to the name of a marker"
    )
    send: tuple[Sent, ...] = Field(
        default=("STATUS", "TRANSFORM", "STRING"), description="what each client gets; TDATA it asks for by STT_TDATA"
    )
    max_clients: Annotated[int, Field(ge=1, le=1000)] = 32
    queue: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=256, description="outputs that wait for a slow client before its oldest is dropped"
    )
    rate_limit: Annotated[int, Field(ge=1_000)] = Field(
        default=1 << 20, description="bytes a second read from a client, each message counted as 256 more"
    )
    message_s: Annotated[float, Field(gt=0, le=3600)] = Field(
        default=10.0, description="a message that takes longer to arrive ends the connection"
    )

    @model_validator(mode="after")
    def _guarded(self) -> LinkSettings:
        networks = self.networks
        if not _is_loopback(self.address) and not networks:
            raise BreathcastError(
                f"OpenIGTLink on {self.address} would be open to anyone: it has no authentication",
                cure="Say which networks may connect, for example allow = ['192.168.7.0/24'].",
            )
        if len(set(self.devices.values())) != len(self.devices):
            raise ValueError("two devices feed one marker")
        if any(not 0 < len(name.encode()) <= NAME_SIZE for name in self.devices):
            raise ValueError(f"the name of a device has 1 to {NAME_SIZE} bytes")
        return self

    @property
    def networks(self) -> tuple[Network, ...]:
        """Who may connect besides this computer."""
        return tuple(ipaddress.ip_network(text) for text in self.allow)

    def permits(self, host: str) -> bool:
        """Whether a peer may connect: from the networks of `allow`, or, where there are none, from this computer."""
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in self.networks) if self.allow else address.is_loopback


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
