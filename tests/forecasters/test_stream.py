"""Streams and the table of methods, where the conformance suite does not look."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import breathcast as bc
from breathcast.forecasters.stream import Stream, horizon_steps
from breathcast.forecasters.table import from_dict, make


def positions(samples: int = 120) -> np.ndarray:
    return bc.simulate("regular", duration=samples / 10, seed=1).positions


def small() -> bc.UORO:
    return bc.UORO(hidden=4, history=0.5, training=3.0)


def test_a_state_survives_a_file(tmp_path: Path) -> None:
    samples = positions()
    first = small().start(rate=10, markers=3, horizons=[0.2, 0.5], seed=2)
    first.extend(samples[:100])
    np.savez(tmp_path / "state.npz", **first.state())
    second = small().start(rate=10, markers=3, horizons=[0.2, 0.5], seed=2)
    with np.load(tmp_path / "state.npz") as saved:
        second.restore(saved)
    np.testing.assert_array_equal(first.extend(samples[100:]).positions, second.extend(samples[100:]).positions)


def test_a_state_of_another_stream_is_refused() -> None:
    state = small().start(rate=10, markers=3, horizons=[0.2]).state()
    with pytest.raises(bc.BreathcastError, match="belongs to another stream"):
        small().start(rate=10, markers=3, horizons=[0.5]).restore(state)


@pytest.mark.parametrize(
    ("sample", "message"),
    [(np.zeros((2, 3)), r"has the shape \(2, 3\)"), (np.full((3, 3), np.inf), "infinite"), (1.0, "shape")],
)
def test_a_sample_of_the_wrong_kind_is_refused_and_nothing_is_lost(sample: object, message: str) -> None:
    stream, control = (small().start(rate=10, markers=3, horizons=[0.2]) for _ in range(2))
    samples = positions()
    stream.extend(samples[:50])
    control.extend(samples[:50])
    with pytest.raises(bc.BreathcastError, match=message):
        stream.update(sample)  # type: ignore[arg-type]
    np.testing.assert_array_equal(stream.extend(samples[50:]).positions, control.extend(samples[50:]).positions)


def test_a_single_trace_takes_plain_numbers() -> None:
    stream = bc.Persistence().start(rate=10, markers=1, dimension=1, horizons=[0.5])
    assert stream.update(2.5)[0].position == [[2.5]]


@pytest.mark.parametrize(
    "options",
    [
        {"rate": 0.0, "markers": 3, "horizons": [0.5]},
        {"rate": 10.0, "markers": 0, "horizons": [0.5]},
        {"rate": 10.0, "markers": 3, "horizons": []},
        {"rate": 10.0, "markers": 3, "horizons": [np.nan]},
    ],
)
def test_a_stream_that_cannot_be_opened_says_why(options: dict) -> None:
    with pytest.raises(bc.BreathcastError, match="What to do"):
        bc.LMS().start(**options)


def test_horizons_go_to_the_nearest_sample() -> None:
    assert horizon_steps(0.5, 26.0) == 13
    assert horizon_steps(0.1, 26.0) == 3
    assert horizon_steps(0.06, 10.0) == 1


def test_immediate_feedback_takes_the_whole_recording_or_nothing() -> None:
    stream = Stream(small(), rate=10, markers=3, horizons=[0.5], feedback="immediate")
    stream.extend(positions()[:60])
    with pytest.raises(bc.BreathcastError, match="needs the future"):
        stream.extend(positions()[60:])


def test_before_the_training_part_is_over_the_last_position_stands_in() -> None:
    samples = positions()
    result = small().start(rate=10, markers=3, horizons=[0.2]).extend(samples)
    assert not result.learned[0, :29, 0].any()
    assert result.learned[0, 29:, 0].all()
    np.testing.assert_array_equal(result.positions[0, :29, 0], samples[:29])


def test_a_network_that_explodes_falls_back_and_says_so() -> None:
    samples = positions(400)
    result = bc.NLMS(learning_rate=50.0, history=0.5, training=3.0).start(rate=10, markers=3, horizons=[0.2])
    forecasts = result.extend(samples)
    assert np.isfinite(forecasts.positions).all()
    assert not forecasts.learned[0, -1, 0]


def test_methods_are_made_by_name() -> None:
    assert make("uoro", hidden=5) == bc.UORO(hidden=5)
    for name, cls in bc.METHODS.items():
        assert from_dict(make(name).to_dict()) == cls()
    with pytest.raises(bc.BreathcastError, match=r"no method 'foo'[\s\S]*uoro, rtrl"):
        make("foo")
    with pytest.raises(bc.BreathcastError, match=r"no hyper-parameter 'size'[\s\S]*hidden=90"):
        make("uoro", size=5)


@pytest.mark.parametrize(
    "values",
    [
        {"hidden": 0},
        {"history": -1.0},
        {"learning_rate": np.nan},
        {"clip": 0.0},
        {"optimizer": "rmsprop"},
        {"training": 0.0},
        {"init_std": np.inf},
    ],
)
def test_hyperparameters_that_make_no_sense_are_refused(values: dict) -> None:
    with pytest.raises(bc.BreathcastError, match="What to do"):
        bc.UORO(**values)
    with pytest.raises(bc.BreathcastError):
        bc.RTRL(readout="sideways")  # type: ignore[arg-type]


def test_import_loads_nothing_heavy() -> None:
    code = "import sys, breathcast; print([m for m in ('numpy', 'numba', 'polars', 'plotly') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    assert set(dir(bc)) == set(bc.__all__)
    for name in bc.__all__:
        assert getattr(bc, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bc.nothing
