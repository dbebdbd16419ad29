"""Who may talk to the server: tokens, origins, addresses; and how much anybody may send."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from breathcast.errors import BreathcastError


def is_loopback(host: str) -> bool:
    """Whether only this computer can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_permission(host: str, allowed: bool) -> None:
    """Another address than loopback must be asked for twice."""
    if not is_loopback(host) and not allowed:
        cure = "add --allow-remote if other computers are meant to reach it; read docs/live.md, Threat model, first"
        raise BreathcastError(f"{host} can be reached from other computers", cure=cure)


@dataclass(frozen=True)
class Access:
    """What a request must show. `token` None: nothing, which is for loopback alone."""

    token: str | None = None
    hosts: frozenset[str] = frozenset()  # names that the server goes by, beside loopback's
    origins: frozenset[str] = frozenset()  # pages of other servers that may talk to this one
    any_host: bool = False  # where a token is asked for, names do not matter

    def token_fits(self, given: str | None) -> bool:
        """Compare in a time that does not tell how much of it was right."""
        if self.token is None:
            return True
        return hmac.compare_digest((given or "").encode(), self.token.encode())

    def host_fits(self, header: str | None) -> bool:
        """Whether a request is for us: a page elsewhere may have had its name pointed at this computer."""
        if self.any_host:
            return True
        name = urlsplit(f"//{header or ''}").hostname or ""
        return is_loopback(name) or name in self.hosts

    def origin_fits(self, origin: str | None, host: str | None) -> bool:
        """Whether the page that sends the request is ours, or allowed; other programs send no origin."""
        if origin is None or origin in self.origins:
            return True
        return urlsplit(origin).netloc == (host or "") and urlsplit(origin).scheme in ("http", "https")


def bearer(header: str | None) -> str | None:
    """The token of an Authorization header."""
    scheme, _, token = (header or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def token_of(file: Path) -> str:
    """The token in a file; a new one is written where there is no file."""
    try:
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            file.write_text(secrets.token_urlsafe(32) + "\n", encoding="utf-8")
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        cure = "name a file for the token that can be read or written with --token-file"
        raise BreathcastError(f"no token can be had: {error}", file=file, cure=cure) from error
    if len(token) < 16:
        raise BreathcastError(
            "the token is shorter than 16 letters", file=file, cure="remove the file to get a new one"
        )
    return token
