"""NumPy's functions that write into an array, and those that put arrays together by writing."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.base.errors import BoundsError, DTypeError, UnsupportedFunctionError
from adjoint.capture.numpy.indexing.assigning import concrete_index
from adjoint.capture.numpy.indexing.indexing import reshape_plain
from adjoint.capture.numpy.reducing.binding import computed_in
from adjoint.capture.numpy.shaping.shape import along, concatenate, moveaxis, ravelled, spread
from adjoint.capture.numpy.table import (
    TAKES_ALIKE,
    as_array,
    as_operand,
    implements,
    normal_axis,
    perform,
    stored,
)
from adjoint.capture.recording.memory.views import assign, check_storable
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.structure.gathering import GATHER_ADD


def _target(a: Any, name: str) -> Traced:
    if type(a) is not Traced:
        raise UnsupportedFunctionError(
            f"numpy.{name} would write traced values into an array that was made outside of the "
            "function. Make it inside, or copy it first: np.array(a)."
        )
    return a


# --- adding where indices may repeat --------------------------------------------------------------


def add_at(ufunc: Any, a: Any, indices: Any, b: Any = None) -> None:
    """np.add.at and np.subtract.at, for integer arrays that index the first axes."""
    name = f"{ufunc.__name__}.at"
    if ufunc not in (np.add, np.subtract):
        raise UnsupportedFunctionError(
            f"numpy.{name} is not supported on traced arrays yet; write x[i] = f(x[i], v) where "
            "the indices do not repeat."
        )
    a, b = _target(a, name), as_array(b)
    check_storable(a, b, f"numpy.{name}")
    b = -b if ufunc is np.subtract else b
    given = indices if isinstance(indices, tuple) else (indices,)
    arrays = [place if type(place) is Traced else np.asarray(place) for place in given]
    if len(arrays) == 1 and arrays[0].dtype.kind == "b":
        arrays = list(np.nonzero(concrete(arrays[0])))
    if any(place.dtype.kind not in "iu" for place in arrays):
        _add_at_places(a, np.arange(a.size).reshape(a.shape)[concrete_index(indices)], b)
        return
    try:
        arrays = list(np.broadcast_arrays(*arrays))
    except ValueError as error:
        raise BoundsError(f"numpy.{name}: {error}") from None
    for axis, place in enumerate(arrays):
        if type(place) is not Traced and place.size:
            for extreme in (int(place.min()), int(place.max())):
                if not -a.shape[axis] <= extreme < a.shape[axis]:
                    raise IndexError(
                        f"index {extreme} is out of bounds for axis {axis} with size "
                        f"{a.shape[axis]}"
                    )
    part = (*arrays[0].shape, *a.shape[len(arrays) :])
    assign(a, perform(GATHER_ADD, a, spread(b, part), *arrays))


def _add_at_places(a: Traced, places: Any, b: Any) -> None:
    """Add at places of the flattened array, of which some may be the same."""
    flat, shape = reshape_plain(a, (a.size,)), a.shape
    values = reshape_plain(spread(b, places.shape), (places.size,))
    assign(a, reshape_plain(perform(GATHER_ADD, flat, values, places.ravel()), shape))


def _cycled(values: Any, count: int) -> Any:
    """So many values, which begin again where there are fewer."""
    if not np.ndim(values):
        return values
    return ravelled(values)[np.arange(count) % max(1, np.size(values))]


# --- writing --------------------------------------------------------------------------------------


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write into the diagonal of a matrix."""
    a = _target(a, "fill_diagonal")
    shape = a.shape
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim == 2:
        step, end = shape[1] + 1, None if wrap else shape[1] ** 2
    elif len(set(shape)) == 1:
        step, end = 1 + int(np.cumprod(shape[:-1]).sum()), None
    else:
        raise ValueError("All dimensions of input must be of equal length")
    places = np.arange(a.size)[:end:step]
    a[np.unravel_index(places, shape)] = _cycled(as_operand(val), places.size)


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Write at places along an axis."""
    arr = _target(arr, "put_along_axis")
    if axis is None:
        flat = np.arange(arr.size)[concrete(indices)]
        arr[np.unravel_index(flat, arr.shape)] = values
        return
    axis = normal_axis(axis, arr.ndim)
    places: list[Any] = []
    for n in range(arr.ndim):
        shape = tuple(-1 if m == n else 1 for m in range(arr.ndim))
        places.append(concrete(indices) if n == axis else np.arange(arr.shape[n]).reshape(shape))
    arr[tuple(places)] = values


@implements(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write where a mask holds, from values at the same places, which begin again if short."""
    a, values = _target(a, "putmask"), as_array(values)
    if not values.size:
        return
    if np.shape(values) not in ((), a.shape):
        values = reshape_plain(_cycled(values, a.size), a.shape)
    a[...] = np.where(reshape_plain(as_operand(mask), a.shape), values, a)


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write at places of the flattened array."""
    a = _target(a, "put")
    flat = np.asarray(concrete(ind)).ravel()
    v = as_array(v)
    if not flat.size or not v.size:
        return
    values = _cycled(v, flat.size)
    if mode == "wrap":
        flat = flat % max(a.size, 1)
    elif mode == "clip":
        flat = np.clip(flat, 0, a.size - 1)
    elif mode != "raise":
        raise ValueError("clipmode must be one of 'clip', 'raise', or 'wrap'")
    if ((flat < -a.size) | (flat >= a.size)).any():
        raise IndexError(f"index is out of bounds for axis 0 with size {a.size}")
    if a.ndim:
        a[np.unravel_index(flat % max(a.size, 1), a.shape)] = values
    else:
        a[...] = values[-1] if np.ndim(values) else values


# --- putting together -----------------------------------------------------------------------------


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """An array without some of its rows."""
    arr = as_array(arr)
    if axis is None:
        arr, axis = ravelled(arr), 0
    axis = normal_axis(axis, arr.ndim)
    kept = np.delete(np.arange(arr.shape[axis]), obj if isinstance(obj, slice) else concrete(obj))
    return arr[(*(slice(None),) * axis, kept)]


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """An array with entries or rows put before places."""
    arr = as_array(arr)
    arr = ravelled(arr) if axis is None else arr
    axis = normal_axis(-1 if axis is None else axis, arr.ndim)
    n, values = arr.shape[axis], as_array(values)
    places = _insertion_places(obj, n)
    if values.dtype.kind == "c" and arr.dtype.kind in "iuf":
        raise DTypeError(f"Complex values cannot be inserted into an array of dtype {arr.dtype}.")
    values = values.astype(arr.dtype)
    if places.size == 1:
        values = reshape_plain(values, (1,) * (arr.ndim - values.ndim) + values.shape)
        if places.ndim == 0 and values.ndim:
            values = moveaxis(values, 0, axis)
        places = np.full(values.shape[axis], places.item() + n * (places.item() < 0))
    else:
        places = places + n * (places < 0)
    extra = max(values.ndim - arr.ndim, 0)
    if set(values.shape[:extra]) == {1}:  # as where arrays are assigned to parts of others
        values = reshape_plain(values, values.shape[extra:])
    new = spread(values, (*arr.shape[:axis], len(places), *arr.shape[axis + 1 :]))
    order = np.argsort(np.concatenate([np.arange(n), places - 0.5]), kind="stable")
    return concatenate([arr, new], axis)[(*(slice(None),) * axis, order)]


def _insertion_places(obj: Any, n: int) -> Any:
    """Where to insert: integers, one or several."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(n))
    places = np.asarray(concrete(obj))
    if places.dtype.kind == "b":
        if places.ndim != 1:
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        places = np.flatnonzero(places)
    if places.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    if not places.size:
        places = places.astype(int)
    if places.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if ((places < -n) | (places > n)).any():
        raise IndexError(f"index {obj} is out of bounds for axis with size {n}")
    return places


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each entry, the choice of the first condition that holds."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("list of cases must be same length as list of conditions")
    choices = [as_operand(choice) for choice in choicelist]
    dtype = np.result_type(*(_type_for_promotion(value) for value in (*choices, default)))
    shape = np.broadcast_shapes(*map(np.shape, (*condlist, *choices, default)))
    result = spread(_as_dtype(as_operand(default), dtype), shape)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        result = perform(SELECT, as_operand(condition), _as_dtype(choice, dtype), result)
    return result


def _type_for_promotion(value: Any) -> Any:
    if type(value) is Traced:
        return value.type.dtype.type(0).item() if value.type.weak else value.dtype
    return value if isinstance(value, (int, float, complex)) else np.asarray(value)


def _as_dtype(value: Any, dtype: Any) -> Any:
    if type(value) is Traced:
        return value if value.dtype == dtype and not value.type.weak else value.astype(dtype)
    return np.asarray(value, dtype)


@implements(np.compress)
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    """The rows where a condition holds."""
    a, axis = along(as_array(a), axis)
    held = np.asarray(concrete(condition))
    if held.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    result = a[(*(slice(None),) * axis, np.flatnonzero(held))]
    return stored("numpy.compress", result, out, alike=TAKES_ALIKE)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """The entries where a condition holds."""
    return ravelled(as_operand(arr))[np.nonzero(np.ravel(concrete(condition)))[0]]


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of powers, which are running products, as they are in NumPy."""
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    x = x.astype(np.promote_types(x.dtype, int))
    count = x.shape[0] if N is None else operator.index(N)
    if not count:
        return np.zeros((x.shape[0], 0), x.dtype)
    size = x.shape[0]
    ones = np.ones((size, 1), x.dtype)
    powers = np.cumprod(np.broadcast_to(x[:, np.newaxis], (size, count - 1)), axis=1)
    return concatenate([ones, powers] if increasing else [np.flip(powers, 1), ones], 1)


@implements(np.block)
def block(arrays: Any) -> Any:
    """An array of blocks, given as nested lists."""
    rank = max(_depth(arrays), _rank(arrays))

    def build(part: Any, level: int) -> Any:
        if not isinstance(part, list):
            a = as_operand(part)
            missing = rank - np.ndim(a)
            return np.reshape(a, (*(1,) * missing, *np.shape(a))) if missing else a
        return concatenate([build(block, level + 1) for block in part], level - _depth(arrays))

    return build(arrays, 0)


def _depth(part: Any) -> int:
    return 1 + max(map(_depth, part)) if isinstance(part, list) else 0


def _rank(part: Any) -> int:
    return max(map(_rank, part)) if isinstance(part, list) else np.ndim(part)


@implements(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products, by doubling: no division, so zeros among the factors are no trouble."""
    a, axis = along(computed_in(as_array(a), np.multiply, dtype, out), axis)
    lead, n, reach = (slice(None),) * axis, a.shape[axis], 1
    while reach < n:
        # Each entry holds the product of the last `reach` factors up to it.
        later = a[(*lead, slice(reach, None))] * a[(*lead, slice(None, -reach))]
        a = concatenate([a[(*lead, slice(None, reach))], later], axis)
        reach *= 2
    return stored("numpy.cumprod", a.astype(a.dtype) if n <= 1 else a, out)
