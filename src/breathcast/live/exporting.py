"""A journal as tables, for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from breathcast.live.journal import TRANSITION, Journal
from breathcast.live.model import State

if TYPE_CHECKING:
    import polars as pl

_SPOKEN = (State.OK, State.DEGRADED)


def samples_table(folder: Path) -> pl.DataFrame:
    """A row a sample: what came, what became of it, and what the method forecast from it.

    `sent` is whether the forecasts left; the journal has them too where they were held back.
    """
    import polars as pl

    from breathcast.reports.inspections import axes

    journal = Journal.open(folder)
    try:
        settings = journal.settings()
        withheld = {event.sequence for event in journal.events(kind=TRANSITION) if event.data["after"] == State.HOLD}
        names = [f"{marker} {axis}" for marker in settings.marker_names for axis in axes(settings.dimension)]
        rows: list[dict[str, Any]] = []
        positions, forecasts = [], []
        nothing = np.full((len(settings.horizons_ms), len(names)), np.nan)
        for step in journal.steps():
            sample = step.sample
            sent = step.state in _SPOKEN and step.forecasts is not None and step.sequence not in withheld
            rows.append(
                {
                    "sample": step.n,
                    "arrival_s": sample.time_arrival,
                    "device_s": sample.time_device,
                    "source": sample.source,
                    "verdict": str(step.verdict),
                    "state": step.state,
                    "cause": step.cause,
                    "sent": sent,
                }
            )
            positions.append(sample.positions.ravel())
            forecasts.append(nothing if step.forecasts is None else step.forecasts.reshape(nothing.shape))
    finally:
        journal.close()
    schema = {"sample": pl.Int64, "arrival_s": pl.Float64, "device_s": pl.Float64, "source": pl.String}
    schema |= {"verdict": pl.String, "state": pl.String, "cause": pl.String, "sent": pl.Boolean}
    table = pl.DataFrame(rows, schema=schema)
    measured = np.array(positions).reshape(len(rows), len(names))
    said = np.array(forecasts).reshape(len(rows), *nothing.shape)
    columns = {f"{name} mm": measured[:, k] for k, name in enumerate(names)}
    for h, ahead in enumerate(settings.horizons_ms):
        columns |= {f"{name} in {ahead:g} ms mm": said[:, h, k] for k, name in enumerate(names)}
    return pl.concat([table, pl.DataFrame(columns).fill_nan(None)], how="horizontal")


def events_table(folder: Path) -> pl.DataFrame:
    """A row an event: settings, changes of state, re-arming, resumes."""
    import polars as pl

    journal = Journal.open(folder)
    try:
        rows = [
            {
                "event": event.id,
                "after_sample": event.after_sample,
                "time_s": event.time,
                "kind": event.kind,
                "data": json.dumps(event.data),
            }
            for event in journal.events()
        ]
    finally:
        journal.close()
    return pl.DataFrame(rows)
