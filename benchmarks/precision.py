"""Where single precision moves the tables of a study, and where not: the dual form in float64 and in float32.

python -m benchmarks.precision [FOLDER] [--runs N] [--json FILE]

Run r has the same draws in both. At the published learning rates training is chaotic: rounding grows to the size of the
signal, so that the two runs have little more in common than two runs of one precision, and it is the means over runs
that can be compared. Without a folder of recordings it takes simulated ones.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import breathcast as bc
from benchmarks.measuring import machine, markdown

HORIZONS = (0.5, 1.0, 2.0)
METHODS: tuple[tuple[str, bc.Method], ...] = (
    ("uoro", bc.UORO()),
    ("rtrl", bc.RTRL()),
    ("rtrl, η = 0.02", bc.RTRL(learning_rate=0.02)),
)


@dataclass(frozen=True)
class Row:
    """One method at one horizon, over all recordings."""

    title: str
    horizon: float
    double: float  # mean RMSE in mm
    single: float
    error: float  # standard error of either mean, over runs
    difference: float  # single - double
    paired_error: float  # its standard error, run by run
    likeness: float  # correlation of the two over runs, mean over recordings
    far: int  # recordings whose difference is beyond two of its standard errors
    recordings: int
    diverged: int  # runs, both together


def compared(
    title: str, method: bc.Method, recordings: list[bc.Recording], horizon: float, runs: int, start: float = 60.0
) -> Row:
    """Both precisions on all recordings."""
    pairs = []
    for recording in recordings:
        both = [
            bc.evaluate(
                method,
                recording,
                horizon=horizon,
                feedback="immediate",
                runs=runs,
                workers=1,
                form=form,
                test_start=start,
            ).by_run["rmse"]
            for form in ("dual", "dual32")
        ]
        pairs.append(np.array(both))
    return _row(title, horizon, pairs)


def _row(title: str, horizon: float, pairs: list[np.ndarray]) -> Row:
    kept = [pair[:, np.isfinite(pair).all(axis=0)] for pair in pairs]
    n = len(kept)
    double, single = (float(np.mean([pair[k].mean() for pair in kept])) for k in (0, 1))
    own = [pair.var(axis=1, ddof=1).mean() / pair.shape[1] for pair in kept]
    apart = [pair[1] - pair[0] for pair in kept]
    each = np.array([d.std(ddof=1) / np.sqrt(len(d)) for d in apart])
    shifts = np.array([d.mean() for d in apart])
    return Row(
        title,
        horizon,
        double,
        single,
        float(np.sqrt(np.sum(own)) / n),
        float(shifts.mean()),
        float(np.sqrt((each**2).sum()) / n),
        float(np.mean([np.corrcoef(pair)[0, 1] for pair in kept])),
        int((np.abs(shifts) > 2 * each).sum()),
        n,
        int(sum(2 * pair.shape[1] for pair in pairs) - sum(2 * pair.shape[1] for pair in kept)),
    )


def recordings_of(folder: str | None) -> list[bc.Recording]:
    """Those in the folder, or simulated ones."""
    if folder is None:
        return [bc.simulate(kind, duration=120.0, seed=n) for n, kind in enumerate(("regular", "irregular") * 2)]
    found = bc.read(folder)
    return found if isinstance(found, list) else [found]


def table(rows: list[Row]) -> str:
    """As Markdown."""
    head = "method | horizon, s | float64, mm | float32, mm | standard error | difference | in its standard errors"
    lines = [
        [
            f"`{row.title}`",
            f"{row.horizon:g}",
            f"{row.double:.4f}",
            f"{row.single:.4f}",
            f"{row.error:.4f}",
            f"{row.difference:+.4f}",
            f"{row.difference / row.paired_error:+.1f}",
            f"{row.likeness:.2f}",
            f"{row.far} of {row.recordings}",
        ]
        for row in rows
    ]
    return markdown([*head.split(" | "), "correlation over runs", "recordings beyond 2"], lines)


def verdict(rows: list[Row]) -> str:
    """What the table says."""
    moved = [row for row in rows if abs(row.difference) > 2 * row.paired_error]
    cells, far = sum(row.recordings for row in rows), sum(row.far for row in rows)
    largest = max(rows, key=lambda row: abs(row.difference / row.double))
    relative = 100 * largest.difference / largest.double
    return (
        f"{len(moved)} of {len(rows)} means and {far} of {cells} cells of a single recording differ by more than two "
        f"standard errors; by chance about {0.05 * len(rows):.1f} and {0.05 * cells:.0f} would. "
        f"The largest difference of a mean is {relative:+.2f} % ({largest.title} at {largest.horizon:g} s). "
        f"{sum(row.diverged for row in rows)} runs diverged."
    )


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="recordings; simulated ones unless given")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    recordings = recordings_of(given.folder)
    print(f"{len(recordings)} recordings, {given.runs} runs, immediate feedback: mean RMSE from 60 s on\n")
    rows = [compared(title, method, recordings, h, given.runs) for title, method in METHODS for h in HORIZONS]
    print(table(rows) + "\n\n" + verdict(rows))
    if given.json:
        result: dict[str, Any] = {"machine": machine(), "runs": given.runs, "rows": [asdict(row) for row in rows]}
        given.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
