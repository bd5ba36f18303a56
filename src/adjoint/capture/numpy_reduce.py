"""NumPy's reductions: sums, means, variances, extrema, products, running sums, and searches."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy_shape import concatenate, ravelled
from adjoint.capture.table import as_operand, implements, normal_axes, normal_axis, perform
from adjoint.capture.traced import Traced, apply_one
from adjoint.primitives.comparison import ALL, ANY, ARGMAX, ARGMIN
from adjoint.primitives.reductions import CUMULATIVE_SUM, MAX, MIN
from adjoint.primitives.selection import SELECT
from adjoint.primitives.structure import SUM
from adjoint.program import operation


def _refuse(function: str, **arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None and value is not np._NoValue:
            raise UnsupportedFunctionError(
                f"numpy.{function} on traced arrays does not support its argument {name!r} yet."
            )


def _reduce(primitive: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    axes = normal_axes(axis, a.ndim)
    result = perform(primitive, a, axes=axes) if axes else np.positive(a)
    if keepdims and keepdims is not np._NoValue:
        kept = tuple(1 if n in axes else length for n, length in enumerate(a.shape))
        return reshape_plain(result, kept)
    return result


def _widened(a: Any, ufunc: Any, dtype: Any) -> Any:
    """Small integers and booleans are summed and multiplied in wider ones, as NumPy does."""
    if dtype is None and a.dtype.kind in "biu":
        dtype = ufunc.reduce(np.zeros(1, a.dtype)).dtype
    return a if dtype is None or np.dtype(dtype) == a.dtype else a.astype(dtype)


def _masked(a: Any, where: Any, neutral: Any) -> Any:
    """Entries that `where` leaves out become neutral."""
    if where is None or where is np._NoValue or where is True:
        return a
    return perform(SELECT, where, a, a.dtype.type(neutral))


@implements(np.sum)
def sum_(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Sum of array elements over a given axis."""
    if (
        type(a) is Traced
        and a._state is None
        and a._trace is not None
        and axis is dtype is out is initial is where is None
        and keepdims is False
    ):
        type_ = a._trace.types[a._slot]
        if type_.inexact:  # the plainest sum, without detours
            return apply_one(_total(type_.ndim), a)
    _refuse("sum", out=out)
    a = _masked(_widened(as_operand(a), np.add, dtype), where, 0)
    result = _reduce(SUM, a, axis, keepdims)
    return result if initial is None or initial is np._NoValue else result + initial


@lru_cache
def _total(ndim: int) -> Any:
    """The operation that sums all entries."""
    return operation(SUM, axes=tuple(range(ndim)))


def _count(a: Any, axis: Any, where: Any, keepdims: Any) -> Any:
    if where is None or where is np._NoValue or where is True:
        count = 1
        for n in normal_axes(axis, a.ndim):
            count *= a.shape[n]
        return count
    wide = np.broadcast_to(where, a.shape)
    return np.sum(wide, axis=axis, keepdims=bool(keepdims and keepdims is not np._NoValue))


@implements(np.mean)
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    *,
    where: Any = None,
) -> Any:
    """Compute the arithmetic mean along the specified axis."""
    _refuse("mean", out=out)
    a = as_operand(a)
    if dtype is None and a.dtype.kind in "biu":
        dtype = np.dtype(float)
    total = sum_(a, axis, dtype, None, keepdims, where=where)
    result = total / _count(a, axis, where, keepdims)
    return result if result.dtype == total.dtype else result.astype(total.dtype)


@implements(np.var)
def var(
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
    """Compute the variance along the specified axis."""
    _refuse("var", out=out, where=where)
    a = as_operand(a)
    ddof = ddof if correction is None or correction is np._NoValue else correction
    center = _mean(a, axis, dtype, keepdims=True) if mean is None or mean is np._NoValue else mean
    off = a - center
    squares = np.square(off) if off.dtype.kind != "c" else np.square(off.real) + np.square(off.imag)
    return sum_(squares, axis, None, None, keepdims) / max(_count(a, axis, None, False) - ddof, 0)


_mean = mean


@implements(np.std)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    **kwargs: Any,
) -> Any:
    """Compute the standard deviation along the specified axis."""
    return np.sqrt(var(a, axis, dtype, out, ddof, keepdims, **kwargs))


def _extremum(primitive: Any, pairwise: Any, name: str) -> Any:
    def function(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        _refuse(name, out=out, where=where)
        a = as_operand(a)
        if any(a.shape[n] == 0 for n in normal_axes(axis, a.ndim)):
            raise ValueError("zero-size array to reduction operation which has no identity")
        result = _reduce(primitive, a, axis, keepdims)
        return result if initial is None or initial is np._NoValue else pairwise(result, initial)

    function.__name__ = name
    return function


maximum_over = implements(np.max, np.amax)(_extremum(MAX, np.maximum, "max"))
minimum_over = implements(np.min, np.amin)(_extremum(MIN, np.minimum, "min"))


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """Range of values (maximum - minimum) along an axis."""
    return maximum_over(a, axis, out, keepdims) - minimum_over(a, axis, out, keepdims)


@implements(np.prod)
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """A tree of pairwise products.

    Its derivative needs no division, so zeros among the factors are no trouble.
    """
    _refuse("prod", out=out)
    a = _masked(_widened(as_operand(a), np.multiply, dtype), where, 1)
    axes = normal_axes(axis, a.ndim)
    rest = tuple(n for n in range(a.ndim) if n not in axes)
    kept = tuple(a.shape[n] for n in rest)
    count = math.prod(a.shape[n] for n in axes)
    factors = reshape_plain(permute_plain(a, (*axes, *rest)), (count, *kept))
    if factors.shape[0] == 0:
        result: Any = np.ones(kept, a.dtype)
    else:
        while factors.shape[0] > 1:
            half = factors.shape[0] // 2
            pairs = factors[:half] * factors[half : 2 * half]
            odd = factors.shape[0] % 2
            factors = concatenate([pairs, factors[2 * half :]], 0) if odd else pairs
        result = factors[0]
    if keepdims and keepdims is not np._NoValue:
        shape = tuple(1 if n in axes else length for n, length in enumerate(a.shape))
        result = np.reshape(result, shape)
    return result if initial is None or initial is np._NoValue else result * initial


@implements(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the cumulative sum of the elements along a given axis."""
    _refuse("cumsum", out=out)
    a = _widened(as_operand(a), np.add, dtype)
    if axis is None:
        a, axis = ravelled(a), 0
    return perform(CUMULATIVE_SUM, a, axis=normal_axis(axis, a.ndim), reverse=False)


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """Calculate the n-th discrete difference along the given axis."""
    a = as_operand(a)
    axis = normal_axis(axis, a.ndim)
    lead = (slice(None),) * axis
    for _ in range(n):
        later, earlier = a[(*lead, slice(1, None))], a[(*lead, slice(None, -1))]
        a = later != earlier if a.dtype.kind == "b" else later - earlier
    return a


def _search(primitive: Any) -> Any:
    def function(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        _refuse(primitive.name, out=out)
        if axis is None:
            shape, a, axis = (1,) * a.ndim, ravelled(a), 0
        else:
            axis = normal_axis(axis, a.ndim)
            shape = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
        if a.shape[axis] == 0:
            raise ValueError(f"attempt to get {primitive.name} of an empty sequence")
        result = perform(primitive, a, axes=(axis,))
        return reshape_plain(result, shape) if keepdims and keepdims is not np._NoValue else result

    return function


argmax = implements(np.argmax)(_search(ARGMAX))
argmin = implements(np.argmin)(_search(ARGMIN))


def _truth(primitive: Any) -> Any:
    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None
    ) -> Any:
        _refuse(primitive.name, out=out, where=where)
        return _reduce(primitive, as_operand(a), axis, keepdims)

    return function


any_ = implements(np.any)(_truth(ANY))
all_ = implements(np.all)(_truth(ALL))


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Counts the number of non-zero values in the array a."""
    return sum_(a != 0, axis, keepdims=keepdims)
