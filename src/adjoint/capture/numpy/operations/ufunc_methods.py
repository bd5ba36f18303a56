"""The methods of ufuncs on traced arrays: reduce, accumulate, reduceat, outer, at."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from adjoint.base.errors import DTypeError, UnsupportedFunctionError
from adjoint.capture.numpy.indexing.indexing import reshape_plain
from adjoint.capture.numpy.indexing.writing import add_at, cumprod
from adjoint.capture.numpy.operations.ufuncs import METHODS, called
from adjoint.capture.numpy.reducing.binding import Reduction, is_given, suited
from adjoint.capture.numpy.reducing.reduce import (
    all_,
    any_,
    cumsum,
    maximum_over,
    minimum_over,
    prod,
    sum_,
    tree,
)
from adjoint.capture.numpy.shaping.shape import concatenate, moveaxis, spread, stack
from adjoint.capture.numpy.table import as_array, full_name, normal_axis, perform, stored
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.structure.gathering import GATHER_ADD

_REDUCERS = {
    np.add: sum_,
    np.multiply: prod,
    np.maximum: maximum_over,
    np.minimum: minimum_over,
    np.logical_and: all_,
    np.logical_or: any_,
}
_WITH_DTYPE = (np.add, np.multiply)
_ACCUMULATORS = {np.add: cumsum, np.multiply: cumprod}
# f(f(a, b), c) = f(a, f(b, c)), so that halves can be put together.
_ASSOCIATIVE = frozenset(
    {
        np.maximum,
        np.minimum,
        np.fmax,
        np.fmin,
        np.logaddexp,
        np.logaddexp2,
        np.hypot,
        np.gcd,
        np.lcm,
        np.logical_and,
        np.logical_or,
        np.logical_xor,
        np.bitwise_and,
        np.bitwise_or,
        np.bitwise_xor,
    }
)
# f(identity, x) is not x for a negative x, and NumPy starts there.
_CHANGED_BY_IDENTITY = (np.hypot, np.gcd)


def _check_binary(function: Any, method: str) -> None:
    if function.nin != 2 or function.nout != 1 or function.signature is not None:
        raise ValueError(f"{method} only supported for binary functions")


def _target(out: Any) -> Any:
    return out[0] if isinstance(out, tuple) else out


def _operand(function: Any, a: Any, dtype: Any, out: Any) -> Any:
    """An operand in the dtype that NumPy reduces it in; its error where there is none."""
    if dtype is None and type(out) is Traced:
        dtype = suited(function, a, out)
        return a if a.dtype == dtype else a.astype(dtype)
    wanted = (None if dtype is None else np.dtype(dtype), None, None)
    loop = function.resolve_dtypes(
        (None, a.dtype, None), signature=wanted, casting="unsafe", reduction=True
    )
    return a if a.dtype == loop[1] else a.astype(loop[1])


# --- reduce ---------------------------------------------------------------------------------------


def reduce(
    function: Any,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """ufunc.reduce: sums and the like directly, others by halves, or from left to right."""
    _check_binary(function, "reduce")
    out = _target(out)
    ours = _REDUCERS.get(function)
    if ours in (all_, any_) and initial is not np._NoValue:
        ours = None
    if ours is not None and (dtype is None or function in _WITH_DTYPE):
        options = {"dtype": dtype} if function in _WITH_DTYPE else {}
        if ours not in (all_, any_):
            options["initial"] = initial
        return ours(array, axis, out=out, keepdims=keepdims, where=where, **options)
    name = f"{full_name(function)}.reduce"
    bound = Reduction(name, as_array(array), axis, out, keepdims, where, initial)
    if len(bound.axes) > 1 and not _reorders(function):
        raise ValueError(
            f"reduction operation '{function.__name__}' is not reorderable, so at most one axis "
            "may be specified"
        )
    a = _operand(function, bound.operand, dtype, out)
    return bound.stored(_folded(function, a, bound.axes, bound.mask, initial))


@lru_cache
def _reorders(function: Any) -> bool:
    """Whether NumPy reduces over several axes at once."""
    try:
        function.reduce(np.ones((1, 1), np.int8), axis=(0, 1))
    except ValueError:
        return False
    return True


def _folded(function: Any, a: Any, axes: tuple[int, ...], mask: Any, initial: Any) -> Any:
    identity = None if function.identity is None else a.dtype.type(function.identity)
    first = as_array(initial).astype(a.dtype)[()] if is_given(initial) else None
    if initial is np._NoValue and function in _CHANGED_BY_IDENTITY:
        first = identity
    empty = any(a.shape[n] == 0 for n in axes)
    if first is None and (empty or mask is not None):
        if identity is None or initial is None:
            raise ValueError(
                f"{'zero-size' if empty else 'masked'} array to reduction operation "
                f"{function.__name__} which has no identity"
            )
        first = identity
    if function in _ASSOCIATIVE and axes:
        if mask is not None:
            a = perform(SELECT, mask, a, first if identity is None else identity)
        result = tree(function, a, axes, first)
        return result if first is None or empty else function(first, result)
    rows = moveaxis(a, axes[0], 0) if axes else a[None]
    masks = None
    if mask is not None:
        wide = spread(mask, a.shape)
        masks = moveaxis(wide, axes[0], 0) if axes else wide[None]
    return _from_left(function, rows, masks, first)[-1]


def _from_left(function: Any, rows: Any, masks: Any, first: Any) -> list[Any]:
    """The values of a fold over rows, one after the other."""
    partial_results: list[Any] = []
    value = first if first is None else spread(as_array(first), rows.shape[1:])
    for number in range(rows.shape[0]):
        row = rows[number]
        new = row if value is None else function(value, row)
        value = new if masks is None else perform(SELECT, masks[number], new, value)
        partial_results.append(value)
    return partial_results or [value]


# --- accumulate and reduceat ----------------------------------------------------------------------


def _one_axis(axis: Any, ndim: int, method: str) -> int:
    """The axis of accumulate and reduceat, which may be in a tuple, or all that there is."""
    if not ndim and (axis is None or axis in (0, -1)):
        raise TypeError(f"cannot {method} on a scalar")
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    numbers = [normal_axis(axis, ndim) for axis in axes]
    if len(numbers) != 1:
        raise ValueError(f"{method} does not allow multiple axes")
    return numbers[0]


def accumulate(function: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """ufunc.accumulate: by doubling where brackets can be set anyhow."""
    _check_binary(function, "accumulate")
    array, out = as_array(array), _target(out)
    axis = _one_axis(axis, array.ndim, "accumulate")
    ours = _ACCUMULATORS.get(function)
    if ours is not None:
        return ours(array, axis, dtype, out)
    a = _operand(function, array, dtype, out)
    if function in _ASSOCIATIVE:
        result = _doubled(function, a, axis)
    elif a.shape[axis]:
        rows = _from_left(function, moveaxis(a, axis, 0), None, None)
        result = moveaxis(stack(rows), 0, axis)
    else:
        result = a.astype(a.dtype)
    return stored(f"{full_name(function)}.accumulate", result, out)


def _doubled(function: Any, a: Any, axis: int) -> Any:
    """Running results: each entry holds that of the last `reach` entries up to it."""
    lead, n, reach = (slice(None),) * axis, a.shape[axis], 1
    while reach < n:
        later = function(a[(*lead, slice(None, -reach))], a[(*lead, slice(reach, None))])
        a = concatenate([a[(*lead, slice(None, reach))], later], axis)
        reach *= 2
    return a if n > 1 else a.astype(a.dtype)


def reduceat(
    function: Any, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """ufunc.reduceat: reductions of the parts between places."""
    _check_binary(function, "reduceat")
    array, out = as_array(array), _target(out)
    axis = _one_axis(axis, array.ndim, "reduceat")
    spans = _spans(function, concrete(indices), array.shape[axis])
    a = moveaxis(_operand(function, array, dtype, out), axis, 0)
    if function is np.add and a.dtype.kind != "b" and spans:
        entries = [place for start, stop in spans for place in range(start, stop)]
        parts = [number for number, (start, stop) in enumerate(spans) for _ in range(start, stop)]
        nothing = np.zeros((len(spans), *a.shape[1:]), a.dtype)
        rows = a[np.array(entries, int)]
        result = perform(GATHER_ADD, nothing, rows, np.array(parts, int))
    elif spans:
        result = stack([_folded(function, a[i:j], (0,), None, None) for i, j in spans])
    else:
        result = a[:0].astype(a.dtype)
    return stored(f"{full_name(function)}.reduceat", moveaxis(result, 0, axis), out)


def _spans(function: Any, indices: Any, n: int) -> list[tuple[int, int]]:
    """The parts that the places of reduceat name; one entry where the next place is no later."""
    places = np.asarray(indices)
    if not places.size or isinstance(indices, (list, tuple)):
        places = places.astype(int)
    if not np.can_cast(places.dtype, np.intp, "safe"):
        raise TypeError(
            f"Cannot cast array data from {places.dtype!r} to dtype('int64') according to the "
            "rule 'safe'"
        )
    if places.ndim != 1:
        small = "of too small depth" if not places.ndim else "too deep"
        raise ValueError(f"object {small} for desired array")
    starts = places.tolist()
    for place in starts:
        if not 0 <= place < n:
            raise IndexError(
                f"index {place} out-of-bounds in {function.__name__}.reduceat [0, {n})"
            )
    ends = [*starts[1:], n][: len(starts)]
    return [(a, max(b, a + 1)) for a, b in zip(starts, ends, strict=True)]


# --- outer and at ---------------------------------------------------------------------------------


def outer(function: Any, a: Any, b: Any, /, out: Any = None, **kwargs: Any) -> Any:
    """ufunc.outer: of every pair of entries."""
    if function.signature is not None:
        raise TypeError("method outer is not allowed in ufunc with non-trivial signature")
    if function.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    first = as_array(a) if np.ndim(b) else a
    if np.ndim(b):
        first = reshape_plain(first, (*first.shape, *(1,) * np.ndim(b)))
    return called(function, (first, b), out, **kwargs)


def at(function: Any, a: Any, indices: Any, b: Any = None, /, out: Any = None) -> None:
    """ufunc.at: in place, once for each time that an entry is named."""
    if function in (np.add, np.subtract):
        add_at(function, a, indices, b)
        return
    if type(a) is not Traced:
        raise UnsupportedFunctionError(
            f"{full_name(function)}.at would write traced values into an array that was made "
            "outside of the function. Make it inside, or copy it first: np.array(a)."
        )
    if function.nout != 1 or function.nin > 2 or (b is None) != (function.nin == 1):
        raise ValueError(f"{full_name(function)}.at takes one operand more than indices, or none.")
    b = None if b is None else as_array(b)
    function.resolve_dtypes((a.dtype, *([] if b is None else [b.dtype]), None))
    places = np.arange(a.size).reshape(a.shape)[_concrete_index(indices)]
    values = None if b is None else spread(b, places.shape)
    flat = places.ravel()
    turns = _turns(flat)
    for turn in range(int(turns.max(initial=-1)) + 1):
        chosen = np.flatnonzero(turns == turn)
        where = np.unravel_index(flat[chosen], a.shape)
        operands = [a[where]]
        if values is not None:
            operands.append(reshape_plain(values, (flat.size,))[chosen])
        new = called(function, operands)
        if not np.can_cast(new.dtype, a.dtype, "same_kind"):
            raise DTypeError(
                f"Cannot cast ufunc '{function.__name__}' output from {new.dtype!r} to "
                f"{a.dtype!r} with casting rule 'same_kind'"
            )
        a[where] = new


def _concrete_index(indices: Any) -> Any:
    return tuple(map(concrete, indices)) if isinstance(indices, tuple) else concrete(indices)


def _turns(places: Any) -> Any:
    """For each place, how often it was named before."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if places.size else order
    counts = np.diff(np.r_[starts, places.size])
    turns = np.empty(places.size, int)
    turns[order] = np.arange(places.size) - np.repeat(starts, counts)
    return turns


METHODS.update(
    {
        "reduce": reduce,
        "accumulate": accumulate,
        "reduceat": reduceat,
        "outer": outer,
        "at": at,
    }
)
