"""`ad.taylor` (end of section 1.4.2): what it takes and returns, and under other transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

import adjoint as ad
from adjoint import errors

X = np.array([0.3, 0.7, 1.1])
U = np.array([1.0, -0.5, 0.2])
W = np.array([0.1, 0.2, 0.3])


def f(x: Any) -> Any:
    return np.sum(np.sin(x) * np.exp(x * x[::-1])) / (1 + x[0] ** 2)


def close(found: Any, expected: Any, rtol: float = 1e-11) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-12)


# --- what it takes and returns --------------------------------------------------------------------


def test_the_exponential_series() -> None:
    found = ad.taylor(np.exp, 0.0, 1.0, 10)
    assert len(found) == 11
    close(found, [1 / math.factorial(k) for k in range(11)])


def test_coefficients_are_derivatives_over_factorials() -> None:
    """k! f_k = d^k f(x)[u, ..., u], the end of section 1.4.2, on nested JVPs (E.1.60)."""
    nested: Any = f
    for k, found in enumerate(ad.taylor(f, X, U, 4)):
        close(math.factorial(k) * found, nested(X))

        def nested(x: Any, before: Any = nested) -> Any:
            return ad.jvp(before, (x,), (U,))[1]


@given(st.lists(st.floats(-2, 2), min_size=6, max_size=6), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_of_a_polynomial_it_is_the_shifted_polynomial(values: list[float], order: int) -> None:
    p = np.polynomial.Polynomial(values[:5])
    found = ad.taylor(
        lambda t: sum(c * t**k for k, c in enumerate(values[:5])), values[5], 1.0, order
    )
    shifted = [p.deriv(k)(values[5]) / math.factorial(k) for k in range(order + 1)]
    np.testing.assert_allclose(found, shifted, rtol=1e-9, atol=1e-9)


def test_several_coefficients_of_the_curve() -> None:
    """f(x + u t + w t^2) by differences of its value along the curve."""
    found = ad.taylor(f, X, [U, W], 3)
    close(found[0], f(X))
    coarse = [f(X + U * t + W * t**2) - np.polyval(found[::-1], t) for t in (0.02, 0.01)]
    assert 14 < coarse[0] / coarse[1] < 18  # the remainder is of order t^4


def test_a_list_of_one_direction_is_that_direction() -> None:
    close(ad.taylor(f, X, U, 3), ad.taylor(f, X, [U], 3), 0)
    close(ad.taylor(f, X, (U,), 3), ad.taylor(f, X, [U, None], 3), 0)


def test_none_is_a_zero_coefficient() -> None:
    close(ad.taylor(np.exp, 0.0, [None, 1.0], 4), [1, 0, 1, 0, 0.5])
    close(ad.taylor(np.exp, 0.0, [], 2), [1, 0, 0])


def test_coefficients_beyond_the_order_do_not_matter() -> None:
    close(ad.taylor(np.exp, 0.0, [1.0, 5.0, 7.0], 1), [1, 1], 0)


def test_order_zero_is_the_value() -> None:
    assert ad.taylor(np.exp, 0.0, 1.0, 0) == (1.0,)


def test_trees_in_and_out() -> None:
    point = {"a": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": np.array([1.0, -1.0])}
    move = {"a": np.eye(2), "b": np.array([0.5, 0.5])}
    found = ad.taylor(lambda p: (p["a"] @ p["b"], {"n": 3}), point, move, 3)
    close(found[1][0], point["a"] @ move["b"] + point["b"])
    close(found[2][0], move["b"])
    close(found[3][0], [0, 0])
    assert [each[1]["n"] for each in found] == [3, 0, 0, 0]


def test_several_arguments_as_a_tuple() -> None:
    found = ad.taylor(lambda args: args[0] / args[1], (1.0, 2.0), [(0.0, 1.0)], 3)
    close(found, [0.5, -0.25, 0.125, -0.0625])


def test_complex_and_single_precision() -> None:
    z, u = np.array([0.3 + 0.2j]), np.array([1.0 - 0.5j])
    close(ad.taylor(np.sin, z, u, 3)[3], -np.cos(z) * u**3 / 6)
    close(ad.taylor(lambda z: np.abs(z) ** 2, z, u, 2)[2], np.abs(u) ** 2)
    found = ad.taylor(np.tanh, X.astype(np.float32), U.astype(np.float32), 3)
    assert {each.dtype for each in found} == {np.dtype(np.float32)}


def test_the_series_of_an_initial_value_problem() -> None:
    """y' = y^2, y(0) = 1 is 1 / (1 - t): each coefficient of the right side gives the next."""
    series = [1.0]
    for k in range(12):
        right = ad.taylor(lambda y: y**2, series[0], series[1:], k)
        series.append(float(right[k]) / (k + 1))
    close(series, np.ones(13))


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((np.exp, 1.0, 1.0, -1), errors.ArgumentError, "order of at least 0, got -1"),
        ((np.exp, 1.0, 1.0, 1.5), errors.ArgumentTypeError, "order as an integer, got 1.5"),
        ((np.exp, 1.0, 1.0, True), errors.ArgumentTypeError, "order as an integer, got True"),
        ((3.0, 1.0, 1.0, 1), errors.ArgumentTypeError, "takes a function first"),
        ((np.exp, 1, 1.0, 1), errors.NotDifferentiableError, "carry no derivative"),
        ((np.exp, X, [U, U[:2]], 2), errors.ShapeError, r"directions\[1\] has shape \(2,\)"),
        ((np.exp, X, U[:2], 2), errors.ShapeError, r"directions has shape \(2,\)"),
        ((np.exp, X, [U * 1j], 2), errors.DTypeError, r"directions\[0\] has dtype complex128"),
        ((np.exp, X, ["u"], 2), errors.ArgumentTypeError, r"directions\[0\] is a str"),
        ((sum, (1.0, 2.0), (1.0, 1.0), 2), errors.ArgumentTypeError, "has the structure"),
        ((np.exp, X, {"u": U}, 2), errors.ArgumentTypeError, "has the structure"),
    ],
)
def test_what_is_refused(arguments: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ad.taylor(*arguments)


def test_an_error_points_at_the_line() -> None:
    slow = ad.primitive(lambda x: x * 1.0)
    slow.vjp(lambda x: (slow(x), lambda v: slow(v)))

    def outer(x: Any) -> Any:
        y = np.sin(x)
        return slow(y)  # here

    with pytest.raises(errors.MissingRuleError, match="only a VJP rule") as caught:
        ad.taylor(outer, X, U, 2)
    assert any("slow(y)  # here" in note for note in caught.value.__notes__)


# --- under other transforms -----------------------------------------------------------------------


def third(x: Any, u: Any = U) -> Any:
    return ad.taylor(f, x, [u, W], 3)[3]


def slopes(function: Any, x: Any) -> Any:
    step = 1e-5
    return [(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(x.size)]


def test_gradients_of_coefficients() -> None:
    close(ad.grad(third)(X), slopes(third, X), 1e-7)
    close(ad.grad(third, argnums=1)(X, U), slopes(lambda u: third(X, u), U), 1e-7)


def test_series_of_gradients() -> None:
    """The second coefficient of grad f along u is half the gradient of d^2 f[u, u]."""
    found = ad.taylor(ad.grad(f), X, U, 2)
    close(found[1], ad.hvp(f, X, U))
    close(found[2], ad.grad(lambda x: ad.taylor(f, x, U, 2)[2])(X))


def test_jit_and_vmap() -> None:
    close(ad.jit(third)(X), third(X))
    close(ad.vmap(third)(np.stack([X, X + 1])), [third(X), third(X + 1)])
    close(ad.vmap(third, in_axes=(None, 0))(X, np.stack([U, W])), [third(X, U), third(X, W)])


def test_series_of_series() -> None:
    """The coefficient of r^2 in exp(s r) is s^2 / 2."""

    def inner(s: Any) -> Any:
        return ad.taylor(lambda r: np.exp(s * r), 0.0, 1.0, 2)[2]

    close(ad.taylor(inner, 1.0, 1.0, 3), [0.5, 1.0, 0.5, 0.0])
    close(ad.grad(inner)(3.0), 3.0)


def test_jacobians_and_maps_of_coefficients() -> None:
    def second(x: Any) -> Any:
        return ad.taylor(np.exp, x, [U], 2)[2]

    close(ad.jacobian(second)(X), np.diag(np.exp(X) * U**2 / 2))
    close(ad.derivative(second, X)(W), np.exp(X) * U**2 / 2 * W)


def test_programs_are_found_again() -> None:
    ad.cache_clear()
    for _ in range(3):
        ad.taylor(f, X, [U, W], 3)
    assert ad.cache_info()[:2] == (2, 1)
    ad.taylor(f, X, [U, None], 3)
    assert ad.cache_info().misses == 2


@pytest.mark.parametrize("native", [False, True])
def test_machine_code_gives_the_same(native: bool) -> None:
    with ad.config(native=native):
        for _ in range(3):
            found = ad.taylor(f, X, [U, W], 5)
    close(found, ad.taylor(f, X, [U, W], 5))


# --- functions that capture does not enter --------------------------------------------------------


def each(function: Any) -> Any:
    return lambda x: np.array([function(float(t)) for t in np.ravel(x)]).reshape(np.shape(x))


def sine_and_cosine() -> Any:
    sine, cosine = ad.primitive(each(math.sin)), ad.primitive(each(math.cos))
    sine.jvp(lambda p, t: (sine(p[0]), cosine(p[0]) * t[0]))
    cosine.jvp(lambda p, t: (cosine(p[0]), -sine(p[0]) * t[0]))
    return sine


def test_custom_rules_have_series() -> None:
    sine = sine_and_cosine()
    found = ad.taylor(lambda x: sine(x * x), X, [U, W], 5)
    expected = ad.taylor(lambda x: np.sin(x * x), X, [U, W], 5)
    for one, other in zip(found, expected, strict=True):
        close(one, other)


def test_custom_rules_in_both_modes_have_series() -> None:
    """A derivative whose transpose is given (`custom_linear`), at a point that moves."""
    cube = ad.primitive(each(lambda t: t**3))
    cube.jvp(lambda p, t: (cube(p[0]), 3 * p[0] ** 2 * t[0]))
    cube.vjp(lambda x: (cube(x), lambda v: (3 * x * x * v,)))
    found, expected = (ad.taylor(each, X, [U, W], 5) for each in (cube, lambda x: x**3))
    for one, other in zip(found, expected, strict=True):
        close(one, other)
    moved = ad.taylor(ad.grad(lambda x: np.sum(cube(x) * x)), X, U, 3)
    for k, one in enumerate(moved):
        close(one, 4 * math.comb(3, k) * X ** (3 - k) * U**k)


def test_linear_operators_have_series() -> None:
    A = np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]])
    apply = ad.linear(aslinearoperator(A))
    found = ad.taylor(lambda x: np.sin(apply(x)), X, U, 4)
    for one, other in zip(found, ad.taylor(lambda x: np.sin(A @ x), X, U, 4), strict=True):
        close(one, other)
