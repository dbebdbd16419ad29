"""`breathcast inspect`: what recordings hold, and what the reader did about their defects."""

from __future__ import annotations

from breathcast.cli import options
from breathcast.cli.output import check_targets, emit_json, save
from breathcast.cli.waiting import waiting


def inspect(
    files: options.Files,
    json: options.Json = None,
    html: options.Html = None,
    format: options.Format = None,
    columns: options.Columns = None,
    unit: options.Unit = None,
    rate: options.Rate = None,
    decimal: options.Decimal = None,
) -> None:
    """Measure recordings: clock, gaps, motion, breathing, drift.

    What the reader assumed or repaired is listed too.

    \b
    Examples:
      breathcast inspect motion.csv
      breathcast inspect recordings --html inspection.html
      breathcast inspect log.txt --columns "time=t_ms,tumour=x y z" --unit cm
      breathcast inspect recordings --json - | jq '.recordings[].period'
    """
    check_targets([json, html], files)

    from breathcast.recordings.inspection import inspect as measure
    from breathcast.reports.inspection_page import inspection_page, inspections
    from breathcast.reports.inspections import facts_table, gaps_table, markers_table
    from breathcast.reports.terminal import bullets, console, show

    recordings = options.read_recordings(files, format, columns, unit, rate, decimal)
    with waiting("Inspecting"):
        found = [measure(recording) for recording in recordings]
    if not emit_json(inspections(found), json):
        target = console()
        for entry in found:
            show(facts_table(entry), target)
            show(markers_table(entry), target)
            if entry.gaps:
                show(gaps_table(entry), target)
            bullets(entry.notes, target, "What the reader assumed or repaired")
            bullets(entry.remarks, target, "To look at")
            target.print()
    if html is not None:
        with waiting("Writing the report"):
            page = inspection_page(recordings, found)
        save(html, page)
