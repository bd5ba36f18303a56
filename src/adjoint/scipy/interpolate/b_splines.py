"""`scipy.interpolate`: splines of any degree, by their knots and coefficients."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import as_array
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.table import implements_scipy, is_traced
from adjoint.scipy.interpolate.piecewise import (
    at_places,
    check_inside,
    column,
    over_periods,
    placed,
    real_places,
)
from adjoint.scipy.objects import InPlaceOf

# --- splines of any degree ------------------------------------------------------------------------


class Spline(InPlaceOf):
    """sum_i c[i] B_i(x) of degree k over knots t, by the recurrence of de Boor.

    SciPy allows more coefficients than there are splines, and gives derivatives such: zeros.
    """

    names = ("BSpline", "UnivariateSpline")

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.t, self.k = as_array(t) * 1.0, int(k)
        self.c = (as_array(c) * 1.0)[: self.t.shape[0] - self.k - 1]
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

    def antiderivative(self, nu: int = 1) -> Spline:
        """The spline of an integral, 0 at the first knot; of a periodic one it is not periodic."""
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            width = column((t[k + 1 :] - t[: -k - 1]) / (k + 1), c)
            c = np.concatenate([np.zeros((1, *c.shape[1:])), np.cumsum(c * width, axis=0)])
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        beyond = self.extrapolate if not nu or self.extrapolate != "periodic" else False
        return Spline(t, c, k, beyond, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b: of zeros beyond the outer knots, or as `extrapolate` says."""
        whole = self.antiderivative()
        beyond = self.extrapolate if extrapolate is None else extrapolate
        first, last = self.t[self.k], self.t[self.c.shape[0]]
        if beyond == "periodic":
            return over_periods(whole, a, b, first, last)
        if not beyond:
            a, b = (np.clip(as_array(x), first, last) for x in (a, b))
        return whole(b, 0, True) - whole(a, 0, True)


class FittedSpline(Spline):
    """One of FITPACK's, which `ext` says how to go on with beyond the outer knots."""

    def __init__(self, t: Any, c: Any, k: int, ext: int) -> None:
        super().__init__(t, c, k)
        self.ext = ext

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """Its value, or a derivative of it, at any array of points."""
        kind = self.ext if ext is None else _BEYOND.get(ext)
        if kind is None:
            raise ValueError(f"Unknown extrapolation mode {ext}.")  # as SciPy says
        x, first, last = real_places(x), self.t[self.k], self.t[self.c.shape[0]]
        if kind == _AN_ERROR:
            check_inside("UnivariateSpline", x, first, last)
        if kind == _AS_AT_THE_ENDS and not nu:  # derivatives go on by polynomials there
            x = np.clip(x, first, last)
        values = super().__call__(x, nu, True)
        if kind in (_ZERO, _AN_ERROR):
            outside = 0.0 if kind == _ZERO else np.nan
            values = np.where((x >= first) & (x <= last), values, outside)
        return values

    def integral(self, a: Any, b: Any) -> Any:
        """The integral from a to b, of zeros beyond the outer knots."""
        return self.integrate(a, b, False)

    def derivatives(self, x: Any) -> Any:
        """The value and all derivatives at a point."""
        check_inside("UnivariateSpline", x, self.t[self.k], self.t[self.c.shape[0]])
        return np.stack([super(FittedSpline, self).__call__(x, nu) for nu in range(self.k + 1)])


_ZERO, _AN_ERROR, _AS_AT_THE_ENDS = 1, 2, 3
_BEYOND: Final[dict[Any, int]] = {
    **{number: number for number in range(4)},
    **{"extrapolate": 0, "zeros": _ZERO, "raise": _AN_ERROR, "const": _AS_AT_THE_ENDS},
}


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
    ends = None if bc_type is None or isinstance(bc_type, str) else tuple(bc_type)
    if ends is not None and any(is_traced(*end) for end in _conditions(ends)):
        raise UnsupportedFunctionError(
            "scipy.interpolate.make_interp_spline is differentiated with respect to y, and not to "
            "the derivatives in bc_type. Use CubicSpline for that."
        )
    x = np.asarray(concrete(as_array(x)))
    y = as_array(y) * 1.0
    axis = axis % y.ndim
    y = np.moveaxis(y, axis, 0)
    if bc_type == "periodic" and not is_traced(y):
        interpolate.make_interp_spline(x, y, k, t, bc_type)  # says so where the ends differ
    # The coefficients are affine in y: SciPy gives them for zeros, and for each number alone.
    rest = interpolate.make_interp_spline(x, np.zeros(y.shape), k, t, bc_type)
    unit = np.eye(len(x))
    if bc_type == "periodic":  # the last number is the first one
        unit[-1], y = unit[0], y[:-1]
        unit = unit[:, :-1]
    alone = interpolate.make_interp_spline(x, unit, k, t, _without_values(ends, unit) or bc_type)
    return Spline(rest.t, rest.c + np.tensordot(alone.c, y, axes=1), k, rest.extrapolate, axis)


def _conditions(ends: tuple[Any, ...]) -> list[Any]:
    """The derivatives that are given at either end: pairs of an order and a value."""
    return [pair for end in ends if end is not None and not isinstance(end, str) for pair in end]


def _without_values(ends: tuple[Any, ...] | None, y: Any) -> tuple[Any, ...] | None:
    """The same conditions, of derivatives that are zero."""
    if ends is None:
        return None
    zeros = np.zeros(y.shape[1:])
    return tuple(
        end if end is None or isinstance(end, str) else [(order, zeros) for order, _ in end]
        for end in ends
    )


@implements_scipy("interpolate", "splev")
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """A spline given by its knots, coefficients and degree."""
    if ext not in (0, 1):
        raise UnsupportedFunctionError("scipy.interpolate.splev of traced values takes ext 0 or 1.")
    if not isinstance(tck, (tuple, list)):
        if ext:
            raise ValueError(f"Extrapolation mode {ext} is not supported by BSpline.")  # SciPy says
        return as_array(tck(x, der, True))
    t, c, k = tck
    values = Spline(t, c, k, ext == 0)(x, der)
    return np.where(np.isnan(values), 0.0, values) if ext else values
