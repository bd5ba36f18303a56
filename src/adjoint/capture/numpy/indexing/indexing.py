"""Indexing as NumPy has it, brought to two primitives.

A basic slice, and a gather over leading axes.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape
from adjoint.base.errors import BoundsError
from adjoint.capture.numpy.indexing.selected import Selected, is_of_batch
from adjoint.capture.numpy.indexing.truths import without_truths
from adjoint.capture.recording.memory.views import (
    Slice,
    as_view,
    copy_of,
)
from adjoint.capture.recording.tracing.applying import apply, concrete
from adjoint.capture.recording.tracing.trace import Trace, inside
from adjoint.capture.recording.tracing.traced import (
    Traced,
    from_array,
    from_slot,
    is_known,
    synchronise,
    unwrap,
)
from adjoint.capture.recording.values.agreement import agreed
from adjoint.capture.recording.values.valued import beside
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.structure.gathering import GATHER
from adjoint.primitives.structure.moving import BROADCAST, RESHAPE, TRANSPOSE
from adjoint.primitives.structure.slicing import SLICE, Index
from adjoint.program import operation


@dataclass(frozen=True)
class Parsed:
    """An index, taken apart.

    basic: one entry an axis of the array: an integer or `(start, stop, step)`. arrays: index arrays
    by axis, one shape, ready for a gather; such axes are whole in `basic`. given: the same before
    they were broadcast, whose bounds are not checked yet: before it writes, NumPy looks at the
    value's shape first. new_axes: places in the result where np.newaxis puts an axis of length one.
    front: where NumPy puts the axes of the index arrays in the result, before new axes are
    inserted.
    """

    basic: Index
    arrays: dict[int, Any]
    given: dict[int, Any]
    new_axes: tuple[int, ...]
    front: int


def parse(index: Any, shape: Shape) -> Parsed:
    """Take an index apart for an array of a shape; BoundsError where NumPy would refuse it."""
    entries = _expand(_entries(index, shape), shape)
    advanced = any(isinstance(entry, (np.ndarray, Traced)) for entry in entries)
    basic: list[Any] = []
    arrays: dict[int, Any] = {}
    given: dict[int, Any] = {}
    new_axes: list[int] = []
    places: list[int] = []  # of the advanced entries among all entries
    place = front = 0
    for number, entry in enumerate(entries):
        if entry is None:
            new_axes.append(place)
            place += 1
            continue
        if entry is Ellipsis:
            continue
        length = shape[len(basic)]
        if isinstance(entry, slice):
            bounds = entry.indices(length)
            # One form for all that are empty: (-1, -1, -1) would read as the last entry.
            basic.append(bounds if len(range(*bounds)) else (0, 0, 1))
            place += 1
        elif advanced:
            if not places:
                front = sum(not isinstance(done, int) for done in basic)
                place_of_arrays = place
            places.append(number)
            if isinstance(entry, int) or (isinstance(entry, np.ndarray) and not entry.ndim):
                entry = np.asarray(_bounded(int(entry), length, len(basic)))
            arrays[len(basic)] = entry
            basic.append((0, length, 1))
        else:
            basic.append(_bounded(entry, length, len(basic)))
    if arrays:
        given, arrays = arrays, _broadcast(arrays)
        rank = next(iter(arrays.values())).ndim
        apart = places[-1] - places[0] + 1 != len(places)
        front = 0 if apart else front
        limit = 0 if apart else place_of_arrays
        new_axes = [axis + rank if axis >= limit else axis for axis in new_axes]
    return Parsed(tuple(basic), arrays, given, tuple(new_axes), front)


def _entries(index: Any, shape: Shape) -> list[Any]:
    """The entries of an index.

    Slices, integers, None, Ellipsis and integer arrays (masks become the places where they hold).
    """
    entries: list[Any] = []
    given = index if isinstance(index, tuple) else (index,)
    for number, entry in enumerate(given):
        if entry is None or entry is Ellipsis or isinstance(entry, slice):
            entries.append(entry)
        elif isinstance(entry, (int, np.integer)):
            entries.append(int(entry))
        elif not isinstance(entry, (np.ndarray, Traced)) and hasattr(entry, "__index__"):
            entries.append(operator.index(entry))
        else:
            array = unwrap(entry)
            if type(array) is Traced:
                if array.type.weak and array.dtype.kind == "i":
                    array = apply(operation(CAST, dtype=np.dtype(np.intp)), (array,))
            else:
                array = np.asarray(array)
                if array.size == 0 and array.dtype.kind == "f":
                    array = array.astype(np.intp)
            if array.dtype.kind == "b":
                entries.extend(_mask_places(concrete(array), _axis_of(number, given, shape), shape))
            elif array.dtype.kind in "iu":
                entries.append(array)
            else:
                raise BoundsError(
                    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and "
                    "integer or boolean "
                    f"arrays are valid indices; got an array of dtype {array.dtype}."
                )
    return entries


def _axes_named(entries: Any) -> int:
    """How many axes the entries of an index stand for, without the ellipsis."""
    count = 0
    for entry in entries:
        if entry is not None and entry is not Ellipsis:
            mask = not isinstance(entry, (slice, int)) and _dtype_of(entry).kind == "b"
            count += np.ndim(entry) if mask else 1
    return count


def _dtype_of(entry: Any) -> Any:
    return entry.dtype if hasattr(entry, "dtype") else np.asarray(entry).dtype


def _axis_of(number: int, entries: Any, shape: Shape) -> int:
    """The first axis that an entry of an index stands for."""
    if any(entry is Ellipsis for entry in entries[:number]):
        return len(shape) - _axes_named(entries[number:])
    return _axes_named(entries[:number])


def _mask_places(mask: Any, start: int, shape: Shape) -> tuple[Any, ...]:
    axes = shape[start : start + mask.ndim]
    # An axis of length 0 fits every other: nothing is chosen.
    fits = len(axes) == mask.ndim and all(
        length in (0, n) for length, n in zip(mask.shape, axes, strict=True)
    )
    if not fits:
        raise BoundsError(
            f"boolean index did not match indexed array: the mask has shape {mask.shape}, the "
            f"axes it indexes {axes}."
        )
    return tuple(np.nonzero(mask))


def _expand(entries: list[Any], shape: Shape) -> list[Any]:
    """Replace the ellipsis, or the axes not mentioned, by whole slices."""
    ellipses = sum(entry is Ellipsis for entry in entries)
    named = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if ellipses > 1:
        raise BoundsError("an index can only have a single ellipsis ('...')")
    if named > len(shape):
        raise BoundsError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {named} were "
            f"indexed"
        )
    missing = [slice(None)] * (len(shape) - named)
    if not ellipses:
        return [*entries, *missing]
    place = next(number for number, entry in enumerate(entries) if entry is Ellipsis)
    # It stays, as no axis: index arrays on both sides of it are apart, even if it stands for none.
    return [*entries[: place + 1], *missing, *entries[place + 1 :]]


def _bounded(entry: int, length: int, axis: int) -> int:
    if not -length <= entry < length:
        raise BoundsError(f"index {entry} is out of bounds for axis {axis} with size {length}")
    return entry % length


def check_bounds(parsed: Parsed, shape: Shape) -> None:
    """The bounds of index arrays, where their values are known; others are checked by the run."""
    if not next(iter(parsed.arrays.values())).size:
        return  # NumPy looks at no index array where there is nothing to index
    for axis, array in parsed.given.items():
        if isinstance(array, np.ndarray):
            for extreme in (int(array.min()), int(array.max())):
                _bounded(extreme, shape[axis], axis)


def _broadcast(arrays: dict[int, Any]) -> dict[int, Any]:
    shapes = [array.shape for array in arrays.values()]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        listing = " ".join(map(str, shapes))
        raise BoundsError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {listing}"
        ) from None

    def widen(array: Any) -> Any:
        if array.shape == shape:
            return array
        if isinstance(array, np.ndarray):
            return np.broadcast_to(array, shape)
        return apply(operation(BROADCAST, shape=shape), (array,))

    return {axis: widen(array) for axis, array in arrays.items()}


def inserted(shape: Shape, places: tuple[int, ...]) -> Shape:
    """A shape with axes of length one at these places of the result."""
    result = list(shape)
    for place in places:
        result.insert(place, 1)
    return tuple(result)


def is_concrete_index(index: Any) -> bool:
    """Whether no part of an index is traced."""
    entries = index if isinstance(index, tuple) else (index,)
    return all(type(entry) is not Traced or is_known(entry) for entry in entries)


def numpy_index(index: Any) -> Any:
    """An index with known arrays as NumPy's."""
    return tuple(map(unwrap, index)) if isinstance(index, tuple) else unwrap(index)


# --- reading --------------------------------------------------------------------------------------


_SLICES: dict[Any, Slice] = {}
_SLICES_LIMIT = 1 << 14


def _plain_key(index: Any) -> Any:
    """A basic index of integers and slices as something hashable; None for any other."""
    kind = type(index)
    if kind is int:
        return index
    if kind is slice:
        parts = (index.start, index.stop, index.step)
        plain = all(part is None or type(part) is int for part in parts)
        return (slice, *parts) if plain else None  # x[1:2:3] is not x[1, 2, 3]
    if kind is tuple:
        keys = tuple([_NAMES.get(id(part)) or _plain_key(part) for part in index])
        return None if None in keys or any(type(part) is tuple for part in index) else keys
    return None


_NAMES = {id(None): "newaxis", id(Ellipsis): "..."}


def slice_of(index: Any, type: ArrayType) -> Slice | None:
    """The view that a basic index takes of arrays of a type; None if the index is advanced."""
    key = _plain_key(index)
    if key is not None:
        known_slice = _SLICES.get((type, key))
        if known_slice is not None:
            return known_slice
    parsed = parse(index, type.shape)
    if parsed.arrays:
        return None
    new_slice = Slice(type, parsed.basic, parsed.new_axes, numpy_index(index))
    if key is not None:
        if len(_SLICES) >= _SLICES_LIMIT:
            _SLICES.clear()
        _SLICES[type, key] = new_slice
    return new_slice


def get(x: Traced, index: Any) -> Any:
    """x[index]."""
    state = x._state
    if state is not None and state.base is not None:
        synchronise(x)
    trace, value, kind = x._trace, x._value, type(index)
    if kind is np.int64:
        index, kind = int(index), int
    usual = value is not None and trace is not None and trace.open and trace.lines is None
    if not usual or trace.inside or (state is not None and state.flat):  # type: ignore[union-attr]
        return _generally(x, index)
    assert trace is not None
    type_ = trace.types[x._slot]
    key = index if kind is int else _plain_key(index)
    if key is None:
        gathered = _gathered(x, trace, index)
        return _generally(x, index) if gathered is None else gathered
    part = value[index]
    view = _SLICES.get((type_, key)) or slice_of(index, type_)
    assert view is not None
    return view.quickly(x, trace, part)


def _gathered(x: Traced, trace: Trace, index: Any) -> Any:
    """The entries at whole numbers that are known, or where a mask holds; None where it is more.

    x is up to date and has a value, and the trace is open.
    """
    array, known = index, True
    if type(index) is Traced:
        if index._state is not None:
            synchronise(index)
        array, known = index._value, index._trace is None
        if not known and (index._trace is not trace or trace.nested or trace.witness):
            return None
    elif type(index) is list and index and set(map(type, index)) == {int}:
        array = np.array(index, np.intp)
    whole = x._value
    if type(array) is not np.ndarray or type(whole) is not np.ndarray or not array.ndim:
        return None
    if array.dtype is _TRUTH and array.shape == whole.shape[: array.ndim]:
        value = whole[array]
        places = np.nonzero(array if known else concrete(index))
    elif array.dtype is _PLACE and known and array.size and whole.ndim:
        try:
            value, places = whole[array], (array,)
        except IndexError:
            return None  # the general way says where
    else:
        return None
    slots = [x._slot, *map(trace.lift, places)]
    gathered = from_slot(trace, trace.record(_GATHER, tuple(slots)))
    return agreed(value, gathered, (x, index))


_GATHER = operation(GATHER)
_TRUTH, _PLACE = np.dtype(bool), np.dtype(np.intp)


def _generally(x: Traced, index: Any) -> Any:
    if is_of_batch(x, index):
        return Selected.of(x, index)
    if inside():
        return _get(x, index)
    state = x._state
    if x._value is None or not is_plain(index) or (state is not None and state.flat):
        return beside(operator.getitem, _get, (x, index), {})
    value = x._value[index]
    if x._trace is None:
        return _get(x, index) if type(value) is np.ndarray else value
    view = slice_of(index, x._trace.types[x._slot])
    assert view is not None
    result = as_view(x, view.forward(x), view)
    if type(result) is not Traced:  # after the capture, of an iterator that has outlived it
        return value
    result._value = value
    return result


def is_plain(index: Any) -> bool:
    """Whether an index is a number of Python's, a slice of such, or a tuple of those.

    A tuple within a tuple is an array of places.
    """
    kind = type(index)
    if kind is int or index is None or index is Ellipsis:
        return True
    if kind is slice:
        return {type(index.start), type(index.stop), type(index.step)} <= _BOUNDS
    return kind is tuple and all([type(entry) is not tuple and is_plain(entry) for entry in index])


_BOUNDS = frozenset({int, type(None)})


def _get(x: Traced, index: Any) -> Any:
    if x._state is not None and x._state.flat:  # parts of x.flat are copies
        part = part_of(x, index)
        return copy_of(part) if type(part) is Traced and part.type.ndim else part
    return part_of(x, index)


def part_of(x: Traced, index: Any) -> Any:
    """x[index], without its value."""
    if is_known(x) and is_concrete_index(index):
        array, plain = unwrap(x), numpy_index(index)
        result = array[plain]
        if type(result) is not np.ndarray:
            return result
        if result.base is None or not np.may_share_memory(result, array):
            return from_array(result)
    truths = without_truths(index)
    if truths is not None:
        return part_of(part_of(x, truths[0]), truths[1])
    view = slice_of(index, x.type)
    if view is not None:
        return as_view(x, view.forward(x), view)
    parsed = parse(index, x.shape)
    check_bounds(parsed, x.shape)
    source, arrays, _ = prepared(x, parsed)
    result = apply(operation(GATHER), (source, *arrays))
    result = permute_plain(result, result_order(result.ndim, arrays[0].ndim, parsed.front))
    return reshape_plain(result, inserted(result.shape, parsed.new_axes))


def prepared(x: Any, parsed: Parsed) -> tuple[Any, list[Any], tuple[int, ...]]:
    """The array with its basic slices taken and its indexed axes first, the index arrays.

    And the order of its axes.
    """
    part = x
    if any(entry != (0, n, 1) for entry, n in zip(parsed.basic, x.shape, strict=True)):
        part = apply(operation(SLICE, index=parsed.basic), (x,))
    axes = (*parsed.arrays, *(axis for axis in range(x.ndim) if axis not in parsed.arrays))
    return permute_plain(part, axes), list(parsed.arrays.values()), axes


def result_order(ndim: int, rank: int, front: int) -> tuple[int, ...]:
    """The axes of a gather's result (index axes first) in NumPy's order.

    Index axes after `front` others.
    """
    others = tuple(range(rank, ndim))
    return (*others[:front], *range(rank), *others[front:])


def permute_plain(x: Any, axes: tuple[int, ...]) -> Any:
    """A permutation that is not kept as a view."""
    if axes == tuple(range(len(axes))):
        return x
    if type(x) is not Traced:
        return np.transpose(x, axes)
    return apply(operation(TRANSPOSE, axes=axes), (x,))


def reshape_plain(x: Any, shape: Shape) -> Any:
    """A reshape that is not kept as a view."""
    if x.shape == shape:
        return x
    if type(x) is not Traced:
        return np.reshape(x, shape)
    return apply(operation(RESHAPE, shape=shape), (x,))
