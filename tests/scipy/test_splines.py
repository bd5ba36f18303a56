"""`scipy.interpolate` beyond the data, over periods, at nodes, and as integrals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import interpolate

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

RNG = np.random.default_rng(3)
X = np.array([0.0, 0.7, 1.1, 2.0, 3.2, 4.0])
Y, YY = RNG.standard_normal(6), RNG.standard_normal((6, 2))
ROUND = np.concatenate([Y[:-1], Y[:1]])
BEYOND = np.array([-0.5, 0.4, 2.6, 4.7])


# --- FITPACK's splines ----------------------------------------------------------------------------


@pytest.mark.parametrize("ext", [0, 1, 3, "zeros", "const", "extrapolate"])
@pytest.mark.parametrize("made", ["UnivariateSpline", "InterpolatedUnivariateSpline"])
def test_fitted_splines_go_on_as_ext_says(made: str, ext: Any) -> None:
    spline = getattr(interpolate, made)(X, Y, ext=ext)
    agrees(lambda t: spline(t), BEYOND)
    agrees(lambda t: spline(t, 1), BEYOND)
    agrees(lambda t: spline.derivative()(t), BEYOND)
    agrees(lambda t: spline.antiderivative()(t), BEYOND)
    agrees(lambda t: spline(t, ext=1) + spline(t, 0, "const"), BEYOND)
    agrees(lambda a, b: spline.integral(a, b), -0.3, 2.4)
    agrees(lambda t: spline.derivatives(t), 1.3)


def test_fitted_splines_that_end_with_an_error() -> None:
    spline = interpolate.UnivariateSpline(X, Y, ext="raise")
    agrees(lambda t: spline(t), BEYOND[1:3])
    with pytest.raises(ValueError, match="outside the interpolation range"):
        ad.grad(lambda t: spline(t))(4.5)
    with pytest.raises(ValueError, match="extrapolation mode"):
        ad.grad(lambda t: spline(t, ext=7))(1.0)


# --- integrals ------------------------------------------------------------------------------------

ENDS = [(0.4, 2.5), (0.4, 6.5), (-3.0, 9.3), (6.0, 2.0)]


@pytest.mark.parametrize(("a", "b"), ENDS)
@pytest.mark.parametrize("beyond", [True, "periodic"])
def test_integrals_of_cubics(beyond: Any, a: float, b: float) -> None:
    def made(y: Any) -> Any:
        return interpolate.CubicSpline(X, y, bc_type="natural", extrapolate=beyond)

    spline = made(Y)
    agrees(lambda y, a, b: made(y).integrate(a, b), Y, a, b)
    agrees(lambda a, b: spline.integrate(a, b), a, b)
    agrees(lambda a, b: spline.integrate(a, b, extrapolate="periodic"), a, b)


@pytest.mark.parametrize(("a", "b"), ENDS)
@pytest.mark.parametrize("beyond", [True, False, "periodic"])
def test_integrals_of_b_splines(beyond: Any, a: float, b: float) -> None:
    t, c, k = interpolate.make_interp_spline(X, YY).tck
    spline = interpolate.BSpline(t, c, k, beyond)
    agrees(lambda c, a, b: interpolate.BSpline(t, c, k, beyond).integrate(a, b), c, a, b)
    agrees(lambda a, b: spline.integrate(a, b), a, b)


def test_the_antiderivative_of_a_periodic_spline_is_not_periodic() -> None:
    def made(y: Any) -> Any:
        return interpolate.CubicSpline(X, np.concatenate([y[:-1], y[:1]]), bc_type="periodic")

    value = ad.jit(lambda y: made(y).antiderivative()(BEYOND))(Y)
    np.testing.assert_allclose(value, made(Y).antiderivative()(BEYOND))
    assert np.isnan(value[[0, 3]]).all()


# --- splines of any degree ------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_derivatives_and_integrals_of_splines_made_outside_at_their_ends(k: int) -> None:
    spline = interpolate.make_interp_spline(X, YY, k)
    places = np.array([0.4, 3.9, 4.7, -0.5])  # SciPy's derivative has more coefficients than needed
    agrees(lambda t: spline.derivative()(t), places)
    agrees(lambda t: spline.antiderivative()(t), places)
    agrees(lambda y, t: interpolate.make_interp_spline(X, y, k).antiderivative()(t), YY, places)
    last = ad.jit(lambda t: spline.derivative()(t))(X[-1:])
    np.testing.assert_allclose(last, spline.derivative()(X[-1:]))


CONDITIONS: list[Any] = [
    ("natural", "clamped"),
    ([(1, 0.5)], [(2, -0.2)]),
    ([(1, 0.5), (2, 0.1)], None),
]


@pytest.mark.parametrize("ends", CONDITIONS)
def test_splines_with_conditions_at_their_ends(ends: Any) -> None:
    agrees(lambda y: interpolate.make_interp_spline(X, y, bc_type=ends)(BEYOND), Y)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_periodic_splines(k: int) -> None:
    def made(y: Any) -> Any:
        around = np.concatenate([y[:-1], y[:1]])
        return interpolate.make_interp_spline(X, around, k, bc_type="periodic")

    agrees(lambda y, t: made(y)(t), Y, BEYOND)
    agrees(lambda t: interpolate.make_interp_spline(X, ROUND, k, bc_type="periodic")(t), BEYOND)


def test_conditions_that_are_traced_are_refused() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="bc_type"):
        ad.grad(
            lambda s: interpolate.make_interp_spline(X, Y, bc_type=([(1, s)], [(1, 0.0)]))(1.0)
        )(0.5)


def test_methods_without_a_derivative_are_refused_by_name() -> None:
    surface = interpolate.RectBivariateSpline(X, X, np.outer(Y, Y))
    refused: list[Any] = [
        (lambda y: interpolate.CubicSpline(X, y).roots()[0], "PPoly.roots", Y),
        (lambda y: interpolate.make_interp_spline(X, y).insert_knot(1.0)(2.0), "insert_knot", Y),
        (lambda a: surface.integral(a, 2.0, 0.1, 0.3), "RectBivariateSpline.integral", 1.0),
    ]
    for function, name, x in refused:
        with pytest.raises(ad.errors.UnsupportedFunctionError, match=name):
            ad.grad(function)(x)
    assert ad.jit(lambda y: y * hasattr(interpolate.CubicSpline(X, y), "nothing"))(1.0 * Y)[0] == 0


# --- lines and grids ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["previous", "next"])
@pytest.mark.parametrize("axis", [0, 1])
def test_nothing_is_previous_to_the_first_point_or_next_to_the_last(kind: str, axis: int) -> None:
    rows = YY if axis == 0 else YY.T
    options: dict[str, Any] = {"kind": kind, "axis": axis, "fill_value": "extrapolate"}
    line = interpolate.interp1d(X, rows, **options)
    agrees(lambda y: interpolate.interp1d(X, y, **options)(BEYOND[1:3]), rows)
    for t in (BEYOND, BEYOND[1:]):
        np.testing.assert_array_equal(ad.jit(line)(t), line(t))
        np.testing.assert_array_equal(
            ad.jit(lambda y, t=t: interpolate.interp1d(X, y, **options)(t))(rows), line(t)
        )


def test_a_number_to_fill_with_does_not_allow_to_leave_the_points() -> None:
    def function(y: Any, t: Any) -> Any:
        return interpolate.interp1d(X, y, fill_value=0.7)(t)

    compiled = ad.jit(function)
    compiled(Y, 1.0)
    with pytest.raises(ValueError, match="outside the interpolation range"):
        compiled(Y, 5.0)


def test_grids_with_axes_that_fall() -> None:
    axes, places = (X[::-1], X), np.array([[0.3, 1.7], [3.9, 0.2]])
    agrees(lambda v, p: interpolate.RegularGridInterpolator(axes, v)(p), np.outer(Y, Y**2), places)
    agrees(lambda v, p: interpolate.interpn(axes, v, p), np.outer(Y, Y**2), places)


# --- polynomials at their nodes -------------------------------------------------------------------


def test_barycentric_polynomials_at_their_nodes() -> None:
    places = np.array([X[1], 0.9, X[4]])
    fixed = interpolate.BarycentricInterpolator(X, YY)
    agrees(lambda t: fixed(t), places)
    agrees(lambda y, t: interpolate.BarycentricInterpolator(X, y)(t), Y, places)
    agrees(lambda t: fixed(t), X[2])
    agrees_in_all_modes(lambda t: np.sum(fixed(t) ** 2), places, tolerance=1e-5)
