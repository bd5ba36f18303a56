"""`scipy.interpolate` under capture: with respect to points, data and abscissae."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import interpolate

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

RNG = np.random.default_rng(0)
X = np.cumsum(RNG.random(7) + 0.2)
Y, YY = RNG.standard_normal(7), RNG.standard_normal((2, 7))
T = np.linspace(X[0] + 0.1, X[-1] - 0.1, 5)
TT = np.reshape(T, (5, 1)) * np.ones(2)
GRID = (np.array([0.0, 1, 2.5]), np.array([0.0, 0.5, 2, 3]))
VALUES = RNG.standard_normal((3, 4))
POINTS = np.array([[0.3, 0.7], [1.4, 2.2], [2.0, 0.1]])

ENDS: dict[str, Any] = {
    "not-a-knot": "not-a-knot",
    "natural": "natural",
    "clamped": "clamped",
    "slopes": ((1, 0.3), (2, 0.7)),
    "bends": ((2, 0.1), (1, -0.4)),
    "mixed": ("natural", "not-a-knot"),
}
Cases = dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]
SPLINES: Cases = {
    f"cubic {name} {nu}": (
        lambda x, y, t, ends=ends, nu=nu: interpolate.CubicSpline(x, y, bc_type=ends)(t, nu),
        (X, Y, T),
    )
    for name, ends in ENDS.items()
    for nu in (0, 2)
}
OTHERS: Cases = {
    "cubic rows": (lambda x, y: interpolate.CubicSpline(x, y, axis=1)(TT), (X, YY)),
    "periodic": (
        lambda x, y, t: interpolate.CubicSpline(
            x, np.concatenate([y[:-1], y[:1]]), bc_type="periodic"
        )(t),
        (X, Y, T + 3.0),
    ),
    "two points": (lambda x, y: interpolate.CubicSpline(x, y)(x[:1] + 0.1), (X[:2], Y[:2])),
    "three points": (lambda x, y: interpolate.CubicSpline(x, y)(x[:1] + 0.1), (X[:3], Y[:3])),
    "integrate": (lambda x, y: interpolate.CubicSpline(x, y).integrate(x[0] + 0.1, x[3]), (X, Y)),
    "derivative": (lambda x, y: interpolate.CubicSpline(x, y).derivative()(T), (X, Y)),
    "antiderivative": (lambda x, y: interpolate.CubicSpline(x, y).antiderivative()(T), (X, Y)),
    "hermite": (lambda x, y, d, t: interpolate.CubicHermiteSpline(x, y, d)(t), (X, Y, Y**2, T)),
    "pchip": (lambda x, y, t: interpolate.PchipInterpolator(x, y)(t), (X, Y, T)),
    "pchip rows": (lambda x, y: interpolate.PchipInterpolator(x, y, axis=1)(T, 1), (X, YY)),
    "akima": (lambda x, y, t: interpolate.Akima1DInterpolator(x, y)(t), (X, Y, T)),
    "makima": (
        lambda x, y, t: interpolate.Akima1DInterpolator(x, y, method="makima")(t),
        (X, Y, T),
    ),
    **{
        f"make_interp_spline {k}": (
            lambda y, t, k=k: interpolate.make_interp_spline(X, y, k, axis=1)(t, 1),
            (YY, T),
        )
        for k in (1, 2, 3, 5)
    },
    "splev": (lambda c, t: interpolate.splev(t, (KNOTS, c, 3), 1), (Y, T)),
    "BSpline": (lambda s, c, t: interpolate.BSpline(KNOTS * s, c, 3)(t), (1.0, Y, T)),
    **{
        f"interp1d {kind}": (lambda y, t, kind=kind: interpolate.interp1d(X, y, kind)(t), (Y, T))
        for kind in ("linear", "cubic", "quadratic", "nearest", "previous", "next", 3)
    },
    "interp1d data": (lambda x, y, t: interpolate.interp1d(x, y)(t), (X, YY, T)),
    "interp1d beyond": (
        lambda x, y, t: interpolate.interp1d(x, y, fill_value="extrapolate")(t),
        (X, YY, T + 3.0),
    ),
    "interp1d filled": (
        lambda y, t: interpolate.interp1d(X, y, bounds_error=False, fill_value=(1.0, 2.0))(t),
        (Y, T + 1.0),
    ),
    **{
        f"grid {method}": (
            lambda v, p, method=method: interpolate.RegularGridInterpolator(GRID, v, method)(p),
            (VALUES, POINTS),
        )
        for method in ("linear", "nearest")
    },
    "interpn": (lambda v, p: interpolate.interpn(GRID, v, p), (VALUES, POINTS)),
    "grid beyond": (
        lambda v, p: interpolate.RegularGridInterpolator(
            GRID, v, bounds_error=False, fill_value=None
        )(p),
        (VALUES, POINTS + 1.0),
    ),
}
KNOTS = interpolate.make_interp_spline(X, Y).t
CASES: Cases = {**SPLINES, **OTHERS}

CUBIC = interpolate.CubicSpline(X, Y)
MADE: dict[str, Any] = {
    "CubicSpline": CUBIC,
    "its derivative": CUBIC.derivative(),
    "Pchip": interpolate.PchipInterpolator(X, YY, axis=1),
    "BSpline": interpolate.make_interp_spline(X, Y),
    "UnivariateSpline": interpolate.UnivariateSpline(X, Y, s=0.1),
    "interp1d": interpolate.interp1d(X, Y),
    **{
        f"interp1d {kind}": interpolate.interp1d(X, Y, kind)
        for kind in ("slinear", "quadratic", "cubic", "nearest", "previous", "next", 2, 5)
    },
    "interp1d along the last axis": interpolate.interp1d(X, YY, "cubic", axis=1),
    "interp1d beyond": interpolate.interp1d(X[1:-1], Y[1:-1], "cubic", fill_value="extrapolate"),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name: str) -> None:
    function, args = CASES[name]
    agrees(function, *args)


@pytest.mark.parametrize("name", MADE)
def test_interpolants_that_scipy_made_outside(name: str) -> None:
    interpolant = MADE[name]
    agrees(lambda t: interpolant(t), T)
    agrees(interpolant, T)


def _values_doubled(line: Any) -> None:
    line.y *= 2.0


def _values_replaced(line: Any) -> None:
    line.y = 2.0 * line.y


def _points_replaced(line: Any) -> None:
    line.x = line.x + 0.01


def _coefficients_doubled(line: Any) -> None:
    if hasattr(line, "_spline"):
        line._spline.c *= 2.0


def _bounds_and_fill(line: Any) -> None:
    line.bounds_error = False
    line.fill_value = (1.0, 2.0)


@pytest.mark.parametrize(
    "change",
    [_values_doubled, _values_replaced, _points_replaced, _coefficients_doubled, _bounds_and_fill],
)
@pytest.mark.parametrize("kind", ["linear", "cubic", "nearest", "previous", "next"])
@pytest.mark.parametrize("values", [Y, YY])
def test_a_made_interp1d_is_what_scipy_evaluates(change: Any, kind: str, values: Any) -> None:
    line = interpolate.interp1d(X, values, kind, axis=values.ndim - 1, bounds_error=False)
    change(line)
    for t in (T, T + 1.0):
        np.testing.assert_allclose(ad.jit(line)(t), line(t), rtol=1e-13, atol=1e-15)
    agrees(lambda t: line(t), T[:-1])


def test_a_made_interp1d_of_values_that_are_nan_is_nan() -> None:
    line = interpolate.interp1d(X, np.where(Y[2] == Y, np.nan, Y), "cubic")
    assert np.all(np.isnan(ad.jit(line)(T)))


def test_methods_of_interpolants_made_outside() -> None:
    agrees(lambda t: CUBIC.derivative()(t) + CUBIC(t, 2), T)
    agrees(lambda a: CUBIC.integrate(a, 3.0), X[1])


class Table:
    """A spline kept in an object."""

    def __init__(self) -> None:
        self.spline = CUBIC

    def squared(self, t: Any) -> Any:
        return self.spline(t) ** 2


def test_an_interpolant_in_an_object() -> None:
    agrees(Table().squared, T)


def test_all_modes() -> None:
    agrees_in_all_modes(lambda t: np.sum(CUBIC(t) ** 2), T)
    agrees_in_all_modes(lambda y: np.sum(interpolate.CubicSpline(X, y)(T) ** 3), Y)
    agrees_in_all_modes(
        lambda p: np.sum(interpolate.interpn(GRID, VALUES, p) ** 2), POINTS, tolerance=1e-5
    )


SCATTERED = np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1], [1.2, 1.4], [0.6, 0.5]])
HEIGHTS = np.array([1.0, 2.0, 0.5, 3.0, -1.0])
PLACES = np.array([[0.4, 0.6], [1.0, 0.4]])
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {},
    "thin_plate_spline": {},
    "cubic": {"smoothing": 0.1},
    "quintic": {"degree": 0},
    "multiquadric": {"epsilon": 1.3},
    "inverse_multiquadric": {"epsilon": 1.3, "degree": 1},
    "inverse_quadratic": {"epsilon": 0.7},
    "gaussian": {"epsilon": 1.1, "degree": -1},
}


@pytest.mark.filterwarnings("ignore:`degree` should")
@pytest.mark.parametrize("kernel", KERNELS)
def test_scattered_data(kernel: str) -> None:
    options = {"kernel": kernel, **KERNELS[kernel]}
    agrees(
        lambda y, d, x: interpolate.RBFInterpolator(y, d, **options)(x), SCATTERED, HEIGHTS, PLACES
    )
    fixed = interpolate.RBFInterpolator(SCATTERED, HEIGHTS, **options)
    agrees(fixed, PLACES)
    agrees_in_all_modes(lambda x: np.sum(fixed(x) ** 2), PLACES)


def test_scattered_data_by_neighbours_and_at_a_data_point() -> None:
    agrees(lambda d: interpolate.RBFInterpolator(SCATTERED, d, neighbors=4)(PLACES), HEIGHTS)
    spline = interpolate.RBFInterpolator(SCATTERED, HEIGHTS)
    agrees(lambda x: spline(x[None]), SCATTERED[1])  # r^2 log r has a slope there, 0,
    assert not np.isfinite(ad.hessian(lambda x: spline(x[None])[0])(SCATTERED[1])).any()
    cubic = interpolate.RBFInterpolator(SCATTERED, HEIGHTS, kernel="cubic")
    assert np.isfinite(ad.hessian(lambda x: cubic(x[None])[0])(SCATTERED[1])).all()


POLYNOMIALS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "barycentric": (
        lambda x, y, t: interpolate.BarycentricInterpolator(x, y)(t),
        (X[:4], Y[:4], T),
    ),
    "Krogh": (lambda x, y, t: interpolate.KroghInterpolator(x, y)(t), (X[:4], Y[:4], T)),
    "Krogh's derivative": (
        lambda y, t: interpolate.KroghInterpolator(X[:4], y).derivative(t),
        (Y[:4], T),
    ),
    "functions": (
        lambda y, t: (
            interpolate.krogh_interpolate(X[:4], y, t)
            * interpolate.barycentric_interpolate(X[:4], y, t)
        ),
        (Y[:4], T),
    ),
    "Rbf": (lambda x, y, t: interpolate.Rbf(x, y)(t), (X, Y, T)),
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_interpolants_that_are_entered(name: str) -> None:
    function, args = POLYNOMIALS[name]
    agrees(function, *args)


ALONG_X, ALONG_Y = np.linspace(0, 3, 7), np.linspace(0, 2, 6)
SURFACE = interpolate.RectBivariateSpline(
    ALONG_X, ALONG_Y, np.sin(ALONG_X)[:, None] * np.cos(ALONG_Y) + np.outer(ALONG_X, ALONG_Y)
)
ABOVE = np.array([0.4, 1.3, 2.2])
SURFACES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "grid": (lambda x, y: SURFACE(x, y), (ABOVE, ABOVE / 2)),
    "places": (lambda x, y: SURFACE(x, y, grid=False), (ABOVE, ABOVE / 2)),
    "derivatives at places": (lambda x, y: SURFACE.ev(x, y, dx=1, dy=1), (ABOVE, ABOVE / 2)),
    "broadcast": (lambda x, y: SURFACE.ev(x[:, None], y), (ABOVE, ABOVE[:2] / 2)),
    "outside": (lambda x: SURFACE.ev(5 * x, x / 2), (ABOVE,)),
    "partial": (lambda x: SURFACE.partial_derivative(1, 0)(x, x / 2, grid=False), (ABOVE,)),
    "FITPACK's": (lambda x, y: interpolate.bisplev(x, y[0], (*SURFACE.tck, 3, 3)), (ABOVE, ABOVE)),
    "one place": (lambda x: interpolate.bisplev(x[0], x[1], (*SURFACE.tck, 3, 3)), (ABOVE / 2,)),
    "made inside": (
        lambda x: interpolate.RectBivariateSpline(X, X, np.outer(Y, Y), kx=2, ky=1).ev(x, x / 2),
        (T,),
    ),
}


@pytest.mark.parametrize("name", SURFACES)
def test_surfaces(name: str) -> None:
    function, args = SURFACES[name]
    agrees(function, *args)


def test_surfaces_in_all_modes() -> None:
    agrees_in_all_modes(lambda x: np.sum(SURFACE.ev(x, x / 2) ** 2), ABOVE)


def test_what_stands_for_an_object_is_an_instance_of_its_class() -> None:
    def function(y: Any) -> Any:
        spline, line = interpolate.CubicSpline(X, y), interpolate.interp1d(X, y)
        assert isinstance(spline, interpolate.CubicSpline)
        assert isinstance(spline, (int, interpolate.PPoly))
        assert isinstance(line, interpolate.interp1d)
        assert isinstance(CUBIC, interpolate.PPoly)
        assert isinstance(interpolate.UnivariateSpline(X, Y), interpolate.UnivariateSpline)
        assert not isinstance([spline], interpolate.PPoly)
        assert issubclass(interpolate.CubicSpline, interpolate.PPoly)
        return np.sum(spline(T) * line(T))

    agrees(function, Y)


def test_what_is_outside_and_what_is_refused() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="make them outside"):
        ad.grad(lambda z: interpolate.RectBivariateSpline(X, X, z)(1.0, 1.0).sum())(np.outer(Y, Y))
    with pytest.raises(ValueError, match="outside the interpolation range"):
        ad.grad(lambda t: interpolate.interp1d(X, Y)(t))(X[-1] + 1.0)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="Use CubicSpline"):
        ad.grad(lambda x: interpolate.make_interp_spline(x, Y)(T).sum())(X)
    with pytest.raises(NotImplementedError, match="cubik"):
        ad.grad(lambda y: interpolate.interp1d(X, y, "cubik")(T).sum())(Y)
    with pytest.raises(ValueError, match="length"):
        ad.grad(lambda y: interpolate.CubicSpline(X[:-1], y)(T).sum())(Y)
