"""Writing a file so that it is never half there."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from breathcast.errors import BreathcastError


def replace_file(path: Path, data: bytes) -> None:
    """Put the file in place in one step: whoever looks sees the old one or the whole new one."""
    temporary = path.with_name(f".breathcast-{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        cure = "check that the folder exists, that you may write there and that there is room"
        raise BreathcastError(f"cannot be written: {reason}", file=path, cure=cure) from error
