"""The tables of docs/accuracy.md, as Markdown, from a study file.

python -m benchmarks.accuracy [STUDY.toml] [--horizons 0.5,1.0] [--methods "blend;blend, stack"]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.stats import ttest_rel, wilcoxon

import breathcast as bc
from breathcast.studies.spec import Spec
from breathcast.studies.spec_file import read_spec

STUDY = Path(__file__).with_suffix(".toml")
SHOWN = (0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 1.6, 2.0)
GOAL = (0.27, 0.48, 0.69, 1.10, 1.61, 2.12, 2.46, 2.64)
GOAL_MEAN = 1.76  # over 0.1, 0.2, ..., 2.0 s
_ALL = 20  # horizons that this is the mean of
Table = dict[str, np.ndarray]  # by title of the method: (recording, horizon)


def scores(spec: Spec, recordings: list[bc.Recording], horizons: tuple[float, ...]) -> dict[str, Table]:
    """Each score of each method."""
    found: dict[str, Table] = {"rmse": {}, "nrmse": {}, "jitter": {}}
    for entry in spec.method:
        for table in found.values():
            table[entry.title] = np.zeros((len(recordings), len(horizons)))
        for i, recording in enumerate(recordings):
            for k, h in enumerate(horizons):
                settings = {"horizon": h, "feedback": spec.feedback, "runs": spec.test_runs, "seed": spec.seed}
                result = bc.evaluate(entry.base(), recording, **settings, test_start=spec.test_start, workers=1)
                for score, table in found.items():
                    table[entry.title][i, k] = result.scores[score].mean
        print(f"{entry.title}: done", file=sys.stderr, flush=True)
    return found


def mean_table(rmse: Table, horizons: tuple[float, ...]) -> None:
    """Mean RMSE over the recordings; the last column is the mean over all horizons."""
    shown = [k for k, h in enumerate(horizons) if h in SHOWN]
    print("| RMSE (mm) | " + " | ".join(f"{horizons[k]:g} s" for k in shown) + " | mean |")
    print("|---|" + "---|" * (len(shown) + 1))
    for title, table in rmse.items():
        means = table.mean(axis=0)
        print(f"| {title} | " + " | ".join(f"{means[k]:.3f}" for k in shown) + f" | {means.mean():.3f} |")
    goals, whole = dict(zip(SHOWN, GOAL, strict=True)), len(horizons) == _ALL
    cells = [f"{goals[horizons[k]]:.2f}" for k in shown] + [f"{GOAL_MEAN:.2f}" if whole else "–"]
    print("| goal | " + " | ".join(cells) + " |\n")


def paired_tests(rmse: Table, against: str) -> None:
    """Of each recording, the mean over horizons: who wins how often, and whether that could be chance."""
    best = rmse[against].mean(axis=1)
    print(f"| against {against} | wins | mean difference (mm) | t test p | Wilcoxon p |\n|---|---|---|---|---|")
    for title, table in rmse.items():
        other = table.mean(axis=1)
        if title != against:
            wins, difference = f"{int((best < other).sum())} of {len(other)}", f"{np.mean(other - best):+.3f}"
            p = ttest_rel(other, best).pvalue, wilcoxon(other, best).pvalue
            print(f"| {title} | {wins} | {difference} | {p[0]:.4f} | {p[1]:.4f} |")
    print()


def demands(found: dict[str, Table], groups: dict[str, list[int]], horizons: tuple[float, ...]) -> None:
    """No sequence worse than no prediction, jitter beside the truth's own, irregular beside regular breathing."""
    heads = "worst RMSE ÷ no prediction's", "jitter ÷ the truth's own, mean (largest)", "nRMSE irregular ÷ regular"
    print("| method | " + " | ".join(heads) + " |")
    print("|---|---|---|---|")
    for title, rmse in found["rmse"].items():
        ratio = rmse / found["rmse"]["persistence"]
        worst = np.unravel_index(ratio.argmax(), ratio.shape)
        jitter = found["jitter"][title] / found["jitter"]["persistence"]  # that of no prediction is the truth's own
        spread = [found["nrmse"][title][groups[name]].mean() for name in ("irregular", "regular")]
        where = f"{ratio.max():.2f} (recording {worst[0] + 1}, {horizons[worst[1]]:g} s)"
        print(f"| {title} | {where} | {jitter.mean():.2f} ({jitter.max():.2f}) | {spread[0] / spread[1]:.2f} |")
    print()


def per_recording(rmse: Table, title: str) -> None:
    """Mean over horizons of each recording, beside no prediction."""
    print("| recording | " + " | ".join(str(n + 1) for n in range(len(rmse[title]))) + " |")
    print("|---|" + "---|" * len(rmse[title]))
    for name in ("persistence", title):
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in rmse[name].mean(axis=1)) + " |")
    print()


def main() -> None:
    """Read the study, run it, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", nargs="?", type=Path, default=STUDY)
    parser.add_argument("--horizons", help="only these, in s")
    parser.add_argument("--methods", help="these by label, and persistence; all for all, ablations too")
    given = parser.parse_args()
    spec = read_spec(given.study)
    wanted = ["persistence", *(name.strip() for name in given.methods.split(";"))] if given.methods else None
    if given.methods == "all":
        wanted = [entry.title for entry in spec.method]
    spec = spec.with_methods(wanted)
    horizons = tuple(float(h) for h in given.horizons.split(",")) if given.horizons else spec.ahead
    recordings = bc.read_all(list(spec.recordings))
    found = scores(spec, recordings, horizons)
    names = [recording.name for recording in recordings]
    groups = {key: [names.index(name) for name in members] for key, members in spec.members(names).items()}
    mean_table(found["rmse"], horizons)
    demands(found, groups, horizons)
    title = "blend" if "blend" in found["rmse"] else spec.method[-1].title
    per_recording(found["rmse"], title)
    paired_tests(found["rmse"], title)


if __name__ == "__main__":
    main()
