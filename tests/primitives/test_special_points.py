"""Derivatives where formulas are at their worst: removable singularities, cancellation, cuts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special

import adjoint as ad
from adjoint.primitives import bind, integer_power
from adjoint.primitives.special.declaring import SPECIAL
from adjoint.transforms import jvp
from tests.building import program_at, run

mpmath.mp.dps = 40


def slope(function: Callable[..., Any], x: Any) -> Any:
    x = np.asarray(x)[()]
    program = program_at(function, x)
    with np.errstate(all="ignore"):
        return run(jvp(program, (True,)), x, np.ones_like(x)[()], strong=True)[1]


def special(name: str) -> Callable[..., Any]:
    return lambda x: bind(SPECIAL[name], x)


def _exprel(x: Any) -> Any:
    return mpmath.expm1(x) / x if x else mpmath.mpf(1)


def _log_normal(x: Any) -> Any:
    return mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2)


ROWS = [
    # function, its meaning, points
    (special("exprel"), _exprel, [-0.49, -1e-3, 1e-8, 1e-3, 0.3, 0.51, 2.0, 20.0]),
    (special("log_ndtr"), _log_normal, [-1e4, -30.0, -5.0, 0.0, 3.0, 8.0]),
    (special("j1"), lambda x: mpmath.besselj(1, x), [0.0, 1e-8, 1e-3, 2.0]),
    (special("i1"), lambda x: mpmath.besseli(1, x), [0.0, 1e-8, 1e-3, 2.0]),
    (special("expit"), lambda x: 1 / (1 + mpmath.exp(-x)), [-700.0, -30.0, 0.0, 1.0]),
    (np.arcsin, mpmath.asin, [1 - 1e-10, -1 + 1e-10, 0.5]),
    (np.arccos, mpmath.acos, [1 - 1e-10, -1 + 1e-10, 0.5]),
    (np.arctanh, mpmath.atanh, [1 - 1e-10, -1 + 1e-10, 0.5]),
    (np.expm1, mpmath.expm1, [1e-12, -1e-12, 3.0]),
    (np.log1p, mpmath.log1p, [1e-12, -0.999999, 1e12]),
]


@pytest.mark.parametrize(
    ("function", "meaning", "x"),
    [(function, meaning, x) for function, meaning, points in ROWS for x in points],
)
def test_against_forty_digits(function: Any, meaning: Any, x: float) -> None:
    expected = float(mpmath.diff(meaning, mpmath.mpf(x)))
    np.testing.assert_allclose(slope(function, x), expected, rtol=1e-13, atol=1e-300)


def test_the_first_terms_at_zero() -> None:
    assert slope(special("exprel"), 0.0) == 0.5
    assert slope(special("i1e"), 0.0) == 0.5
    assert slope(special("log_ndtr"), 40.0) == 0


def test_the_slope_on_a_branch_cut_is_that_of_the_side_taken() -> None:
    """NumPy continues arcsin from above at 2 + 0j and from below at 2 - 0j."""
    for x in (complex(2, 0.0), complex(2, -0.0)):
        step = 1e-7j * np.copysign(1, x.imag)
        difference = (np.arcsin(x + step) - np.arcsin(x)) / step
        np.testing.assert_allclose(slope(np.arcsin, x), difference, rtol=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "by_base", "by_exponent"),
    [
        (0.0, 2.0, 0, 0),
        (0.0, 1.0, 1, 0),
        (0.0, 0.0, 0, 0),
        (0.0, 0.5, np.inf, 0),
        (2.0, 0.0, 0, np.log(2)),
        (-2.0, 3.0, 12, np.nan),
        (-2.0, 0.0, 0, np.nan),
        (1.0, -1.0, -1, 0),
    ],
)
def test_corners_of_the_power(x: float, y: float, by_base: float, by_exponent: float) -> None:
    point = np.float64(x), np.float64(y)
    program = program_at(np.power, *point)
    with np.errstate(all="ignore"):
        for direction, expected in (((1.0, 0.0), by_base), ((0.0, 1.0), by_exponent)):
            u = tuple(map(np.float64, direction))
            marks = tuple(bool(part) for part in direction)
            chosen = [part for part, mark in zip(u, marks, strict=True) if mark]
            _, found = run(jvp(program, marks), *point, *chosen, strong=True)
            np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize("exponent", [-2, -1, 0, 1, 2, 3, 7])
def test_integer_powers_at_any_base(exponent: int) -> None:
    for x in (-1.5, 2.0):
        expected = exponent * x ** (exponent - 1)
        assert slope(lambda a: integer_power(a, exponent), x) == pytest.approx(expected, rel=1e-15)
    assert slope(lambda a: integer_power(a, abs(exponent)), 0.0) == (abs(exponent) == 1)


def test_an_integer_to_a_negative_power_is_refused_as_numpy_does() -> None:
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        program_at(lambda a: integer_power(a, -1), np.arange(3))


def test_huber_on_both_sides_of_its_corner() -> None:
    delta, r = np.array([1.0, 1.0, 1.0]), np.array([0.5, 3.0, -3.0])
    program = program_at(lambda d, r: bind(SPECIAL["huber"], d, r), delta, r)
    _, by_delta = run(jvp(program, (True, False)), delta, r, np.ones(3))
    _, by_r = run(jvp(program, (False, True)), delta, r, np.ones(3))
    np.testing.assert_array_equal(by_delta, [0, 2, 2])
    np.testing.assert_array_equal(by_r, [0.5, 1, -1])


def _slopes(name: str, *point: float) -> list[float]:
    """The partial derivatives of a special function."""
    found = []
    for place in range(len(point)):

        def along(x: Any, place: int = place) -> Any:
            return bind(SPECIAL[name], *point[:place], x, *point[place + 1 :])

        found.append(float(slope(along, point[place])))
    return found


@pytest.mark.parametrize(
    ("name", "point", "expected"),
    [
        ("agm", (0.0, 2.0), [np.inf, 0]),
        ("agm", (2.0, 0.0), [0, np.inf]),
        ("agm", (0.0, 0.0), [np.nan, np.nan]),
        ("agm", (1e-5, 2.0), [1700.4336390555445, 0.10706242228534198]),
        ("gdtr", (0.0, 2.0, 1.0), [0, 0, 0]),
        ("gdtr", (0.0, 1.0, 3.0), [3, 0, 0]),
        ("gdtrc", (0.0, 0.5, 1.0), [-np.inf, 0, 0]),
        ("gdtr", (1.0, 0.0, 1.0), [0, -0.21938393439552027, 0]),
        ("gammainc", (0.0, 1.0), [-0.21938393439552027, 0]),
        ("fdtr", (1.0, 3.0, 0.0), [0, 0, np.inf]),
        ("fdtrc", (2.0, 3.0, 0.0), [0, 0, -1]),
    ],
)
def test_parameters_at_the_ends_of_their_ranges(name: Any, point: Any, expected: Any) -> None:
    np.testing.assert_allclose(_slopes(name, *point), expected, rtol=1e-12, atol=1e-300)


def test_without_a_solution_there_is_no_slope() -> None:
    inverse = ad.grad(lambda p: scipy.special.chndtrinc(4.5, 2.0, p))
    assert inverse(0.5) < -1
    assert np.isnan(inverse(0.95))


@pytest.mark.parametrize("p", [1e-15, 1e-5, 0.3, 0.499, 0.7])
def test_the_second_derivative_of_ellipkm1(p: float) -> None:
    found = second(special("ellipkm1"), p)
    with mpmath.workdps(60):
        expected = float(mpmath.diff(lambda q: mpmath.ellipk(1 - q), mpmath.mpf(p), 2, h=p * 1e-15))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def second(function: Callable[..., Any], x: Any) -> Any:
    """The second derivative of a function of one number."""
    program = jvp(jvp(program_at(function, x), (True,)), (True, False))
    return run(program, x, 1.0, 1.0, strong=True)[3]


@pytest.mark.parametrize(
    ("function", "meaning"),
    [
        (lambda x: np.log(1 + np.exp(x)), lambda x: mpmath.log(1 + mpmath.exp(x))),
        (lambda x: np.log(np.exp(x) + 0.25), lambda x: mpmath.log(0.25 + mpmath.exp(x))),
        (lambda x: np.log(np.exp(x) - 0.25), lambda x: mpmath.log(mpmath.exp(x) - 0.25)),
        (lambda x: np.log1p(np.exp(x)), lambda x: mpmath.log1p(mpmath.exp(x))),
        (lambda x: np.log(np.cosh(x)), lambda x: mpmath.log(mpmath.cosh(x))),
    ],
)
def test_logarithms_of_sums_with_exponentials(function: Any, meaning: Any) -> None:
    with mpmath.workdps(700):
        for x in (-1.0, 0.5, 40.0, 300.0):
            point = mpmath.mpf(x)
            step = mpmath.mpf(10) ** -100
            low, mid, high = meaning(point - step), meaning(point), meaning(point + step)
            np.testing.assert_allclose(slope(function, x), float((high - low) / (2 * step)), 5e-14)
            exact = float((high - 2 * mid + low) / step**2)
            np.testing.assert_allclose(second(function, x), exact, 5e-14)


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (lambda x: np.log(np.exp2(x)), 710.0, 0.0),
        (lambda x: np.log(np.sinh(x)), 700.0, 0.0),
        (lambda x: np.log(x * x), 1e100, -2e-200),
    ],
)
def test_second_derivatives_where_the_square_of_a_divisor_is_out_of_range(
    function: Any, x: float, expected: float
) -> None:
    np.testing.assert_allclose(
        second(function, x), expected, rtol=1e-13, atol=1e-13 * (not expected)
    )


@pytest.mark.parametrize("x", [[400.0, 401.0], [-400.0, -399.0], [0.0, 1.0]])
@pytest.mark.parametrize("composition", list(ad.Composition))
def test_the_hessian_of_logsumexp_by_hand(x: list[float], composition: ad.Composition) -> None:
    """1 / s^2 is 0, or infinite, long before the sum s of the exponentials is."""
    product = 0.19661193324148185
    for function in (
        lambda v: np.log(np.sum(np.exp(v))),
        lambda v: np.log(np.exp(v[0]) + np.exp(v[1])),
    ):
        row = ad.hvp(function, np.array(x), np.array([1.0, 0.0]), composition=composition)
        np.testing.assert_allclose(row, [product, -product], rtol=1e-12)
    single = ad.hessian(lambda v: np.log(np.sum(np.exp(v))))(np.array([50.0, 51.0], np.float32))
    np.testing.assert_allclose(single[0], [product, -product], rtol=1e-5)


@pytest.mark.parametrize("native", [False, True])
def test_the_hessian_of_a_softmax_by_hand(native: bool) -> None:
    def share(v: Any) -> Any:
        return np.exp(v[0]) / np.sum(np.exp(v))

    def by_a_power(v: Any) -> Any:
        return np.exp(v[0]) * np.sum(np.exp(v)) ** -1

    near, far = np.array([0.0, 1.0]), np.array([400.0, 401.0])
    for function in (share, by_a_power):
        for derivative in (ad.grad(function), ad.hessian(function)):
            with ad.config(native=native):
                np.testing.assert_allclose(derivative(far), derivative(near), rtol=1e-10)


def test_hypot_has_no_second_derivative_at_the_origin_as_a_norm_has_none() -> None:
    def radius(x: Any, y: Any) -> Any:
        return np.hypot(x, y)

    once = jvp(program_at(radius, 0.0, 0.0), (True, True))
    twice = jvp(once, (True, True, False, False))
    assert np.isnan(run(twice, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, strong=True)[-1])
    assert np.isnan(run(twice, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, strong=True)[-1])
