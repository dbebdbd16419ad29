"""Coverage of the regions, as in docs/accuracy.md.

python -m benchmarks.regions FOLDER [METHOD]
"""

from __future__ import annotations

import sys

import breathcast as bc
from breathcast.evaluation.regions import coverage_table

HORIZONS = (0.1, 0.5, 1.2, 2.0)


def main(folder: str, method: str = "analog") -> None:
    """Print a table for the recordings of the folder, and one for the simulated cohort."""
    print("| | horizon | level | coverage | worst 20 s | radius | joint coverage | worst 20 s | radius |")
    print("|---|" + "---|" * 8)
    for name, recordings in (("recordings", bc.read_all([folder])), ("simulated", bc.cohort(duration=150.0, seed=1))):
        for h in HORIZONS:
            found = [bc.evaluate(bc.METHODS[method](), recording, horizon=h, workers=1) for recording in recordings]
            for row in coverage_table(found):
                cells = f"{row['coverage']:.3f} | {row['worst']:.2f} | {row['radius']:.2f}"
                joint = f"{row['joint_coverage']:.3f} | {row['joint_worst']:.2f} | {row['joint_radius']:.2f}"
                print(f"| {name} | {h:g} s | {row['level']:g} | {cells} | {joint} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
