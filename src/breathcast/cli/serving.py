"""What the verbs of the live engine share."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from breathcast.errors import BreathcastError

_NEEDED = ("fastapi", "uvicorn", "websockets")

Address = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="A server, like http://127.0.0.1:8470, or with /SESSION behind it.")
]
SessionName = Annotated[
    str | None, typer.Option("--session", metavar="NAME", help="Which session, unless the address says it.")
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="File of the token, where one is asked for."),
]
Data = Annotated[Path, typer.Option("--data", metavar="DIR", help="Folder of the journals.")]
At = Annotated[str, typer.Option("--at", metavar="ADDRESS", help="The server that runs the session.")]


def require_live() -> None:
    """The live engine needs packages that the rest does not."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        problem = f"the live engine needs {', '.join(missing)}"
        raise BreathcastError(problem, cure='pip install "breathcast[live]"')


def token(file: Path | None) -> str | None:
    """The token in a file, or none."""
    if file is None:
        return None
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        cure = "name the file that the server printed when it began"
        raise BreathcastError(f"cannot be read: {error}", file=file, cure=cure) from error
