"""NumPy's functions that write into an array, and those that put arrays together by writing."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.indexing import reshape_plain
from adjoint.capture.numpy_shape import concatenate, moveaxis, ravelled, spread
from adjoint.capture.table import as_array, as_operand, implements, normal_axis, perform
from adjoint.capture.traced import Traced, concrete, from_array, is_known, unwrap
from adjoint.capture.views import assign, check_storable
from adjoint.primitives.gathering import GATHER_ADD
from adjoint.primitives.selection import SELECT


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
    arrays = [each if type(each) is Traced else np.asarray(each) for each in given]
    if len(arrays) == 1 and arrays[0].dtype.kind == "b":
        arrays = list(np.nonzero(concrete(arrays[0])))
    if any(each.dtype.kind not in "iu" for each in arrays):
        # Slices name no entry twice.
        a[indices] += b
        return
    arrays = list(np.broadcast_arrays(*arrays))
    for axis, each in enumerate(arrays):
        if type(each) is not Traced and each.size:
            for extreme in (int(each.min()), int(each.max())):
                if not -a.shape[axis] <= extreme < a.shape[axis]:
                    raise IndexError(
                        f"index {extreme} is out of bounds for axis {axis} with size "
                        f"{a.shape[axis]}"
                    )
    part = (*arrays[0].shape, *a.shape[len(arrays) :])
    assign(a, perform(GATHER_ADD, a, spread(b, part), *arrays))


# --- writing --------------------------------------------------------------------------------------


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write into the diagonal of a matrix."""
    a = _target(a, "fill_diagonal")
    if a.ndim != 2 or wrap:
        raise UnsupportedFunctionError(
            "numpy.fill_diagonal on traced arrays takes matrices, without 'wrap', so far."
        )
    places = np.arange(min(a.shape))
    val = as_operand(val)
    a[places, places] = ravelled(val)[: len(places)] if np.ndim(val) else val


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Write at places along an axis."""
    arr = _target(arr, "put_along_axis")
    if axis is None:
        raise UnsupportedFunctionError(
            "numpy.put_along_axis on traced arrays does not support axis=None yet."
        )
    axis = normal_axis(axis, arr.ndim)
    places: list[Any] = []
    for n in range(arr.ndim):
        shape = tuple(-1 if m == n else 1 for m in range(arr.ndim))
        places.append(concrete(indices) if n == axis else np.arange(arr.shape[n]).reshape(shape))
    arr[tuple(places)] = values


@implements(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write where a mask holds, from values of the array's shape."""
    a, values = _target(a, "putmask"), as_operand(values)
    if np.shape(values) not in ((), a.shape):
        raise UnsupportedFunctionError(
            "numpy.putmask on traced arrays takes a scalar or values of the array's shape."
        )
    a[...] = np.where(mask, values, a)


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write at places of the flattened array."""
    a = _target(a, "put")
    if mode != "raise":
        raise UnsupportedFunctionError(
            f"numpy.put on traced arrays does not support mode={mode!r} yet."
        )
    flat = np.asarray(concrete(ind)).ravel()
    v = as_operand(v)
    values = ravelled(v)[np.arange(flat.size) % v.size] if np.ndim(v) else v
    if ((flat < -a.size) | (flat >= a.size)).any():
        raise IndexError(f"index is out of bounds for axis 0 with size {a.size}")
    a[np.unravel_index(flat % max(a.size, 1), a.shape)] = values


# --- putting together -----------------------------------------------------------------------------


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    """An array with borders: constant, edge, wrap, reflect or symmetric."""
    array = as_operand(array)
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(n, pad_width.get(n - array.ndim, 0)) for n in range(array.ndim)]
        pad_width = [each if np.iterable(each) else (each, each) for each in pad_width]
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).astype(int)
    if (widths < 0).any():
        raise ValueError("index can't contain negative values")
    if mode != "constant":
        if kwargs or mode not in ("edge", "wrap", "reflect", "symmetric"):
            raise UnsupportedFunctionError(
                f"numpy.pad on traced arrays does not support mode={mode!r} with {sorted(kwargs)} "
                f"yet."
            )
        for axis in range(array.ndim):
            border: Any = (np.arange(array.shape[axis]), widths[axis], mode)
            places = np.pad(*border)
            array = array[(*(slice(None),) * axis, places)]
        return array
    value = kwargs.pop("constant_values", 0)
    if kwargs:
        raise UnsupportedFunctionError(
            f"numpy.pad on traced arrays does not support its arguments {sorted(kwargs)} yet."
        )
    if np.ndim(value):
        raise UnsupportedFunctionError(
            "numpy.pad on traced arrays takes one constant value for all borders."
        )
    shape = tuple(n + a + b for n, (a, b) in zip(array.shape, widths.tolist(), strict=True))
    whole = from_array(np.zeros(shape, array.dtype))
    if type(value) is Traced or value != 0:
        whole[...] = value
    inner = tuple(slice(a, a + n) for n, (a, _) in zip(array.shape, widths.tolist(), strict=True))
    whole[inner] = array
    return whole


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """An array without some of its rows."""
    arr = as_operand(arr)
    if axis is None:
        arr, axis = ravelled(arr), 0
    axis = normal_axis(axis, arr.ndim)
    kept = np.delete(np.arange(arr.shape[axis]), obj if isinstance(obj, slice) else concrete(obj))
    return arr[(*(slice(None),) * axis, kept)]


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """An array with one entry or row put before a place."""
    arr, values = as_operand(arr), as_array(values)
    if axis is None:
        arr, axis = ravelled(arr), 0
    axis = normal_axis(axis, arr.ndim)
    place = concrete(obj)
    if not isinstance(place, (int, np.integer)):
        raise UnsupportedFunctionError(
            "numpy.insert on traced arrays takes one integer place so far."
        )
    n = arr.shape[axis]
    place = normal_axis(place, n + 1) if place >= 0 else operator.index(place) + n
    lead = (slice(None),) * axis
    row = (*arr.shape[:axis], *arr.shape[axis + 1 :])
    if np.ndim(values) <= len(row):
        width, new = 1, spread(values, row)
        new = reshape_plain(new, (*arr.shape[:axis], 1, *arr.shape[axis + 1 :]))
    else:
        moved = moveaxis(values, 0, axis) if np.ndim(values) == arr.ndim and not axis else values
        width = moved.shape[axis]
        new = spread(moved, (*arr.shape[:axis], width, *arr.shape[axis + 1 :]))
    new = new.astype(arr.dtype) if new.dtype != arr.dtype else new
    before, after = arr[(*lead, slice(None, place))], arr[(*lead, slice(place, None))]
    return concatenate([before, new, after], axis)


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each entry, the choice of the first condition that holds."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("list of cases must be same length as list of conditions")
    choices = [as_operand(each) for each in choicelist]
    dtype = np.result_type(*(_type_for_promotion(each) for each in (*choices, default)))
    shape = np.broadcast_shapes(*map(np.shape, (*condlist, *choices)))
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
def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """The rows where a condition holds."""
    a = as_operand(a)
    if axis is None:
        a, axis = ravelled(a), 0
    (places,) = np.nonzero(concrete(condition))
    return a[(*(slice(None),) * normal_axis(axis, a.ndim), places)]


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """The entries where a condition holds."""
    return ravelled(as_operand(arr))[np.nonzero(np.ravel(concrete(condition)))[0]]


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """The array turned by quarters."""
    m = as_operand(m)
    first, second = (normal_axis(axis, m.ndim) for axis in axes)
    order = list(range(m.ndim))
    order[first], order[second] = order[second], order[first]

    def flipped(a: Any, axis: int) -> Any:
        return a[(*(slice(None),) * axis, slice(None, None, -1))]

    turns = k % 4
    if turns == 0:
        return m[:]
    if turns == 2:
        return flipped(flipped(m, first), second)
    if turns == 1:
        return np.transpose(flipped(m, second), order)
    return flipped(np.transpose(m, order), second)


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The matrix of powers."""
    x = as_operand(x)
    x = x.astype(np.promote_types(x.dtype, int))
    count = len(x) if N is None else N
    powers = range(count) if increasing else range(count - 1, -1, -1)
    return np.stack([x**power for power in powers], 1)


@implements(np.block)
def block(arrays: Any) -> Any:
    """An array of blocks, given as nested lists."""
    rank = max(_depth(arrays), _rank(arrays))

    def build(part: Any, level: int) -> Any:
        if not isinstance(part, list):
            a = as_operand(part)
            missing = rank - np.ndim(a)
            return np.reshape(a, (*(1,) * missing, *np.shape(a))) if missing else a
        return concatenate([build(each, level + 1) for each in part], level - _depth(arrays))

    return build(arrays, 0)


def _depth(part: Any) -> int:
    return 1 + max(map(_depth, part)) if isinstance(part, list) else 0


def _rank(part: Any) -> int:
    return max(map(_rank, part)) if isinstance(part, list) else np.ndim(part)


@implements(np.cumprod)
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """Running products, by doubling: no division, so zeros among the factors are no trouble."""
    if out is not None:
        raise UnsupportedFunctionError(
            "numpy.cumprod on traced arrays does not support its argument 'out' yet."
        )
    a = as_operand(a)
    if dtype is None and a.dtype.kind in "biu":
        dtype = np.multiply.reduce(np.zeros(1, a.dtype)).dtype
    a = a if dtype is None else a.astype(dtype)
    if axis is None:
        a, axis = ravelled(a), 0
    axis = normal_axis(axis, a.ndim)
    lead, n, reach = (slice(None),) * axis, a.shape[axis], 1
    while reach < n:
        # Each entry holds the product of the last `reach` factors up to it.
        later = a[(*lead, slice(reach, None))] * a[(*lead, slice(None, -reach))]
        a = concatenate([a[(*lead, slice(None, reach))], later], axis)
        reach *= 2
    return np.positive(a) if n <= 1 else a


def constant_of(function: Any) -> Any:
    """A function whose results are counts or choices: computed from the values so far."""

    def ours(*args: Any, **kwargs: Any) -> Any:
        plain = {name: _concrete_all(value) for name, value in kwargs.items()}
        return function(*map(_concrete_all, args), **plain)

    return ours


def _concrete_all(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_concrete_all, value))
    return unwrap(value) if is_known(value) else concrete(value)


for _function in (np.bincount, np.lexsort, np.argpartition, np.nanargmax, np.nanargmin, np.isin):
    implements(_function)(constant_of(_function))
