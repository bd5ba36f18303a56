"""Views and in-place writes, with NumPy's aliasing.

A view remembers its base and how it was taken. Writing into a view writes into its base; every
array counts its changes, and a view that finds its base changed is taken anew when next used. Where
NumPy may or may not share memory (a reshape of an array whose layout is not known), a write to
either side is an error rather than a guess.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape
from adjoint.base.errors import (
    AliasingError,
    DroppedDerivativeError,
    DTypeError,
    ShapeError,
    UnsupportedFunctionError,
)
from adjoint.capture.recording.memory.layout import is_c_ordered
from adjoint.capture.recording.tracing.applying import apply, apply_one
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import note_effect
from adjoint.capture.recording.tracing.traced import (
    Known,
    Traced,
    adopt,
    from_array,
    from_slot,
    is_cell,
    is_known,
    new_traced,
    state_of,
    unwrap,
)
from adjoint.primitives.elementwise.conversion import CAST, IMAG, PYTHON_NUMBER, REAL
from adjoint.primitives.structure.moving import RESHAPE, TRANSPOSE, inverse_permutation
from adjoint.primitives.structure.slicing import SLICE, UPDATE, Index
from adjoint.program import operation


class View:
    """How a view is taken from its base, and how its base changes when it is written.

    values: how NumPy takes it.
    layout: whether it is a view only because of how its base lies in memory.
    """

    __slots__ = ("forward", "layout", "put", "values")

    def __init__(
        self,
        forward: Callable[[Traced], Any],
        put: Callable[[Traced, Traced], Traced],
        values: Callable[[Any], Any],
        layout: bool = False,
    ) -> None:
        self.forward = forward
        self.put = put
        self.values = values
        self.layout = layout


def as_view(base: Traced, value: Any, view: View | Slice) -> Any:
    """Mark a value as a view of a base. Scalars are copies in NumPy, and stay so.

    A 0-d array (x[0, ...], x.squeeze()) is no scalar: it is a view like others, and can be written.
    """
    if type(value) is not Traced or (value.type.ndim == 0 and not is_cell(value)):
        return value
    if value is base:
        value = from_array(unwrap(base)) if is_known(base) else twin(base)
    state, source = state_of(value), state_of(base)
    source.viewed = True
    state.base, state.view, state.seen = base, view, source.version
    return value


def twin(x: Traced) -> Traced:
    """Another name for the value that an array has now."""
    assert x._trace is not None
    return from_slot(x._trace, x._slot)


def as_cell(value: Any) -> Any:
    """Make a 0-d value an array that can be written into."""
    if type(value) is Traced and value.type.ndim == 0:
        state_of(value).cell = True
    return value


def cell_of(value: Any) -> Any:
    """A number or scalar as an array of no axes."""
    if type(value) is not Traced:
        return None if value is None else np.asarray(value)
    if is_known(value):
        return from_array(np.asarray(value._value))
    cell = twin(value)
    cell._value = None if value._value is None else np.asarray(value._value)
    return as_cell(cell)


def read_only(base: Traced, value: Traced) -> Traced:
    """How a view changes its base that NumPy does not let anyone write into."""
    raise ValueError("assignment destination is read-only")


def root_of(x: Traced) -> Traced:
    """The array whose memory a view looks into; itself for others."""
    while x._state is not None and x._state.base is not None:
        x = x._state.base
    return x


# --- the kinds of views ---------------------------------------------------------------------------


def _plain(operation_: Any, known: Callable[[Any], Any]) -> Callable[[Traced], Any]:
    """How to take a view.

    NumPy's own where the base is known, so that memory is truly shared, else recorded.
    """

    def forward(base: Traced) -> Any:
        if is_known(base):
            result = known(unwrap(base))
            return from_array(result) if type(result) is np.ndarray else result
        return apply(operation_, (base,))

    return forward


def reshape(x: Any, shape: Shape) -> Any:
    """The same numbers under another shape: a view where NumPy makes one."""
    if type(x) is not Traced:
        return np.reshape(x, shape)
    array = x._value
    shares = None  # unknown
    if type(array) is np.ndarray:
        shares = np.may_share_memory(array.reshape(shape), array)
        if is_known(x) and not shares:
            return from_array(array.reshape(shape))
    if not is_known(x) and x.shape == shape and x.type.ndim == 0 and not is_cell(x):
        return as_cell(copy_of(x))

    before = x.shape
    view = _reshaping(before, shape, len(before) > 1)
    result = as_cell(view.forward(x))
    if shares is False:
        if x.size:  # no entries are shared in any layout
            depends_on_layout(x)
        return result
    if shares or is_c_ordered(x):
        return as_view(x, result, view)
    if _without_ones(before) == _without_ones(shape) and x.size:
        # Axes of length one are no matter of layout.
        return as_view(x, result, _reshaping(before, shape, False))
    return maybe_alias(x, result)


@lru_cache(maxsize=2048)
def _reshaping(before: Shape, shape: Shape, layout: bool) -> View:
    """How an array of one shape is seen under another."""

    def values(array: Any) -> Any:
        return array.reshape(shape)

    forward = _plain(operation(RESHAPE, shape=shape), values)
    return View(forward, lambda base, value: _reshape_plain(value, before), values, layout)


def _without_ones(shape: Shape) -> list[int]:
    return [length for length in shape if length != 1]


def flat_of(x: Traced) -> Any:
    """x.flat: the entries in C order, written through however they lie in memory."""
    before, shape = x.shape, (x.type.size,)
    forward = _plain(operation(RESHAPE, shape=shape), lambda array: array.reshape(shape))
    view = View(forward, lambda base, value: _reshape_plain(value, before), lambda x: x.flat)
    result = as_view(x, forward(x), view)
    state_of(result).flat = True
    return result


def set_shape(x: Traced, shape: Any) -> None:
    """`x.shape = shape`: another shape for the same array, where nothing else looks into it."""
    state = x._state
    seen = state is not None and (state.viewed or state.aliases or state.base is not None)
    if seen or not is_c_ordered(x):
        raise UnsupportedFunctionError(
            "Assigning to .shape is supported on a traced array that is contiguous and has no "
            "views; write x = x.reshape(shape)."
        )
    depends_on_layout(x)
    plain = np.broadcast_to(np.zeros((), x.dtype), x.shape).copy()
    plain.shape = shape  # NumPy's errors
    if x._value is not None:
        x._value.shape = plain.shape
    if x._trace is not None:
        adopt(x, _reshape_plain(x, plain.shape))


def copy_of(x: Traced) -> Traced:
    """The same value under a name of its own, with memory of its own."""
    if is_known(x):
        return from_array(unwrap(x).copy())
    # Recorded, so that the executor knows that both may be alive.
    return apply(operation(CAST, dtype=x.dtype), (x,))  # type: ignore[no-any-return]


def _reshape_plain(x: Traced, shape: Shape) -> Traced:
    return apply(operation(RESHAPE, shape=shape), (x,))  # type: ignore[no-any-return]


def permute(x: Any, axes: tuple[int, ...]) -> Any:
    """The axes in another order: always a view."""
    if type(x) is not Traced:
        return np.transpose(x, axes)
    view = _permuting(axes)
    return as_view(x, view.forward(x), view)


@lru_cache(maxsize=1024)
def _permuting(axes: tuple[int, ...]) -> View:
    """How an array is seen with its axes in another order."""
    back = operation(TRANSPOSE, axes=inverse_permutation(axes))

    def values(array: Any) -> Any:
        return array.transpose(axes)

    forward = _plain(operation(TRANSPOSE, axes=axes), values)
    return View(forward, lambda base, value: apply(back, (value,)), values)


def _plain_entry(entry: Any) -> Any:
    return entry if entry is Ellipsis else None


class Slice:
    """A view that a basic index names, under a shape that may have new axes.

    It is not tied to a base: one serves all of a shape.

    known: the index as the user wrote it, for bases that are known.
    """

    __slots__ = ("cell", "known", "part", "put_operation", "shape", "shaped", "take", "types")
    layout = False

    def __init__(
        self, type: ArrayType, index: Index, new_axes: tuple[int, ...], known: Any
    ) -> None:
        self.take = operation(SLICE, index=index)
        self.put_operation = operation(UPDATE, index=index)
        part = self.take.infer((type,))[0]
        self.part = part.shape
        shape = list(self.part)
        for place in new_axes:
            shape.insert(place, 1)
        self.shape = tuple(shape)
        self.known = known
        # What is recorded: the slice, and its axes of length one.
        self.shaped = None if part.shape == self.shape else operation(RESHAPE, shape=self.shape)
        self.types = (part,) if self.shaped is None else (part, *self.shaped.infer((part,)))
        # x[0, ...] is an array of no axes, and not a scalar.
        self.cell = not shape and isinstance(known, tuple) and Ellipsis in map(_plain_entry, known)

    def forward(self, base: Traced) -> Any:
        """The part of a base; a scalar where the index leaves no axes."""
        if is_known(base):
            result = unwrap(base)[self.known]
            return from_array(result) if type(result) is np.ndarray else result
        part = apply_one(self.take, base)
        if self.cell:
            return as_cell(part)
        return part if self.part == self.shape else _reshape_plain(part, self.shape)

    def quickly(self, base: Traced, trace: Any, value: Any) -> Traced:
        """The part of a base that is up to date, with its value, where the trace is open."""
        types = trace.types
        part = new_traced(Traced)
        part._trace, part._value, part._state, part._slot = trace, value, None, len(types)
        types.append(self.types[0])
        trace.records.append((self.take, base._slot))
        if self.shaped is not None:
            trace.records.append((self.shaped, part._slot))
            part._slot += 1
            types.append(self.types[1])
        if self.shape or self.cell:
            source = base._state
            if source is None:
                source = base._state = Known()
            source.viewed = True
            state = part._state = Known()
            state.base, state.view, state.seen = base, self, source.version
            state.cell = self.cell
        return part

    def values(self, array: Any) -> Any:
        """The part of NumPy's array."""
        return array[self.known]

    def put(self, base: Traced, value: Traced) -> Traced:
        """The base with the part replaced."""
        value = value if value.type.shape == self.part else _reshape_plain(value, self.part)
        return apply(self.put_operation, (base, value))  # type: ignore[no-any-return]


def real_part(x: Any, imaginary: bool) -> Any:
    """x.real or x.imag: the array itself where it is real, else a view of half of it."""
    if type(x) is not Traced:
        return np.imag(x) if imaginary else np.real(x)
    if x.dtype.kind != "c" and not imaginary:
        return x
    if x.type.weak:  # a Python number: so is its part, of which there is no view
        if x.dtype.kind != "c":
            return x.dtype.type(0).item()
        return apply_one(PYTHON_NUMBER.bare, apply_one((IMAG if imaginary else REAL).bare, x))
    if x.dtype.kind != "c":
        return from_array(np.zeros(x.shape, x.dtype).imag) if x.ndim else x.dtype.type(0)
    values = np.imag if imaginary else np.real
    forward = _plain((IMAG if imaginary else REAL).bare, values)

    def put(base: Traced, value: Traced) -> Traced:
        other = forward_other(base)
        above, right = (value, other) if imaginary else (other, value)
        whole: Any = np.add(right, np.multiply(1j, above))
        return whole  # type: ignore[no-any-return]

    forward_other = _plain((REAL if imaginary else IMAG).bare, np.real if imaginary else np.imag)
    return as_view(x, forward(x), View(forward, put, values))


# --- layout and uncertain aliases -----------------------------------------------------------------


def maybe_alias(x: Traced, result: Any) -> Any:
    """Remember that two arrays may share memory. All that may share one memory keep one list."""
    root = root_of(x)
    state = state_of(root)
    state.aliases[:] = [alias for alias in state.aliases if alias() is not None]
    if not any(alias() is root for alias in state.aliases):
        state.aliases.append(weakref.ref(root))
    state.aliases.append(weakref.ref(result))
    if type(result) is Traced:
        state_of(result).aliases = state.aliases
    return result


def _check_aliases(x: Traced) -> None:
    x = root_of(x)
    if x._state is None or not x._state.aliases:
        return
    if any(alias() is not None and alias() is not x for alias in x._state.aliases):
        raise AliasingError(
            "An array is written to that may share memory with a reshaped or flattened one: "
            "whether NumPy makes a "
            "view or a copy there depends on the layout in memory, which is not known while a "
            "function is captured. "
            "Say which is meant: write .copy() after the reshape, or write before reshaping."
        )


# --- writing --------------------------------------------------------------------------------------


def assign(x: Traced, value: Traced) -> None:
    """Let the whole of an array be replaced, with all that shares its memory.

    It has no value until NumPy has written it too (`valued.writing`).
    """
    _check_aliases(x)
    state = x._state
    if state is None:
        if value._state is None and value._trace is not None:
            x._trace, x._slot, x._value = value._trace, value._slot, None
            return
        state = state_of(x)
    if state.base is not None:
        if state.view.layout:
            depends_on_layout(state.base)
        assign(state.base, state.view.put(state.base, value))
        part = value._trace is None and state.base._trace is not None  # of what is not known
        adopt(x, state.view.forward(state.base) if part else value)
        state.seen = state_of(state.base).version
    else:
        adopt(x, value)
    if x._trace is not None:
        x._value = None
    state.version += 1


def depends_on_layout(x: Traced) -> None:
    """The records depend on how an input lies in memory, and not on its type alone."""
    if x._trace is not None:
        x._trace.asked = True
        note_effect("it depends on the order in memory of an array that is an argument")


def own_memory(x: Traced) -> Any:
    """The memory of a known array, to be written into: what programs hold of it are copies."""
    _check_aliases(x)
    return unwrap(x)


def check_storable(x: Traced, value: Any, what: str) -> None:
    """Refuse to write numbers into an array whose dtype would lose their derivative."""
    from_, to = np.dtype(getattr(value, "dtype", type(value))), x.dtype
    if to.kind in "biu" and from_.kind in "fc":
        raise DroppedDerivativeError(
            f"{what} would put numbers of dtype {from_} into an array of dtype {to}, which "
            f"truncates them and loses "
            "their derivative. Make the array with a floating-point dtype, as in np.zeros(n)."
        )
    if to.kind == "f" and from_.kind == "c":
        raise DTypeError(
            f"{what} would put complex numbers into an array of dtype {to}, which drops the "
            f"imaginary part. "
            "Make the array complex, as in np.zeros(n, complex), or write the .real part."
        )


def overwrite(x: Traced, result: Any, what: str) -> Traced:
    """`x += y` and the like: put a result into an array's own memory."""
    shape = getattr(result, "shape", ())
    if shape != x.shape and np.broadcast_shapes(shape, x.shape) != x.shape:
        raise ShapeError(
            f"non-broadcastable output operand with shape {x.shape} doesn't match the broadcast "
            f"shape {shape}"
        )
    if is_known(x) and is_known(result):
        np.copyto(own_memory(x), unwrap(result), casting="same_kind")
        return x
    check_storable(x, result, what)
    if shape != x.shape:
        result = hooks.function(np.broadcast_to, (result, x.shape), {})
    if result.dtype != x.dtype:
        result = apply(operation(CAST, dtype=x.dtype), (result,))
    if type(result) is not Traced:  # a copy: it may be an array of the user's, or a broadcast one
        result = from_array(np.array(result))
    assign(x, result)
    return x
