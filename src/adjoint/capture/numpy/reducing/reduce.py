"""NumPy's reductions: sums, means, variances, extrema, products, running sums, and searches."""

from __future__ import annotations

import math
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from adjoint.capture.numpy.indexing.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy.reducing.binding import Reduction, computed_in, is_given
from adjoint.capture.numpy.shaping.shape import along, concatenate, spread
from adjoint.capture.numpy.table import (
    as_array,
    implements,
    normal_axis,
    perform,
    stored,
)
from adjoint.capture.recording.tracing.applying import apply_one
from adjoint.capture.recording.tracing.trace import note_effect
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.primitives.elementwise.comparison import ALL, ANY, ARGMAX, ARGMIN
from adjoint.primitives.structure.moving import SUM
from adjoint.primitives.structure.reductions import CUMULATIVE_SUM, MAX, MIN
from adjoint.program import operation

# --- sums, means, variances -----------------------------------------------------------------------


@implements(np.sum)
def sum_(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = np._NoValue,
    where: Any = None,
) -> Any:
    """Sum of array elements over a given axis."""
    if (
        type(a) is Traced
        and a._state is None
        and a._trace is not None
        and axis is dtype is out is where is None
        and initial is np._NoValue
        and keepdims is False
    ):
        type_ = a._trace.types[a._slot]
        if type_.inexact:  # the plainest sum, without detours
            return apply_one(_total(type_.ndim), a)
    a = computed_in(as_array(a), np.add, dtype, out)
    bound = Reduction("numpy.sum", a, axis, out, keepdims, where, initial)
    total = bound.over_axes(ANY if a.dtype.kind == "b" else SUM, bound.filled(a.dtype.type(0)))
    return bound.stored(bound.started(np.add, total))


@lru_cache
def _total(ndim: int) -> Any:
    """The operation that sums all entries."""
    return operation(SUM, axes=tuple(range(ndim)))


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
    a = as_array(a)
    half = dtype is None and a.dtype == np.float16
    if half:  # as NumPy does: sums are soon beyond its range
        dtype = np.dtype(np.float32)
    elif dtype is None and a.dtype.kind in "biu":
        dtype = np.dtype(float)
    total = sum_(a, axis, dtype, None, keepdims, where=where)
    if half and type(out) is Traced:  # where the sum is put first
        total = total.astype(out.dtype)
    count = Reduction("numpy.mean", a, axis, None, keepdims, where).count()
    if type(count) is int and not count:
        note_effect("NumPy warns of the mean of nothing")
    result = total / count
    wanted = a.dtype if half and out is None else total.dtype
    result = result if result.dtype == wanted else result.astype(wanted)
    return stored("numpy.mean", result, out)


_mean = mean


def _variance(
    a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, mean: Any, correction: Any
) -> Any:
    if correction is not np._NoValue:
        if ddof:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    a = as_array(a)
    if dtype is None and a.dtype.kind in "biu":
        dtype = np.dtype(float)
    if not is_given(mean):
        own = a.dtype if dtype is None and a.dtype == np.float16 else dtype  # not as np.mean
        mean = _mean(a, axis, own, keepdims=True, where=where)
    off = a - mean
    squares = np.square(off) if off.dtype.kind != "c" else np.square(off.real) + np.square(off.imag)
    total = sum_(squares, axis, dtype, None, keepdims, where=where)
    count = Reduction("numpy.var", a, axis, None, keepdims, where).count()
    if type(count) is int:
        if count <= ddof:
            note_effect("NumPy warns of a variance with too few degrees of freedom")
        result = total / max(count - ddof, 0)
    else:
        result = total / np.maximum(count - ddof, 0)
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
    correction: Any = np._NoValue,
) -> Any:
    """Compute the variance along the specified axis."""
    result = _variance(a, axis, dtype, ddof, keepdims, where, mean, correction)
    return stored("numpy.var", result, out)


@implements(np.std)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = np._NoValue,
) -> Any:
    """Compute the standard deviation along the specified axis."""
    variance = _variance(a, axis, dtype, ddof, keepdims, where, mean, correction)
    result = np.sqrt(variance)
    if result.dtype != variance.dtype:
        result = result.astype(variance.dtype)
    return stored("numpy.std", result, out)


# --- extrema and products -------------------------------------------------------------------------


def _extremum(primitive: Any, pairwise: Any, name: str) -> Any:
    def function(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        bound = Reduction(f"numpy.{name}", as_array(a), axis, out, keepdims, where, initial)
        first = bound.first()
        if first is None:
            bound.check_entries(pairwise.__name__)
        elif bound.is_empty:
            return bound.stored(spread(as_array(first), bound.lengths))
        result = bound.over_axes(primitive, bound.filled(first))
        return bound.stored(result if first is None else pairwise(result, first))

    function.__name__ = name
    return function


maximum_over = implements(np.max, np.amax)(_extremum(MAX, np.maximum, "max"))
minimum_over = implements(np.min, np.amin)(_extremum(MIN, np.minimum, "min"))


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """Range of values (maximum - minimum) along an axis."""
    result = maximum_over(a, axis, None, keepdims) - minimum_over(a, axis, None, keepdims)
    return stored("numpy.ptp", result, out)


@implements(np.prod)
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = np._NoValue,
    where: Any = None,
) -> Any:
    """A tree of pairwise products.

    Its derivative needs no division, so zeros among the factors are no trouble.
    """
    a = computed_in(as_array(a), np.multiply, dtype, out)
    bound, one = Reduction("numpy.prod", a, axis, out, keepdims, where, initial), a.dtype.type(1)
    product = tree(np.multiply, bound.filled(one), bound.axes, one)
    return bound.stored(bound.started(np.multiply, product))


def tree(pairwise: Any, a: Any, axes: tuple[int, ...], empty: Any) -> Any:
    """An associative operation over axes, by halves; `empty` where there is no entry."""
    rest = tuple(n for n in range(a.ndim) if n not in axes)
    shape = tuple(a.shape[n] for n in rest)
    count = math.prod(a.shape[n] for n in axes)
    parts = reshape_plain(permute_plain(a, (*axes, *rest)), (count, *shape))
    if count == 0:
        return spread(as_array(empty), shape)
    while parts.shape[0] > 1:
        half = parts.shape[0] // 2
        pairs = pairwise(parts[:half], parts[half : 2 * half])
        odd = parts.shape[0] % 2
        parts = concatenate([pairs, parts[2 * half :]], 0) if odd else pairs
    return parts[0]


# --- running sums and differences -----------------------------------------------------------------


@implements(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the cumulative sum of the elements along a given axis."""
    a, axis = along(computed_in(as_array(a), np.add, dtype, out), axis)
    if a.dtype.kind == "b":
        result = perform(CUMULATIVE_SUM, a.astype(int), axis=axis, reverse=False) > 0
    else:
        result = perform(CUMULATIVE_SUM, a, axis=axis, reverse=False)
    return stored("numpy.cumsum", result, out)


@implements(np.diff)
def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue
) -> Any:
    """Calculate the n-th discrete difference along the given axis."""
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a = as_array(a)
    if not a.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normal_axis(index(axis), a.ndim)
    ends = [_end(end, a.shape, axis) for end in (prepend, append)]
    parts = [part for part in (ends[0], a, ends[1]) if part is not None]
    a = concatenate(parts, axis) if len(parts) > 1 else a
    lead = (slice(None),) * axis
    for _ in range(n):
        later, earlier = a[(*lead, slice(1, None))], a[(*lead, slice(None, -1))]
        a = later != earlier if a.dtype.kind == "b" else later - earlier
    return a


def _end(value: Any, shape: tuple[int, ...], axis: int) -> Any:
    """What diff puts before or after an array: a number becomes a row."""
    if value is np._NoValue:
        return None
    value = as_array(value)
    return value if value.ndim else spread(value, (*shape[:axis], 1, *shape[axis + 1 :]))


# --- searches and truth ---------------------------------------------------------------------------


def _search(primitive: Any) -> Any:
    def function(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        a = as_array(a)
        flat, place = along(a, axis)
        if flat.shape[place] == 0:
            raise ValueError(f"attempt to get {primitive.name} of an empty sequence")
        bound = Reduction(f"numpy.{primitive.name}", a, axis, out, keepdims)
        return bound.stored(perform(primitive, flat, axes=(place,)), alike=True)

    return function


argmax = implements(np.argmax)(_search(ARGMAX))
argmin = implements(np.argmin)(_search(ARGMIN))


def _truth(primitive: Any, neutral: bool) -> Any:
    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None
    ) -> Any:
        a = as_array(a)
        a = a if a.dtype.kind == "b" else np.not_equal(a, 0)
        bound = Reduction(f"numpy.{primitive.name}", a, axis, out, keepdims, where)
        return bound.stored(bound.over_axes(primitive, bound.filled(np.bool_(neutral))))

    return function


any_ = implements(np.any)(_truth(ANY, False))
all_ = implements(np.all)(_truth(ALL, True))


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Counts the number of non-zero values in the array a."""
    return sum_(as_array(a) != 0, axis, keepdims=keepdims)
