"""The report of an inspection: a picture and the numbers of each recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from breathcast.recordings.clock import counted
from breathcast.recordings.inspection import Inspection
from breathcast.recordings.recording import Recording
from breathcast.reports import html
from breathcast.reports.html import Section
from breathcast.reports.inspections import facts_table, gaps_table, markers_table
from breathcast.reports.recording_figures import motion_figure, steps_figure
from breathcast.reports.versions import versions

_ROOM = 150_000  # points of all curves of a page: about 2 MB
_POINTS = (200, 4000)  # fewest and most of one curve


def inspections(found: Sequence[Inspection]) -> dict[str, Any]:
    """All numbers of the inspections, ready for JSON."""
    return {"recordings": [entry.to_dict() for entry in found], "versions": versions()}


def inspection_page(recordings: Sequence[Recording], found: Sequence[Inspection]) -> str:
    """The page, complete in itself."""
    curves = sum(recording.positions[0].size for recording in recordings if len(recording))
    points = min(_POINTS[1], max(_POINTS[0], _ROOM // max(1, curves)))
    data: dict[str, Any] = {}
    sections = []
    for i, (recording, entry) in enumerate(zip(recordings, found, strict=True)):
        data[f"motion-{i}"] = motion_figure(recording, entry, points)
        steps = steps_figure(recording)
        if steps is not None:
            data[f"steps-{i}"] = steps
        sections.append(Section(f"recording-{i}", entry.name, _body(i, entry, even=steps is None)))
    minutes = sum(entry.duration for entry in found) / 60
    lead = html.paragraphs([f"{counted(len(found), 'recording')}, {minutes:.1f} minutes in all."])
    return html.page("Inspection of recordings", lead, sections, data | {"results": inspections(found)})


def _body(i: int, entry: Inspection, *, even: bool) -> str:
    gaps = "Shaded: something is missing." if entry.gaps else "No sample is missing."
    motion = html.figure(f"motion-{i}", "plain", f"Position of each marker over time, {entry.name}", gaps)
    clock = (
        "<p>Every step of the clock has the same length.</p>"
        if even
        else html.figure(
            f"steps-{i}",
            "plain",
            f"Lengths of the steps of the clock, {entry.name}",
            "Jitter of the clock; rare steps beyond the picture are counted at its edges.",
        )
    )
    remarks = f"<h3>To look at</h3>{html.bullets(entry.remarks)}" if entry.remarks else ""
    notes = html.bullets(entry.notes) or "<p>Nothing had to be assumed or repaired.</p>"
    tables = [html.table(replace(facts_table(entry), caption="In short")), html.table(markers_table(entry))]
    if entry.gaps:
        tables.append(html.table(gaps_table(entry)))
    return (
        f"{remarks}{tables[0]}{motion}{''.join(tables[1:])}{clock}<h3>What the reader assumed or repaired</h3>{notes}"
    )
