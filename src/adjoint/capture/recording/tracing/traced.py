"""Traced arrays: what a user's function is given while it is captured.

They speak NumPy's protocols, operators and methods.

A traced array leads two lives. `_value` is what NumPy itself has in its place: an array, a scalar
or a number of Python's, whose dtype, layout, views and errors are NumPy's own, since NumPy made it.
Beside it stands what a program will compute: a *slot* of a trace, or nothing, for an array that is
*known* (made by `np.zeros(n)`, say, inside the function) until a traced value is written into it.
Where an input stands for many examples (vmap, bodies of loops) there is no value, and `_value` is
None; it is None too for what has not been computed yet (`valued.value_of`). That of a large array
may be postponed until somebody reads it. Traced arrays are mutable as NumPy's are; the slots of
views follow their base (see `views.py`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape, type_of
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import Trace, note_effect


class _Birth(threading.local):
    """What known arrays that are made from now on refer to, so that it tells whether any lives."""

    mark: object = object()


_birth = _Birth()


def begin_births() -> object:
    """From now on, known arrays are told from those before; what is to be given back at the end."""
    before, _birth.mark = _birth.mark, object()
    return before


def end_births(before: object) -> bool:
    """Whether a known array lives, a view or an array with views, that was made since."""
    return _births(before) > _NO_BIRTHS


def _births(before: object) -> int:
    mark, _birth.mark = _birth.mark, before
    return sys.getrefcount(mark)


_NO_BIRTHS = _births(begin_births())


class Known:
    """What is remembered of an array that is a view, or has views.

    base, view, seen: what it is a view of, how, and the version of the base that it was taken from.
    version: counts changes. aliases: arrays that may or may not share its memory. cell: whether a
    0-d array without a value can be written into (NumPy's scalars cannot). viewed: whether it has
    views. flat: whether it is an x.flat, whose parts are copies. birth: see `begin_births`.
    postponed: what computes its value when somebody looks (`values/postponed.py`).
    """

    __slots__ = (
        *("aliases", "base", "birth", "cell", "flat", "postponed", "seen", "version", "view"),
        "viewed",
    )

    def __init__(self) -> None:
        self.base: Traced | None = None
        self.view: Any = None
        self.seen = 0
        self.version = 0
        self.aliases: list[Any] = []
        self.cell = False
        self.viewed = False
        self.flat = False
        self.postponed: Any = None
        self.birth = _birth.mark


class Traced:
    """An array under capture. See the module."""

    __slots__ = ("__weakref__", "_slot", "_state", "_trace", "_value")
    __array_priority__ = 1000.0
    __pandas_priority__ = 5000  # by which pandas leaves operators to the other operand

    _slot: int
    _state: Known | None
    _trace: Trace | None
    _value: Any

    # --- attributes
    # ----------------------------------------------------------------------------------

    @property
    def type(self) -> ArrayType:
        """Its array type."""
        if self._state is not None:
            synchronise(self)
        if self._trace is None:
            return type_of(self._value)
        return self._trace.types[self._slot]

    @property
    def shape(self) -> Shape:
        """Its shape."""
        return self.type.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        hooks.set_shape(self, shape)

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
        return hooks.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return hooks.function(function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Its concrete value, for code that capture cannot enter.

        An error where that would lose a derivative. The array is read-only, and this one cannot be
        written while it lives: NumPy would let both share their memory.
        """
        if hooks.defers(sys._getframe(1)):
            return np.array(None, object)  # a sparse matrix's product, which is left to us
        if is_known(self):
            return np.asarray(self._value, dtype, copy=copy)
        array = np.array(hooks.escape(self, "np.asarray"), dtype)
        if not copy and array.ndim:
            array.flags.writeable = False
            hooks.alias(self, array)
        return array

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        return hooks.escape(self, "pickle").__reduce__()

    # --- indexing
    # ------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return hooks.get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        hooks.set(self, index, value)

    def __contains__(self, value: Any) -> bool:
        if self._value is not None and type(self._value) is not np.ndarray:
            return value in self._value  # which raises: no number contains anything
        return bool((self == value).any())

    def __getattr__(self, name: str) -> Any:
        if name == "_value":  # which is there, but for what is postponed
            return _looked_at(self)
        return hooks.attribute(self, name)  # see `methods.py`


new_traced = Traced.__new__


def from_slot(trace: Trace, slot: int, value: Any = None) -> Traced:
    """The traced array of a slot, with NumPy's value if there is one."""
    traced = new_traced(Traced)
    traced._trace = trace
    traced._slot = slot
    traced._state = None
    traced._value = value
    return traced


def postpone(traced: Traced, postponed: Any) -> None:
    """Let NumPy's value of a new traced array be computed when somebody looks."""
    state_of(traced).postponed = postponed
    del traced._value


def _looked_at(traced: Traced) -> Any:
    """The value of an array for which it was postponed."""
    state = traced._state
    if state is None or state.postponed is None:
        raise AttributeError("_value")
    traced._value = state.postponed.taken()
    state.postponed = None
    return traced._value


def postponed_of(traced: Traced) -> Any:
    """What computes the value of an array when somebody looks; None where it is there."""
    state = traced._state
    return None if state is None else state.postponed


def kind_of(traced: Traced) -> type:
    """The type of NumPy's value of an array, which is not computed for that."""
    postponed = postponed_of(traced)
    return type(traced._value) if postponed is None else postponed.kind


def from_array(array: np.ndarray[Any, Any]) -> Traced:
    """A known array."""
    traced = new_traced(Traced)
    traced._trace = None
    traced._slot = -1
    traced._state = Known()
    traced._value = array
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
    base = state.base
    if base is None:
        return
    source = base._state or state_of(base)
    if source.base is not None:
        synchronise(base)
    if source.version != state.seen:
        if state.view.layout and base._trace is not None:
            base._trace.asked = True  # another layout of an input would have made a copy
            note_effect("it depends on the order in memory of an array that is an argument")
        adopt(traced, state.view.forward(base))
        state.seen = source.version
        state.version += 1
        if base._value is None:
            traced._value = None


def value_of(x: Traced) -> Any:
    """NumPy's value of a traced array; None if it stands for many, or is not computed yet.

    What a loop of ours gives, and what follows from it, has a value when somebody asks for it.
    """
    if x._state is not None:
        synchronise(x)
    if x._value is not None:
        return x._value
    state = x._state
    if state is not None and state.base is not None:
        whole = value_of(state.base)
        if whole is not None:
            x._value = state.view.values(np.asarray(whole))
    return x._value


def adopt(traced: Traced, value: Traced) -> None:
    """Let a traced array stand for another's slot; the memory of its value stays its own."""
    if value._state is not None:
        synchronise(value)
    traced._trace, traced._slot = value._trace, value._slot
    if value._trace is None:
        traced._value = value._value


def is_known(value: Any) -> bool:
    """Whether a value is concrete: anything but a slot of a trace."""
    if type(value) is not Traced:
        return True
    if value._state is not None:
        synchronise(value)
    return value._trace is None


def is_cell(value: Traced) -> bool:
    """Whether a 0-d value is an array, and not one of NumPy's immutable scalars."""
    kind = kind_of(value)
    if kind is not type(None):
        return kind is np.ndarray
    return value._state is not None and value._state.cell


def unwrap(value: Any) -> Any:
    """The array of a known one; anything else unchanged."""
    return value._value if type(value) is Traced and is_known(value) else value


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
