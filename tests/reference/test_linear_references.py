"""The references of the linear methods, checked by hand and against NumPy's own least squares."""

from __future__ import annotations

import numpy as np

from tests.reference.linear import fit_linear, run_lms, run_nlms

P = 3  # coordinates


def test_lms_and_nlms_by_hand() -> None:
    U, Y, W0 = np.array([[1.0, 2.0], [1.0, -1.0]]), np.array([[3.0], [1.0]]), np.array([[0.5, 0.25]])
    # Step 0: y = 1, e = 2, W += 0.1 * 2 * [1, 2] = [0.7, 0.65]. Step 1: y = 0.05, e = 0.95, W += 0.095 * [1, -1].
    lms = run_lms(U, Y, W0, 0.1)
    np.testing.assert_allclose(lms.predictions, [[1.0], [0.05]], rtol=1e-14)
    np.testing.assert_allclose(lms.gradients["W"], [[[-2.0, -4.0]], [[-0.95, 0.95]]], rtol=1e-14)
    np.testing.assert_allclose(lms.weights["W"], [[[0.7, 0.65]], [[0.795, 0.555]]], rtol=1e-14)
    # Clipped to length 1: [2, 4] becomes [1, 2] / sqrt(5).
    shorter = run_lms(U[:1], Y[:1], W0, 0.1, clip=1.0)
    np.testing.assert_allclose(shorter.weights["W"][0], W0 + 0.1 * np.array([[1.0, 2.0]]) / np.sqrt(5.0), rtol=1e-14)
    # u.u + eps = 5.5; e = 2: W += 0.55 * 2 / 5.5 * [1, 2].
    nlms = run_nlms(U[:1], Y[:1], W0, 0.55, eps=0.5)
    np.testing.assert_allclose(nlms.weights["W"], [[[0.7, 0.65]]], rtol=1e-14)


def test_the_linear_fit_is_least_squares() -> None:
    rng = np.random.default_rng(11)
    U = np.column_stack([np.ones(60), rng.normal(size=(60, 8))])
    Y = rng.normal(size=(60, P))
    expected = np.linalg.lstsq(U, Y, rcond=None)[0].T
    np.testing.assert_allclose(fit_linear(U, Y), expected, rtol=0, atol=1e-12)


def test_the_linear_fit_with_too_few_rows_is_the_one_of_least_norm() -> None:
    rng = np.random.default_rng(12)
    U = np.column_stack([np.ones(6), rng.normal(size=(6, 14))])
    Y = rng.normal(size=(6, P))
    W = fit_linear(U, Y)
    np.testing.assert_allclose(W, np.linalg.lstsq(U, Y, rcond=None)[0].T, rtol=0, atol=1e-10)
    np.testing.assert_allclose(U @ W.T, Y, rtol=0, atol=1e-10)
