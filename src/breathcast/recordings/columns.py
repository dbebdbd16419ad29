"""Which columns of a table hold the time and the coordinates of each marker, and in which units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from breathcast.errors import BreathcastError
from breathcast.recordings.clock import Floats
from breathcast.recordings.options import MM_PER_UNIT, Options, is_time_key
from breathcast.recordings.text import plain

AXES = "xyz"
PER_SECOND = {"s": 1.0, "sec": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6, "μs": 1e6, "ns": 1e9, "min": 1 / 60}
LONGEST_NAME = 200  # characters; what is longer is no column name, and slow to search
TIME_NAMES = {"time", "t", "timestamp"}


@dataclass(frozen=True)
class Layout:
    """Where a table holds what.

    time         index of the column of the time, None without one; its values are divided by `per_second`
    coordinates  index of the column of each coordinate, marker after marker; times `to_mm` they are mm
    """

    time: int | None
    per_second: float
    coordinates: list[int]
    to_mm: Floats
    markers: tuple[str, ...]
    notes: list[str] = field(default_factory=list)

    @property
    def wanted(self) -> list[int]:
        """The columns to read: the time, if any, then the coordinates."""
        return ([] if self.time is None else [self.time]) + self.coordinates

    def apply(self, values: Floats) -> tuple[Floats | None, Floats]:
        """Times in s and positions in mm, (time, marker, dimension), from the wanted columns (row, column)."""
        first = 0 if self.time is None else 1
        with np.errstate(all="ignore"):  # what overflows becomes infinite, and is reported as missing
            positions = values[:, first:] * self.to_mm
            times = values[:, 0] / self.per_second if first else None
        dimension = len(self.coordinates) // len(self.markers)
        return times, positions.reshape(len(values), len(self.markers), dimension)


def column_names(marker: str, dimension: int) -> list[str]:
    """How our own tables name the coordinates of a marker."""
    return [f"{marker} {axis}_mm" for axis in AXES[:dimension]]


def lay_out(names: Sequence[str], options: Options, file: Path, line: int | None = None) -> Layout:
    """Find the columns by the map that the user gave, else by their names, which stand in that line of the file."""
    try:
        return _lay_out(names, options)
    except BreathcastError as error:
        raise BreathcastError(error.problem, file=file, line=line, cure=error.cure) from error


def _lay_out(names: Sequence[str], options: Options) -> Layout:
    time_key, groups = _mapped(names, options) if options.columns else _recognised(names)
    if len({len(group) for group in groups.values()}) > 1:
        sizes = ", ".join(f"{plain(marker)} has {len(group)}" for marker, group in groups.items())
        raise BreathcastError(f"the markers differ in their number of coordinates: {sizes}", cure=_cure(names))
    notes: list[str] = []
    time, per_second = _clock_of(time_key, names, notes)
    coordinates = [index for group in groups.values() for index in group]
    to_mm = _units([names[index] for index in coordinates], options, notes)
    if not _is_ours(names, time, groups):
        notes.insert(0, _said(names, time, groups))
    return Layout(time, per_second, coordinates, to_mm, tuple(groups), notes)


def split_unit(name: str, units: dict[str, float]) -> tuple[str, str | None]:
    """Part a column name from its unit: x_mm, x [cm], x (m), "x mm"."""
    if len(name) > LONGEST_NAME:
        return name, None
    known = "|".join(units)
    found = re.fullmatch(rf"(.*?)[\s_]*(?:\[({known})\]|\(({known})\)|[\s_]({known}))", name, re.IGNORECASE | re.DOTALL)
    if not found or not found[1].strip():
        return name, None
    return found[1].strip(), (found[2] or found[3] or found[4]).lower()


# A column of the time: its index and the name that says its unit.
TimeKey = tuple[int, str] | None


def _mapped(names: Sequence[str], options: Options) -> tuple[TimeKey, dict[str, list[int]]]:
    """Look up each name of the user's map."""
    time: TimeKey = None
    groups: dict[str, list[int]] = {}
    for key, value in (options.columns or {}).items():
        wanted = [value] if isinstance(value, str) else list(value)
        indices = [_index(name, names) for name in wanted]
        if not is_time_key(key):
            groups[key] = indices
        elif len(indices) == 1 and time is None:
            stated = key != "time" and split_unit(key, PER_SECOND)[1]
            if key != "time" and not stated:
                cure = f"write the key as time, or with its unit: {', '.join(f'time_{unit}' for unit in PER_SECOND)}"
                raise BreathcastError(f"the unit of {plain(key)!r} is not known", cure=cure)
            time = (indices[0], key if stated else names[indices[0]])
        else:
            raise BreathcastError("the map names more than one column for the time", cure=_cure(names))
    if empty := [marker for marker, group in groups.items() if not group]:
        raise BreathcastError(f"the map gives no column for {plain(empty[0])!r}", cure=_cure(names))
    return time, groups


def _index(name: str, names: Sequence[str]) -> int:
    found = [index for index, other in enumerate(names) if other == name]
    if len(found) == 1:
        return found[0]
    problem = f"has {len(found) or 'no'} columns named {plain(name)!r}; the columns are: {_listed(names)}"
    raise BreathcastError(problem, cure=_cure(names))


def _recognised(names: Sequence[str]) -> tuple[TimeKey, dict[str, list[int]]]:
    """Find the time, and the groups of columns that differ only in the letter x, y or z."""
    times = [i for i, name in enumerate(names) if split_unit(name, PER_SECOND)[0].lower() in TIME_NAMES]
    if len(times) > 1:
        raise _undecided(names, "which of them is the time")
    found: dict[tuple[str, str], dict[str, int]] = {}
    for i, name in enumerate(names):
        if i in times or not (parts := _axis(split_unit(name, MM_PER_UNIT)[0])):
            continue
        before, axis, after = parts
        if axis in found.setdefault((before, after), {}):
            raise _undecided(names, f"which {axis} belongs to which marker")
        found[before, after][axis] = i
    # A lone x must stand by itself: `index` ends in x without being a coordinate.
    groups = {
        key: axes
        for key, axes in found.items()
        if "".join(sorted(axes)) in ({"x", "xy", "xyz"} if _stands_alone(key) else {"xy", "xyz"})
    }
    others = [i for i in range(len(names)) if i not in times]
    if not groups and times and len(others) == 1:  # a time and one more column can only be a trace
        return (times[0], names[times[0]]), {split_unit(names[others[0]], MM_PER_UNIT)[0]: others}
    if not groups:
        raise _undecided(names, "which of them hold the positions")
    markers: dict[str, list[int]] = {}
    for number, (key, axes) in enumerate(groups.items(), start=1):
        marker = _marker_name(key, number)
        if marker in markers:
            raise _undecided(names, f"which of them belong to {plain(marker)!r}")
        markers[marker] = [axes[axis] for axis in sorted(axes)]
    return ((times[0], names[times[0]]) if times else None), markers


def _axis(name: str) -> tuple[str, str, str] | None:
    """Part a name around its last x, y or z that stands alone, else starts or ends it: LAC_x, x_xiphoid, posX."""
    if len(name) > LONGEST_NAME:
        return None
    alone = r"(.*?)(?<![a-z])([xyz])(?![a-z])([^xyz]*)"
    for pattern in (alone, r"()([xyz])([^a-z].*)", r"(.*)([xyz])([\W\d_]*)"):
        if found := re.fullmatch(pattern, name, re.IGNORECASE | re.DOTALL):
            return found[1], found[2].lower(), found[3]
    return None


def _stands_alone(key: tuple[str, str]) -> bool:
    before, after = key
    return not before[-1:].isalpha() and not after[:1].isalpha()


def _marker_name(key: tuple[str, str], number: int) -> str:
    before, after = key
    if before.endswith(" ") and not after and before.strip():
        return before[:-1]  # our own names come back unchanged
    name = (before.strip(" _-.:/") + " " + after.strip(" _-.:/")).strip()
    if not name:
        return f"marker {number}"
    return f"marker {name}" if name.isdigit() else name


def _clock_of(time: TimeKey, names: Sequence[str], notes: list[str]) -> tuple[int | None, float]:
    if time is None:
        return None, 1.0
    index, said = time
    unit = split_unit(said, PER_SECOND)[1]
    if unit is None:
        notes.append(f"the unit of the time {plain(names[index])!r} is not stated: s assumed")
    return index, PER_SECOND[unit or "s"]


def _units(names: Sequence[str], options: Options, notes: list[str]) -> Floats:
    """The factor to mm of each coordinate: from its name, else the unit given, else 1 with a note."""
    stated = [split_unit(name, MM_PER_UNIT)[1] for name in names]
    for name, unit in zip(names, stated, strict=True):
        if unit and options.unit and MM_PER_UNIT[unit] != MM_PER_UNIT[options.unit]:
            problem = f"the column {plain(name)!r} states {unit}, but the unit given is {options.unit}"
            raise BreathcastError(problem, cure="leave the unit out, or rename the column")
    found = dict.fromkeys(unit for unit in stated if unit)
    if found:
        notes.append(f"unit {' and '.join(found)}, as the column names state")
    if None in stated and options.unit:
        notes.append(f"unit {options.unit} as given")
    elif None in stated:
        notes.append("the unit of the positions is not stated: mm assumed")
    return np.array([MM_PER_UNIT[unit or options.unit or "mm"] for unit in stated])


def _is_ours(names: Sequence[str], time: int | None, groups: dict[str, list[int]]) -> bool:
    """Whether all names are those that our writers give, so that nothing had to be interpreted."""
    named = all([names[i] for i in group] == column_names(marker, len(group)) for marker, group in groups.items())
    return named and (time is None or names[time] == "time_s")


def _said(names: Sequence[str], time: int | None, groups: dict[str, list[int]]) -> str:
    said = [] if time is None else [f"time = {plain(names[time])}"]
    said += [f"{plain(marker)} = {' '.join(plain(names[i]) for i in group)}" for marker, group in groups.items()]
    return "columns: " + ", ".join(said[:8]) + (", ..." if len(said) > 8 else "")


def _undecided(names: Sequence[str], question: str) -> BreathcastError:
    return BreathcastError(f"has the columns {_listed(names)}; it is not clear {question}", cure=_cure(names))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names[:30])) + (", ..." if len(names) > 30 else "")


def _cure(names: Sequence[str]) -> str:
    shown = [plain(name) if re.fullmatch(r"[^\s,\"]+", name) else f'"{plain(name)}"' for name in names]
    first, *rest = shown[:4]
    example = f"time={first},marker 1={' '.join(rest)}" if rest else f"marker 1={first}"
    return f"say which column is what, for example --columns '{example}'"
