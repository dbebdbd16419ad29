"""The counts behind the shares of the limit, against operations counted one by one; and that the benchmarks run."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

import breathcast as bc
from benchmarks import counting, growth, levers, precision, study_speed
from benchmarks.measuring import series
from breathcast.forecasters import dual as form
from breathcast.forecasters.dual import DualLearner
from breathcast.forecasters.method import Task
from breathcast.kernels import dual as kernel

COUNTED = {"flops": 0}


class Number:
    """A float that counts what is done to it."""

    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = float(value)

    def __float__(self) -> float:
        return self.value

    def __neg__(self) -> Number:
        return Number(-self.value)  # a sign costs nothing

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other)


def _operation(name: str) -> Any:
    plain = getattr(float, name)

    def counted(self: Number, other: Any) -> Number:
        COUNTED["flops"] += 1
        return Number(plain(self.value, float(other)))

    return counted


for _name in ("add", "sub", "mul", "truediv"):
    setattr(Number, f"__{_name}__", _operation(f"__{_name}__"))
    setattr(Number, f"__r{_name}__", _operation(f"__r{_name}__"))


def numbers(array: np.ndarray) -> np.ndarray:
    return np.frompyfunc(Number, 1, 1)(array).astype(object) if array.size else array.astype(object)


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The kernels of the dual form as plain Python, with a tanh that counts as it should."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    monkeypatch.delitem(sys.modules, "breathcast.kernels.jit")
    spec = importlib.util.spec_from_file_location("uncompiled_dual", kernel.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def tanh(z: np.ndarray, out: np.ndarray) -> None:
        for i in range(len(z)):
            COUNTED["flops"] += counting._TANH
            out[i] = Number(np.tanh(float(z[i])))

    monkeypatch.setattr(module, "_tanh", tanh)
    return module


def counted_flops(module: ModuleType, method: Any, windows: int, history: int, width: int) -> float:
    """Operations a step, with every tail kept."""
    rng = np.random.default_rng(0)
    horizon = 2
    task = Task(1.0, width, horizon, "immediate", 0, (0,), "dual")
    plain = form.work_for(method, task, windows, "float64")
    fade = plain.fade
    work = type(plain)(*(numbers(array) for array in plain))._replace(fade=fade)
    q = plain.states.shape[1]
    work.recurrent[0], work.readout[...] = numbers(rng.normal(0, 0.3, (q, q))), numbers(rng.normal(0, 0.3, (width, q)))
    series = numbers(rng.standard_normal((windows + history - 1, width)))
    gram, start = numbers(rng.uniform(1, 2, (windows, windows))), numbers(rng.standard_normal((windows, q)))
    clean, out = np.arange(1, len(series) + 1), np.empty((len(series), width), dtype=object)
    settings = DualLearner(method, task)._settings()._replace(tail=0.0)
    COUNTED["flops"] = 0
    if method.name == "uoro":
        signs = numbers(rng.choice([-1.0, 1.0], (windows, q)))
        module.uoro_run(settings, work, gram, start, series, clean, signs, 0, out)
    else:
        module.terms_run(settings, work, gram, start, series, clean, 0, out)
    return COUNTED["flops"] / (windows - horizon)


@pytest.mark.parametrize("windows", [20, 52])
@pytest.mark.parametrize("units", [8, 16])
def test_the_operations_of_the_dual_form_are_those_that_are_counted_one_by_one(
    uncompiled: ModuleType, units: int, windows: int
) -> None:
    history, width, steps = 3, 2, windows - 2
    uoro = bc.UORO(hidden=units, history=float(history))
    one_by_one = counted_flops(uncompiled, uoro, windows, history, width)
    assert counting.dual_uoro(units, width, steps, steps, 8).flops == pytest.approx(one_by_one, rel=0.03)
    terms = np.minimum(np.arange(1, steps + 1), form.DEPTH["float64"])
    rtrl = bc.RTRL(hidden=units, history=float(history))
    one_by_one = counted_flops(uncompiled, rtrl, windows, history, width)
    assert counting.dual_terms(units, width, steps, terms, 8, exact=True).flops == pytest.approx(one_by_one, rel=0.05)


def test_the_fit_finds_the_exponent_of_a_power_law() -> None:
    x = np.array([10.0, 30, 50, 90])
    law = growth.fit(x, 0.3 * x**1.7)
    assert law.exponent == pytest.approx(1.7) and law.factor == pytest.approx(0.3) and law.residual < 1e-12
    bent = growth.fit(x, 5 + 0.01 * x**2)
    assert 0.3 < bent.exponent < 2 and bent.residual > 0.05


def test_the_backward_sum_of_rtrl_has_the_gradient_of_the_textbook() -> None:
    method = bc.RTRL(hidden=10, history=1.0, init_std=0.2)
    assert levers.exactness(method, series(120), at=(10, 40)) < 1e-10
    assert 1e-8 < levers.exactness(method, series(120), "dual32", at=(10,)) < 1e-4


def test_without_its_tail_the_backward_sum_takes_all_steps_that_are_kept() -> None:
    method, samples = bc.RTRL(hidden=10, history=1.0), series(150)
    assert counting.backward_terms(method, samples, "dual", 2)[-1] < form.DEPTH["float64"]
    with levers.all_terms():
        assert counting.backward_terms(method, samples, "dual", 2)[-1] == form.DEPTH["float64"]


def test_the_comparison_of_precisions_counts_what_is_far_apart() -> None:
    rng = np.random.default_rng(0)
    same = np.stack([base := rng.normal(2, 0.1, 40), base + rng.normal(0, 0.01, 40)])
    moved = np.stack([base, base + rng.normal(0.1, 0.01, 40)])
    row = precision._row("some", 0.5, [same, moved])
    assert row.far == 1 and row.recordings == 2 and row.diverged == 0
    assert row.difference == pytest.approx(0.05, abs=0.005) and row.likeness > 0.98
    assert "1 of 2 cells" in precision.verdict([row])
    lost = np.where(np.arange(40) == 3, np.nan, same)
    assert precision._row("some", 0.5, [lost]).diverged == 2


def test_both_precisions_go_through_a_small_study() -> None:
    recording = bc.simulate("regular", duration=40, seed=0)
    row = precision.compared("uoro", bc.UORO(hidden=10, history=1.0), [recording], 0.5, 3, 30.0)
    assert 0 < row.double < 10 and 0 < row.single < 10 and row.double != row.single


def test_the_benchmark_of_studies_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study_speed.main(["--quick", "--json", str(tmp_path / "speed.json")])
    told = json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))
    assert {cell["method"] for cell in told["cells"]} == {"uoro", "rtrl", "lms"}
    assert all(0 < form["share"] < 1 for cell in told["cells"] for form in cell["forms"].values())
    assert "step in q" in capsys.readouterr().out


def test_the_hours_of_the_published_study_are_its_steps_times_their_time() -> None:
    same = {"numpy": 1.0, "forms": {key: {"us": 1.0} for key in ("step", "dual", "dual32")}}
    cells = [
        same | {"method": method.name, "q": method.hidden, "L": method.history, "samples": n}
        for method in study_speed.grid(False)
        if method.name in ("uoro", "rtrl")
        for n in study_speed.LENGTHS.values()
    ]
    found = study_speed.hours(cells)["dual"]
    steps = sum(600 - h - round(10 * L) + 1 for h in range(1, 21) for L in (1, 3, 5, 7, 9)) * 5 * 6 * 9 * 50
    assert found["uoro, selection"] == pytest.approx(steps * 1e-6 / 3600)
    assert found["in all"] == pytest.approx(sum(v for key, v in found.items() if key != "in all"))
