"""How a server is set up: a TOML file, options of the command line over it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from breathcast.errors import BreathcastError
from breathcast.live.openigtlink.header import PORT as IGTL_PORT
from breathcast.live.openigtlink.settings import LinkSettings
from breathcast.live.settings import SessionSettings, explained
from breathcast.toml_places import line_of

Port = Annotated[int, Field(ge=0, le=65535)]


class ServerSettings(BaseModel):
    """Where a server listens, what it keeps, and what it allows. Port 0 is any free one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    port: Port = 8470
    tcp_port: Port | None = 8471
    udp_port: Port | None = 8472
    igtl_port: Port | None = IGTL_PORT  # on loopback, for the only session; `[[openigtlink]]` says more
    allow_remote: bool = False
    token_file: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    names: tuple[str, ...] = ()  # names that the server goes by, beside loopback's
    origins: tuple[str, ...] = ()  # pages of other servers that may use the API
    data: Path | None = Path("journals")
    max_sessions: Annotated[int, Field(ge=1, le=1000)] = 128
    max_connections: Annotated[int, Field(ge=1, le=10_000)] = 256

    @model_validator(mode="after")
    def _whole(self) -> ServerSettings:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("TLS needs both tls_cert and tls_key")
        return self


class Config(BaseModel):
    """A whole file: `[server]`, a `[[session]]` for each session to begin or to resume, `[[openigtlink]]` for ports."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    server: ServerSettings = ServerSettings()
    session: tuple[SessionSettings, ...] = ()
    openigtlink: tuple[LinkSettings, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> Config:
        names = [entry.name for entry in self.session]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two sessions are called {twice[0]!r}")
        return self

    @property
    def links(self) -> tuple[LinkSettings, ...]:
        """The ports of OpenIGTLink: those of the file, or one; none without `igtl_port`."""
        if self.server.igtl_port is None:
            return ()
        return self.openigtlink or (LinkSettings(port=self.server.igtl_port),)


def read_config(path: Path) -> Config:
    """The configuration in a file; paths in it are from the folder of the file on."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cure = "name a TOML file in UTF-8; docs/live.md has an example"
        raise BreathcastError(f"cannot be read: {error}", file=path, cure=cure) from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else None
        raise BreathcastError(f"is no TOML: {error}", file=path, line=line, cure="mend that line") from error
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        slip = explained(error)
        place = tuple(part for part in error.errors()[0]["loc"] if not isinstance(part, str) or "[" not in part)
        raise BreathcastError(slip.problem, file=path, line=line_of(place, text), cure=slip.cure) from error
    return config.model_copy(update={"server": _placed(config.server, path.parent)})


def _placed(server: ServerSettings, folder: Path) -> ServerSettings:
    paths: dict[str, Any] = {
        key: folder / value.expanduser()
        for key in ("token_file", "tls_cert", "tls_key", "data")
        if (value := getattr(server, key)) is not None and key in server.model_fields_set
    }
    return server.model_copy(update=paths)
