"""What an update costs in a stream: three horizons, three markers, one sample at a time.

python -m benchmarks.updates [METHOD ...]
"""

from __future__ import annotations

import sys
import time

import numpy as np

import breathcast as bc

HORIZONS = (0.1, 0.5, 1.0)


def main(names: list[str]) -> None:
    """Print median and 99th percentile of the time of an update, in ms, when all memories are full."""
    positions = bc.simulate("irregular", duration=420.0, seed=1).positions
    print("| method | median (ms) | 99 % (ms) |\n|---|---|---|")
    for name in names:
        stream = bc.METHODS[name]().start(rate=10.0, markers=3, horizons=HORIZONS)
        stream.extend(positions[:-1000])
        times = []
        for sample in positions[-1000:]:
            begin = time.perf_counter()
            stream.update(sample)
            times.append(1e3 * (time.perf_counter() - begin))
        print(f"| {name} | {np.median(times):.3f} | {np.percentile(times, 99):.3f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["lms", "ridge", "analog", "kernel", "blend"])
