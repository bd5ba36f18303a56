"""Arrays that the rounds of a loop hand on as they came: results have memory of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.1, 0.2, 0.3])


def exchanged(x: Any) -> Any:
    a, b = ad.fori_loop(0, 1, lambda k, s: (s[1], s[0]), (x, x * 0.5))
    return np.sum(np.sin(a) + np.exp(b) * x)


def exchanged_by_hand(x: Any) -> Any:
    return np.sum(np.sin(x * 0.5) + np.exp(x) * x)


def one_twice(x: Any) -> Any:
    y = x * 2.0
    a, b = ad.fori_loop(0, 1, lambda k, s: (s[1], s[0]), (y, y))
    return np.sum(np.sin(a)) + np.sum(np.cos(b) * y)


def one_twice_by_hand(x: Any) -> Any:
    return np.sum(np.sin(x * 2.0)) + np.sum(np.cos(x * 2.0) * x * 2.0)


def a_result_twice(x: Any) -> Any:
    def body(k: Any, state: Any) -> Any:
        t = state[0].copy()
        t[k] += 1.0
        return t, t

    a, b = ad.fori_loop(0, 2, body, (x, x))
    return np.sum(np.sin(a)) + np.sum(np.exp(b) * a)


def a_result_twice_by_hand(x: Any) -> Any:
    a = x + np.array([1.0, 1.0, 0.0])
    return np.sum(np.sin(a)) + np.sum(np.exp(a) * a)


def a_constant(x: Any) -> Any:
    c = x * 3.0

    def body(k: Any, state: Any) -> Any:
        t = state[0].copy()
        t[k] += 1.0
        return t, c

    a, b = ad.fori_loop(0, 2, body, (x, x))
    return np.sum(np.sin(a)) + np.sum(np.exp(b) * a) + np.sum(np.cos(c))


def a_constant_by_hand(x: Any) -> Any:
    a = x + np.array([1.0, 1.0, 0.0])
    return np.sum(np.sin(a)) + np.sum(np.exp(3.0 * x) * a) + np.sum(np.cos(3.0 * x))


def by_test(x: Any) -> Any:
    _, a, b = ad.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[2], s[1]), (0, x, x * 0.5))
    return np.sum(np.sin(a)) + np.sum(np.exp(b) * x)


def by_test_by_hand(x: Any) -> Any:
    return np.sum(np.sin(x * 0.5)) + np.sum(np.exp(x) * x)


PAIRS = [
    (exchanged, exchanged_by_hand),
    (one_twice, one_twice_by_hand),
    (a_result_twice, a_result_twice_by_hand),
    (a_constant, a_constant_by_hand),
    (by_test, by_test_by_hand),
]


@pytest.mark.parametrize("native", [None, False, True])
@pytest.mark.parametrize(("looped", "by_hand"), PAIRS)
def test_loops_that_hand_on(
    looped: Callable[..., Any], by_hand: Callable[..., Any], native: bool | None
) -> None:
    value, slope = by_hand(X), ad.grad(by_hand)(X)
    jitted, gradient = ad.jit(looped), ad.grad(looped)
    with ad.config(native=native):
        for _ in range(3):
            x = X.copy()
            np.testing.assert_allclose(jitted(x), value, rtol=1e-14)
            np.testing.assert_allclose(gradient(x), slope, rtol=1e-13)
            _, tangent = ad.jvp(looped, (x,), (np.ones(3),))
            np.testing.assert_allclose(tangent, np.sum(slope), rtol=1e-13)
            np.testing.assert_array_equal(x, X)


def test_results_share_no_memory() -> None:
    with ad.config(native=False):
        function = ad.jit(lambda x: ad.fori_loop(0, 3, lambda k, s: (s[1], s[0]), (x, x)))
        for _ in range(3):
            x = X.copy()
            a, b = function(x)
            assert not np.shares_memory(a, b)
            assert not np.shares_memory(a, x)
            assert not np.shares_memory(b, x)
