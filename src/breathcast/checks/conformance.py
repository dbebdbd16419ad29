"""What every forecasting method must do: one function a promise, each raising AssertionError that says what is broken.

For your own method: `from breathcast.checks import check_method; check_method(MyMethod())`.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from breathcast.forecasters.method import Array, Method
from breathcast.forecasters.stream import Forecast, Forecasts, Stream

HORIZONS = (0.2, 0.5, 1.0)
RATE = 10.0


def breathing(method: Method, *, rate: float = RATE, markers: int = 3, dimension: int = 3, extra: float = 8.0) -> Array:
    """A noisy oscillation of a few mm, long enough to be learned from: the training part and `extra` seconds."""
    samples = round((method.training + extra) * rate)
    t = np.arange(samples)[:, None, None] / rate
    phase = np.arange(markers * dimension).reshape(markers, dimension)
    noise = np.random.default_rng(7).standard_normal((samples, markers, dimension))
    moving: Array = 50.0 * phase + 5.0 * np.sin(2.0 * np.pi * t / 3.7 + 0.2 * phase) + 0.2 * noise
    return moving


def _open(method: Method, positions: Array, *, rate: float = RATE, seed: int = 0, **options: Any) -> Stream:
    shape = {"markers": positions.shape[1], "dimension": positions.shape[2]}
    return Stream(method, rate=rate, horizons=options.pop("horizons", HORIZONS), seed=seed, **shape, **options)


def _same(a: Forecasts, b: Forecasts, what: str) -> None:
    for key in ("positions", "learned", "imputed"):
        assert np.array_equal(getattr(a, key), getattr(b, key), equal_nan=True), f"{what}: {key} differ"


def _joined(parts: list[Forecasts]) -> Forecasts:
    return Forecasts(
        np.concatenate([part.positions for part in parts], axis=1),
        np.concatenate([part.learned for part in parts], axis=1),
        np.concatenate([part.imputed for part in parts]),
    )


def _stacked(forecasts: list[list[Forecast]]) -> Array:
    return np.array([[forecast.position for forecast in one] for one in forecasts])


def hyperparameters_are_plain_values(method: Method) -> None:
    """Equal, hashable, unchangeable, and the same again from JSON and from pickle."""
    values = json.loads(json.dumps(method.to_dict()))
    assert values.pop("method") == method.name, "to_dict does not carry the name"
    assert type(method)(**values) == method, "the JSON form does not give the method back"
    assert pickle.loads(pickle.dumps(method)) == method, "pickle does not give the method back"
    assert hash(copy.deepcopy(method)) == hash(method), "equal methods have different hashes"
    try:
        method.training = 1.0  # type: ignore[misc]
    except AttributeError:
        return
    raise AssertionError("a hyper-parameter can be changed after the fact")


def stream_batch_and_restored_agree(method: Method) -> None:
    """One by one, all at once, in uneven pieces, and restored half-way: the same bits."""
    positions = breathing(method)
    whole = _open(method, positions).extend(positions)
    stream = _open(method, positions)
    single = _stacked([stream.update(sample) for sample in positions])
    assert np.array_equal(single, whole.positions[0]), "update and extend differ"
    cuts = [0, 1, len(positions) // 3, len(positions) // 2, len(positions)]
    pieces = _open(method, positions)
    _same(_joined([pieces.extend(positions[a:b]) for a, b in pairwise(cuts)]), whole, "pieces")
    for cut in (5, len(positions) - 25):
        first, second = _open(method, positions), _open(method, positions)
        before = first.extend(positions[:cut])
        second.restore(first.state())
        _same(_joined([before, second.extend(positions[cut:])]), whole, f"restored after {cut} samples")


def pickled_and_copied_streams_go_on(method: Method) -> None:
    """A pickle or a deep copy goes on as the original does, and apart from it."""
    positions = breathing(method)
    cut = len(positions) - 20
    stream = _open(method, positions)
    stream.extend(positions[:cut])
    twins = (pickle.loads(pickle.dumps(stream)), copy.deepcopy(stream))
    expected = stream.extend(positions[cut:])
    for twin in twins:
        _same(twin.extend(positions[cut:]), expected, "a copy")


def seeds_decide_chance(method: Method) -> None:
    """The same seed gives the same forecasts; another seed gives others if, and only if, the method is random."""
    positions = breathing(method)
    first, again = (_open(method, positions, seed=3).extend(positions) for _ in range(2))
    _same(first, again, "the same seed")
    other = _open(method, positions, seed=4).extend(positions)
    assert np.array_equal(first.positions, other.positions) is not method.random, "`random` does not tell the truth"


def runs_of_a_batch_are_independent(method: Method) -> None:
    """Run r is the same alone and among others."""
    positions = breathing(method)
    together = _open(method, positions, runs=(0, 1, 2)).extend(positions)
    for run in range(3):
        alone = _open(method, positions, runs=(run,)).extend(positions)
        assert np.array_equal(alone.positions[0], together.positions[run]), f"run {run} depends on the others"


def horizons_are_independent(method: Method) -> None:
    """A forecast does not depend on which other horizons are asked for."""
    positions = breathing(method)
    together = _open(method, positions).extend(positions)
    for k, horizon in enumerate(HORIZONS):
        alone = _open(method, positions, horizons=[horizon]).extend(positions)
        assert np.array_equal(alone.positions[:, :, 0], together.positions[:, :, k]), f"{horizon} s depends on others"


def callers_arrays_stay_apart(method: Method) -> None:
    """What the caller gives is neither changed nor kept, and what is returned is not part of the state."""
    positions = breathing(method)
    expected = _open(method, positions).extend(positions)
    frozen = positions.copy()
    frozen.flags.writeable = False
    _same(_open(method, positions).extend(frozen), expected, "read-only input")
    assert np.array_equal(frozen, positions), "the input was changed"
    stream, buffer = _open(method, positions), np.empty_like(positions[0])
    for n, sample in enumerate(positions):
        buffer[...] = sample
        forecasts = stream.update(buffer)
        for k, forecast in enumerate(forecasts):
            assert np.array_equal(forecast.position, expected.positions[0, n, k]), "input or output is shared"
            forecast.position[...] = np.nan
        buffer[...] = np.nan
    state = stream.state()
    for value in state.values():
        if value.dtype.kind == "f":
            value[...] = np.nan
    assert all(np.isfinite(f.position).all() for f in stream.update(positions[-1])), "state() shares memory"


def memory_is_bounded(method: Method) -> None:
    """A stream that goes on for long holds no more than one that has just begun to forecast."""
    positions = breathing(method)
    stream = _open(method, positions)
    stream.extend(positions)
    for sample in np.tile(positions[-100:], (10, 1, 1)):
        stream.update(sample)
    early = len(pickle.dumps(stream))
    for sample in np.tile(positions[-100:], (30, 1, 1)):
        stream.update(sample)
    late = len(pickle.dumps(stream))
    assert late <= 1.01 * early, f"the stream grew from {early} to {late} bytes"


def there_is_always_a_forecast(method: Method) -> None:
    """From the first sample on: the last known position as long as nothing was learned, and never a NaN."""
    positions = breathing(method)
    stream = _open(method, positions)
    for forecast in stream.update(positions[0]):
        assert np.array_equal(forecast.position, positions[0]), "before learning, it is not the last known position"
    rest = stream.extend(positions[1:])
    assert np.isfinite(rest.positions).all(), "a forecast is not finite"
    assert rest.learned[:, -1].all(), "the method never begins to forecast"


def missing_samples_do_no_harm(method: Method) -> None:
    """Lost markers, gaps, a late start: finite forecasts, marked as imputed, and no NaN in the state."""
    positions = breathing(method)
    n = len(positions)
    positions[: n // 50 + 1, 0] = np.nan
    positions[n // 3, 1] = np.nan
    positions[n // 2 : n // 2 + 7] = np.nan
    positions[n - 30, 2, 0] = np.nan
    stream = _open(method, positions)
    result = stream.extend(positions)
    begun = n // 50 + 1
    assert np.isfinite(result.positions[:, begun:]).all(), "a missing sample became a NaN"
    assert result.imputed[n // 2 + 3].all(), "a forecast from a missing sample is not marked"
    again = _open(method, positions)
    single = _stacked([again.update(sample) for sample in positions])
    assert np.array_equal(single, result.positions[0], equal_nan=True), "update and extend differ over gaps"
    state = {key: value for key, value in stream.state().items() if value.dtype.kind == "f"}
    assert all(np.isfinite(value).all() for value in state.values()), "a NaN got into the state"


def the_future_changes_nothing(method: Method) -> None:
    """Whatever is measured after t, every forecast issued at or before t keeps its bits, at every horizon."""
    positions = breathing(method)
    expected = _open(method, positions).extend(positions)
    n = len(positions)
    for t in (10, n // 2, n - 40, n - 2):
        changed = positions.copy()
        changed[t + 1 :] += 100.0 * np.random.default_rng(t).standard_normal(changed[t + 1 :].shape)
        result = _open(method, positions).extend(changed)
        same = np.array_equal(result.positions[:, : t + 1], expected.positions[:, : t + 1])
        assert same, f"a forecast issued by sample {t} depends on later samples"


def any_shape_and_rate_will_do(method: Method) -> None:
    """One marker along one axis, one in space, many in nine dimensions; rates that divide nothing."""
    for markers, dimension, rate in ((1, 1, 10.0), (1, 3, 7.5), (2, 9, 10.0), (3, 3, 26.0), (3, 3, 10.0 / 3.0)):
        positions = breathing(method, rate=rate, markers=markers, dimension=dimension)
        result = _open(method, positions, rate=rate).extend(positions)
        what = f"{markers} × {dimension}-D at {rate:.3g} Hz"
        assert result.positions.shape == (1, len(positions), len(HORIZONS), markers, dimension), f"shape for {what}"
        assert np.isfinite(result.positions).all(), f"a forecast is not finite for {what}"
        assert result.learned[:, -1].all(), f"no forecast of its own for {what}"


def dull_and_wild_signals_stay_finite(method: Method) -> None:
    """Nothing moves, one axis does not move, everything jumps by a metre: the forecasts stay finite."""
    positions = breathing(method)
    still, flat, jumping = np.ones_like(positions), positions.copy(), positions.copy()
    flat[:, 0, 0] = 3.0
    jumping[len(positions) - 30 :] += 1000.0
    for signal in (still, flat, jumping):
        assert np.isfinite(_open(method, signal).extend(signal).positions).all(), "a forecast is not finite"
    held = _open(method, still).extend(still).positions[:, -1]
    assert np.abs(held - 1.0).max() < 1.0, "what never moved is forecast more than 1 mm away"


def kernels_compile_once(method: Method) -> None:
    """Streams, batches, other shapes and rates all use the one compiled form of each kernel."""
    for markers, dimension, runs in ((3, 3, (0,)), (1, 1, (0, 1))):
        positions = breathing(method, markers=markers, dimension=dimension)
        stream = _open(method, positions, runs=runs)
        stream.extend(positions[:-2])
        stream.extend(positions[-2:-1])
        restored = _open(method, positions, runs=runs)
        restored.restore(stream.state())
        restored.extend(positions[-1:])
    # The dual form is compiled once for each precision; no stream uses it.
    several = {name: count for name, count in compiled_signatures().items() if count > 1 and ".dual" not in name}
    assert not several, f"compiled for more than one signature: {several}"


def compiled_signatures() -> dict[str, int]:
    """For every kernel loaded in this process (not its inner parts), how many signatures were compiled."""
    import sys

    counts = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("breathcast.kernels."):
            for key, value in vars(module).items():
                if hasattr(value, "signatures") and not key.startswith("_"):
                    counts[f"{name}.{key}"] = len(value.signatures)
    return counts


CHECKS: dict[str, Callable[[Method], None]] = {
    check.__name__: check
    for check in (
        hyperparameters_are_plain_values,
        there_is_always_a_forecast,
        the_future_changes_nothing,
        stream_batch_and_restored_agree,
        pickled_and_copied_streams_go_on,
        seeds_decide_chance,
        runs_of_a_batch_are_independent,
        horizons_are_independent,
        callers_arrays_stay_apart,
        memory_is_bounded,
        missing_samples_do_no_harm,
        any_shape_and_rate_will_do,
        dull_and_wild_signals_stay_finite,
        kernels_compile_once,
    )
}


def check_method(method: Method) -> None:
    """Run every check; the first broken promise raises an AssertionError that begins with its name."""
    for name, check in CHECKS.items():
        try:
            check(method)
        except AssertionError as broken:
            raise AssertionError(f"{method.name}: {name}: {broken}") from broken


__all__ = ["CHECKS", "check_method", "compiled_signatures"]
