"""jit with other transforms, of functions that ask for values; random programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.counting import counting

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(params=[None, False], ids=["machine code", "numpy"])
def native(request: pytest.FixtureRequest) -> Any:
    with ad.config(native=request.param):
        yield request.param


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-300)
    assert np.shape(found) == np.shape(expected)


# --- with transforms ------------------------------------------------------------------------------


def piecewise(x: Any) -> Any:
    total = np.sum(x * x)
    if total > 1:
        return np.sum(np.sin(x)) * total
    return np.prod(x) if x[0] > 0 else np.sum(x**3)


@pytest.mark.parametrize(
    "build",
    [
        lambda f: ad.jit(ad.grad(f)),
        lambda f: ad.grad(ad.jit(f)),
        lambda f: ad.jit(ad.grad(ad.jit(f))),
        lambda f: ad.jit(ad.jit(ad.grad(f))),
        lambda f: ad.jit(lambda x: ad.jit(ad.grad(f))(x * 1.0)),
    ],
)
def test_gradients(native: Any, build: Any) -> None:
    function, calls = counting(piecewise)
    gradient, plain = build(function), ad.grad(piecewise)
    rng = np.random.default_rng(1)
    for _ in range(20):
        x = rng.normal(size=3) * rng.choice([0.2, 1.0])
        same(gradient(x), plain(x))
    assert len(calls) >= 3


def test_a_gradient_is_captured_once_for_each_path(native: Any) -> None:
    function, calls = counting(piecewise)
    gradient = ad.jit(ad.grad(function))
    for _ in range(3):
        for x in (X, X / 10, -X / 10, 2 * X):
            same(gradient(x), ad.grad(piecewise)(x))
    assert len(calls) == 3


@pytest.mark.parametrize("modes", ["ff", "fr", "rf", "rr"])
def test_second_derivatives(native: Any, modes: str) -> None:
    def forward(f: Any) -> Any:
        return lambda x: ad.jvp(f, (x,), (np.ones_like(x),))[1]

    def reverse(f: Any) -> Any:
        return lambda x: np.sum(ad.vjp(f, x)[1](np.ones_like(f(x)))[0])

    one, other = ((forward if mode == "f" else reverse) for mode in modes)
    function = one(other(piecewise))
    jitted = ad.jit(function)
    for x in (X, X / 10, -X / 10, 2 * X):
        same(jitted(x), function(x))


def test_an_array_that_stands_for_many_has_no_value() -> None:
    jitted = ad.jit(lambda x: x if x > 0 else -x)
    for _ in range(2):
        with pytest.raises(ad.errors.ValueNeededError, match=r"np\.where"):
            ad.vmap(jitted)(X)
        assert jitted(-2.0) == 2.0


def test_a_batch_within(native: Any) -> None:
    def function(x: Any, k: Any) -> Any:
        each = ad.vmap(lambda y: np.sin(y) * k if k > 1 else np.cos(y))
        return each(x).sum() if x[0] > 0 else each(-x)[0]

    jitted = ad.jit(function)
    for k in (2.0, 0.5, 3.0):
        for x in (X, -X, X + 1):
            same(jitted(x, k), function(x, k))


def test_questions_of_an_outer_function_within_an_inner_one(native: Any) -> None:
    def outer(w: Any) -> Any:
        def inner(x: Any) -> Any:
            return x * w if w > 1 else x * x * w

        return ad.grad(inner)(2.0) + ad.jit(inner)(3.0)

    jitted = ad.jit(outer)
    for w in (2.0, 0.5, 3.0, 0.25):
        expected = 4 * w if w > 1 else 13 * w
        same(jitted(w), expected)
        same(ad.grad(jitted)(w), 4.0 if w > 1 else 13.0)


def test_descent_until_the_gradient_is_small(native: Any) -> None:
    def descend(x: Any, rate: Any) -> Any:
        slope = ad.grad(lambda y: np.sum((y - 1) ** 2) + np.sum(y**4) / 10)
        gradient = slope(x)
        while np.linalg.norm(gradient) > 1e-3:
            x = x - rate * gradient
            gradient = slope(x)
        return x

    jitted = ad.jit(descend)
    for rate in (0.1, 0.12, 0.2, 0.1):
        same(jitted(X, rate), descend(X, rate))


def test_the_truth_of_a_derivative_keeps_strong_zeros(native: Any) -> None:
    def safe(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.sqrt(np.abs(x)), 0.0))

    def function(x: Any) -> Any:
        slope = ad.grad(safe)(x)
        return x * 2 if slope[0] <= 0.1 else x * 3

    jitted = ad.jit(function)
    for first in (1.0, 0.0, 4.0, 0.0, 1e4, math.nan, 1.0):
        x = np.array([first, 1.0])
        same(jitted(x), function(x))
        same(jitted(x), function(x))


# --- random programs -----------------------------------------------------------------------------


def test_random_programs(native: Any) -> None:
    for seed in range(12):
        function = random_function(np.random.default_rng(seed))
        jitted, gradient = ad.jit(function), ad.jit(ad.grad(function))
        points = np.random.default_rng(seed + 100).normal(size=(6, 3))
        for x in (*points, *points):
            same(jitted(x), function(x))
            np.testing.assert_allclose(gradient(x), ad.grad(function)(x), rtol=1e-10, atol=1e-14)


def random_function(rng: np.random.Generator) -> Callable[[Any], Any]:
    """A function with branches, loops and masks that depend on values."""
    kinds = rng.integers(0, 6, size=5)
    numbers = rng.normal(size=5)

    def function(x: Any) -> Any:
        total = np.sum(x)
        for kind, number in zip(kinds, numbers, strict=True):
            if kind == 0:
                x = np.sin(x) if total > number else x * number
            elif kind == 1:
                while abs(total) > 2:
                    total = total / 2
                x = x + total
            elif kind == 2:
                total = total + np.sum(np.sqrt(x[x > number] - number + 1))
            elif kind == 3:
                x = x * int(np.clip(total, -2, 2)) + number
            elif kind == 4 and np.all(x > number):
                total = total + np.sum(np.log(x - number))
            elif kind == 5:
                x = x[x.argsort()] if total < 0 else x[::-1]
            total = total + np.sum(x)
        return total

    return function
