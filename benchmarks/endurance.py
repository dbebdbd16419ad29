"""A long stream from a fast camera: does memory stay bounded, and are the last forecasts as good as the first?

python -m benchmarks.endurance [--hours 12] [--rate 30] [--methods ridge,blend]
"""

from __future__ import annotations

import argparse
import pickle
import time

import numpy as np

import breathcast as bc

HORIZON = 0.5  # s
MINUTE = 60.0  # s


def rmse(forecasts: np.ndarray, truth: np.ndarray, steps: int) -> float:
    """Root mean square 3-D error in mm; forecasts and truth (n, marker, 3) of the same samples."""
    return float(np.sqrt(((forecasts[:-steps] - truth[steps:]) ** 2).sum(axis=2).mean()))


def endure(method: bc.Method, positions: np.ndarray, rate: float) -> None:
    """Run it, a minute at a time, and print a line."""
    options = {"rate": rate, "markers": positions.shape[1], "horizons": [HORIZON]}
    stream, minute, steps = method.start(**options), round(MINUTE * rate), round(HORIZON * rate)
    kept: list[np.ndarray] = []
    sizes: list[int] = []
    begin = time.perf_counter()
    for n in range(0, len(positions), minute):
        kept.append(stream.extend(positions[n : n + minute]).positions[0, :, 0])
        sizes.append(len(pickle.dumps(stream)))
    cost = 1e3 * (time.perf_counter() - begin) / len(positions)
    forecasts, tenth = np.concatenate(kept), 10 * minute
    fresh = method.start(**options).extend(positions[-tenth:]).positions[0, :, 0]
    half = tenth // 2
    print(
        f"| {method.name} | {sizes[10] / 1e6:.2f}, {sizes[-1] / 1e6:.2f} "
        f"| {rmse(forecasts[minute:tenth], positions[minute:tenth], steps):.3f} "
        f"| {rmse(forecasts[-half:], positions[-half:], steps):.3f} "
        f"| {rmse(fresh[-half:], positions[-half:], steps):.3f} | {cost:.3f} |",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=12.0)
    parser.add_argument("--rate", type=float, default=30.0)
    parser.add_argument("--methods", default="ridge,analog,kernel,blend")
    given = parser.parse_args()
    positions = bc.simulate("irregular", duration=3600.0 * given.hours, rate=given.rate, seed=1).positions
    heads = "MB after 11 min, at the end", "RMSE min 1-10", "last 5 min", "last 5 min, begun 10 min ago", "ms a sample"
    print("| method | " + " | ".join(heads) + " |")
    print("|---|---|---|---|---|---|")
    for name in given.methods.split(","):
        endure(bc.METHODS[name](), positions, given.rate)


if __name__ == "__main__":
    main()
