from __future__ import annotations

from pathlib import Path

import pytest

from breathcast.cli import doctor, selftest
from breathcast.forecasters.table import METHODS
from breathcast.reports.glossary import HYPERPARAMETERS
from tests.cli.calling import call


def test_methods_lists_every_hyper_parameter() -> None:
    result = call("methods")
    assert result.code == 0
    assert max(map(len, result.out.splitlines())) <= 80
    listed = {method["name"]: method for method in call("methods", "--json", "-").json["methods"]}
    assert list(listed) == list(METHODS)
    for name, kind in METHODS.items():
        assert f"{name}: {kind.title}" in result.out
        told = {entry["name"]: entry for entry in listed[name]["hyperparameters"]}
        assert {key: entry["default"] for key, entry in told.items()} == kind.hyperparameters()
        assert {key: entry["grid"] for key, entry in told.items() if entry["grid"]} == {
            key: list(values) for key, values in kind.grid.items()
        }
        assert all(entry["meaning"] for entry in told.values())


def test_the_glossary_holds_nothing_that_no_method_has() -> None:
    assert set(HYPERPARAMETERS) == {key for kind in METHODS.values() for key in kind.hyperparameters()}


def test_methods_named() -> None:
    assert "rtrl" not in call("methods", "lms", "uoro").out
    result = call("methods", "elm")
    assert result.code == 2
    assert "uoro, rtrl" in result.err


def test_doctor_finds_this_installation_sound() -> None:
    result = call("doctor", "--json", "-")
    assert result.code == 0
    assert result.json["ok"]
    names = {finding["name"] for finding in result.json["findings"]}
    assert names >= {"python", "breathcast", "numba", "llvmlite", "cache", "first call", "ramp", "files", *METHODS}


def test_doctor_says_what_fails_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: object) -> str:
        raise ArithmeticError("a stream and a batch give different forecasts")

    monkeypatch.setattr(selftest, "stream_equals_batch", wrong)
    monkeypatch.setattr(doctor, "_first_call", lambda: "not now")
    result = call("doctor")
    assert result.code == 3
    assert result.out.count("FAIL  ") == len(METHODS)
    assert "different forecasts" in result.out
    assert "What to do: " in result.out
    assert "ok    ramp" in result.out
    assert "Something is wrong" in result.out
    assert not call("doctor", "--json", "-").json["ok"]


def test_doctor_minds_a_cache_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    from breathcast.cli import kernels

    locked = kernels.KernelCache(Path("/locked"), writable=False, filled=False)
    monkeypatch.setattr(kernels, "kernel_cache", lambda: locked)
    monkeypatch.setattr(doctor, "_first_call", lambda: "not now")
    result = call("doctor")
    assert result.code == 3
    assert "NUMBA_CACHE_DIR" in result.out
