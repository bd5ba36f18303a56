"""Where the user's code catches an error, its cause is computed, and the values decide."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.jit import replay
from tests.capture.comparing import same_derivative, same_values
from tests.counting import counting

GOOD = np.array([[2.0, 0.5], [0.5, 1.0]])
BAD = np.array([[1.0, 2.0], [2.0, 1.0]])


def factor(K: Any) -> Any:
    jitter = 0.0
    while True:
        try:
            return np.linalg.cholesky(K + jitter * np.eye(len(K)))
        except np.linalg.LinAlgError:
            jitter = 2 * jitter + 0.7


def guarded_root(x: Any) -> Any:
    try:
        return math.sqrt(x[0]) * x[1]
    except ValueError:
        return x[0] ** 2


def guarded_solve(K: Any) -> Any:
    try:
        return np.linalg.solve(K, K[0])
    except np.linalg.LinAlgError:
        return K.sum(axis=0)
    finally:
        K = None


@pytest.mark.parametrize("K", [GOOD, BAD], ids=["good", "bad"])
def test_a_factorisation_is_tried_again(K: Any) -> None:
    same_values(ad.vjp(factor, K)[0], factor(K))
    same_values(ad.jit(factor)(K), factor(K))
    same_derivative(factor, (K,))


def test_one_compiled_function_takes_both_ways() -> None:
    jitted = ad.jit(factor)
    for K in (GOOD, BAD, GOOD, BAD):
        same_values(jitted(K), factor(K))


@pytest.mark.parametrize("x", [np.array([4.0, 3.0]), np.array([-4.0, 3.0])])
def test_domain_errors_of_math(x: Any) -> None:
    same_derivative(guarded_root, (x,))


@pytest.mark.parametrize("K", [GOOD, np.ones((2, 2))], ids=["good", "singular"])
def test_a_singular_matrix(K: Any) -> None:
    same_values(ad.vjp(guarded_solve, K)[0], guarded_solve(K))


def test_outside_of_a_try_nothing_is_computed() -> None:
    def function(K: Any) -> Any:
        try:
            n = int("3")
        except ValueError:
            n = 0
        return np.linalg.cholesky(K) * n

    assert ad.jit(function)(GOOD).shape == (2, 2)
    with pytest.raises(np.linalg.LinAlgError):
        ad.jit(function)(BAD)


def test_in_a_batch_the_run_decides() -> None:
    assert ad.vmap(factor)(np.stack([GOOD, 2 * GOOD])).shape == (2, 2, 2)
    with pytest.raises(np.linalg.LinAlgError):
        ad.vmap(factor)(np.stack([GOOD, BAD]))


def test_both_ways_are_kept() -> None:
    function, calls = counting(lambda K: np.sum(np.log(np.diag(factor(K)))))
    for way in (ad.grad(function), ad.jit(ad.grad(function))):
        for K in (GOOD, BAD, 2 * GOOD, BAD) * 3:
            with ad.config(replay=False):
                expected = ad.grad(lambda K: np.sum(np.log(np.diag(factor(K)))))(K)
            np.testing.assert_allclose(way(K), expected, rtol=1e-12)
        assert len(calls) <= replay.FEWEST_CALLS + 2
        calls.clear()
    with ad.config(debug=True):
        for K in (GOOD, BAD):
            way(K)


def test_what_is_logged_in_vain_is_no_hindrance(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("adjoint_tests_of_attempts")
    logger.setLevel(logging.WARNING)

    def function(x: Any) -> Any:
        logger.debug("sum is %s", np.sum(x))
        if logger.isEnabledFor(20):
            logger.info(f"first is {x[0]:.1f}")
        return np.sum(x**2)

    x = np.array([1.0, 2.0])
    gradient = ad.grad(function)
    for _ in range(6):
        np.testing.assert_array_equal(gradient(x), 2 * x)
    assert ad.explain(gradient, x).replayed
    assert not caplog.records
    logger.setLevel(logging.DEBUG)
    for _ in range(4):
        gradient(x)
    assert len(caplog.records) == 8


@pytest.mark.parametrize("derivative", [ad.grad, lambda function: ad.jit(ad.grad(function))])
def test_what_is_asked_for_first_by_a_write_that_fails(derivative: Any) -> None:
    """The value that it is asked with is computed around, and serves what follows as well."""

    def function(x: Any) -> Any:
        y = np.sin(x) * 3.0
        try:
            y[abs(y) < 1e-3] = 0.0
        except TypeError:
            if abs(y) < 1e-3:
                y = 0.0
        return y * x

    for _ in range(3):
        slope = derivative(function)(2.0)
        np.testing.assert_allclose(slope, 3 * (2 * np.cos(2.0) + np.sin(2.0)))
