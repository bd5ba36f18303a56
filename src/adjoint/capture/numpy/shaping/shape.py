"""NumPy's functions that change shapes and order.

Numpy/_core/fromnumeric, shape_base and lib's relatives.
"""

from __future__ import annotations

import operator
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from adjoint.base.errors import DTypeError, ShapeError, UnsupportedFunctionError
from adjoint.capture.numpy.indexing.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy.table import (
    as_array,
    as_operand,
    implements,
    normal_axes,
    normal_axis,
    perform,
    stored,
)
from adjoint.capture.recording.memory.layout import is_c_ordered
from adjoint.capture.recording.memory.views import (
    View,
    as_view,
    copy_of,
    depends_on_layout,
    flat_of,
    maybe_alias,
    permute,
    read_only,
    real_part,
    reshape,
)
from adjoint.capture.recording.tracing.applying import apply
from adjoint.capture.recording.tracing.traced import Traced, from_array, is_known, unwrap
from adjoint.primitives.structure.moving import BROADCAST, RESHAPE
from adjoint.primitives.structure.slicing import CONCATENATE
from adjoint.program import operation


def shape_of(shape: Any, size: int | None = None) -> tuple[int, ...]:
    """A shape argument as a tuple of integers, its -1 filled in."""
    lengths = tuple(map(operator.index, shape)) if np.iterable(shape) else (operator.index(shape),)
    if size is None or -1 not in lengths:
        return lengths
    rest = prod(length for length in lengths if length != -1)
    if lengths.count(-1) > 1:
        raise ShapeError("can only specify one unknown dimension")
    if rest == 0 or size % rest:
        raise ShapeError(f"cannot reshape array of size {size} into shape {lengths}")
    return tuple(size // rest if length == -1 else length for length in lengths)


@implements(np.reshape)
def reshaped(a: Any, shape: Any = None, order: str = "C", *, copy: Any = None) -> Any:
    """Gives a new shape to an array without changing its data."""
    a = as_array(a)
    shape = shape_of(shape, a.size)
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    order = _plain_order(a, order, "reshape")
    if copy is False:
        _check_no_copy(a, shape, order)
    if order == "F" and (a.ndim > 1 or len(shape) > 1):
        backwards = permute_plain(a, tuple(reversed(range(a.ndim))))
        result = reshape_plain(backwards, tuple(reversed(shape)))
        result = permute_plain(result, tuple(reversed(range(len(shape)))))
        result = copy_of(result) if result is a else result
        return result if copy or type(a) is not Traced else maybe_alias(a, result)
    if copy:
        return copy_of(reshape(a, shape)) if type(a) is Traced else np.array(a).reshape(shape)
    return reshape(a, shape)


def _plain_order(a: Any, order: Any, name: str) -> str:
    """The order C or F that A or K mean for an array, where its layout in memory is known."""
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if order in ("C", "F") or a.ndim <= 1:
        return "C" if a.ndim <= 1 and order != "F" else str(order)
    if is_known(a):
        flags = unwrap(a).flags
        if flags.c_contiguous or (order == "A" and not flags.f_contiguous):
            return "C"
        if flags.f_contiguous:
            return "F"
    elif is_c_ordered(a):
        depends_on_layout(a)
        return "C"
    raise UnsupportedFunctionError(
        f"numpy.{name} on traced arrays does not support its argument order={order!r} here: what "
        "it gives depends on the layout in memory, which is not known. Write order='C' or 'F'."
    )


def _check_no_copy(a: Any, shape: Any, order: str) -> None:
    """Refuse copy=False where a copy is needed, or where that is not known."""
    if is_known(a):
        unwrap(a).reshape(shape, order=order, copy=False)
    elif a.ndim > 1 or len(shape) > 1:
        if order == "F" or not is_c_ordered(a):
            raise UnsupportedFunctionError(
                "numpy.reshape on traced arrays does not support its argument 'copy' as False "
                "here: whether a copy is needed depends on the layout in memory. Leave it away."
            )
        depends_on_layout(a)


@implements(np.ravel)
def ravelled(a: Any, order: str = "C") -> Any:
    """Return a contiguous flattened array."""
    a = as_array(a)
    if order in ("A", "K") and type(a) is Traced and is_known(a):
        return from_array(unwrap(a).ravel(order)) if a.ndim > 1 else ravelled(a)
    order = _plain_order(a, order, "ravel")
    if type(a) is Traced and is_known(a):
        # Unlike reshape, ravel never makes a view with gaps: what is not contiguous is copied.
        array = unwrap(a)
        contiguous = array.flags.f_contiguous if order == "F" else array.flags.c_contiguous
        if not contiguous and order in ("C", "F"):
            return from_array(array.ravel(order))
    if order == "C" and type(a) is Traced and a.ndim and not (is_known(a) or is_c_ordered(a)):
        # A view where there are no gaps, which is not known.
        return maybe_alias(a, perform(RESHAPE, a, shape=(a.size,)))
    return reshaped(a, (-1,) if a.size else (0,), order)


def along(a: Any, axis: Any) -> tuple[Any, int]:
    """An array and one of its axes, as NumPy takes them: flat for None, and a number as a row."""
    if axis is None:
        return ravelled(a), 0
    if not np.ndim(a) and operator.index(axis) in (0, -1):
        return reshape_plain(as_array(a), (1,)), 0
    return a, normal_axis(operator.index(axis), np.ndim(a))


def flat(a: Traced) -> Any:
    """a.flat: the entries in C order, through which NumPy writes into the array however it lies."""
    if is_known(a) and not unwrap(a).flags.c_contiguous:
        # Reading is right; a write, to either, cannot be carried over and is an error.
        return maybe_alias(a, from_array(unwrap(a).flatten()))
    return flat_of(a)


@implements(np.transpose, np.permute_dims)
def transposed(a: Any, axes: Any = None) -> Any:
    """Returns an array with axes transposed."""
    a = as_array(a)
    if axes is None:
        return permute(a, tuple(reversed(range(a.ndim))))
    order = tuple(normal_axis(axis, a.ndim) for axis in axes)
    if sorted(order) != list(range(a.ndim)):
        raise ValueError("axes don't match array")
    return permute(a, order)


@implements(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Interchange two axes of an array."""
    a = as_array(a)
    order = list(range(a.ndim))
    one, other = normal_axis(axis1, a.ndim), normal_axis(axis2, a.ndim)
    order[one], order[other] = order[other], order[one]
    return permute(a, tuple(order))


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Move axes of an array to new positions."""
    a = as_array(a)
    sources = [normal_axis(s, a.ndim) for s in np.atleast_1d(source).tolist()]
    targets = [normal_axis(d, a.ndim) for d in np.atleast_1d(destination).tolist()]
    order = [axis for axis in range(a.ndim) if axis not in sources]
    for target, moved in sorted(zip(targets, sources, strict=True)):
        order.insert(target, moved)
    return permute(a, tuple(order))


@implements(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Roll the specified axis backwards, until it lies in a given position."""
    axis = normal_axis(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


@implements(np.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    """Transposes a matrix (or a stack of matrices) x."""
    return swapaxes(x, -1, -2)


@implements(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    """Remove axes of length one from a."""
    a = as_array(a)
    shape = a.shape
    if isinstance(axis, list):
        raise TypeError("'list' object cannot be interpreted as an integer")
    if axis is None or (not shape and axis in (0, -1)):
        gone = tuple(n for n, length in enumerate(shape) if length == 1)
    else:
        gone = normal_axes(axis, a.ndim)
        if any(shape[n] != 1 for n in gone):
            raise ShapeError("cannot select an axis to squeeze out which has size not equal to one")
    return reshape(a, tuple(length for n, length in enumerate(shape) if n not in gone))


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    """Expand the shape of an array."""
    a = as_array(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    new = normal_axes(axis, a.ndim + count)
    rest = iter(a.shape)
    return reshape(a, tuple(1 if n in new else next(rest) for n in range(a.ndim + count)))


def _at_least(rank: int) -> Any:
    def function(*arrays: Any) -> Any:
        results = []
        for a in map(as_operand, arrays):
            missing = rank - np.ndim(a)
            if missing > 0:
                shape = np.shape(a)
                after = 1 if rank == 3 and len(shape) in (1, 2) else 0
                a = reshape(a, (*(1,) * (missing - after), *shape, *(1,) * after))
            results.append(a)
        return results[0] if len(results) == 1 else tuple(results)

    return function


for _rank, _function in ((1, np.atleast_1d), (2, np.atleast_2d), (3, np.atleast_3d)):
    implements(_function)(_at_least(_rank))


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """Broadcast an array to a new shape."""
    shape = shape_of(shape)
    array = as_operand(array)
    if type(array) is not Traced:
        return np.broadcast_to(array, shape)

    def forward(base: Any) -> Any:
        if is_known(base):
            return from_array(np.broadcast_to(unwrap(base), shape))
        return spread(base, shape)

    view = View(forward, read_only, lambda base: np.broadcast_to(base, shape))
    return as_view(array, forward(array), view)


def spread(array: Any, shape: Any) -> Any:
    """np.broadcast_to, not kept as a view."""
    return array if array.shape == shape else apply(operation(BROADCAST, shape=shape), (array,))


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """Broadcast any number of arrays against each other."""
    arrays = [as_array(a) for a in args]  # numbers too: an array comes out for each
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    if all(np.shape(a) == shape for a in arrays):
        return tuple(arrays)
    return tuple(broadcast_to(a, shape) for a in arrays)


@implements(np.real)
def real(val: Any) -> Any:
    """Return the real part of the complex argument."""
    return real_part(as_operand(val), imaginary=False)


@implements(np.imag)
def imag(val: Any) -> Any:
    """Return the imaginary part of the complex argument."""
    return real_part(as_operand(val), imaginary=True)


# --- joining and splitting ------------------------------------------------------------------------


@implements(np.concatenate)
def concatenate(
    arrays: Any,
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
) -> Any:
    """Join a sequence of arrays along an existing axis."""
    if out is not None:
        if dtype is not None:
            raise TypeError("concatenate() only takes `out` or `dtype` as an argument, not both.")
        dtype = getattr(out, "dtype", None)
    operands = [as_operand(a) for a in arrays]
    if axis is None:
        operands, axis = [ravelled(a) for a in operands], 0
    if not operands:
        raise ShapeError("need at least one array to concatenate")
    if any(np.ndim(a) == 0 for a in operands):
        raise ShapeError("zero-dimensional arrays cannot be concatenated")
    result = perform(CONCATENATE, *operands, axis=normal_axis(axis, np.ndim(operands[0])))
    target = result.dtype if dtype is None else np.dtype(dtype)
    for operand in operands:
        if not np.can_cast(operand.dtype, target, casting):
            raise DTypeError(
                f"Cannot cast array data from {operand.dtype!r} to {target!r} according to the "
                f"rule {casting!r}"
            )
    return stored("numpy.concatenate", result if dtype is None else result.astype(target), out)


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, **kwargs: Any) -> Any:
    """Join a sequence of arrays along a new axis."""
    operands = [as_operand(a) for a in arrays]
    if not operands:
        raise ShapeError("need at least one array to stack")
    shapes = {np.shape(a) for a in operands}
    if len(shapes) > 1:
        raise ShapeError("all input arrays must have the same shape")
    place = normal_axis(axis, len(shapes.pop()) + 1)
    return concatenate([expand_dims(a, place) for a in operands], place, out, **kwargs)


@implements(np.hstack)
def hstack(tup: Any, **kwargs: Any) -> Any:
    """Stack arrays in sequence horizontally (column wise)."""
    arrays = [_at_least(1)(a) for a in tup]
    return concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, **kwargs)


@implements(np.vstack)
def vstack(tup: Any, **kwargs: Any) -> Any:
    """Stack arrays in sequence vertically (row wise)."""
    return concatenate([_at_least(2)(a) for a in tup], 0, **kwargs)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    """Stack arrays in sequence depth wise (along third axis)."""
    return concatenate([_at_least(3)(a) for a in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    """Stack 1-D arrays as columns into a 2-D array."""
    arrays = [as_operand(a) for a in tup]
    return concatenate([a if np.ndim(a) > 1 else reshape(a, (np.size(a), 1)) for a in arrays], 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Append values to the end of an array."""
    return concatenate([arr, values], axis)


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split an array into multiple sub-arrays."""
    ary = as_array(ary)
    axis = normal_axis(axis, ary.ndim)
    length = ary.shape[axis]
    if np.iterable(indices_or_sections):
        bounds = [0, *(operator.index(i) for i in indices_or_sections), length]
    else:
        parts = operator.index(indices_or_sections)
        if parts <= 0:
            raise ValueError("number sections must be larger than 0.")
        part, extra = divmod(length, parts)
        bounds = [0]
        for number in range(parts):
            bounds.append(bounds[-1] + part + (number < extra))
    lead = (slice(None),) * axis
    return [ary[(*lead, slice(start, stop))] for start, stop in pairwise(bounds)]


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split an array into multiple sub-arrays as views into ary."""
    if not np.iterable(indices_or_sections):
        length = ary.shape[normal_axis(axis, ary.ndim)]
        if length % operator.index(indices_or_sections):
            raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Split an array into multiple sub-arrays horizontally (column-wise)."""
    if not np.ndim(ary):
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Split an array into multiple sub-arrays vertically (row-wise)."""
    if np.ndim(ary) < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@implements(np.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """Split an array into a sequence of arrays along the given axis."""
    return tuple(moveaxis(x, axis, 0))


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return specified diagonals."""
    a = as_array(a)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    if normal_axis(axis1, a.ndim) == normal_axis(axis2, a.ndim):
        raise ValueError("axis1 and axis2 cannot be the same")

    def forward(base: Any) -> Any:
        if type(base) is Traced and is_known(base):
            return from_array(np.diagonal(unwrap(base), offset, axis1, axis2))
        moved = moveaxis(base, (axis1, axis2), (-2, -1))
        rows, columns = moved.shape[-2:]
        count = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
        places = np.arange(count)
        return moved[(..., places - min(offset, 0), places + max(offset, 0))]

    # NumPy's diagonal is a view that cannot be written.
    if type(a) is not Traced:
        return forward(a)
    view = View(forward, read_only, lambda base: np.diagonal(base, offset, axis1, axis2))
    return as_view(a, forward(a), view)
