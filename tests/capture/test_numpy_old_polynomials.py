"""NumPy's older polynomials: errors, poly1d, and fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad

P = np.array([2.0, -3.0, 1.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda p: np.polyder(p, -1),
        lambda p: np.polyint(p, -1),
        lambda p: np.polyint(p, 3, k=[1.0, 2.0]),
        lambda p: np.poly(p[None]),
        lambda p: np.roots(p[None]),
        lambda p: np.polyfit(p, p, -1),
        lambda p: np.polyfit(p[None], p, 1),
        lambda p: np.polyfit(p[:0], p[:0], 1),
        lambda p: np.polyfit(p, p[0], 1),
        lambda p: np.polyfit(p, p[:2], 1),
        lambda p: np.polyfit(p, p, 1, w=p[:2]),
        lambda p: np.polyfit(p, p, 1, w=p[None]),
        lambda p: np.polyfit(p, p, 2, cov=True),
    ],
)
def test_what_numpy_refuses(function: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as expected:
        function(P)
    with pytest.raises((ValueError, TypeError)) as found:
        ad.jit(function)(P)
    assert isinstance(found.value, ValueError) == isinstance(expected.value, ValueError)


def test_roots_by_the_implicit_rule() -> None:
    """Of 2 x^2 - 3 x + 1, at 1: dx = -x^k / p'(x)."""
    gradient = ad.grad(lambda p: np.max(np.roots(p).real))(P)
    np.testing.assert_allclose(gradient, [-1.0, -1.0, -1.0])
    zeros = np.array([0.0, 1.0, -2.0, 0.0])
    np.testing.assert_allclose(ad.jit(np.roots)(zeros), np.roots(zeros))
    assert ad.jit(np.roots)(np.zeros(3)).size == 0


def test_polynomials_as_objects() -> None:
    def value(p: Any) -> Any:
        polynomial = np.poly1d(p)
        quotient, rest = np.polydiv(polynomial * polynomial, np.poly1d([1.0, 1.0]))
        return quotient(2.0) + rest(1.0) + np.polyadd(polynomial, [1.0])(0.5)

    found, slope = ad.value_and_grad(value)(P)
    np.testing.assert_allclose(found, value(P))
    step = 1e-6
    for n in range(3):
        move = step * np.eye(3)[n]
        np.testing.assert_allclose(slope[n], (value(P + move) - value(P - move)) / (2 * step))


@pytest.mark.parametrize("leading", [np.zeros(3), np.array([0.0, 1.3, 0.4])])
def test_no_derivative_of_a_leading_zero_is_dropped(leading: Any) -> None:
    """np.poly1d keeps no leading zeros; np.polyval does, and has their derivatives."""
    with pytest.raises(ad.errors.DroppedDerivativeError, match=r"np.polyval\(p, x\)"):
        ad.grad(lambda p: np.poly1d(p)(2.0))(leading)
    with pytest.raises(ad.errors.DroppedDerivativeError, match="leading coefficients"):
        ad.grad(lambda p: (np.poly1d([1.0, 2.0]) + np.poly1d(p))(2.0))(leading)
    np.testing.assert_allclose(ad.grad(lambda p: np.polyval(p, 2.0))(leading), [4.0, 2.0, 1.0])


def test_fits() -> None:
    x = np.linspace(-1, 1, 7)
    y = np.cos(3 * x) + x

    def curvature(y: Any) -> Any:
        return np.polyfit(x, y, 2)[0]

    np.testing.assert_allclose(ad.jit(curvature)(y), curvature(y))
    gradient = ad.grad(curvature)(y)
    np.testing.assert_allclose(gradient @ y, curvature(y))  # it is linear in y
    weights = 1.0 + x**2
    coefficients, spread = ad.jit(lambda y: np.polyfit(x, y, 1, w=weights, cov=True))(y)
    expected = np.polyfit(x, y, 1, w=weights, cov=True)
    np.testing.assert_allclose(coefficients, expected[0])
    np.testing.assert_allclose(spread, expected[1])
    found = ad.jit(lambda y: np.polyfit(x, y, 1, full=True))(y)
    for one, other in zip(found, np.polyfit(x, y, 1, full=True), strict=True):
        np.testing.assert_allclose(one, other)


def test_a_fit_of_too_few_points_warns_as_numpy_does() -> None:
    with pytest.warns(np.exceptions.RankWarning):
        ad.jit(lambda y: np.polyfit(np.ones(3), y, 1))(P)
