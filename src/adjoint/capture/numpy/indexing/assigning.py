"""Writing by index: `x[index] = value`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.base.arrays import Shape, array_type
from adjoint.base.errors import ShapeError
from adjoint.capture.numpy.indexing.indexing import (
    Parsed,
    check_bounds,
    inserted,
    is_concrete_index,
    is_plain,
    numpy_index,
    parse,
    part_of,
    permute_plain,
    prepared,
    reshape_plain,
    result_order,
    slice_of,
)
from adjoint.capture.numpy.indexing.selected import Selected, written
from adjoint.capture.numpy.indexing.truths import without_truths
from adjoint.capture.recording.memory.plain_writes import carry, is_plainly_written
from adjoint.capture.recording.memory.views import assign, check_storable, own_memory, root_of
from adjoint.capture.recording.tracing.applying import apply, concrete
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.traced import Traced, is_known, synchronise, unwrap
from adjoint.capture.recording.values.valued import writing
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.structure.gathering import GATHER_SET
from adjoint.primitives.structure.slicing import SLICE, UPDATE
from adjoint.program import Operation, operation


def put(x: Traced, index: Any, value: Any) -> None:
    """x[index] = value."""
    if type(value) is Selected:
        assign(x, written(x, value, index))
        return
    if _put_at_once(x, index, value) or _is_there(x, index, value):
        return
    writing((x,), operator.setitem, _put, (x, index, value), {})


def _put_at_once(x: Traced, index: Any, value: Any) -> bool:
    """The usual case of `_put`, without its questions: into an array, or a slice of one."""
    state, kind, number = x._state, type(value), value
    if state is not None and state.base is not None:
        synchronise(x)
    own, array = x._trace, x._value
    if type(array) is not np.ndarray:
        return False
    trace = own
    if kind is Traced and value._trace is None:
        value = number = value._value
        kind = type(value)
    if kind is Traced:
        trace = value._trace
        inner = value._state
        if inner is not None and inner.base is not None:
            if root_of(value) is root_of(x):
                return False  # the second half of `x[i] += v`, maybe
            synchronise(value)
        number = value._value
    elif kind is int and array.dtype is _DOUBLE and -_EXACT < value < _EXACT:
        number = value = float(value)
    elif kind is not float and (kind is not np.ndarray or value.dtype is not array.dtype):
        return False
    if trace is None or not trace.open or trace.lines is not None or trace.inside:
        return False
    if number is None or own not in (None, trace):
        return False
    if (
        own is None
        and state is not None
        and (state.base is not None or state.aliases or state.flat)
    ):
        return False
    if own is trace and state is not None and not is_plainly_written(x, trace):
        return False
    type_ = trace.types[x._slot] if own is trace else array_type(array.shape, array.dtype)
    view = slice_of(index, type_) if is_plain(index) else None
    if view is None:
        return False
    slot = value._slot if kind is Traced else trace.lift(value)
    given = trace.types[slot]
    weak = given.weak and given.dtype.kind == type_.dtype.kind == "f"
    fits = not given.shape or given.shape == view.shape == view.part
    if not fits or not (weak or given.dtype == type_.dtype):
        return False
    base = x._slot if own is trace else trace.lift_made(array)
    op, types = view.put_operation, trace.types
    pair = (type_, given)
    result_types = op._inferred.get(pair) or op.infer(pair)
    array[index] = number
    types.append(result_types[0])
    trace.records.append((op, base, slot))
    x._trace = trace
    carry(x, trace, len(types) - 1)
    return True


_DOUBLE = np.dtype(float)
_EXACT = 1 << 53  # whole numbers below are numbers of double precision


def _is_there(x: Traced, index: Any, value: Any) -> bool:
    """Whether a value is the very part of x that it is to be put into: `x[i] += v` ends so."""
    if type(value) is not Traced or value._state is None or value._state.base is None:
        return False
    array, part = x._value, value._value
    if type(part) is not np.ndarray or type(array) is not np.ndarray or not is_plain(index):
        return False
    if root_of(value) is not root_of(x) or not array.flags.writeable:
        return False
    here = array[index]
    return (
        type(here) is np.ndarray
        and here.shape == part.shape
        and here.strides == part.strides
        and here.dtype is part.dtype
        and here.ctypes.data == part.ctypes.data
    )


def _put(x: Traced, index: Any, value: Any) -> None:
    if type(value) is not Traced and not isinstance(
        value, (np.ndarray, float, int, complex, np.generic)
    ):
        value = hooks.function(np.asarray, (value,), {})
    if is_known(x) and is_known(value) and is_concrete_index(index):
        own_memory(x)[numpy_index(index)] = unwrap(value)
        return
    check_storable(x, value, "The assignment x[...] = value")
    if x._state is not None and x._state.flat:
        value = _repeated(value, np.arange(x.size)[concrete_index(index)])
    truths = without_truths(index)
    if truths is not None:
        _put(part_of(x, truths[0]), truths[1], value)
    elif not _rewrites_itself(x, index, value):
        assign(x, _written(x, index, value))


def concrete_index(index: Any) -> Any:
    """An index whose traced parts are asked for their values."""
    return tuple(map(concrete, index)) if isinstance(index, tuple) else concrete(index)


def _repeated(value: Any, places: Any) -> Any:
    """A value for so many places of x.flat, which begins again where it is too short."""
    if np.ndim(value) == 0 or not np.size(value):
        return value
    flat = reshape_plain(value, (np.size(value),))
    return flat[np.arange(np.size(places)).reshape(np.shape(places)) % np.size(value)]


def _rewrites_itself(x: Traced, index: Any, value: Any) -> bool:
    """Whether this is the second half of `x[i] += v`.

    Which stores a view that was already written through.
    """
    state = value._state if type(value) is Traced else None
    if state is None or state.base is not x or isinstance(index, (np.ndarray, Traced, list)):
        return False
    view = x[index]
    return (
        type(view) is Traced and not is_known(view) and not is_known(value) and _same(view, value)
    )


def _same(one: Traced, other: Traced) -> bool:
    first, second = (one._trace, one._slot), (other._trace, other._slot)
    if first == second:
        return True
    # A slice taken just now of the base that the view was written into: its record names the view's
    # own value.
    trace = one._trace
    if trace is None or trace is not other._trace:
        return False
    trace.find_owners()
    head, *operands = trace.records[trace.owners[one._slot]]
    if not isinstance(head, Operation) or head.primitive is not SLICE:
        return False
    owner = trace.owners[operands[0]]
    if owner < 0:
        return False
    written = trace.records[owner]
    maker = written[0]
    return (
        isinstance(maker, Operation)
        and maker.primitive is UPDATE
        and maker.params["index"] == head.params["index"]
        and bool(written[2] == other._slot)
    )


def _written(x: Traced, index: Any, value: Any) -> Traced:
    """x with the part that an index names replaced."""
    mask = unwrap(index[0] if isinstance(index, tuple) and len(index) == 1 else index)
    if getattr(mask, "dtype", None) == np.bool_ and mask.shape == x.shape and np.ndim(value) > 1:
        raise TypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input "
            f"has {np.ndim(value)} dimensions"
        )
    if getattr(mask, "dtype", None) == np.bool_ and mask.shape == x.shape and np.ndim(value) == 0:
        # A scalar under a mask: whatever the mask holds, the result's shape is known.
        cast = value.astype(x.dtype) if type(value) is Traced else x.dtype.type(value)
        return apply(operation(SELECT), (mask, cast, x))  # type: ignore[no-any-return]
    view = slice_of(index, x.type)
    if view is not None:
        part = _fitted(value, view.shape, view.part)
        return apply(view.put_operation, (x, part))  # type: ignore[no-any-return]
    parsed = parse(index, x.shape)
    source, arrays, axes = prepared(x, parsed)
    value = _gathered_value(value, source, arrays, parsed)
    check_bounds(parsed, x.shape)
    whole = apply(operation(GATHER_SET), (source, value, *arrays))
    whole = permute_plain(whole, tuple(int(axis) for axis in np.argsort(axes)))
    if whole.shape == x.shape and all(
        entry == (0, n, 1) for entry, n in zip(parsed.basic, x.shape, strict=True)
    ):
        return whole  # type: ignore[no-any-return]
    return apply(operation(UPDATE, index=parsed.basic), (x, whole))  # type: ignore[no-any-return]


def _gathered_value(value: Any, source: Any, arrays: list[Any], parsed: Parsed) -> Any:
    """A value to be written through index arrays, its axes in the gather's order."""
    if np.ndim(value) == 0:
        return value
    rank = arrays[0].ndim
    target = arrays[0].shape + source.shape[len(arrays) :]
    order = result_order(len(target), rank, parsed.front)
    result = tuple(target[axis] for axis in order)
    value = _fitted(value, inserted(result, parsed.new_axes), result)
    if order == tuple(range(len(order))):
        return value
    wide = hooks.function(np.broadcast_to, (value, result), {})
    return permute_plain(wide, tuple(int(axis) for axis in np.argsort(order)))


def _fitted(value: Any, shown: Shape, stored: Shape) -> Any:
    """A value that broadcasts against the shape that an index shows.

    As one that does against the shape stored.
    """
    shape = np.shape(value)
    lead = len(shape) - len(shown)
    if lead > 0 and all(length == 1 for length in shape[:lead]):  # NumPy drops leading ones here
        shape = shape[lead:]
        value = reshape_plain(value, shape)
    try:
        fits = np.broadcast_shapes(shape, shown) == shown
    except ValueError:
        fits = False
    if not fits:
        raise ShapeError(f"could not broadcast input array from shape {shape} into shape {shown}")
    if shown == stored or np.ndim(value) == 0:
        return value
    wide = hooks.function(np.broadcast_to, (value, shown), {})
    return reshape_plain(wide, stored)
