"""`scipy.interpolate`: cubic interpolation of traced data, with SciPy's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import ShapeError
from adjoint.capture.numpy.table import as_array
from adjoint.capture.recording.effects.value_errors import suppose
from adjoint.capture.scipy.table import implements_scipy
from adjoint.scipy.interpolate.piecewise import PiecewisePolynomial, column

# --- cubic interpolation --------------------------------------------------------------------------


def _data(x: Any, y: Any, axis: int) -> tuple[Any, Any, int]:
    x, y = as_array(x) * 1.0, as_array(y) * 1.0
    axis = axis % y.ndim
    y = np.moveaxis(y, axis, 0)
    if x.ndim != 1 or y.shape[0] != x.shape[0] or x.shape[0] < 2:
        raise ShapeError(
            f"Interpolation takes points along one axis, two at least, and as many values; got "
            f"{x.shape} and {y.shape}."
        )
    suppose(x[1:] > x[:-1])
    return x, y, axis


def _hermite(x: Any, y: Any, slopes: Any) -> Any:
    """The coefficients of the cubics with these values and slopes."""
    step = column(x[1:] - x[:-1], y[1:])
    secant = (y[1:] - y[:-1]) / step
    bend = (slopes[:-1] + slopes[1:] - 2 * secant) / step
    return np.stack(
        [bend / step, (secant - slopes[:-1]) / step - bend, slopes[:-1], y[:-1]], axis=0
    )


@implements_scipy("interpolate", "CubicHermiteSpline")
def hermite_spline(
    x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None
) -> PiecewisePolynomial:
    """The cubics with given slopes."""
    points, values, place = _data(x, y, axis)
    slopes = np.moveaxis(as_array(dydx), place, 0)
    return PiecewisePolynomial(
        _hermite(points, values, slopes), points, _outside(extrapolate), place
    )


def _outside(extrapolate: Any) -> Any:
    return True if extrapolate is None else extrapolate


@implements_scipy("interpolate", "CubicSpline")
def cubic_spline(
    x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> PiecewisePolynomial:
    """The cubics with two continuous derivatives; their slopes solve a linear system."""
    points, values, place = _data(x, y, axis)
    if isinstance(bc_type, str) and bc_type == "periodic":
        slopes = _periodic_slopes(points, values)
        outside: Any = "periodic"
    else:
        ends = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
        slopes, outside = _spline_slopes(points, values, tuple(ends)), True
    outside = outside if extrapolate is None else extrapolate
    return PiecewisePolynomial(_hermite(points, values, slopes), points, outside, place)


def _diagonals(main: Any, upper: Any, lower: Any) -> Any:
    return np.diag(main) + np.diag(upper, 1) + np.diag(lower, -1)


def _solve(matrix: Any, right: Any) -> Any:
    flat = np.reshape(right, (right.shape[0], -1))
    return np.reshape(np.linalg.solve(matrix, flat), right.shape)


_NAMED = {"natural": (2, 0.0), "clamped": (1, 0.0)}


def _spline_slopes(x: Any, y: Any, ends: tuple[Any, Any]) -> Any:
    count = x.shape[0]
    h = x[1:] - x[:-1]
    secant = (y[1:] - y[:-1]) / column(h, y[1:])
    kinds = [_NAMED.get(end, end) if isinstance(end, str) else end for end in ends]
    if count < 4 and "not-a-knot" in kinds:
        if count == 2:
            kinds = [(1, secant[0]) if kind == "not-a-knot" else kind for kind in kinds]
        elif kinds[0] == kinds[1]:
            return _parabola_slopes(h, secant)
    first, first_right = _first_row(kinds[0], h, secant, count)
    # The last row is the first one of the points in reverse.
    turned = kinds[1]
    if not isinstance(turned, str) and turned[0] == 1:
        turned = (1, -1.0 * as_array(turned[1]))
    last, last_right = _first_row(turned, h[::-1], -secant[::-1], count)
    last_right = -last_right
    inner = [np.reshape(slope, (1, *np.shape(slope))) for slope in (first_right, last_right)]
    wide = column(h, y[1:])
    right = 3 * (wide[1:] * secant[:-1] + wide[:-1] * secant[1:])
    zero = np.zeros(1)
    middle = np.concatenate([zero, 2 * (h[:-1] + h[1:]), zero])
    matrix = _diagonals(middle, np.concatenate([zero, h[:-1]]), np.concatenate([h[1:], zero]))
    edge = np.zeros((count, 1))
    top, bottom = edge.copy(), edge.copy()
    top[0], bottom[-1] = 1.0, 1.0
    matrix = matrix + top * first + bottom * last[::-1]
    return _solve(matrix, np.concatenate([inner[0], right, inner[1]], axis=0))


def _first_row(kind: Any, h: Any, secant: Any, count: int) -> tuple[Any, Any]:
    """The equation at the first point: its row, and its right-hand side."""
    unit = np.eye(count)
    if isinstance(kind, str):
        if kind != "not-a-knot":
            raise ValueError(f"bc_type={kind!r} is not allowed.")
        both = h[0] + h[1]
        row = h[1] * unit[0] + both * unit[1]
        right = ((h[0] + 2 * both) * h[1] * secant[0] + h[0] ** 2 * secant[1]) / both
        return row, right
    order, value = kind
    if order == 1:
        return unit[0] * 1.0, np.broadcast_to(as_array(value) * 1.0, secant.shape[1:])
    row = 2 * h[0] * unit[0] + h[0] * unit[1]
    return row, -0.5 * as_array(value) * h[0] ** 2 + 3 * secant[0] * h[0]


def _parabola_slopes(h: Any, secant: Any) -> Any:
    """Three points, with no knot at all."""
    both = h[0] + h[1]
    bend = (secant[1] - secant[0]) / both
    first = secant[0] - bend * h[0]
    return np.stack([first, first + 2 * bend * h[0], first + 2 * bend * both], axis=0)


def _periodic_slopes(x: Any, y: Any) -> Any:
    """The first slope is the last one."""
    h = x[1:] - x[:-1]
    wide = column(h, y[1:])
    secant = (y[1:] - y[:-1]) / wide
    before, wide_before = np.roll(h, 1), np.roll(wide, 1, axis=0)
    count = h.shape[0]
    rows = np.eye(count)
    matrix = (
        2 * (before + h)[:, None] * rows
        + h[:, None] * np.roll(rows, -1, axis=1)
        + before[:, None] * np.roll(rows, 1, axis=1)
    )
    right = 3 * (wide * np.roll(secant, 1, axis=0) + wide_before * secant)
    slopes = _solve(matrix, right)
    return np.concatenate([slopes, slopes[:1]], axis=0)


@implements_scipy("interpolate", "PchipInterpolator")
def pchip(x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> PiecewisePolynomial:
    """The monotone cubics of Fritsch and Butland."""
    points, values, place = _data(x, y, axis)
    slopes = _monotone_slopes(points, values)
    return PiecewisePolynomial(
        _hermite(points, values, slopes), points, _outside(extrapolate), place
    )


def _monotone_slopes(x: Any, y: Any) -> Any:
    h = column(x[1:] - x[:-1], y[1:])
    m = (y[1:] - y[:-1]) / h
    if x.shape[0] == 2:
        return np.concatenate([m, m], axis=0)
    flat = (np.sign(m[1:]) != np.sign(m[:-1])) | (m[1:] == 0) | (m[:-1] == 0)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    lower, upper = np.where(flat, 1.0, m[:-1]), np.where(flat, 1.0, m[1:])
    inner = np.where(flat, 0.0, (w1 + w2) / (w1 / lower + w2 / upper))
    first, last = _end_slope(h[0], h[1], m[0], m[1]), _end_slope(h[-1], h[-2], m[-1], m[-2])
    return np.concatenate([first[None], inner, last[None]], axis=0)


def _end_slope(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    slope = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(slope) > 3.0 * np.abs(m0))
    return np.where(np.sign(slope) != np.sign(m0), 0.0, np.where(steep, 3.0 * m0, slope))


@implements_scipy("interpolate", "Akima1DInterpolator")
def akima(
    x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
) -> PiecewisePolynomial:
    """The cubics of Akima, whose slopes are averages of the neighbouring secants."""
    points, values, place = _data(x, y, axis)
    m = (values[1:] - values[:-1]) / column(points[1:] - points[:-1], values[1:])
    if points.shape[0] == 2:
        slopes = np.concatenate([m, m], axis=0)
    else:
        second = 2 * m[0] - m[1]
        last = 2 * m[-1] - m[-2]
        before, after = [2 * second - m[0], second], [last, 2 * last - m[-1]]
        m = np.concatenate([np.stack(before, axis=0), m, np.stack(after, axis=0)], axis=0)
        slopes = _akima_slopes(m, method)
    outside = False if extrapolate is None else extrapolate
    return PiecewisePolynomial(_hermite(points, values, slopes), points, outside, place)


def _akima_slopes(m: Any, method: str) -> Any:
    change = np.abs(m[1:] - m[:-1])
    if method == "makima":
        change = change + 0.5 * np.abs(m[1:] + m[:-1])
    weight, other = change[2:], change[:-2]
    total = weight + other
    used = total > 1e-9 * np.max(total)
    average = (weight * m[1:-2] + other * m[2:-1]) / np.where(used, total, 1.0)
    return np.where(used, average, 0.5 * (m[3:] + m[:-3]))
