"""Piecewise polynomials: their values, derivatives and integrals at traced points."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError, ValueNeededError
from adjoint.capture.numpy.table import as_array
from adjoint.capture.recording.memory.views import cell_of
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced, from_array, is_known
from adjoint.scipy.objects import InPlaceOf

# --- evaluation -----------------------------------------------------------------------------------


def real_places(x: Any) -> Any:
    """Points as floating-point numbers; complex ones are refused."""
    x = as_array(x) * 1.0
    if np.iscomplexobj(x):
        raise UnsupportedFunctionError(
            "An interpolant of SciPy's drops the imaginary parts of the points that it is called "
            "with; write x.real."
        )
    return x


def interval(breaks: Any, x: Any) -> Any:
    """The number of the interval that each x lies in; the outer ones reach to infinity."""
    last = np.shape(breaks)[0] - 2
    return np.clip(np.searchsorted(breaks, x, side="right") - 1, 0, last)


def at_places(values: Any, place: Any, axis: int = 0) -> Any:
    """The entries at places that may be traced."""
    # NumPy's own arrays ask an index for its value, and known ones record it.
    whole = values if isinstance(values, Traced) else from_array(np.asarray(values))
    return whole[(*(slice(None),) * axis, place)]


def column(x: Any, like: Any) -> Any:
    """With axes at the end for the axes of values."""
    return np.reshape(x, (*np.shape(x), *(1,) * (like.ndim - np.ndim(x))))


def check_inside(name: str, x: Any, low: Any, high: Any) -> None:
    """SciPy's error where a point lies outside; where no value is known, NaN says it later."""
    if isinstance(x, Traced) and not is_known(x):
        try:
            x = concrete(x)
        except ValueNeededError:
            return
    if np.any(np.asarray(x) < low) or np.any(np.asarray(x) > high):
        raise ValueError(f"A value in x_new is outside the interpolation range ({name}).")


class PiecewisePolynomial(InPlaceOf):
    """sum_m c[m, i] (x - breaks[i])^(k - m) on the interval i; the axis of x goes to `axis`."""

    names = ("PPoly", "CubicSpline")

    def __init__(self, c: Any, breaks: Any, extrapolate: Any = True, axis: int = 0) -> None:
        self.c, self.x, self.extrapolate, self.axis = (
            as_array(c),
            as_array(breaks),
            extrapolate,
            axis,
        )

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Its value, or a derivative of it, at any array of points."""
        c = _differentiated(self.c, nu)
        x, breaks = real_places(x), self.x
        outside = self.extrapolate if extrapolate is None else extrapolate
        if outside == "periodic":
            x = breaks[0] + np.mod(x - breaks[0], breaks[-1] - breaks[0])
        place = interval(breaks, x)
        parts = at_places(c, place, 1)
        step = column(x - at_places(breaks, place), parts[0])
        total: Any = parts[0]
        for m in range(1, c.shape[0]):
            total = total * step + parts[m]
        if not outside:
            inside = (x >= breaks[0]) & (x <= breaks[-1])
            total = np.where(column(inside, total), total, np.nan)
        return placed(total, np.ndim(x), self.axis)

    def derivative(self, nu: int = 1) -> PiecewisePolynomial:
        """The piecewise polynomial of a derivative."""
        return PiecewisePolynomial(_differentiated(self.c, nu), self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PiecewisePolynomial:
        """One of an integral, 0 at the first break; that of a periodic one is not periodic."""
        if nu == 0:
            return self
        beyond = self.extrapolate != "periodic" and self.extrapolate
        order, rest = self.c.shape[0], self.c.shape[2:]
        weights = np.reshape(1.0 / np.arange(order, 0, -1), (-1, 1, *(1,) * len(rest)))
        higher = self.c * weights
        width = self.x[1:] - self.x[:-1]
        areas: Any = 0.0
        for m in range(order):
            areas = areas + higher[m] * column(width ** (order - m), higher[m])
        start = np.concatenate([np.zeros((1, *rest)), np.cumsum(areas, axis=0)[:-1]], axis=0)
        c = np.concatenate([higher, start[None]], axis=0)
        return PiecewisePolynomial(c, self.x, beyond, self.axis).antiderivative(nu - 1)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b, over periods that are joined if it is periodic."""
        whole = self.antiderivative()
        beyond = self.extrapolate if extrapolate is None else extrapolate
        if beyond == "periodic":
            return over_periods(whole, a, b, self.x[0], self.x[-1])
        return whole(b, 0, bool(beyond)) - whole(a, 0, bool(beyond))


def over_periods(whole: Any, a: Any, b: Any, first: Any, last: Any) -> Any:
    """The integral from a to b of what repeats itself, by an integral of one period."""
    area, start, width = whole(last) - whole(first), as_array(first), last - first

    def until(x: Any) -> Any:
        periods = np.floor((as_array(x) - start) / width)
        return whole(x - periods * width, 0, True) + periods * area

    return until(b) - until(a)


def _differentiated(c: Any, nu: int) -> Any:
    if nu < 0:
        raise UnsupportedFunctionError("Use antiderivative() instead of a negative nu.")
    for _ in range(nu):
        order = c.shape[0] - 1
        if order == 0:
            return 0.0 * c
        factors = np.reshape(np.arange(order, 0, -1.0), (-1, *(1,) * (c.ndim - 1)))
        c = c[:-1] * factors
    return c


def placed(values: Any, count: int, axis: int) -> Any:
    """Values with the axes of the points first: those axes moved to where the axis was.

    What has no axes is an array all the same, as SciPy has it.
    """
    if not np.ndim(values):
        return cell_of(values)
    if not axis:
        return values
    return np.moveaxis(values, tuple(range(count)), tuple(range(axis, axis + count)))
