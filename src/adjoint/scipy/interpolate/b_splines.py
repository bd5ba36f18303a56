"""`scipy.interpolate`: splines of any degree, by their knots and coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import as_array
from adjoint.capture.recording.applying import concrete
from adjoint.capture.scipy.table import implements_scipy, is_traced
from adjoint.scipy.interpolate.piecewise import at_places, column, placed, real_places

# --- splines of any degree ------------------------------------------------------------------------


class Spline:
    """sum_i c[i] B_i(x) of degree k over knots t, by the recurrence of de Boor."""

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.t, self.c, self.k = as_array(t) * 1.0, as_array(c) * 1.0, int(k)
        self.extrapolate, self.axis = extrapolate, axis

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Its value, or a derivative of it, at any array of points."""
        if nu:
            return self.derivative(nu)(x, 0, extrapolate)
        x, t, k = real_places(x), self.t, self.k
        last = self.c.shape[0]
        outside = self.extrapolate if extrapolate is None else extrapolate
        if outside == "periodic":
            x = t[k] + np.mod(x - t[k], t[last] - t[k])
        place = np.clip(np.searchsorted(t, x, side="right") - 1, k, last - 1)
        parts = [at_places(self.c, place - k + j) for j in range(k + 1)]
        for level in range(1, k + 1):
            for j in range(k, level - 1, -1):
                low = at_places(t, place - k + j)
                high = at_places(t, place + 1 + j - level)
                share = column((x - low) / (high - low), parts[j])
                parts[j] = (1 - share) * parts[j - 1] + share * parts[j]
        total = parts[k]
        if not outside:
            inside = (x >= t[k]) & (x <= t[last])
            total = np.where(column(inside, total), total, np.nan)
        return placed(total, np.ndim(x), self.axis)

    def derivative(self, nu: int = 1) -> Spline:
        """The spline of a derivative."""
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            if k == 0:
                return Spline(t, 0.0 * c, 0, self.extrapolate, self.axis)
            count = c.shape[0]
            width = t[k + 1 : k + count] - t[1:count]
            known = np.where(width == 0, 1.0, width)
            c = k * (c[1:] - c[:-1]) / column(known, c[1:])
            t, k = t[1:-1], k - 1
        return Spline(t, c, k, self.extrapolate, self.axis)


@implements_scipy("interpolate", "BSpline")
def b_spline(t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Spline:
    """A spline from its knots and coefficients."""
    return Spline(t, np.moveaxis(as_array(c), axis, 0), k, extrapolate, axis)


@implements_scipy("interpolate", "make_interp_spline")
def interpolating_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> Spline:
    """The spline through the data, which is linear in it; its points are constant."""
    from scipy import interpolate  # slow to import, and here already

    if is_traced(x, t):
        raise UnsupportedFunctionError(
            "scipy.interpolate.make_interp_spline is differentiated with respect to y, and not to "
            "the points x, which its knots are made of. Use CubicSpline for that."
        )
    x = np.asarray(concrete(as_array(x)))
    y = as_array(y) * 1.0
    axis = axis % y.ndim
    y = np.moveaxis(y, axis, 0)
    unit = interpolate.make_interp_spline(x, np.eye(len(x)), k, t, bc_type)
    return Spline(unit.t, np.tensordot(unit.c, y, axes=1), k, True, axis)


@implements_scipy("interpolate", "splev")
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """A spline given by its knots, coefficients and degree."""
    if ext not in (0, 1):
        raise UnsupportedFunctionError("scipy.interpolate.splev of traced values takes ext 0 or 1.")
    if not isinstance(tck, (tuple, list)):
        return as_array(tck(x, der))
    t, c, k = tck
    count = np.shape(t)[0] - k - 1
    values = Spline(t, as_array(c)[:count], k, ext == 0)(x, der)
    return np.where(np.isnan(values), 0.0, values) if ext else values
