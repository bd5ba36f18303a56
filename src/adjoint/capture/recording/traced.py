"""Traced arrays: what a user's function is given while it is captured.

They speak NumPy's protocols, operators and methods.

A traced array is either a *slot* of a trace (nothing is known but its type), or a *known* array
(made by `np.zeros(n)`, say, inside the function): known arrays are computed with at once, until a
traced value is written into them. Both are mutable as NumPy's arrays are; views follow their base
(see `views.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape, type_of
from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.recording import protocols
from adjoint.capture.recording.guards import WHOLE
from adjoint.capture.recording.living import LIVING
from adjoint.capture.recording.trace import Trace, note_effect
from adjoint.primitives import UFUNCS, find_special
from adjoint.program import Operation

class Known:
    """What is remembered of an array that is known, or is a view, or has views.

    array: the concrete array, while known. lifted: whether a program holds it, so that its memory
    must not change. base, view, seen: what it is a view of, how, and the version of the base that
    it was taken from. version: counts changes. aliases: arrays that may or may not share its
    memory. living: see there. cell: whether a 0-d array can be written into (NumPy's
    scalars cannot). viewed: whether it has views. flat: whether it is an x.flat, whose parts are
    copies.
    """

    __slots__ = (
        *("aliases", "array", "base", "cell", "flat", "lifted", "living", "seen", "version"),
        *("view", "viewed"),
    )

    def __init__(self) -> None:
        self.array: np.ndarray[Any, Any] | None = None
        self.lifted = False
        self.base: Traced | None = None
        self.view: Any = None
        self.seen = 0
        self.version = 0
        self.aliases: list[Any] = []
        self.cell = False
        self.viewed = False
        self.flat = False
        self.living = LIVING


class Traced:
    """An array under capture. See the module."""

    __slots__ = ("__weakref__", "_slot", "_state", "_trace")
    __array_priority__ = 1000.0

    _slot: int
    _state: Known | None
    _trace: Trace | None

    # --- attributes
    # ----------------------------------------------------------------------------------

    @property
    def type(self) -> ArrayType:
        """Its array type."""
        state = self._state
        if state is not None:
            synchronise(self)
            if state.array is not None:
                return type_of(state.array)
        assert self._trace is not None
        return self._trace.types[self._slot]

    @property
    def shape(self) -> Shape:
        """Its shape."""
        return self.type.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        protocols.SET_SHAPE(self, shape)

    @property
    def ndim(self) -> int:
        """Its number of axes."""
        return self.type.ndim

    @property
    def size(self) -> int:
        """Its number of entries."""
        return self.type.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its dtype."""
        return self.type.dtype

    @property
    def itemsize(self) -> int:
        """The bytes of one entry."""
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all entries."""
        return self.type.size * self.type.dtype.itemsize

    def __len__(self) -> int:
        shape = self.type.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.type.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[place] for place in range(len(self)))

    # --- NumPy's protocols
    # ---------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs and ufunc is not np.power:
            primitive = UFUNCS.get(ufunc) or find_special(ufunc)
            if primitive is not None:
                return apply(primitive.bare, inputs)
        return protocols.UFUNC(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return protocols.FUNCTION(function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Its concrete value, for code that capture cannot enter.

        An error where that would lose a derivative. The array is read-only, and this one cannot be
        written while it lives: NumPy would let both share their memory.
        """
        if protocols.DEFERS(sys._getframe(1)):
            return np.array(None, object)  # a sparse matrix's product, which is left to us
        array = np.array(protocols.ESCAPE(self, "np.asarray"), dtype)
        if not copy and array.ndim:
            array.flags.writeable = False
            protocols.ALIAS(self, array)
        return array

    # --- Python's own conversions
    # -------------------------------------------------------------------

    def __bool__(self) -> bool:
        return bool(concrete(self, "bool"))

    def __int__(self) -> int:
        return int(concrete(self, "int"))

    def __index__(self) -> int:
        return concrete(self).__index__()  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return float(protocols.ESCAPE(self, "float"))

    def __complex__(self) -> complex:
        return complex(protocols.ESCAPE(self, "complex"))

    def __round__(self, digits: int | None = None) -> Any:
        value = concrete(self, WHOLE if digits else "round")
        return round(value) if digits is None else round(value, digits)

    def __trunc__(self) -> int:
        return int(concrete(self, "int"))

    def __floor__(self) -> int:
        return int(np.floor(concrete(self, "floor")))

    def __ceil__(self) -> int:
        return int(np.ceil(concrete(self, "ceil")))

    def __repr__(self) -> str:
        return protocols.SHOW(self, repr)

    def __str__(self) -> str:
        return protocols.SHOW(self, str)

    def __format__(self, spec: str) -> str:
        return protocols.SHOW(self, lambda value: format(value, spec))

    def __hash__(self) -> int:
        if self.type.ndim:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return id(self)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        raise UnsupportedFunctionError(
            "A traced array cannot be pickled: it stands for a value while a function is captured."
        )

    # --- indexing
    # ------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return protocols.GET(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        protocols.SET(self, index, value)

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __getattr__(self, name: str) -> Any:
        # Methods are NumPy's functions under the same name; see `methods.py`.
        method = protocols.METHODS.get(name)
        if method is None:
            if name.startswith("__") or not hasattr(np.ndarray, name):
                raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
            raise UnsupportedFunctionError(
                f"The array method .{name} is not supported on a traced array yet."
            )
        return method(self)


_new = Traced.__new__


def from_slot(trace: Trace, slot: int) -> Traced:
    """The traced array of a slot."""
    traced = _new(Traced)
    traced._trace = trace
    traced._slot = slot
    traced._state = None
    return traced


def from_array(array: np.ndarray[Any, Any]) -> Traced:
    """A known array."""
    traced = _new(Traced)
    traced._trace = None
    traced._slot = -1
    state = traced._state = Known()
    state.array = array
    state.cell = array.ndim == 0
    return traced


def state_of(traced: Traced) -> Known:
    """The record of a traced array's views, made when first needed."""
    if traced._state is None:
        traced._state = Known()
    return traced._state


def synchronise(traced: Traced) -> None:
    """Bring a view up to date with its base."""
    state = traced._state
    assert state is not None
    if state.base is None:
        return
    synchronise(state.base)
    source = state_of(state.base)
    if source.version != state.seen:
        if state.view.layout and state.base._trace is not None:
            state.base._trace.asked = True  # another layout of an input would have made a copy
            note_effect("it depends on the order in memory of an array that is an argument")
        adopt(traced, state.view.forward(state.base))
        state.seen = source.version
        state.version += 1


def adopt(traced: Traced, value: Traced) -> None:
    """Let a traced array stand for another's value."""
    state = state_of(traced)
    if value._state is not None:
        synchronise(value)
    state.array = None if value._state is None else value._state.array
    state.lifted = False
    traced._trace, traced._slot = value._trace, value._slot


def is_known(value: Any) -> bool:
    """Whether a value is concrete: anything but a slot of a trace."""
    if type(value) is not Traced:
        return True
    if value._state is None:
        return False
    synchronise(value)
    return value._state.array is not None


# --- applying operations --------------------------------------------------------------------------


def apply(op: Operation, operands: Any) -> Any:
    """Apply an operation.

    Recorded by the innermost capture among its operands, computed at once where all are concrete.
    """
    trace: Trace | None = None
    for operand in operands:
        if type(operand) is Traced:
            owner = operand._trace
            if operand._state is not None or (trace is not None and owner is not trace):
                return _apply_mixed(op, operands)
            trace = owner
    if trace is None or not trace.open or trace.lines is not None:
        return _apply_mixed(op, operands)
    slots = [x._slot if type(x) is Traced else trace.lift(x) for x in operands]
    # What Trace.record does, without the calls: these are the hottest lines of capture.
    types = trace.types
    key = tuple([types[slot] for slot in slots])
    found = op._inferred.get(key) or op.infer(key)
    if op.multiple:
        return _recorded(op, trace, tuple(slots))
    traced = _new(Traced)
    traced._trace, traced._slot, traced._state = trace, len(types), None
    types.append(found[0])
    trace.records.append((op, *slots))
    return traced


def apply_beside(op: Operation, others: Any) -> Any:
    """Apply an operation without operands: recorded where others would be, and not an array of it.

    So zeros of a derivative stay zeros in the program of an outer capture.
    """
    trace: Trace | None = None
    for other in others:
        if type(other) is Traced and not is_known(other):
            owner = other._trace
            if owner is not None and owner.open and (trace is None or owner.level > trace.level):
                trace = owner
    return apply(op, ()) if trace is None else _recorded(op, trace, ())


def apply_one(op: Operation, operand: Traced) -> Any:
    """Apply an operation with one operand and one result: `apply`, without its loops."""
    trace = operand._trace
    if operand._state is not None or trace is None or not trace.open or trace.lines is not None:
        return _apply_mixed(op, (operand,))
    types = trace.types
    key = (types[operand._slot],)
    found = op._inferred.get(key) or op.infer(key)
    traced = _new(Traced)
    traced._trace, traced._slot, traced._state = trace, len(types), None
    types.append(found[0])
    trace.records.append((op, operand._slot))
    return traced


def _recorded(op: Operation, trace: Trace, slots: tuple[int, ...]) -> Any:
    first = trace.record(op, slots)
    if op.multiple:
        count = len(trace.types) - first
        return tuple(from_slot(trace, first + place) for place in range(count))
    return from_slot(trace, first)


def _apply_mixed(op: Operation, operands: Any) -> Any:
    """Operands that are known, views, of several captures, or of one that is over."""
    if any([isinstance(operand, (list, tuple)) for operand in operands]):
        operands = [protocols.AS_OPERAND(operand) for operand in operands]
    trace: Trace | None = None
    for operand in operands:
        if type(operand) is Traced and not is_known(operand):
            owner = operand._trace
            assert owner is not None
            if owner.open and (trace is None or owner.level > trace.level):
                trace = owner
            elif not owner.open:
                return apply(op, [settle(x) for x in operands])
    if trace is None:
        result = wrap(op.primitive.evaluate(*map(unwrap, operands), **op.params))
        if op.primitive.view and type(result) is Traced:
            return from_array(unwrap(result).copy())  # an operation's result is a value of its own
        return result
    return _recorded(op, trace, tuple([slot_in(trace, operand) for operand in operands]))


def slot_of_list(trace: Trace, values: Any) -> int:
    """The slot of a list of numbers, some of them traced perhaps."""
    return slot_in(trace, protocols.AS_OPERAND(values))


protocols.LIFT_LIST = slot_of_list


def slot_in(trace: Trace, operand: Any) -> int:
    """The slot of an operand in a trace, where it becomes a constant if it comes from elsewhere."""
    if type(operand) is not Traced:
        return trace.lift(operand)
    state = operand._state
    if state is not None:
        synchronise(operand)
        if state.array is not None:
            state.lifted = True
            root = operand
            while root._state is not None and root._state.base is not None:
                root = root._state.base
            state_of(root).lifted = True
            return trace.lift(state.array)
    if operand._trace is trace:
        return operand._slot
    known = trace.arrays.get(id(operand))
    if known is not None and state is None:
        return known[1]
    # An outer capture's value: what it is now, whatever is written to it later.
    assert operand._trace is not None
    held = from_slot(operand._trace, operand._slot)
    slot = trace.constant(held, operand.type)
    if state is None:
        trace.arrays[id(operand)] = (operand, slot)
    return slot


def hush(value: Any) -> None:
    """Let the operation that was just recorded, and gave this value, warn of nothing."""
    if not is_known(value) and value._trace.open:
        value._trace.quiet.add(len(value._trace.records) - 1)


def settle(value: Any) -> Any:
    """A value of a finished capture in terms of what surrounded it; others unchanged."""
    while type(value) is Traced and not is_known(value):
        trace = value._trace
        assert trace is not None
        if trace.open:
            return value
        protocols.SETTLED(value)
        value = trace.value(value._slot, apply)
    return value


def peek(value: Any) -> Any:
    """The concrete value, for capture's own use: the program does not come to depend on it."""
    while type(value) is Traced and not is_known(value):
        trace = value._trace
        assert trace is not None
        with np.errstate(all="ignore"):  # the program will warn when it runs
            value = trace.value(value._slot, apply)
    return unwrap(value)


def concrete(value: Any, kind: str = WHOLE) -> Any:
    """The concrete value, computed from what has been recorded so far.

    kind: what of it is asked for, so that the program comes to depend on that alone (`guards.py`).
    """
    met: list[tuple[Trace, int, int]] = []
    while type(value) is Traced:
        if is_known(value):
            value = unwrap(value)
            break
        trace = value._trace
        assert trace is not None
        if trace.guards is not None and not trace.asked:
            met.append((trace, len(trace.records), value._slot))
        trace.asked = True  # for good if it cannot be computed
        with np.errstate(all="ignore"):  # the program will warn when it runs
            value = trace.value(value._slot, apply)
    for trace, place, slot in met:
        trace.asked = False
        trace.guard(place, slot, kind, value)
    return value


def unwrap(value: Any) -> Any:
    """The array of a known one; anything else unchanged."""
    if type(value) is Traced:
        state = value._state
        if state is not None:
            synchronise(value)
            if state.array is not None:
                return state.array
    return value


def wrap(value: Any) -> Any:
    """A concrete array as a known one, so that traced values can be written into it.

    Scalars unchanged.
    """
    if type(value) is np.ndarray:
        return from_array(value)
    if isinstance(value, tuple):
        named = getattr(type(value), "_make", tuple)  # a namedtuple stays one
        return named(map(wrap, value))
    return value
