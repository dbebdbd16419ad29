"""The table of docs/feedback.md: every method under both feedback modes, on a folder of recordings.

python -m benchmarks.feedback FOLDER
"""

from __future__ import annotations

import sys

import breathcast as bc

HORIZONS = (0.1, 0.5, 1.0, 2.0)


def main(folder: str) -> None:
    """Print the table as Markdown."""
    recordings = bc.read(folder)
    recordings = recordings if isinstance(recordings, list) else [recordings]
    methods = [cls() for cls in bc.METHODS.values()]
    modes = [
        bc.compare(methods, recordings, horizons=HORIZONS, feedback=feedback, runs=5)
        for feedback in ("immediate", "delayed")
    ]
    print("| method | " + " | ".join(f"{h:g} s" for _ in modes for h in HORIZONS) + " |")
    print("|---|" + "---|" * (2 * len(HORIZONS)))
    for method in methods:
        cells = [f"{mode.average(method, score='rmse', horizon=h).mean:.2f}" for mode in modes for h in HORIZONS]
        print(f"| `{method.name}` | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(sys.argv[1])
