"""Classes that inherit from SciPy's, or NumPy's polynomials, and override their methods."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as interpolate
from numpy.polynomial import Chebyshev, Legendre, Polynomial
from scipy.spatial import KDTree

import adjoint as ad

T = np.linspace(0.0, 1.0, 6)
Y = np.sin(3.0 * T)
CUBIC = interpolate.CubicSpline(T, Y)


def clamped(base: Any) -> Any:
    """A class that is flat outside of (0.1, 0.9), and three times as high."""

    class Clamped(base):
        def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
            return 3.0 * super().__call__(np.clip(x, 0.1, 0.9), *args, **kwargs)

    return Clamped


class OwnIntegral(interpolate.CubicSpline):
    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        return 2.0 * super().integrate(a, b)


class OwnDerivative(Polynomial):
    def deriv(self, m: int = 1) -> Any:
        return 3.0 * super().deriv(m)


class Adding(interpolate.CubicSpline):
    def twice(self, x: Any) -> Any:
        return 2.0 * self(x)


class Surface(interpolate.RectBivariateSpline):
    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        return 3.0 * super().__call__(np.clip(x, 0.1, 0.9), y, dx, dy, grid)


class SurfaceAtPoints(interpolate.RectBivariateSpline):
    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        return 5.0 * super().ev(xi, yi, dx, dy)


class Tree(KDTree):
    def query(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        distances, places = super().query(x, *args, **kwargs)
        return 3.0 * distances, places


class Partial(functools.partial):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return 3.0 * super().__call__(*args, **kwargs)


class Tripling:
    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return 3.0 * super().__call__(x, *args, **kwargs)  # type: ignore[misc]


class Mixed(Tripling, interpolate.CubicSpline):
    pass


class Behind(interpolate.CubicSpline, Tripling):
    pass


MADE: dict[str, Any] = {
    "CubicSpline": clamped(interpolate.CubicSpline)(T, Y),
    "PchipInterpolator": clamped(interpolate.PchipInterpolator)(T, Y),
    "Akima1DInterpolator": clamped(interpolate.Akima1DInterpolator)(T, Y),
    "PPoly": clamped(interpolate.PPoly)(CUBIC.c, CUBIC.x),
    "BSpline": clamped(interpolate.BSpline)(*interpolate.splrep(T, Y)),
    "interp1d": clamped(interpolate.interp1d)(T, Y),
    "UnivariateSpline": clamped(interpolate.UnivariateSpline)(T, Y),
    "InterpolatedUnivariateSpline": clamped(interpolate.InterpolatedUnivariateSpline)(T, Y),
    "BarycentricInterpolator": clamped(interpolate.BarycentricInterpolator)(T, Y),
    "Polynomial": clamped(Polynomial)([1.0, 2.0, 3.0]),
    "Chebyshev": clamped(Chebyshev)([1.0, 2.0, 3.0]),
    "Legendre": clamped(Legendre)([1.0, 2.0, 3.0]),
    "a mixin": Mixed(T, Y),
    "a mixin behind": Behind(T, Y),
}
GRID = clamped(interpolate.RegularGridInterpolator)((T, T), np.outer(Y, Y))
INTEGRAL, DERIVATIVE = OwnIntegral(T, Y), OwnDerivative([1.0, 2.0, 3.0, 4.0])
SURFACE, AT_POINTS = Surface(T, T, np.outer(Y, Y)), SurfaceAtPoints(T, T, np.outer(Y, Y))
TREE, PARTIAL, ADDING = Tree(np.eye(2)), Partial(lambda x, y: y * np.sin(x), y=2.0), Adding(T, Y)
FUNCTIONS: dict[str, Any] = {
    **{name: lambda x, made=made: 1.0 * made(x) for name, made in MADE.items()},
    "its method": lambda x: 1.0 * MADE["CubicSpline"].__call__(x),
    "its derivative": lambda x: 1.0 * MADE["CubicSpline"].derivative()(x),
    "an integral that it inherits": lambda x: 1.0 * MADE["CubicSpline"].integrate(0.0, x),
    "made inside": lambda x: 1.0 * clamped(interpolate.CubicSpline)(T, Y)(x),
    "RegularGridInterpolator": lambda x: GRID(np.stack([x, 0.5 * x]))[0],
    "integrate": lambda x: 1.0 * INTEGRAL.integrate(0.1, x),
    "a call beside integrate": lambda x: 1.0 * INTEGRAL(x),
    "deriv": lambda x: DERIVATIVE.deriv()(x),
    "a call beside deriv": lambda x: DERIVATIVE(x),
    "RectBivariateSpline": lambda x: 1.0 * SURFACE(x, 0.5, grid=False),
    "ev": lambda x: 1.0 * AT_POINTS.ev(x, 0.5),
    "KDTree": lambda x: TREE.query(np.stack([x, 0.2]))[0],
    "functools.partial": lambda x: PARTIAL(x),
    "a method of its own": lambda x: 1.0 * ADDING.twice(x),
    "a call of what adds a method": lambda x: 1.0 * ADDING(x),
    "map": lambda x: sum(map(MADE["CubicSpline"], [x, 0.5 * x])),
    "map of what overrides no call": lambda x: sum(map(ADDING, [x, 0.5 * x])),
    "bound by functools.partial": lambda x: 1.0 * functools.partial(ADDING, x)(),
    "the class": lambda x: x * (2 if isinstance(ADDING, interpolate.CubicSpline) else 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_overridden_methods(name: str) -> None:
    function = FUNCTIONS[name]
    compiled = ad.jit(function)
    for x in (0.53, 0.95, 0.31):
        value, slope = ad.value_and_grad(function)(x)
        step = 1e-6
        expected = (function(x + step) - function(x - step)) / (2 * step)
        assert value == pytest.approx(function(x), rel=1e-12)
        assert slope == pytest.approx(expected, rel=1e-6, abs=1e-8)
        assert compiled(x) == pytest.approx(function(x), rel=1e-12)


class Integrated(Polynomial):
    def __call__(self, arg: Any) -> Any:
        return 3.0 * super().__call__(arg)


OWN = Integrated([1.0, 2.0, 3.0])
REFUSED: dict[str, Any] = {
    "a method of the library's that calls what is overridden": lambda x: 1.0 * SURFACE.ev(x, 0.5),
    "an object that is made of traced values": lambda x: OWN.integ(lbnd=x)(1.0),
    "arithmetic": lambda x: (x * OWN)(1.0),
    "a composition": lambda x: Polynomial([1.0, 2.0])(OWN)(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_pass_an_override_by(name: str) -> None:
    with pytest.raises((ad.errors.UnsupportedFunctionError, ad.errors.DroppedDerivativeError)):
        ad.grad(REFUSED[name])(0.53)


def test_the_refusal_names_the_class_and_the_methods() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"Surface\.ev .*__call__"):
        ad.grad(lambda x: 1.0 * SURFACE.ev(x, 0.5))(0.53)
