from __future__ import annotations

import pytest

import breathcast as bc
from breathcast.cli import parse


def test_horizons_are_sorted_and_each_once() -> None:
    assert parse.horizons("2, 0.5,0.10,.5") == [0.1, 0.5, 2.0]


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "1,,2", "1;2", "one"])
def test_what_is_no_horizon_is_refused(text: str) -> None:
    with pytest.raises(bc.BreathcastError, match="is no horizon"):
        parse.horizons(text)


def test_methods_with_and_without_hyper_parameters() -> None:
    assert parse.methods("uoro") == [bc.UORO()]
    assert parse.methods(" lms ( learning_rate = 0.02 , history=3 ) ,linear(), rtrl(readout=before,hidden=5)") == [
        bc.LMS(learning_rate=0.02, history=3.0),
        bc.LinearRegression(),
        bc.RTRL(readout="before", hidden=5),
    ]
    assert [type(method) for method in parse.methods("all")] == list(bc.METHODS.values())


def test_values_have_the_type_of_the_hyper_parameter() -> None:
    method = parse.method("uoro(hidden=4,history=1)")
    assert isinstance(method, bc.UORO)
    assert isinstance(method.hidden, int)
    assert isinstance(method.history, float)


@pytest.mark.parametrize(
    "text", ["", ",", "uoro,", "uoro()x", "(hidden=3)", "uoro((hidden=3))", "uoro)", "uoro(,)", "a b"]
)
def test_what_is_no_list_of_methods_is_refused(text: str) -> None:
    with pytest.raises(bc.BreathcastError):
        parse.methods(text)
