"""What NumPy computes when somebody looks: values of large arrays, where machine code follows.

Under `jit` nobody looks at most of what NumPy has beside the records, since the machine code
computes it anew. Of small arrays that costs nothing; each large one is memory that is touched for
the first time. So NumPy is asked what the result will be (`asking.py`), and the numbers are
computed when a branch, a print or a function that is not asked reads them: by NumPy, of the same
operands. The same holds for derivatives within the function that would take long.

NumPy's warnings come when the numbers are computed, with the line at which the user's code asked
for them. Where the run of the program finds that there is something to warn of, all that was
postponed is computed for that (`effects/floating_point.py`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final
from weakref import ref

import numpy as np

from adjoint.capture.recording.tracing.constants import same_memory
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.said import Said
from adjoint.capture.recording.tracing.trace import captures
from adjoint.capture.recording.tracing.traced import Traced, postpone, postponed_of, value_of
from adjoint.primitives.special.declaring import errors_ignored

LARGE: Final = 1 << 19  # numbers of an array from which computing it is postponed
_SHARE: Final = 4  # what is kept to compute with is copied where it is so much smaller than that


class Postponed:
    """A result that is computed when somebody looks.

    function, operands, named: what computes it, of arrays that nobody writes into and of other
    such results. order: its axes as they lie in memory, the outermost first. read: whether others
    are computed of it, so that its array is not for writing. cell: whether it is an array although
    it has no axes, as that of `np.where` is. said, place, modes: where NumPy's warnings are noted,
    the user's line, and how NumPy treats errors there; None for what is silent.
    """

    __slots__ = (
        *("_array", "cell", "dtype", "function", "modes", "named", "operands", "order", "place"),
        *("__weakref__", "read", "said", "shape"),
    )

    def __init__(
        self,
        function: Callable[..., Any],
        operands: Sequence[Any],
        named: dict[str, Any],
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        order: tuple[int, ...],
    ) -> None:
        self.function = function
        self.operands = operands
        self.named = named
        self.dtype = dtype
        self.shape = shape
        self.order = order
        self.read = self.cell = False
        self.said: Said | None = None
        self.place: Any = None
        self.modes: Any = None
        self._array: Any = None
        for operand in operands:
            if type(operand) is Postponed:
                operand.read = True

    @property
    def kind(self) -> type:
        """The type of the value."""
        return np.ndarray if self.shape or self.cell else self.dtype.type

    @property
    def size(self) -> int:
        """The number of its entries."""
        return math.prod(self.shape)

    def note_warnings(self) -> None:
        """Let what NumPy warns of be said at the line where the user's code stands now."""
        self.said = captures()[0].said
        self.said.waiting[self] = None
        self.place, _ = hooks.users_place()
        self.modes = np.geterr()

    def taken(self) -> Any:
        """The value, for one who may write into it."""
        self._look()
        shared = self.read and self.kind is np.ndarray
        return self._array.copy(order="K") if shared else self._array

    def lent(self) -> Any:
        """The value, for one who only reads it."""
        self._look()
        self.read = True
        return self._array

    def _look(self) -> None:
        if self._array is None:
            self.settle()
            stack = captures()
            if stack:
                stack[0].said.keep_memory_low()

    def settle(self) -> None:
        """Compute the value; what it is computed of comes first, one after another."""
        if self._array is not None:
            return
        stack = [self]
        while stack:
            last = stack[-1]
            waiting = [x for x in last.operands if type(x) is Postponed and x._array is None]
            if last._array is None and waiting:
                stack += waiting
                continue
            stack.pop()
            if last._array is None:
                last._compute()

    def _compute(self) -> None:
        values = [x._array if type(x) is Postponed else x for x in self.operands]
        silent, said = np.errstate(all="ignore"), self.said
        if said is not None and self in said.waiting:
            del said.waiting[self]
            silent = np.errstate(call=hooks.speaker(said, place=self.place), **self.modes)
        with silent, errors_ignored():  # as SciPy did where it was asked for
            result = self.function(*values, **self.named)
        self._array = _lying(result, self.order) if self.shape else result
        self.operands = ()
        stack = captures()
        if self.size >= LARGE and stack:
            stack[0].said.computed.append(ref(self))


def _lying(array: Any, order: tuple[int, ...]) -> Any:
    """The array with its axes in this order in memory: itself, as a rule."""
    laid = np.transpose(array, order)
    if laid.flags.c_contiguous:
        return array
    return np.transpose(np.ascontiguousarray(laid), np.argsort(order))


def copied_later(given: Any) -> Postponed | None:
    """What copies the value of an input when somebody looks; None where it is copied now.

    given: an array of the caller's, or one that an outer capture traces.
    """
    if type(given) is Traced:
        waiting: Postponed | None = postponed_of(given)
        if waiting is not None:
            waiting.read = True
            return waiting
        value = value_of(given)
        given = _held(value, given) if type(value) is np.ndarray and value.size >= LARGE else None
    if type(given) is not np.ndarray or given.size < LARGE:
        return None
    order = order_of(given.strides)
    dense = np.transpose(given, order).flags.c_contiguous
    if not (given.shape and given.flags.writeable and dense):
        return None
    copied = Postponed(np.copy, (), {}, given.dtype, given.shape, order)
    copied.read, copied._array = True, given  # there, and copied by whoever takes it
    return copied


def order_of(strides: Sequence[int]) -> tuple[int, ...]:
    """The axes as they lie in memory, the outermost first."""
    return tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))


def may_wait(*operands: Any) -> bool:
    """Whether an operation of these arrays and numbers may be worth to be postponed."""
    shape: tuple[int, ...] = ()
    bound = 1
    for x in operands:
        if type(x) is Traced:
            if postponed_of(x) is not None:
                return True
            own = x.type.shape
        elif type(x) is np.ndarray:
            own = x.shape
        else:
            continue
        if own and own != shape:  # of the same shape, they make one like them
            shape, bound = own, bound * (math.prod(own) or 1)
    return bound >= LARGE


def read_value(x: Any) -> Any:
    """The value of an argument, for one who only reads it; None without one."""
    value = operand_of(x)
    return value.lent() if type(value) is Postponed else value


# --- operands -------------------------------------------------------------------------------------


def operand_of(x: Any) -> Any:
    """What stands for an argument: what computes its value, or that value, which may be None."""
    if type(x) is not Traced:
        return x
    waiting = postponed_of(x)
    return value_of(x) if waiting is None else waiting


def kept(operands: Sequence[Any], arguments: Sequence[Any], size: int) -> list[Any] | None:
    """Operands as nobody writes into them; None where that takes too long, or one has no value.

    arguments: for which they stand. size: of what is computed of them.
    """
    for operand, argument in zip(operands, arguments, strict=True):
        if type(argument) is Traced and operand is None:
            return None
    pairs = zip(operands, arguments, strict=True)
    held = [_held(x, x0) if type(x) is np.ndarray else x for x, x0 in pairs]
    for place, x in enumerate(operands):
        if held[place] is None and x is not None:
            if x.size * _SHARE > max(size, LARGE):
                return None
            held[place] = x.copy(order="K")
    return held


def _held(x: np.ndarray[Any, Any], argument: Any) -> Any:
    """An array that a capture holds of an argument, and nobody else has; None if there is none."""
    if type(argument) is Traced and argument._trace is not None:
        held: Any = argument
        while type(held) is Traced and held._trace is not None:  # of one capture within another
            held = held._trace.values.get(held._slot)
    else:
        trace = captures()[-1]
        lifted = trace.arrays.get(id(x))
        held = None if lifted is None else trace.values[lifted[1]]
        if type(held) is np.ndarray and not same_memory(held, x):
            return None  # somebody has written into the array since
    return held if type(held) is np.ndarray and held.strides == x.strides else None


# --- results of programs --------------------------------------------------------------------------


def postpone_results(
    results: Sequence[Any], run: Callable[[Sequence[Any]], Sequence[Any]], arguments: Sequence[Any]
) -> bool:
    """Let a program that was recorded as a whole be run when somebody looks at its results.

    results: of the recording. run: gives their values for those of the arguments. Whether that is
    done: not where an argument has no value, or somebody may write into it.
    """
    operands = kept(list(map(operand_of, arguments)), arguments, LARGE)
    new = {id(x): place for place, x in enumerate(results) if _has_no_value(x)}
    usual = all(results[n]._state is None and not results[n].type.weak for n in new.values())
    if operands is None or not usual:
        return False
    whole = Postponed(lambda *values: run(values), operands, {}, np.dtype(object), (), ())
    for place in new.values():
        type_ = results[place].type
        order, pick = tuple(range(type_.ndim)), operator.itemgetter(place)
        postpone(results[place], Postponed(pick, [whole], {}, type_.dtype, type_.shape, order))
    return True


def _has_no_value(x: Any) -> bool:
    """Whether an array has no value, not even one that is postponed."""
    return type(x) is Traced and postponed_of(x) is None and x._value is None
