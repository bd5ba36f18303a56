"""`scipy.interpolate`: linear interpolation, and interpolants that SciPy made outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import as_array
from adjoint.capture.recording.effects.value_errors import suppose
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.table import implements_scipy, refuses_scipy
from adjoint.scipy.interpolate.b_splines import FittedSpline, Spline, interpolating_spline
from adjoint.scipy.interpolate.piecewise import (
    PiecewisePolynomial,
    at_places,
    check_inside,
    column,
    interval,
    placed,
    real_places,
)
from adjoint.scipy.objects import stands_in

# --- linear interpolation, in one and more dimensions ---------------------------------------------


@implements_scipy("interpolate", "interp1d")
def interp1d(
    x: Any,
    y: Any,
    kind: Any = "linear",
    axis: int = -1,
    copy: bool = True,
    bounds_error: Any = None,
    fill_value: Any = np.nan,
    assume_sorted: bool = False,
) -> Callable[[Any], Any]:
    """The function that interpolates."""
    kind = _OF_DEGREE.get(kind, kind)
    if kind not in _KINDS and kind not in (2, 3, 4, 5):
        raise UnsupportedFunctionError(
            f"scipy.interpolate.interp1d of traced values does not take kind={kind!r}."
        )
    points, values = as_array(x) * 1.0, as_array(y) * 1.0
    axis = axis % values.ndim
    values = np.moveaxis(values, axis, 0)
    if not assume_sorted:
        order = np.argsort(points)
        points, values = points[order], values[order]
    further = isinstance(fill_value, str) and fill_value == "extrapolate"
    strict = not further and (bounds_error is None or bounds_error)
    ends = None if further else fill_value
    if further and kind in _UNKNOWN_BEYOND:
        ends = _UNKNOWN_BEYOND[kind](values)
    return _within(
        lambda x: _interpolated(kind, points, values, x), points, ends, strict=strict, axis=axis
    )


def _within(
    inside: Callable[[Any], Any], points: Any, ends: Any, *, strict: bool, axis: int
) -> Callable[[Any], Any]:
    """What interpolates between the first and the last point, and is something else beyond.

    Args:
        inside: the interpolation, whose first axes are those of the places.
        points: those whose first and last bound it.
        ends: what it is beyond them: a pair, or one for both; None: as inside.
        strict: whether places beyond are an error instead.
        axis: where the axes of the places are to stand.
    """
    if strict:  # the error, or NaN where the points are other ones later
        ends = (np.nan, np.nan)
    if ends is not None and not isinstance(ends, tuple):
        ends = (ends, ends)

    def function(x_new: Any) -> Any:
        where = real_places(x_new)
        if strict:
            low, high = concrete(points[0]), concrete(points[-1])
            check_inside("interp1d", where, low, high)
        values_there = inside(where)
        if ends is not None:
            below, above = (
                column(outside, values_there) for outside in (where < points[0], where > points[-1])
            )
            values_there = np.where(below, ends[0], np.where(above, ends[1], values_there))
        return placed(values_there, np.ndim(where), axis)

    return function


_KINDS: Final = ("linear", "slinear", "nearest", "previous", "next")  # or a degree
_OF_DEGREE: Final[dict[Any, Any]] = {1: "linear", "quadratic": 2, "cubic": 3}
# Nothing is previous to the first point, and nothing next to the last one.
_UNKNOWN_BEYOND: Final[dict[Any, Callable[[Any], tuple[Any, Any]]]] = {
    "previous": lambda values: (np.nan, values[-1]),
    "next": lambda values: (values[0], np.nan),
}


def _interpolated(kind: str | int, points: Any, values: Any, x: Any) -> Any:
    if type(kind) is int:
        return interpolating_spline(points, values, kind)(x)
    if kind in ("nearest", "previous", "next"):
        searched = (points[1:] + points[:-1]) / 2.0 if kind == "nearest" else points
        return _stepwise(kind, searched, values, x)
    place = interval(points, x)
    low, high = at_places(points, place), at_places(points, place + 1)
    below, above = at_places(values, place), at_places(values, place + 1)
    share = column((x - low) / (high - low), below)
    return below * (1 - share) + above * share


def _stepwise(kind: str, searched: Any, values: Any, x: Any) -> Any:
    """The value at a point: the nearest one, by the middles between them, or a neighbour."""
    side: Any = "right" if kind == "previous" else "left"
    chosen = np.searchsorted(searched, x, side=side) - (kind == "previous")
    return at_places(values, np.clip(chosen, 0, np.shape(values)[0] - 1))


@implements_scipy("interpolate", "RegularGridInterpolator")
def grid_interpolator(
    points: Any,
    values: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
    **options: Any,
) -> Callable[..., Any]:
    """Multilinear interpolation on a grid, or the value at the nearest point."""
    axes = [as_array(axis) * 1.0 for axis in points]
    table = as_array(values) * 1.0
    for place, axis in enumerate(axes):
        if np.shape(axis)[0] > 1 and bool(axis[0] > axis[-1]):  # SciPy turns such axes round
            axes[place], table = axis[::-1], np.flip(table, place)
        suppose(axes[place][1:] > axes[place][:-1])

    def function(xi: Any, method: str = method, **more: Any) -> Any:
        xi = as_array(_joined(xi)) * 1.0
        if xi.shape[-1] != len(axes):
            raise ValueError(
                f"The requested sample points xi have dimension {xi.shape[-1]} but this "
                f"RegularGridInterpolator has dimension {len(axes)}"
            )
        if method not in ("linear", "nearest"):
            raise UnsupportedFunctionError(
                "scipy.interpolate.RegularGridInterpolator of traced values interpolates "
                f"'linear' or 'nearest'; got {method!r}."
            )
        return _on_grid(axes, table, xi, method, bounds_error, fill_value)

    return function


def _joined(xi: Any) -> Any:
    if isinstance(xi, tuple):
        return np.stack(np.broadcast_arrays(*map(as_array, xi)), axis=-1)
    return xi


def _on_grid(
    axes: Any, table: Any, xi: Any, method: str, bounds_error: bool, fill_value: Any
) -> Any:
    if bounds_error:
        low = np.array([concrete(axis[0]) for axis in axes])
        high = np.array([concrete(axis[-1]) for axis in axes])
        check_inside("RegularGridInterpolator", xi, low, high)
    corners: list[tuple[tuple[Any, ...], Any]] = [((), 1.0)]
    inside: Any = True
    for number, axis in enumerate(axes):
        x = xi[..., number]
        place = interval(axis, x)
        low = at_places(axis, place)
        share = (x - low) / (at_places(axis, place + 1) - low)
        inside = inside & (x >= axis[0]) & (x <= axis[-1])
        if method == "nearest":
            corners = [((*at, place + np.where(share <= 0.5, 0, 1)), w) for at, w in corners]
            continue
        corners = [
            ((*at, place + step), w * part)
            for at, w in corners
            for step, part in ((0, 1 - share), (1, share))
        ]
    total: Any = 0.0
    lengths = table.shape[: len(axes)]
    flat = np.reshape(table, (-1, *table.shape[len(axes) :]))
    for at, weight in corners:
        flat_place: Any = 0
        for place, length in zip(at, lengths, strict=True):
            flat_place = flat_place * length + place
        value = at_places(flat, flat_place)
        total = total + (value if method == "nearest" else value * column(weight, value))
    if fill_value is not None:
        total = np.where(column(inside, total), total, fill_value)
    return total if np.ndim(xi) > 1 else np.reshape(total, (1, *np.shape(total)))


@implements_scipy("interpolate", "interpn")
def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:
    """Interpolation on a grid."""
    return grid_interpolator(points, values, method, bounds_error, fill_value)(xi)


# --- interpolants that SciPy made -----------------------------------------------------------------


def _from_univariate(spline: Any) -> FittedSpline:
    t, c, k = spline._eval_args  # SciPy has no public access to the knots with their ends
    return FittedSpline(t, c, k, spline.ext)


def _from_interp1d(function: Any) -> Any:
    """From what SciPy's object evaluates, which its public `x` and `y` are only in part.

    They may have been written over since it was made: `x` bounds the places, and the rest follows
    what was derived from both.
    """

    def beyond(filled: Any) -> Any:
        return np.reshape(filled, () if filled.size == 1 else function._y_extra_shape)

    ends = None
    if not function._extrapolate:
        ends = beyond(function._fill_value_below), beyond(function._fill_value_above)
    return _within(
        _inside_of(function),
        function.x,
        ends,
        strict=bool(function.bounds_error),
        axis=function._y_axis,
    )


def _inside_of(function: Any) -> Callable[[Any], Any]:
    """What a made `interp1d` evaluates between its points."""
    kind, rest = function._kind, function._y_extra_shape
    if kind == "spline":
        fitted = function._spline
        spline = Spline(fitted.t, fitted.c, fitted.k, fitted.extrapolate, fitted.axis)
        factor = np.nan if function._call.__name__ == "_call_nan_spline" else 1.0
        return lambda x: np.reshape(spline(x), (*np.shape(x), *rest)) * factor
    values = np.reshape(function._y, (-1, *rest))
    if kind == "linear":
        if function._call.__name__ == "_call_linear_np":
            values = function.y
        return lambda x: _interpolated(kind, function.x, values, x)
    if kind == "nearest":
        searched = function.x_bds
    elif kind in ("previous", "next"):  # which SciPy searches beside the points, not at them
        searched = np.nextafter(function._x_shift, np.inf if kind == "previous" else -np.inf)
    else:
        raise UnsupportedFunctionError(
            f"scipy.interpolate.interp1d is not differentiated with kind={kind!r}."
        )
    return lambda x: _stepwise(kind, searched, values, x)


stands_in(
    lambda polynomial: PiecewisePolynomial(
        polynomial.c, polynomial.x, polynomial.extrapolate, polynomial.axis
    ),
    "PPoly",
)
stands_in(
    lambda spline: Spline(spline.t, spline.c, spline.k, spline.extrapolate, spline.axis), "BSpline"
)
stands_in(_from_univariate, "UnivariateSpline")
stands_in(_from_interp1d, "interp1d")
stands_in(
    lambda interpolator: grid_interpolator(
        interpolator.grid,
        interpolator.values,
        interpolator.method,
        interpolator.bounds_error,
        interpolator.fill_value,
    ),
    "RegularGridInterpolator",
)

refuses_scipy(
    "interpolate",
    "splines that choose their knots by smoothing, and scattered data, are not differentiated "
    "with respect to the data; splines made outside of the function are, with respect to points",
    *("UnivariateSpline", "InterpolatedUnivariateSpline", "LSQUnivariateSpline", "splrep"),
    *("make_smoothing_spline", "make_lsq_spline", "griddata", "splprep"),
    *("LinearNDInterpolator", "CloughTocher2DInterpolator"),
)
