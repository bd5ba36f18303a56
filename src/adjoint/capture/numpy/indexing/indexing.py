"""Indexing as NumPy has it, brought to two primitives.

A basic slice, and a gather over leading axes.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape
from adjoint.base.errors import BoundsError, ShapeError
from adjoint.capture.numpy.indexing.truths import without_truths
from adjoint.capture.recording import protocols
from adjoint.capture.recording.applying import apply, concrete
from adjoint.capture.recording.trace import inside
from adjoint.capture.recording.traced import (
    Traced,
    from_array,
    from_slot,
    is_known,
    synchronise,
    unwrap,
)
from adjoint.capture.recording.valued import beside, writing
from adjoint.capture.recording.views import (
    Slice,
    as_view,
    assign,
    check_storable,
    copy_of,
    own_memory,
)
from adjoint.primitives.conversion import CAST
from adjoint.primitives.gathering import GATHER, GATHER_SET
from adjoint.primitives.selection import SELECT
from adjoint.primitives.slicing import SLICE, UPDATE, Index
from adjoint.primitives.structure import BROADCAST, RESHAPE, TRANSPOSE
from adjoint.program import Operation, operation


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
    found: list[Any] = []
    given = index if isinstance(index, tuple) else (index,)
    for number, entry in enumerate(given):
        if entry is None or entry is Ellipsis or isinstance(entry, slice):
            found.append(entry)
        elif isinstance(entry, (int, np.integer)):
            found.append(int(entry))
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
                found.extend(_mask_places(concrete(array), _axis_of(number, given, shape), shape))
            elif array.dtype.kind in "iu":
                found.append(array)
            else:
                raise BoundsError(
                    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and "
                    "integer or boolean "
                    f"arrays are valid indices; got an array of dtype {array.dtype}."
                )
    return found


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


def _check_bounds(parsed: Parsed, shape: Shape) -> None:
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


def _inserted(shape: Shape, places: tuple[int, ...]) -> Shape:
    """A shape with axes of length one at these places of the result."""
    result = list(shape)
    for place in places:
        result.insert(place, 1)
    return tuple(result)


def _is_concrete_index(index: Any) -> bool:
    entries = index if isinstance(index, tuple) else (index,)
    return all(type(entry) is not Traced or is_known(entry) for entry in entries)


def _numpy_index(index: Any) -> Any:
    return tuple(map(unwrap, index)) if isinstance(index, tuple) else unwrap(index)


# --- reading --------------------------------------------------------------------------------------


_SLICES: dict[Any, Slice] = {}
_SLICES_LIMIT = 4096


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


def _slice_of(index: Any, type: ArrayType) -> Slice | None:
    """The view that a basic index takes of arrays of a type; None if the index is advanced."""
    key = _plain_key(index)
    if key is not None:
        found = _SLICES.get((type, key))
        if found is not None:
            return found
    parsed = parse(index, type.shape)
    if parsed.arrays:
        return None
    made = Slice(type, parsed.basic, parsed.new_axes, _numpy_index(index))
    if key is not None:
        if len(_SLICES) >= _SLICES_LIMIT:
            _SLICES.clear()
        _SLICES[type, key] = made
    return made


def get(x: Traced, index: Any) -> Any:
    """x[index]."""
    state = x._state
    if state is not None:
        synchronise(x)
    if inside():
        return _get(x, index)
    if x._value is None or not _is_plain(index) or (state is not None and state.flat):
        return beside(operator.getitem, _get, (x, index), {})
    value = x._value[index]
    if x._trace is None:
        return _get(x, index)
    view = _slice_of(index, x._trace.types[x._slot])
    assert view is not None
    result = as_view(x, view.forward(x), view)
    result._value = value
    return result


def _is_plain(index: Any) -> bool:
    """Whether an index is a number of Python's, or a slice or tuple of such."""
    kind = type(index)
    if kind is int or index is None or index is Ellipsis:
        return True
    if kind is slice:
        return {type(index.start), type(index.stop), type(index.step)} <= _BOUNDS
    return kind is tuple and all([_is_plain(each) for each in index])


_BOUNDS = frozenset({int, type(None)})


def _get(x: Traced, index: Any) -> Any:
    if x._state is not None and x._state.flat:  # parts of x.flat are copies
        part = _part(x, index)
        return copy_of(part) if type(part) is Traced and part.type.ndim else part
    return _part(x, index)


def _part(x: Traced, index: Any) -> Any:
    if is_known(x) and _is_concrete_index(index):
        array, plain = unwrap(x), _numpy_index(index)
        result = array[plain]
        if type(result) is not np.ndarray:
            return result
        if result.base is None or not np.may_share_memory(result, array):
            return from_array(result)
    truths = without_truths(index)
    if truths is not None:
        return _part(_part(x, truths[0]), truths[1])
    view = _slice_of(index, x.type)
    if view is not None:
        return as_view(x, view.forward(x), view)
    parsed = parse(index, x.shape)
    _check_bounds(parsed, x.shape)
    source, arrays, _ = _prepared(x, parsed)
    result = apply(operation(GATHER), (source, *arrays))
    result = permute_plain(result, _result_order(result.ndim, arrays[0].ndim, parsed.front))
    return reshape_plain(result, _inserted(result.shape, parsed.new_axes))


def _prepared(x: Any, parsed: Parsed) -> tuple[Any, list[Any], tuple[int, ...]]:
    """The array with its basic slices taken and its indexed axes first, the index arrays.

    And the order of its axes.
    """
    part = x
    if any(entry != (0, n, 1) for entry, n in zip(parsed.basic, x.shape, strict=True)):
        part = apply(operation(SLICE, index=parsed.basic), (x,))
    axes = (*parsed.arrays, *(axis for axis in range(x.ndim) if axis not in parsed.arrays))
    return permute_plain(part, axes), list(parsed.arrays.values()), axes


def _result_order(ndim: int, rank: int, front: int) -> tuple[int, ...]:
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


# --- writing --------------------------------------------------------------------------------------


def put(x: Traced, index: Any, value: Any) -> None:
    """x[index] = value."""
    if _put_at_once(x, index, value):
        return
    writing((x,), operator.setitem, _put, (x, index, value), {})


def _put_at_once(x: Traced, index: Any, value: Any) -> bool:
    """The usual case of `_put`, without its questions: a number into an array that is no view."""
    if inside() or type(x._value) is not np.ndarray or not _is_plain(index):
        return False
    state, kind, number = x._state, type(value), value
    if state is not None and (state.base is not None or state.aliases):
        return False
    if kind is Traced:
        number = value._value
        if number is None or value._state is not None or value._trace is None:
            return False
    elif kind is not float or x._trace is None:
        return False
    trace = value._trace if kind is Traced else x._trace
    if not trace.open or trace.lines is not None or x._trace not in (None, trace):
        return False
    type_ = x.type
    view = _slice_of(index, type_)
    slot = value._slot if kind is Traced else trace.lift(value)
    given = trace.types[slot]
    alike = given.dtype.kind == type_.dtype.kind == "f" if given.weak else given.dtype == type_.dtype
    if view is None or given.ndim or not alike:
        return False
    base = x._slot if x._trace is not None else trace.lift(x._value)
    new = apply(view.put_operation, (from_slot(trace, base), from_slot(trace, slot)))
    x._value[index] = number
    x._trace, x._slot = new._trace, new._slot
    if state is not None:
        state.version += 1
    return True


def _put(x: Traced, index: Any, value: Any) -> None:
    if type(value) is not Traced and not isinstance(
        value, (np.ndarray, float, int, complex, np.generic)
    ):
        value = protocols.FUNCTION(np.asarray, (value,), {})
    if is_known(x) and is_known(value) and _is_concrete_index(index):
        own_memory(x)[_numpy_index(index)] = unwrap(value)
        return
    check_storable(x, value, "The assignment x[...] = value")
    if x._state is not None and x._state.flat:
        value = _repeated(value, np.arange(x.size)[concrete_index(index)])
    truths = without_truths(index)
    if truths is not None:
        _put(_part(x, truths[0]), truths[1], value)
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
    trace._find_owners()
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
    view = _slice_of(index, x.type)
    if view is not None:
        part = _fitted(value, view.shape, view.part)
        return apply(view.put_operation, (x, part))  # type: ignore[no-any-return]
    parsed = parse(index, x.shape)
    source, arrays, axes = _prepared(x, parsed)
    value = _gathered_value(value, source, arrays, parsed)
    _check_bounds(parsed, x.shape)
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
    order = _result_order(len(target), rank, parsed.front)
    result = tuple(target[axis] for axis in order)
    value = _fitted(value, _inserted(result, parsed.new_axes), result)
    if order == tuple(range(len(order))):
        return value
    wide = protocols.FUNCTION(np.broadcast_to, (value, result), {})
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
    wide = protocols.FUNCTION(np.broadcast_to, (value, shown), {})
    return reshape_plain(wide, stored)


protocols.GET = get
protocols.SET = put
