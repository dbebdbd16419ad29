"""What can be wrong with the bytes of a peer, or with what we would send."""

from __future__ import annotations

from breathcast.errors import BreathcastError


class OpenIGTLinkError(BreathcastError):
    """Bytes that are not OpenIGTLink, or values that OpenIGTLink cannot carry."""


class HeaderError(OpenIGTLinkError):
    """A broken header: where the next message starts is unknown, so the connection must be closed."""


class BodyError(OpenIGTLinkError):
    """A broken body behind a sound header: this message is lost, the next one is not."""
