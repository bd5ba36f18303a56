"""NumPy's reductions that leave NaN out, with its warnings where nothing else is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.capture.numpy.indexing.writing import cumprod
from adjoint.capture.numpy.making.values import astype
from adjoint.capture.numpy.reducing.binding import checked_mask, is_given
from adjoint.capture.numpy.reducing.reduce import (
    cumsum,
    maximum_over,
    mean,
    minimum_over,
    prod,
    sum_,
)
from adjoint.capture.numpy.reducing.sorting import counted, median_of, quantiles_of
from adjoint.capture.numpy.table import as_array, implements, stored


def _may_hold_nan(a: Any) -> bool:
    return bool(a.dtype.kind in "fc")


def _filled(a: Any, neutral: Any) -> Any:
    """NaN replaced by a number."""
    return np.where(np.isnan(a), a.dtype.type(neutral), a) if _may_hold_nan(a) else a


def _numbers(a: Any, where: Any) -> Any:
    """Where the entries are numbers that are to be counted."""
    mask, is_number = checked_mask(a, where), ~np.isnan(a)
    return is_number if mask is None else is_number & mask


def _counted(a: Any, axis: Any, keepdims: Any, where: Any, text: str) -> Any:
    """How many numbers there are, with NumPy's warning where there is none."""
    return counted(sum_(_numbers(a, where), axis, keepdims=keepdims), text)


def _folding(reduce: Callable[..., Any], neutral: int) -> Callable[..., Any]:
    """nansum and nanprod: NaN becomes what changes nothing."""

    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = np._NoValue,
        where: Any = None,
    ) -> Any:
        a = _filled(as_array(a), neutral)
        return reduce(a, axis, dtype, out, keepdims, initial, where)

    return function


nansum = implements(np.nansum)(_folding(sum_, 0))
implements(np.nanprod)(_folding(prod, 1))


def _running(accumulate: Callable[..., Any], neutral: int) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return accumulate(_filled(as_array(a), neutral), axis, dtype, out)

    return function


implements(np.nancumsum)(_running(cumsum, 0))
implements(np.nancumprod)(_running(cumprod, 1))


def _extreme(reduce: Callable[..., Any], worst: float, name: str) -> Callable[..., Any]:
    def function(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = np._NoValue,
        where: Any = None,
    ) -> Any:
        a = as_array(a)
        if not _may_hold_nan(a):
            return reduce(a, axis, out, keepdims, initial, where)
        result = reduce(_filled(a, worst), axis, None, keepdims, initial, where)
        if not is_given(initial):
            count = _counted(a, axis, keepdims, None, "All-NaN slice encountered")
            result = np.where(count == 0, a.dtype.type(np.nan), result)
        return stored(f"numpy.{name}", result, out)

    return function


implements(np.nanmax)(_extreme(maximum_over, -np.inf, "nanmax"))
implements(np.nanmin)(_extreme(minimum_over, np.inf, "nanmin"))


def _place(search: Any, worst: float) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        a = as_array(a)
        place = search(_filled(a, worst), axis, keepdims=keepdims)
        if _may_hold_nan(a):
            count = sum_(~np.isnan(a), axis, keepdims=keepdims)
            some = counted(count, "All-NaN slice encountered", fatal=True) > 0
            place = np.where(some, place, np.intp(0))
        return stored(f"numpy.{search.__name__}", place, out)

    return function


implements(np.nanargmax)(_place(np.argmax, -np.inf))
implements(np.nanargmin)(_place(np.argmin, np.inf))


@implements(np.nanmean)
def nanmean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = None,
) -> Any:
    """The mean of the entries that are numbers."""
    a = as_array(a)
    if not _may_hold_nan(a):
        return mean(a, axis, dtype, out, keepdims, where=where)
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    total = nansum(a, axis, dtype, None, keepdims, where=where)
    count = _counted(a, axis, keepdims, where, "Mean of empty slice")
    return stored("numpy.nanmean", _quotient(total, count), out)


def _quotient(total: Any, count: Any, after: Callable[[Any], Any] = lambda share: share) -> Any:
    """A sum by a count, or what follows; NaN where that is not positive, not divided by 0."""
    some = count > 0
    share = total / astype(as_array(np.where(some, count, 1)), total.real.dtype)
    return np.where(some, after(share), total.dtype.type(np.nan))


@implements(np.nanvar)
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The variance of the entries that are numbers."""
    ddof = correction if is_given(correction) else ddof
    total, left = _squares_off(a, axis, dtype, ddof, keepdims, where, mean)
    return stored("numpy.nanvar", _quotient(total, left), out)


def _squares_off(
    a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, mean: Any
) -> tuple[Any, Any]:
    """The sum of the squares of what the numbers are off their mean; the degrees of freedom."""
    a = as_array(a)
    if not _may_hold_nan(a):
        a = astype(a, float)
    a = a if dtype is None else astype(a, np.dtype(dtype))
    kept = sum_(_numbers(a, where), axis, keepdims=True)
    total = nansum(a, axis, None, None, True, where=where)
    center = mean if is_given(mean) else _quotient(total, kept)
    off = np.where(_numbers(a, where), a - center, a.dtype.type(0))
    squares = np.square(off) if off.dtype.kind != "c" else np.square(off.real) + np.square(off.imag)
    total = sum_(squares, axis, None, None, keepdims)
    left = sum_(_numbers(a, where), axis, keepdims=keepdims) - ddof
    return total, counted(np.maximum(left, 0), "Degrees of freedom <= 0 for slice.")


@implements(np.nanstd)
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The standard deviation of the entries that are numbers."""
    ddof = correction if is_given(correction) else ddof
    total, left = _squares_off(a, axis, dtype, ddof, keepdims, where, mean)
    return stored("numpy.nanstd", _quotient(total, left, np.sqrt), out)


@implements(np.nanmedian)
def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    """The median of the entries that are numbers."""
    return median_of(a, axis, out, keepdims, True)


@implements(np.nanquantile)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """Quantiles of the entries that are numbers."""
    return quantiles_of("nanquantile", a, q, axis, out, method, keepdims, weights)


@implements(np.nanpercentile)
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """Percentiles of the entries that are numbers."""
    return quantiles_of("nanpercentile", a, q, axis, out, method, keepdims, weights, top=100)
