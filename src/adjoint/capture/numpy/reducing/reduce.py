"""NumPy's reductions: sums, means, variances, extrema, products, running sums, and searches."""

from __future__ import annotations

import math
from functools import lru_cache
from operator import index
from typing import Any

import numpy as np

from adjoint.base.errors import DTypeError, ShapeError
from adjoint.capture.numpy.indexing.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy.shaping.shape import along, concatenate, spread
from adjoint.capture.numpy.table import (
    as_array,
    implements,
    normal_axes,
    normal_axis,
    perform,
    stored,
)
from adjoint.capture.recording.applying import apply_one
from adjoint.capture.recording.trace import note_effect
from adjoint.capture.recording.traced import Traced
from adjoint.primitives.elementwise.comparison import ALL, ANY, ARGMAX, ARGMIN
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.structure.moving import SUM
from adjoint.primitives.structure.reductions import CUMULATIVE_SUM, MAX, MIN
from adjoint.program import operation

# --- what reductions share ------------------------------------------------------------------------


def is_given(value: Any) -> bool:
    """Whether an argument was given, and not left at what NumPy has in its place."""
    return value is not None and value is not np._NoValue


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes of a reduction as ufuncs take them: no lists, and 0 or -1 of a scalar too."""
    if isinstance(axis, list):
        raise TypeError("'list' object cannot be interpreted as an integer")
    if not ndim and axis is not None and not isinstance(axis, tuple) and index(axis) in (0, -1):
        return ()
    return normal_axes(axis, ndim)


def kept(result: Any, a: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    """A reduction's result, with the axes that it lost as axes of length one where asked for."""
    if keepdims is np._NoValue or not keepdims:
        return result
    return reshape_plain(result, tuple(1 if n in axes else m for n, m in enumerate(a.shape)))


def _reduce(primitive: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    axes = reduced_axes(axis, a.ndim)
    result = perform(primitive, a, axes=axes) if axes else as_array(a).astype(a.dtype)
    return kept(result, a, axes, keepdims)


def computed_in(a: Any, ufunc: Any, dtype: Any, out: Any) -> Any:
    """An operand in the dtype of its reduction: the one given, one that suits `out`, or a wide one.

    Small integers and booleans are summed and multiplied in wider ones, as NumPy does.
    """
    if dtype is None and type(out) is Traced:
        dtype = suited(ufunc, a, out)
    elif dtype is None and a.dtype.kind in "biu":
        dtype = ufunc.reduce(np.zeros(1, a.dtype)).dtype
    return a if dtype is None or np.dtype(dtype) == a.dtype else a.astype(dtype)


def suited(ufunc: Any, a: Any, out: Any) -> Any:
    """The dtype in which NumPy reduces an operand into an output."""
    loop = ufunc.resolve_dtypes((out.dtype, a.dtype, None), casting="unsafe", reduction=True)
    return loop[1]


def checked_mask(a: Any, where: Any) -> Any:
    """`where` of a reduction: booleans that broadcast to the operand's shape; None for all."""
    if not is_given(where) or where is True:
        return None
    where = as_array(where)
    if where.dtype.kind != "b":
        raise DTypeError(
            f"Cannot cast array data from {where.dtype!r} to dtype('bool') according to the rule "
            "'safe'"
        )
    if np.broadcast_shapes(where.shape, a.shape) != a.shape:
        raise ShapeError(
            f"where: non-broadcastable operand with shape {a.shape} doesn't match the broadcast "
            f"shape {np.broadcast_shapes(where.shape, a.shape)}"
        )
    return where


def _masked(a: Any, where: Any, neutral: Any) -> Any:
    """Entries that `where` leaves out become neutral."""
    where = checked_mask(a, where)
    return a if where is None else perform(SELECT, where, a, neutral)


def _first(initial: Any, dtype: Any) -> Any:
    """`initial` as a number of the result's dtype."""
    if np.ndim(initial):
        raise ShapeError("initial: a number is wanted, and no array of several.")
    initial = as_array(initial)
    if initial.dtype.kind == "c" and dtype.kind != "c":
        raise DTypeError(f"initial: a complex number cannot be put into a result of {dtype}.")
    return initial.astype(dtype)[()]


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
    a = _masked(a, where, a.dtype.type(0))
    if a.dtype.kind == "b":
        result = any_(a, axis, keepdims=keepdims)
    else:
        result = _reduce(SUM, a, axis, keepdims)
    return stored("numpy.sum", _started(np.add, result, a, axis, initial, where), out)


def _started(pairwise: Any, result: Any, a: Any, axis: Any, initial: Any, where: Any) -> Any:
    """A reduction with its `initial`; None asks for none, so that there must be an entry."""
    if is_given(initial):
        return pairwise(result, _first(initial, a.dtype))
    if initial is None:
        if checked_mask(a, where) is not None:
            raise ValueError(
                f"reduction operation '{pairwise.__name__}' does not have an identity, so to use "
                "a where mask one has to specify 'initial'"
            )
        _check_not_empty(a, reduced_axes(axis, a.ndim), pairwise.__name__)
    return result


@lru_cache
def _total(ndim: int) -> Any:
    """The operation that sums all entries."""
    return operation(SUM, axes=tuple(range(ndim)))


def _check_not_empty(a: Any, axes: tuple[int, ...], name: str) -> None:
    if any(a.shape[n] == 0 for n in axes):
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")


def _count(a: Any, axis: Any, where: Any, keepdims: Any) -> Any:
    """How many entries are averaged: a number, or an array where a mask tells."""
    where = checked_mask(a, where)
    if where is None and axis is None:
        return a.size
    if where is None:
        axes = axis if isinstance(axis, tuple) else (axis,)
        return math.prod(a.shape[normal_axis(n, a.ndim)] for n in axes)
    return sum_(spread(where, a.shape), axis, keepdims=keepdims)


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
    if dtype is None and a.dtype.kind in "biu":
        dtype = np.dtype(float)
    total = sum_(a, axis, dtype, None, keepdims, where=where)
    count = _count(a, axis, where, keepdims)
    if type(count) is int and not count:
        note_effect("NumPy warns of the mean of nothing")
    result = total / count
    result = result if result.dtype == total.dtype else result.astype(total.dtype)
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
        mean = _mean(a, axis, dtype, keepdims=True, where=where)
    off = a - mean
    squares = np.square(off) if off.dtype.kind != "c" else np.square(off.real) + np.square(off.imag)
    total = sum_(squares, axis, dtype, None, keepdims, where=where)
    count = _count(a, axis, where, keepdims)
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
        a = as_array(a)
        axes = reduced_axes(axis, a.ndim)
        first = _first(initial, a.dtype) if is_given(initial) else None
        if first is None:
            _started(pairwise, None, a, axis, None, where)
        a = _masked(a, where, first)
        if any(a.shape[n] == 0 for n in axes):
            rest = tuple(m for n, m in enumerate(a.shape) if n not in axes)
            result = kept(spread(as_array(first), rest), a, axes, keepdims)
        else:
            result = _reduce(primitive, a, axis, keepdims)
            result = result if first is None else pairwise(result, first)
        return stored(f"numpy.{name}", result, out)

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
    a = _masked(a, where, a.dtype.type(1))
    axes = reduced_axes(axis, a.ndim)
    result = kept(tree(np.multiply, a, axes, a.dtype.type(1)), a, axes, keepdims)
    return stored("numpy.prod", _started(np.multiply, result, a, axis, initial, where), out)


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
        ndim = a.ndim
        flat, place = along(a, axis)
        if flat.shape[place] == 0:
            raise ValueError(f"attempt to get {primitive.name} of an empty sequence")
        result = perform(primitive, flat, axes=(place,))
        if keepdims and keepdims is not np._NoValue:
            gone = range(ndim) if axis is None else (place,)
            result = reshape_plain(
                result, tuple(1 if n in gone else m for n, m in enumerate(a.shape))
            )
        return stored(f"numpy.{primitive.name}", result, out, alike=True)

    return function


argmax = implements(np.argmax)(_search(ARGMAX))
argmin = implements(np.argmin)(_search(ARGMIN))


def _truth(primitive: Any, neutral: bool) -> Any:
    def function(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = None
    ) -> Any:
        a = as_array(a)
        a = a if a.dtype.kind == "b" else np.not_equal(a, 0)
        result = _reduce(primitive, _masked(a, where, np.bool_(neutral)), axis, keepdims)
        return stored(f"numpy.{primitive.name}", result, out)

    return function


any_ = implements(np.any)(_truth(ANY, False))
all_ = implements(np.all)(_truth(ALL, True))


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Counts the number of non-zero values in the array a."""
    return sum_(as_array(a) != 0, axis, keepdims=keepdims)
