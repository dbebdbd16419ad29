"""How fast studies are: `make bench-study`; everything in one run on one machine, in processor time of one thread.

python -m benchmarks.study_speed [--quick] [--json FILE]

The time of each method in each form over the published grids, beside the plain NumPy transcription of the published
algorithm and beside what the machine allows; how cost grows; what each change of the arithmetic brought; where a task
spends its time; and what the published study takes. Nothing here is asserted: a number that depends on the machine is
no test.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import breathcast as bc
from benchmarks import counting, growth, levers, profiling
from benchmarks import machine as limits
from benchmarks.measuring import FORMS, RATE, TITLES, WIDTH, best, machine, markdown, per_step, series
from benchmarks.transcription import rtrl_call, uoro_call
from breathcast.forecasters.network import Network

LENGTHS = {"60 s": 600, "130 s": 1300}  # what a selection runs, and a typical whole recording
SECONDS = (222, 138, 130, 142, 130, 117, 72, 320, 306)  # of the recordings of the published studies
Cells = list[dict[str, Any]]


def grid(quick: bool) -> list[bc.Method]:
    """The published sizes of the 2022 study, and of the 2025 study for its two methods."""
    if quick:
        return [bc.UORO(hidden=10, history=1.0), bc.RTRL(hidden=10, history=1.0), bc.LMS(history=1.0)]
    made: list[bc.Method] = []
    for cls in (bc.UORO, bc.RTRL):
        made += [cls(hidden=int(q), history=L) for q in cls.grid["hidden"] for L in cls.grid["history"]]
    made += [bc.LMS(history=L) for L in bc.LMS.grid["history"]]
    for late in (bc.SnAp1, bc.DNI):
        made += [late(hidden=q, history=L, learning_rate=0.01, clip=100.0) for q in (30, 90, 180) for L in (1.2, 6.0)]
    return made


def numpy_step(method: bc.Method) -> float | None:
    """Microseconds a step of the transcription, where there is one."""
    q, history = getattr(method, "hidden", 0), round(getattr(method, "history", 1.0) * RATE)
    calls: dict[str, tuple[Callable[..., Callable[[], None]], int]] = {
        "uoro": (uoro_call, 100),
        "rtrl": (rtrl_call, 12),
    }
    if method.name not in calls:
        return None
    call, steps = calls[method.name]
    return 1e6 * best(call(q, history, series(600), steps), 3) / steps


def cell(method: bc.Method, length: int, allowed: limits.Machine, slow: float | None) -> dict[str, Any]:
    """All forms of a method of one size on one length."""
    samples = series(length)
    found: dict[str, Any] = {
        "method": method.name,
        "q": getattr(method, "hidden", None),
        "L": getattr(method, "history", None),
        "samples": length,
        "numpy": slow,
        "forms": {},
    }
    for form in FORMS if isinstance(method, Network) else FORMS[:1]:
        work = counting.of(method, samples, form)
        least, binds = work.limit(allowed, 4 if form == "dual32" else 8)
        took = per_step(method, samples, form)
        found["forms"][form] = {
            "us": took,
            "flops": work.flops,
            "bytes": work.moved,
            "share": least / took,
            "by": binds,
        }
    return found


def line(found: dict[str, Any]) -> list[str]:
    """A row of the table."""
    forms = found["forms"]
    fastest, slow = min(form["us"] for form in forms.values()), found["numpy"]
    times = [f"{forms[f]['us']:.2f}" if f in forms else "" for f in FORMS]
    shares = [f"{100 * forms[f]['share']:.0f} % {forms[f]['by'][0]}" if f in forms else "" for f in FORMS]
    gain = ["", ""] if slow is None else [f"{slow:.0f}", f"{slow / fastest:.0f}"]
    return [f"`{found['method']}`", str(found["q"] or ""), f"{found['L']:g}", *times, *gain, *shares]


def print_cells(cells: Cells) -> None:
    """A table for each length."""
    head = ["method", "q", "L, s", *(TITLES[f] for f in FORMS), "NumPy", "ratio", *(f"share, {f}" for f in FORMS)]
    for name, length in LENGTHS.items():
        print(f"\nµs a step on {name}; share of the limit by arithmetic (a) or memory (m)\n")
        print(markdown(head, [line(found) for found in cells if found["samples"] == length]), flush=True)


class Plan(NamedTuple):
    """Along what the growth of a method is measured."""

    middle: bc.Method
    widths: Sequence[int]
    histories: Sequence[float]
    runs: Sequence[int]
    lengths: Sequence[int]


def plans(quick: bool) -> list[Plan]:
    """The two methods of the published grids, at their largest width and a middle history."""
    if quick:
        small = ((10, 20), (1.0, 2.0), (1, 2), (300, 600))
        return [Plan(cls(hidden=10, history=1.0), *small) for cls in (bc.UORO, bc.RTRL)]
    runs, lengths = (1, 2, 4, 8), (300, 600, 1200, 2400)
    return [
        Plan(bc.UORO(hidden=90, history=5.0), (10, 30, 50, 70, 90), (1.0, 3.0, 5.0, 7.0, 9.0), runs, lengths),
        Plan(bc.RTRL(hidden=55, history=4.0), (10, 25, 40, 55), (1.0, 2.5, 4.0, 5.5), runs, lengths),
    ]


def growths(quick: bool) -> dict[str, growth.Power]:
    """Exponents of the time of a step in q and L, and of the time of all in runs and length."""
    found = {}
    for plan in plans(quick):
        for form in FORMS:
            name, minute = f"{plan.middle.name}, {TITLES[form]}", series(600)
            wide = [per_step(plan.middle.replace(hidden=q), minute, form) for q in plan.widths]
            long = [per_step(plan.middle.replace(history=L), minute, form) for L in plan.histories]
            many = [r * per_step(plan.middle, minute, form, runs=r, repeats=2) for r in plan.runs]
            lasting = [n * per_step(plan.middle, series(n), form, repeats=2) for n in plan.lengths]
            found[f"{name}: step in q"] = growth.fit(plan.widths, wide)
            found[f"{name}: step in L"] = growth.fit(plan.histories, long)
            found[f"{name}: all in runs"] = growth.fit(plan.runs, many)
            found[f"{name}: all in length"] = growth.fit(plan.lengths, lasting)
    return found


def took(found: dict[str, Any], form: str) -> float:
    """Microseconds a step of a cell, in a form or in NumPy."""
    return float(found["numpy"] if form == "numpy" else found["forms"][form]["us"])


def hours(cells: Cells) -> dict[str, dict[str, float]]:
    """Processor hours of the published 2022 study, kernels alone: selection over the grid, and 300 test runs.

    Nine recordings, horizons of 1 to 20 samples, 50 runs of each setting on the first minute, every sample of it but
    the first window and the last horizon; the test with the defaults, over whole recordings.
    """
    steps = sum(600 - h for h in range(1, 21))
    whole = sum(round(s * RATE) - h for s in SECONDS for h in range(1, 21))
    found: dict[str, dict[str, float]] = {}
    for cls, settings in ((bc.UORO, 6), (bc.RTRL, 12)):
        mine = [c for c in cells if c["method"] == cls.name]
        grid_cells = [c for c in mine if c["samples"] == LENGTHS["60 s"]]
        usual = [
            c for c in mine if c["samples"] == LENGTHS["130 s"] and (c["q"], c["L"]) == (cls().hidden, cls().history)
        ]
        if not usual:  # the smallest sizes only
            continue
        for form in (*FORMS, "numpy"):
            runs = sum(took(c, form) * settings * 50 * 9 * (steps - 20 * (c["L"] * RATE - 1)) for c in grid_cells)
            tests = took(usual[0], form) * 300 * (whole - 20 * 9 * (usual[0]["L"] * RATE - 1))
            found.setdefault(form, {})[f"{cls.name}, selection"] = runs / 3.6e9
            found[form][f"{cls.name}, test"] = tests / 3.6e9
    for parts in found.values():
        parts["in all"] = sum(parts.values())
    return found


def print_rest(result: dict[str, Any]) -> None:
    """Everything but the grids."""
    print("\nHow the cost grows\n")
    laws = result["growth"]
    rows = [[name, f"{law['exponent']:.2f}", f"{100 * law['residual']:.0f} %"] for name, law in laws.items()]
    print(markdown(["", "exponent", "residual"], rows))
    print("\nWhat each lever brought: µs a step of a block of settings, scores included\n")
    for name, times in result["levers"].items():
        print(name)
        for what, value in times.items():
            print(f"  {what:<44} {value:10.3g}")
    print("\nWhere a task spends its processor time\n")
    for name, parts in result["profile"].items():
        told = ", ".join(f"{part} {100 * s / parts['in all']:.0f} %" for part, s in parts.items() if part != "in all")
        print(f"{name}: {parts['in all']:.1f} s; {told}")
    if result["hours"]:
        print("\nProcessor hours of the published study of 2022, kernels alone\n")
        titles = dict(TITLES) | {"numpy": "NumPy transcription"}
        heads = list(next(iter(result["hours"].values())))
        rows = [[titles[f], *(f"{parts[h]:.3g}" for h in heads)] for f, parts in result["hours"].items()]
        print(markdown(["", *heads], rows))
        print("(the published program under Octave: about 3000, by the step times that were measured of it)")


def main(arguments: list[str] | None = None) -> None:
    """Measure and print all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the smallest sizes only, to see that it works")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    told, allowed = machine(), limits.measure()
    print(", ".join(f"{key} {value}" for key, value in told.items()))
    print(
        f"one core reaches {allowed.flops[8] / 1e9:.0f} GFlop/s in float64, {allowed.flops[4] / 1e9:.0f} in float32, "
        f"{allowed.first / 1e9:.0f} GB/s from the first level of the cache, "
        f"{allowed.second / 1e9:.0f} from the second; "
        f"{WIDTH} coordinates at {RATE:g} Hz, immediate feedback, horizon 0.5 s"
    )
    cells: Cells = []
    for method in grid(given.quick):
        slow = numpy_step(method)
        cells += [cell(method, length, allowed, slow) for length in LENGTHS.values()]
    print_cells(cells)
    result: dict[str, Any] = {
        "machine": told,
        "limits": {"flops": allowed.flops, "first": allowed.first, "second": allowed.second},
        "cells": cells,
        "growth": {name: vars(law) for name, law in growths(given.quick).items()},
        "levers": levers.measure(quick=given.quick),
        "profile": profiling.measure(**({"runs": 5, "horizons": 1} if given.quick else {})),
        "hours": hours(cells),
    }
    print_rest(result)
    if given.json:
        given.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
