"""The one exception that means: the user can mend this."""

from __future__ import annotations

from pathlib import Path


class BreathcastError(ValueError):
    """Something is wrong with what was given; the message says what, where and how to mend it."""

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        cure: str | None = None,
    ) -> None:
        """Compose one message from its parts; `file` and `line` (from 1) say where, `cure` what to do."""
        self.problem, self.file, self.line, self.cure = problem, file, line, cure
        place = "" if file is None else f"{file}, line {line}: " if line is not None else f"{file}: "
        super().__init__(place + problem + ("" if cure is None else f"\n  What to do: {cure}"))
