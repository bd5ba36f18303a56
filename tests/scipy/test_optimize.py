"""`scipy.optimize` under capture: by the implicit rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

P = np.array([1.0, 2.0])


def system(x: Any, p: Any) -> Any:
    return np.array([x[0] ** 2 + p[0] * x[1] - 2, x[1] ** 3 + x[0] - p[1]])


def cubic(t: Any, p: Any) -> Any:
    return t**3 + p * t - 2.0


def bowl(x: Any, p: Any) -> Any:
    return np.sum((x - p) ** 2) + 0.1 * np.sum(x**4)


Cases = dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]
CASES: Cases = {
    **{
        name: (
            lambda p, name=name: getattr(optimize, name)(lambda t: cubic(t, p), 0.0, 2.0),
            (1.3,),
        )
        for name in ("brentq", "brenth", "ridder", "toms748")
    },
    "brentq args": (
        lambda p, b: optimize.brentq(lambda t, q: math.exp(t) - q, -5.0, b, args=(p,)),
        (1.3, 2.0),
    ),
    "newton": (lambda p: optimize.newton(lambda t: cubic(t, p), 0.5), (1.3,)),
    "newton slope": (
        lambda p: optimize.newton(lambda t: cubic(t, p), 0.5, lambda t: 3 * t * t + p),
        (1.3,),
    ),
    "root_scalar": (
        lambda p: optimize.root_scalar(lambda t: cubic(t, p), bracket=(0, 2)).root,
        (1.3,),
    ),
    "fsolve": (lambda p: optimize.fsolve(system, np.ones(2), args=(p,)), (P,)),
    "root": (lambda p: optimize.root(lambda x: system(x, p), np.ones(2)).x, (P,)),
    "fixed_point": (lambda p: optimize.fixed_point(lambda x: np.cos(p * x), 0.5), (0.7,)),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name: str) -> None:
    function, args = CASES[name]
    agrees(function, *args)


def test_roots_in_all_modes() -> None:
    def root(p: Any) -> Any:
        return optimize.brentq(lambda t: cubic(t, p[0]), 0.0, 2.0)

    agrees_in_all_modes(root, P[:1])


@pytest.mark.parametrize("method", [None, "BFGS", "Nelder-Mead", "trust-ncg"])
def test_minimisers(method: str | None) -> None:
    start = np.zeros(2)
    found = ad.jacobian(lambda p: optimize.minimize(bowl, start, (p,), method=method).x)(P)
    x = optimize.minimize(bowl, start, (P,), tol=1e-12).x
    np.testing.assert_allclose(found, np.diag(2 / (2 + 1.2 * x**2)), rtol=1e-5)
    slope = ad.grad(lambda p: optimize.minimize(lambda x: bowl(x, p), start).fun)(P)
    np.testing.assert_allclose(slope, -2 * (x - P), rtol=1e-5)


@pytest.mark.parametrize("bounds", [None, (-3.0, 3.0)])
def test_minimisers_on_a_line(bounds: Any) -> None:
    x = lambda p: optimize.minimize_scalar(lambda x: bowl(x, p), bounds=bounds).x  # noqa: E731
    found = x(1.0)
    assert math.isclose(ad.grad(x)(1.0), 2 / (2 + 1.2 * found**2), rel_tol=1e-6)


def test_least_squares_and_curves() -> None:
    x = np.linspace(0, 1, 7)
    y = 0.7 * np.exp(1.3 * x) + 0.01 * np.cos(9 * x)

    def fitted(y: Any) -> Any:
        return optimize.curve_fit(lambda x, a, b: a * np.exp(b * x), x, y, p0=[1.0, 1.0])

    u = np.eye(7)[2]
    (value, covariance), (slope, spread) = ad.jvp(fitted, (y,), (u,))
    one, other = fitted(y + 1e-4 * u), fitted(y - 1e-4 * u)
    expected = fitted(y)
    np.testing.assert_allclose(value, expected[0], rtol=1e-6)
    np.testing.assert_allclose(covariance, expected[1], rtol=1e-4)
    np.testing.assert_allclose(slope, (one[0] - other[0]) / 2e-4, rtol=1e-4)
    np.testing.assert_allclose(spread, (one[1] - other[1]) / 2e-4, rtol=1e-3)
    line = lambda y: optimize.least_squares(lambda p: p[0] * x + p[1] - y, [0.0, 0.0]).x  # noqa: E731
    exact = np.linalg.pinv(np.stack([x, np.ones(7)], axis=1))
    np.testing.assert_allclose(ad.jacobian(line)(y), exact, atol=1e-8)


def test_an_assignment_is_constant() -> None:
    cost = np.array([[4.0, 1.0], [2.0, 3.0]])

    def least(c: Any) -> Any:
        rows, columns = optimize.linear_sum_assignment(c)
        return c[rows, columns].sum()

    np.testing.assert_array_equal(ad.grad(least)(cost), [[0, 1], [1, 0]])


def test_functions_without_traced_values_are_scipys_own() -> None:
    def branching(t: float) -> float:
        return t - 1.0 if t > 0 else -1.0  # asks for values, which ours could not

    assert ad.grad(lambda x: x * optimize.brentq(branching, -1.0, 3.0))(2.0) == 1.0


def test_what_is_refused() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="quadratic_program"):
        ad.grad(lambda p: optimize.linprog(P * p, A_ub=-np.eye(2), b_ub=-P).fun)(1.0)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="bounds"):
        ad.grad(lambda p: optimize.minimize(bowl, P, (p,), bounds=[(0, 1)] * 2).fun)(P)
    with pytest.raises(ad.errors.ValueNeededError, match=r"branch|value"):
        ad.grad(lambda p: optimize.brentq(lambda t: t - p if t > 0 else -p, -1.0, 3.0))(1.0)
