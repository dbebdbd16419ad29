"""What a user may tell a reader about a file that does not say it itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from breathcast.errors import BreathcastError

MM_PER_UNIT = {"mm": 1.0, "cm": 10.0, "m": 1000.0, "um": 1e-3, "µm": 1e-3, "μm": 1e-3}

Columns = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class Options:
    """Answers that come before what the file says; None leaves the question to the file.

    columns  the columns of the time and of each marker, {"time": "t", "marker 1": ["x1", "y1", "z1"]}
    unit     of the positions: mm, cm, m or um
    rate     samples per second (Hz)
    decimal  the decimal mark, "." or ","
    """

    columns: Columns | None = None
    unit: str | None = None
    rate: float | None = None
    decimal: str | None = None

    def __post_init__(self) -> None:
        if self.unit is not None and self.unit not in MM_PER_UNIT:
            raise BreathcastError(f"the unit {self.unit!r} is not known", cure="give mm, cm, m or um")
        if self.rate is not None and not (np.isfinite(self.rate) and self.rate > 0):
            raise BreathcastError(f"the rate is {self.rate}", cure="give the sampling rate in Hz, a positive number")
        if self.decimal is not None and self.decimal not in {".", ","}:
            raise BreathcastError(f"the decimal mark is {self.decimal!r}", cure='give "." or ","')
        if self.columns is not None and not any(key for key in self.columns if not is_time_key(key)):
            cure = 'name a marker and its columns, for example {"time": "t", "marker 1": ["x1", "y1", "z1"]}'
            raise BreathcastError("the map of columns names no marker", cure=cure)

    @property
    def given(self) -> set[str]:
        """The names of the options that were given."""
        return {name for name, value in vars(self).items() if value is not None}


def is_time_key(key: str) -> bool:
    """Whether a key of the map of columns means the clock: `time`, or with its unit `time_ms`, `time [ms]`."""
    return key == "time" or key.startswith(("time_", "time ["))


def parse_columns(text: str) -> dict[str, list[str]]:
    """Read a map of columns from one line, `time=t,marker 1=x1 y1 z1`; a name with spaces or commas is quoted."""
    import re

    cure = 'write it like "time=t,marker 1=x1 y1 z1"; a column name with spaces goes in double quotes'
    columns: dict[str, list[str]] = {}
    for entry in re.findall(r'(?:"[^"]*"|[^,])+', text):
        key, equals, value = entry.partition("=")
        names = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', value)]
        if not (key.strip() and equals and names):
            raise BreathcastError(f"the map of columns has an entry {entry.strip()!r}", cure=cure)
        if key.strip() in columns:
            raise BreathcastError(f"the map of columns names {key.strip()!r} twice", cure=cure)
        columns[key.strip()] = names
    if not columns:
        raise BreathcastError("the map of columns is empty", cure=cure)
    return columns
