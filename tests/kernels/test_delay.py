"""The compiled methods on delay coordinates, and the mixture, against their slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from breathcast import Analog, Blend, KernelRegression, RidgeRegression, Task
from breathcast.forecasters.blend import EXPERTS, prior
from tests.kernels.cases import a_series, forecasts
from tests.reference import delay as twin

N, H, TRAINING = 90, 4, 30
LONG = {"training": float(TRAINING), "history": 6.0, "fade": 2.0, "lags": 4, "components": 2}
LAGS = np.array([1, 2, 3, 6])  # 6 (i / 4)²: 0.4, 1.5, 3.4, 6, rounded, and one sample at least
RIDGE = RidgeRegression(**LONG, memory=50.0, penalty=0.3)
KERNEL = KernelRegression(**LONG, memory=50.0, penalty=0.3, width=1.0, landmarks=12, novelty=0.1)
ANALOG = Analog(**LONG, neighbours=7, stretch=1.4, stiffness=0.2)
RECURSION = {"forgetting": np.exp(-1.0 / 50.0), "penalty": 0.3}


def slow(method, X, D, query):
    if isinstance(method, Analog):
        options = {"neighbours": method.neighbours, "stretch": method.stretch, "stiffness": method.stiffness}
        return twin.analog(X, D, query, **options)
    if isinstance(method, KernelRegression):
        options = {"width": method.width, "novelty": method.novelty, "most": method.landmarks}
        return twin.kernel(X, D, query, **options, recursion=RECURSION)
    return twin.ridge(X, D, query, **RECURSION)


def expected(method, series, t, feedback, clean=None, memory=10**6):
    """What the method must forecast at t, solved anew from all pairs that it may know."""
    axes = twin.principal_axes(series[:TRAINING], method.components)
    known = t - H if feedback == "delayed" else t - 1
    ends = [s for s in range(6, known + 1) if clean is None or (clean[s] >= 7 and clean[s + H] >= 1)][-memory:]
    X = np.array([twin.describe(series, axes, s, LAGS, 2.0, 1) for s in ends])
    D = np.array([series[s + H] - series[s] for s in ends])
    return series[t] + slow(method, X, D, twin.describe(series, axes, t, LAGS, 2.0, 1))


@pytest.mark.parametrize("feedback", ["delayed", "immediate"])
@pytest.mark.parametrize("method", [RIDGE, KERNEL, ANALOG], ids=lambda m: m.name)
def test_each_forecast_is_the_solution_from_all_pairs_so_far(method, feedback) -> None:
    series = a_series(N)
    learner = method.learner(Task(1.0, 3, H, feedback))
    fast = forecasts(learner, series, stop=0 if feedback == "delayed" else H)
    for t in (13, 20, 41, 60, 84):
        np.testing.assert_allclose(fast[t], expected(method, series, t, feedback), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("method", [RIDGE, KERNEL, ANALOG], ids=lambda m: m.name)
def test_nothing_is_learned_from_what_was_missing(method) -> None:
    series, clean = a_series(N), np.arange(1, N + 1)
    clean[50:] = np.arange(N - 50)  # sample 50 was missing
    series[50] = 1e3
    fast = forecasts(method.learner(Task(1.0, 3, H)), series, clean)
    for t in (56, 60, 84):
        np.testing.assert_allclose(fast[t], expected(method, series, t, "delayed", clean), rtol=1e-7, atol=1e-8)


def test_the_analog_forgets_the_oldest_pairs() -> None:
    series, method = a_series(N), ANALOG.replace(memory=20.0)
    fast = forecasts(method.learner(Task(1.0, 3, H)), series)
    np.testing.assert_allclose(fast[84], expected(method, series, 84, "delayed", memory=20), rtol=1e-9, atol=1e-10)


def test_a_fast_camera_fills_the_ring_no_faster() -> None:
    slow_camera, fast_camera = (ANALOG.learner(Task(rate, 3, H)).state()["squares"].size for rate in (10.0, 30.0))
    assert slow_camera == fast_camera == 3000


BLENDS = [Blend(training=float(TRAINING), memory=40.0, strength=2.0, rate=0.5, aggregation=a) for a in
          ("stack", "regret", "weights")]  # fmt: skip


@pytest.fixture
def small_experts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, small in {"analog": ANALOG, "kernel": KERNEL, "ridge": RIDGE}.items():
        monkeypatch.setitem(EXPERTS, name, small)


@pytest.mark.parametrize("feedback", ["delayed", "immediate"])
@pytest.mark.parametrize("blend", BLENDS, ids=lambda m: m.aggregation)
def test_the_weights_are_what_the_experts_have_earned(blend, feedback, small_experts) -> None:
    blend, series, task = blend.replace(experts="analog,kernel,ridge"), a_series(N), Task(1.0, 3, H, feedback)
    stop = 0 if feedback == "delayed" else H
    said = np.array([forecasts(member.learner(task), series, stop=stop) for member in blend.members()])
    fast = forecasts(blend.learner(task), series, stop=stop)
    F = said.transpose(1, 0, 2) - series[: said.shape[1], None]
    begun = int(np.isfinite(F).all(axis=(1, 2)).argmax())
    for t in (30, 50, 84):
        ends = np.arange(begun, (t - H if feedback == "delayed" else t - 1) + 1)
        pairs = F[ends], series[ends + H] - series[ends], prior(blend.members(), float(H))
        forgetting = np.exp(-1.0 / 40.0)
        match blend.aggregation:
            case "stack":
                w = twin.stack(*pairs, forgetting, 2.0 * H)
            case "regret":
                w = twin.match_regret(*pairs)
            case _:
                w = twin.weigh(*pairs, forgetting, 0.5 / H)
        np.testing.assert_allclose(fast[t], series[t] + w @ F[t], rtol=1e-9, atol=1e-10)


def test_while_an_expert_is_silent_the_others_share_its_weight(small_experts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPERTS, "long-analog", ANALOG.replace(history=20.0))
    series, task = a_series(N), Task(1.0, 3, H)
    method = Blend(training=float(TRAINING), experts="analog,ridge,long-analog")
    fast = forecasts(method.learner(task), series)
    early = [forecasts(member.learner(task), series)[18] for member in method.members()[:2]]
    np.testing.assert_allclose(fast[18], np.average(early, axis=0, weights=prior(method.members()[:2], H)), rtol=1e-12)


def test_the_prior_trusts_lines_soon_and_memory_later() -> None:
    soon, late = (dict(zip(EXPERTS, prior(list(EXPERTS.values()), ahead), strict=True)) for ahead in (0.1, 2.0))
    assert soon["ridge"] > 0.5
    assert soon["analog"] < 0.1
    assert late["ridge"] < 0.03
    assert late["analog"] > 0.2
    assert sum(soon.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [RidgeRegression, KernelRegression])
def test_the_recursion_stays_exact_when_hardly_anything_moves_any_more(kind) -> None:
    """Nine hours of breathing at 1 Hz, of which the most part is as good as still: the weights forget, and hold."""
    method = kind(**LONG, memory=50.0, penalty=0.3)
    series = a_series(30_000)
    series[200:-300] *= 1e-7
    learner = method.learner(Task(1.0, 3, H))
    fast = forecasts(learner, series)
    assert np.isfinite(fast[40:]).all()
    fresh = forecasts(kind(**LONG, memory=50.0, penalty=0.3).learner(Task(1.0, 3, H)), series[-330:])
    error = np.sqrt(((fast[-100:-H] - series[-100 + H :]) ** 2).mean())
    again = np.sqrt(((fresh[-100:-H] - series[-100 + H :]) ** 2).mean())
    assert error < 1.1 * again
