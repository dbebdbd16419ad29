"""Files for the tests of the readers, as text or bytes, and what must come out of them."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import savemat

from breathcast.recordings.reading import read
from breathcast.recordings.recording import Recording

HEADER = '"Frame";"Timestamp";"x";"y";"z"'
LAST = "0;0;0;0;0"


def one(path: Path, **options: Any) -> Recording:
    """Read a single file."""
    found = read(path, **options)
    assert isinstance(found, Recording)
    return found


def said(recording: Recording) -> str:
    """All notes as one text."""
    return "\n".join(recording.notes)


def comma(number: float) -> str:
    return f"{number:g}".replace(".", ",")


def extmarker_rows(frames: list[int], offset: float = 0.0) -> list[str]:
    """One row a frame; x counts the rows from `offset`."""
    return [f"{frame};{round(frame * 1000 / 60)};{comma(offset + i)};0,5;-1,25" for i, frame in enumerate(frames)]


def extmarker(rows: list[str], header: str = HEADER, ending: str = "\r\n") -> bytes:
    return (ending.join([header, *rows]) + ending).encode()


def extmarker_group(folder: Path, rows: list[str] | None = None, code: str = "201205101519") -> list[Path]:
    """Write the three marker files of one recording."""
    rows = [*extmarker_rows(list(range(0, 60, 6))), LAST] if rows is None else rows
    paths = [folder / f"{code}-{marker}-1-LT-222-6.csv" for marker in ("LAC", "UAC", "UCC")]
    for path in paths:
        path.write_bytes(extmarker(rows))
    return paths


VXP_HEADER = {
    "CRC": "27051",
    "Version": "1.6",
    "Data_layout": "amplitude,phase,timestamp,validflag,ttlin,mark,ttlout",
    "Patient_ID": "MILLER42",
    "Date": "08-30-2007",
    "Total_study_time": "0.3",
    "Samples_per_second": "30",
    "Scale_factor": "10.0",
}


def vxp(rows: list[str], **changes: str | None) -> bytes:
    """A .vxp file; a change to None leaves a line of the header out."""
    header = VXP_HEADER | changes
    lines = ["[Header]", *(f"{key}={value}" for key, value in header.items() if value is not None), "[Data]", *rows]
    return ("\r\n".join(lines) + "\r\n").encode()


def vxp_rows(count: int) -> list[str]:
    return [f"{i / 8:.4f},3.1416,{round(1000 + i * 1000 / 30)},0,0,{'Z' if i == 0 else ''},0" for i in range(count)]


def mat(**variables: Any) -> bytes:
    file = BytesIO()
    savemat(file, variables)
    return file.getvalue()


def sine(count: int = 12, markers: int = 2, dimension: int = 3, rate: float = 10.0, **more: Any) -> Recording:
    phase = np.arange(count * markers * dimension).reshape(count, markers, dimension)
    return Recording(10 * np.sin(phase / 7), rate, **more)
