"""Slopes that underflow where their product with a tangent does not: powers, quotients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

# Shares of a sum: with weights w = softmax(2 v), each of these is c * exp(v_0 - ...) of moderate
# size at v = 300, while the sum is 1e261 and its power's slope below all numbers.
SHARES: dict[str, Callable[[Any], Any]] = {
    "float": lambda v: np.exp(v[0]) * np.sum(np.exp(2 * v)) ** -0.5,
    "array": lambda v: np.exp(v[0]) * np.power(np.sum(np.exp(2 * v)), np.array(-0.5)),
    "traced": lambda v: np.exp(v[0]) * np.sum(np.exp(2 * v)) ** (-0.5 + 0 * v[1]),
    "whole": lambda v: np.exp(v[0] + v[1]) * np.sum(np.exp(2 * v)) ** -1.0,
    "int": lambda v: np.exp(v[0] + v[1]) * np.sum(np.exp(2 * v)) ** -1,
    "quotient": lambda v: np.exp(v[0]) / np.sqrt(np.sum(np.exp(2 * v))),
}
WAYS: dict[str, Callable[..., Any]] = {
    "reverse": ad.grad,
    "forward": lambda f: lambda v: np.array([ad.jvp(f, (v,), (u,))[1] for u in np.eye(v.size)]),
    "jit": lambda f: ad.jit(ad.grad(f)),
    "second": ad.hessian,
    "reverse twice": lambda f: ad.jacobian(ad.grad(f), mode=ad.Mode.REVERSE),
    "third": lambda f: ad.jacobian(ad.hessian(f)),
}


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SHARES)
def test_shares_do_not_depend_on_the_size_of_their_terms(name: str, way: str, native: bool) -> None:
    v = np.array([0.5, 0.75])
    with ad.config(native=native):
        derivative = WAYS[way](SHARES[name])
        np.testing.assert_allclose(derivative(v + 300), derivative(v), rtol=1e-11, atol=1e-13)


def test_single_precision() -> None:
    v = np.array([0.5, 0.75], np.float32)
    gradient = ad.grad(SHARES["array"])
    np.testing.assert_allclose(gradient(v + 40), gradient(v), rtol=1e-4)


@pytest.mark.parametrize("exponent", [-0.5, -1.0, -2.5, -3.0])
@pytest.mark.parametrize("x", [1e-60, 0.3, 1.0, 7.0, 1e60])
def test_powers(exponent: float, x: float) -> None:
    first = ad.grad(lambda x: x**exponent)
    np.testing.assert_allclose(first(x), exponent * x ** (exponent - 1), rtol=1e-15)
    second = exponent * (exponent - 1) * x ** (exponent - 2)
    np.testing.assert_allclose(ad.grad(first)(x), second, rtol=1e-15)


def test_a_complex_base() -> None:
    z, u = 1e150 + 2e150j, 1e150j
    _, slope = ad.jvp(lambda z: z**-1.5, (z,), (u,))
    np.testing.assert_allclose(slope, -1.5 * z**-1.5 * (u / z), rtol=1e-13)


@pytest.mark.parametrize("function", [np.arcsinh, np.arcsin])
def test_complex_inverses_of_large_numbers_and_on_both_sides_of_a_cut(function: Any) -> None:
    turn = 1j if function is np.arcsinh else 1.0
    for z in (1e200 + 3e200j, -1e300 + 1e200j):
        _, slope = ad.jvp(function, (np.complex128(z),), (np.complex128(z),))
        np.testing.assert_allclose(abs(slope), 1.0, rtol=1e-14)
    for zero in (0.0, -0.0):
        for size in (2.0, -2.0):
            z, step = np.complex128(complex(size, zero)), 1e-6
            if function is np.arcsinh:
                z = np.complex128(complex(zero, size))
            points = [
                complex(zero, size + s) if turn == 1j else complex(size + s, zero)
                for s in (step, -step)
            ]
            difference = function(points[0]) - function(points[1])
            _, slope = ad.jvp(function, (z,), (np.complex128(turn),))
            np.testing.assert_allclose(slope, difference / (2 * step), atol=1e-8)


def test_functions_of_a_size_take_the_choice_of_its_kink() -> None:
    """Docs, semantics: the second derivative of cos(|x|) at 0 is the choice for |x|, not -1."""
    for function in (np.abs, lambda x: np.cos(np.abs(x))):
        assert ad.grad(function)(0.0) == ad.hessian(function)(0.0) == 0


def test_interpolation_at_a_knot_has_the_slope_to_the_right() -> None:
    knots, values = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 4.0])
    assert ad.grad(lambda x: np.interp(x, knots, values))(1.0) == 3.0
