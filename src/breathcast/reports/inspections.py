"""An inspection as tables: the facts of the whole recording, its markers, its gaps."""

from __future__ import annotations

from breathcast.recordings.clock import counted
from breathcast.recordings.columns import AXES
from breathcast.recordings.inspection import Inspection, MarkerMotion, Typical
from breathcast.reports.plain import number
from breathcast.reports.tables import Cell, Row, Table

_MOST_GAPS = 50  # listed one by one


def facts_table(found: Inspection) -> Table:
    """The recording as a whole: length, clock, missing samples, breathing."""
    facts = {
        "length": f"{counted(found.samples, 'sample')} at {found.rate:g} Hz = {found.duration:.1f} s",
        "clock": _clock(found),
        "missing": _missing(found),
        "unit": "mm (what the file held is in the notes)",
        "breathing": _breathing(found),
        "jumps": _jumps(found),
        "labels": ", ".join(found.labels) or "none",
    }
    return Table(found.name, ("", ""), tuple(Row(head, (Cell(text),)) for head, text in facts.items()), words=True)


def markers_table(found: Inspection) -> Table:
    """Marker by marker and axis by axis: how far it moves, about what place, and where it drifts."""
    rows = tuple(
        Row(f"{marker.name} {axis}", (*_motion(marker, i), Cell(str(marker.missing))))
        for marker in found.markers
        for i, axis in enumerate(axes(len(marker.range)))
    )
    return Table("Markers", ("marker, axis", "range mm", "mean mm", "drift mm/min", "missing"), rows)


def gaps_table(found: Inspection) -> Table:
    """Where samples are missing, the first of them one by one."""
    rows = tuple(
        Row(
            gap.marker or "whole sample",
            (Cell(number(gap.start, 2)), Cell(number(gap.length, 2)), Cell(str(gap.samples))),
        )
        for gap in found.gaps[:_MOST_GAPS]
    )
    more = len(found.gaps) - len(rows)
    return Table(
        "Gaps" + (f" (the first {len(rows)}, {more} more)" if more else ""),
        ("marker", "from s", "length s", "samples"),
        rows,
    )


def axes(dimension: int) -> list[str]:
    """The names of the coordinates."""
    return [AXES[i] if i < len(AXES) else f"axis {i + 1}" for i in range(dimension)]


def _motion(marker: MarkerMotion, axis: int) -> tuple[Cell, ...]:
    shown = ((marker.range, 2), (marker.mean, 1), (marker.drift, 2))
    return tuple(Cell(number(values[axis], decimals)) for values, decimals in shown)


def _clock(found: Inspection) -> str:
    clock = found.clock
    if clock.step is None:
        return "not known: fewer than two samples"
    jitter = f"jitter {number(clock.jitter_std, 2)} ms (largest {number(clock.jitter_max, 2)} ms)"
    back = f", {counted(clock.backwards, 'step')} backwards" if clock.backwards else ""
    return f"step {1000 * clock.step:.4g} ms, mean rate {number(clock.rate, 3)} Hz, {jitter}{back}"


def _missing(found: Inspection) -> str:
    if not found.gaps:
        return "nothing"
    longest = max(gap.length for gap in found.gaps)
    lost = sum(marker.missing for marker in found.markers)
    share = 100 * lost / max(1, found.samples * len(found.markers))
    return f"{share:.3g} % of the marker positions, {counted(len(found.gaps), 'gap')}, the longest {longest:.2f} s"


def _breathing(found: Inspection) -> str:
    if found.period is None or found.amplitude is None:
        return "none found"
    return f"every {_typical(found.period)} s, {_typical(found.amplitude)} mm deep ({found.breathing_marker})"


def _typical(value: Typical) -> str:
    return f"{number(value.median, 1)} ±{number(value.spread, 1)}"


def _jumps(found: Inspection) -> str:
    if not found.jumps:
        return "none"
    times = ", ".join(f"{time:.1f}" for time in found.jump_times)
    return f"{found.jumps}, at {times}{', ...' if found.jumps > len(found.jump_times) else ''} s"
