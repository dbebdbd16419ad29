"""Varian .vxp 1.5 and 1.6: the trace of one marker along one axis, as a respiratory gating system exports it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from breathcast.errors import BreathcastError
from breathcast.recordings.clock import Floats, Samples, counted, recording_from
from breathcast.recordings.options import MM_PER_UNIT, Options
from breathcast.recordings.recording import Recording
from breathcast.recordings.text import Text, first_lines, load_text, parse_numbers, plain

KNOWN_VERSIONS = {"1.5", "1.6"}
LONGEST_HEADER = 50  # lines


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is named .vxp or has the lines of its header."""
    lines = [line.lower() for line in first_lines(head)[:LONGEST_HEADER]]
    return path.suffix.lower() == ".vxp" or any(line.startswith("data_layout=") for line in lines)


def read(path: Path, options: Options) -> Recording:
    """Read the columns that the layout line names; the patient's identifier and the date are left behind."""
    text = load_text(path)
    header, start = _header(text)
    layout = [name.strip().lower() for name in header.get("data_layout", "").split(",")]
    if "amplitude" not in layout:
        cure = "add it, for example Data_layout=amplitude,phase,timestamp,validflag,ttlin,mark,ttlout"
        raise BreathcastError("no line Data_layout names the amplitude", file=path, line=start, cure=cure)
    wanted = [name for name in ("amplitude", "timestamp", "validflag") if name in layout]
    values = parse_numbers(text, start, ",", len(layout), [layout.index(name) for name in wanted], ".")
    columns = dict(zip(wanted, values.T, strict=True))
    notes = _remarks(header, layout)
    with np.errstate(all="ignore"):  # what overflows becomes infinite, and is reported as missing
        amplitude = columns["amplitude"] * _scale(header, options, path, notes)
    amplitude = _without_invalid(amplitude, columns.get("validflag"), notes)
    times = columns["timestamp"] / 1000 if "timestamp" in columns else None
    samples = Samples(
        file=path,
        positions=amplitude[:, None, None],
        times=times,
        markers=("amplitude",),
        name=_name(path, header, notes),
        rate=_rate(header, times, notes),
        notes=[*text.notes, *notes],
    )
    return recording_from(samples, options.rate)


def _header(text: Text) -> tuple[dict[str, str], int]:
    """The entries before [Data], their names in small letters, and the index of the first row."""
    header: dict[str, str] = {}
    for index, line in enumerate(text.sample()[:LONGEST_HEADER]):
        if line.strip().lower() == "[data]":
            return header, index + 1
        key, _, value = line.partition("=")
        header[key.strip().lower()] = value.strip()
    cure = "check that the file is complete; the line [Data] stands before the rows"
    raise BreathcastError("has no line [Data]", file=text.file, line=int(text.numbers[0]), cure=cure)


def _remarks(header: dict[str, str], layout: list[str]) -> list[str]:
    version = header.get("version", "")
    notes = [] if version in KNOWN_VERSIONS else [f"version {plain(version)!r} is not known: read like 1.6"]
    return notes + (["the phase that the file gives is not kept"] if "phase" in layout else [])


def _number(header: dict[str, str], key: str) -> float | None:
    try:
        value = float(header[key])
    except (KeyError, ValueError):
        return None
    return value if np.isfinite(value) and value > 0 else None


def _scale(header: dict[str, str], options: Options, file: Path, notes: list[str]) -> float:
    """The factor from the raw amplitude to mm."""
    scale = _number(header, "scale_factor")
    if options.unit:
        notes.append(f"unit {options.unit} as given" + ("; the Scale_factor is not used" if scale else ""))
        return MM_PER_UNIT[options.unit]
    if scale is None:
        cure = "state the unit of the amplitude (--unit cm is usual)"
        raise BreathcastError("the header states no sound Scale_factor", file=file, cure=cure)
    notes.append(f"amplitude times the Scale_factor {scale:g} is in mm")
    return scale


def _without_invalid(amplitude: Floats, flag: Floats | None, notes: list[str]) -> Floats:
    """Mark as missing what the system itself calls invalid (-1 lost track, -2 not periodic)."""
    if flag is None:
        notes.append("no column validflag: all samples taken as valid")
        return amplitude
    invalid = ~(flag >= 0)
    if invalid.any():
        kinds = ", ".join(f"{value:g}" for value in np.unique(flag[flag < 0])[:5])
        notes.append(f"{counted(int(invalid.sum()), 'sample')} not valid by validflag ({kinds or 'unreadable'})")
    return np.where(invalid, np.nan, amplitude)


def _rate(header: dict[str, str], times: Floats | None, notes: list[str]) -> float | None:
    """The rate (Hz) of the header where the clock does not contradict it."""
    rate = _number(header, "samples_per_second")
    if rate is None or times is None:
        return rate
    with np.errstate(over="ignore"):
        steps = np.diff(np.unique(times[np.isfinite(times)]))
    if steps.size and not 0.95 < float(np.median(steps)) * rate < 1.05:
        notes.append(f"the header states {rate:g} samples a second, which the timestamps contradict")
        return None
    return rate


def _name(path: Path, header: dict[str, str], notes: list[str]) -> str:
    """The name of the file, unless that tells who the patient is."""
    patient = header.get("patient_id", "").lower()
    if patient and patient in path.stem.lower():
        notes.append("the file name holds the Patient_ID: the recording is not named after it")
        return "recording"
    return path.stem
