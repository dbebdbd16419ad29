"""MATLAB .mat v5 and v7: our variables positions, times, rate, markers; or one array of numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from breathcast.errors import BreathcastError
from breathcast.recordings import mat5
from breathcast.recordings.about import About, understand
from breathcast.recordings.clock import Floats, Samples, recording_from
from breathcast.recordings.columns import lay_out
from breathcast.recordings.mat5 import Value
from breathcast.recordings.options import MM_PER_UNIT, Options
from breathcast.recordings.recording import Recording
from breathcast.recordings.text import load, plain

EXPLAIN = "save positions (time, marker, dimension), rate and markers, or a single array and give its rate"


def recognises(path: Path, head: bytes) -> bool:
    """Whether a file is named .mat or begins like one."""
    return path.suffix.lower() == ".mat" or head.startswith(b"MATLAB ") or _is_hdf5(head)


def read(path: Path, options: Options) -> Recording:
    """Read our own variables, or else the only array of numbers in the file."""
    variables = _variables(path)
    about = understand("\n".join(_texts(variables.get("about"))).splitlines())
    positions = _array(variables.get("positions"))
    if positions is not None and (positions.ndim == 3 or _texts(variables.get("markers"))):
        samples = _ours(path, positions, variables, about, options)
    else:
        samples = _lone(path, variables, options)
    samples.notes[:0] = about.notes
    return recording_from(replace(samples, name=about.name or path.stem, labels=about.labels), options.rate)


def _variables(path: Path) -> dict[str, Value]:
    data = load(path)
    if _is_hdf5(data) or data.startswith(b"MATLAB 7.3"):
        cure = "save it in MATLAB with save(..., '-v7')"
        raise BreathcastError("is a MATLAB v7.3 file, which is not read", file=path, cure=cure)
    if not data.startswith(b"MATLAB 5.0"):
        cure = "save it in MATLAB with save(..., '-v7')"
        raise BreathcastError("is not a MATLAB v5 or v7 file", file=path, cure=cure)
    try:
        return mat5.variables(data)
    except mat5.DamagedError as error:
        cure = "check that it was copied completely, and save it again with save(..., '-v7')"
        raise BreathcastError(f"is damaged: {error}", file=path, cure=cure) from error


def _is_hdf5(data: bytes) -> bool:
    return b"\x89HDF\r\n\x1a\n" in data[:1024]


def _array(value: Value | None) -> Floats | None:
    return value if isinstance(value, np.ndarray) and value.size else None


def _texts(value: Value | None) -> list[str]:
    return [text.strip() for text in value] if isinstance(value, list) else []


def _ours(path: Path, positions: Floats, variables: dict[str, Value], about: About, options: Options) -> Samples:
    if options.columns:
        cure = "leave the map of columns out"
        raise BreathcastError("has the variable positions, whose columns need no map", file=path, cure=cure)
    markers = tuple(_texts(variables.get("markers")))
    if positions.ndim == 2 and positions.shape[1] in {len(markers), 3 * len(markers)}:
        positions = positions.reshape(len(positions), len(markers), -1)  # MATLAB drops a last dimension of 1
    if positions.ndim != 3 or (markers and positions.shape[1] != len(markers)):
        problem = f"positions are {' × '.join(map(str, positions.shape))} for {len(markers)} markers"
        raise BreathcastError(problem, file=path, cure=EXPLAIN)
    notes: list[str] = []
    with np.errstate(all="ignore"):  # what overflows becomes infinite, and is reported as missing
        positions = positions * _scale(about, options, notes)
    return Samples(
        file=path,
        positions=positions,
        times=_times(path, variables, len(positions)),
        markers=markers,
        name="",
        rate=_rate(path, variables),
        notes=notes,
    )


def _scale(about: About, options: Options, notes: list[str]) -> float:
    if options.unit:
        notes.append(f"unit {options.unit} as given")
    else:
        notes.append(
            "unit mm, as the file states" if about.rate else "the unit of the positions is not stated: mm assumed"
        )
    return MM_PER_UNIT[options.unit or "mm"]


def _times(path: Path, variables: dict[str, Value], length: int) -> Floats | None:
    if "times" not in variables:
        return None
    times = _array(variables["times"])
    if times is None or times.size != length:
        problem = f"there are {0 if times is None else times.size} times for {length} positions"
        raise BreathcastError(problem, file=path, cure="save one time, in s, for each sample")
    return times.ravel()


def _rate(path: Path, variables: dict[str, Value]) -> float | None:
    if "rate" not in variables:
        return None
    rate = _array(variables["rate"])
    if rate is None or rate.size != 1 or not (np.isfinite(rate).all() and rate.item() > 0):
        raise BreathcastError("the variable rate is not one positive number", file=path, cure="save the rate in Hz")
    return float(rate.item())


def _lone(path: Path, variables: dict[str, Value], options: Options) -> Samples:
    """One array (time, coordinates) or (coordinates, time): the longer side is time, and a note says so."""
    arrays = {name: value for name, value in variables.items() if isinstance(value, np.ndarray) and value.size > 1}
    found = next(iter(arrays.values()), None)
    if found is None or len(arrays) > 1 or found.ndim != 2:
        known = ", ".join(map(plain, variables)) or "none"
        raise BreathcastError(f"it is not clear which variable holds the positions ({known})", file=path, cure=EXPLAIN)
    array = found if found.shape[0] >= found.shape[1] else found.T
    names = [str(number) for number in range(1, array.shape[1] + 1)]
    columns = options.columns or _triples(path, names)
    layout = lay_out(names, replace(options, columns=columns), path)
    times, positions = layout.apply(array[:, layout.wanted])
    shape = f"{found.shape[0]} × {found.shape[1]}"
    note = f"the array {plain(next(iter(arrays)))} is {shape}: the longer side taken as time"
    return Samples(
        file=path,
        positions=positions,
        times=times,
        markers=layout.markers,
        name="",
        rate=_rate(path, variables),
        notes=[note, *layout.notes],
    )


def _triples(path: Path, names: list[str]) -> dict[str, list[str]]:
    """Each three columns are a marker; a single column is a trace."""
    if len(names) == 1:
        return {"marker 1": names}
    if len(names) % 3:
        cure = "say which column is what, for example --columns 'time=1,marker 1=2 3 4'"
        raise BreathcastError(f"{len(names)} columns are not x, y, z of whole markers", file=path, cure=cure)
    return {f"marker {i // 3 + 1}": names[i : i + 3] for i in range(0, len(names), 3)}
