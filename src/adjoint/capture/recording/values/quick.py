"""Operations in their usual case: NumPy's value and one record, written by hand.

What `valued.beside` and `applying.apply` do with questions and calls, these do in one piece where
the trace is open and the operands are its own arrays or plain numbers. They are the hottest lines
of capture. Whatever is not the usual case goes the general way, which is handed in as `slowly`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.capture.recording.memory.plain_writes import carry, is_plainly_written
from adjoint.capture.recording.tracing.trace import Trace
from adjoint.capture.recording.tracing.traced import Traced, new_traced, synchronise
from adjoint.capture.recording.values.agreement import agreed
from adjoint.capture.recording.values.postponed import may_wait
from adjoint.capture.recording.values.valued import note_failure, refuse
from adjoint.primitives.elementwise.conversion import PYTHON_NUMBER
from adjoint.program import Operation

_LIFTED: Final = frozenset({float, int, np.ndarray, np.float64})
_NUMBER: Final = PYTHON_NUMBER.bare
_numbers = _NUMBER._inferred


def two(
    op: Operation,
    theirs: Callable[[Any, Any], Any],
    slowly: Callable[[Any, Any], Any],
    reflected: Callable[[Any, Any], Any],
    *,
    pythonic: bool = False,
    divisor: Callable[[Any], None] | None = None,
    whole: Callable[[Any, Any, Any], None] | None = None,
) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """An operation of a traced array and another operand, and the same with them swapped.

    slowly, reflected: the general ways, which take the traced array first. pythonic: whether
    Python's own numbers give one, as they do under operators; else the result's type is checked to
    be NumPy's. divisor: what is asked of a divisor that is a number of Python's. whole: what is
    asked of a result that is one of Python's integers, and its operands.
    """
    swapped = _ordered(op, theirs, reflected, pythonic, None, whole, None)
    return _ordered(op, theirs, slowly, pythonic, divisor, whole, swapped), swapped


def _ordered(
    op: Operation,
    theirs: Callable[[Any, Any], Any],
    slowly: Callable[[Any, Any], Any],
    pythonic: bool,
    divisor: Callable[[Any], None] | None,
    whole: Callable[[Any, Any, Any], None] | None,
    mirror: Callable[[Any, Any], Any] | None,
) -> Callable[[Any, Any], Any]:
    """One of both. mirror: the other, of the one whose traced array stands on the left."""
    swapped, inferred = mirror is None, op._inferred

    def quick(x: Traced, other: Any) -> Any:
        state = x._state
        if state is not None and state.base is not None:
            synchronise(x)
        trace, kind, known, place = x._trace, type(other), other, -1
        if trace is None or not trace.open or trace.lines is not None:
            return _unusual(x, other, slowly, mirror)
        if trace.late and may_wait(x, other):
            return slowly(x, other)
        if kind is Traced:
            state = other._state
            if state is not None and state.base is not None:
                synchronise(other)
            known = other._value
            if other._trace is trace:
                place = other._slot
            elif other._trace is not None or type(known) is not np.ndarray:
                return slowly(x, other)
        elif kind not in _LIFTED:
            return slowly(x, other)
        types, slot, value = trace.types, x._slot, x._value
        if value is None or known is None or trace.inside:
            value = None
        else:  # NumPy's errors come before anything is recorded
            try:
                value = theirs(known, value) if swapped else theirs(value, known)
            except Exception as error:  # NumPy's, which goes on
                note_failure(theirs, error)
                raise
        place = _lifted(trace, known, kind) if place < 0 else place
        slot, place = (place, slot) if swapped else (slot, place)
        pair = (types[slot], types[place])
        result_types = inferred.get(pair) or _inferred(op, pair, value)
        pythons = pythonic and pair[0].weak and pair[1].weak
        if pythons and divisor is not None and not swapped:
            divisor(other)
        types.append(result_types[0])
        trace.records.append((op, slot, place))
        slot = _number(trace, len(types) - 1) if pythons else len(types) - 1
        traced = new_traced(Traced)
        traced._trace, traced._slot, traced._state, traced._value = trace, slot, None, value
        if whole is not None and type(value) is int:
            whole(traced, other if swapped else x, x if swapped else other)
        if pythonic or value is None or is_of(value, result_types[0]):
            return traced
        traced._value = None
        return agreed(value, traced, (x, other))

    return quick


def into(
    op: Operation, theirs: Callable[[Any, Any], Any], slowly: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """An operation whose result is put into its first operand, an array, or a slice of one."""
    inferred = op._inferred

    def quick(x: Traced, other: Any) -> Any:
        state, trace, value = x._state, x._trace, x._value
        usual = trace is not None and trace.open and trace.lines is None and not trace.inside
        if not usual or type(value) is not np.ndarray:
            return slowly(x, other)
        assert trace is not None
        if state is not None:
            synchronise(x)
            if not is_plainly_written(x, trace):
                return slowly(x, other)
        kind, known, place = type(other), other, -1
        if kind is Traced:
            if other._state is not None:
                synchronise(other)
            known = other._value
            if other._trace is trace:
                place = other._slot
            elif other._trace is not None:
                known = None
        if known is None or (place < 0 and type(known) not in _LIFTED):
            return slowly(x, other)
        place = _lifted(trace, known, kind) if place < 0 else place
        types = trace.types
        type_ = types[x._slot]
        result_types = inferred.get((type_, types[place]))
        if result_types is None or result_types[0] is not type_:
            return slowly(x, other)
        try:
            theirs(value, known)
        except Exception as error:  # NumPy's, which goes on
            note_failure(theirs, error)
            raise
        trace.records.append((op, x._slot, place))
        types.append(type_)
        if state is None:
            x._slot = len(types) - 1
        else:
            carry(x, trace, len(types) - 1)
        return x

    return quick


def _unusual(x: Traced, other: Any, slowly: Any, mirror: Any) -> Any:
    """The operation where the first array is known, or its trace is not open."""
    known = x._trace is None and mirror is not None and type(x._value) is np.ndarray
    return mirror(other, x._value) if known and type(other) is Traced else slowly(x, other)


def one(
    op: Operation, theirs: Callable[[Any], Any], slowly: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    """An operation of one traced array."""
    inferred = op._inferred

    def quick(x: Any) -> Any:
        if type(x) is not Traced:
            return slowly(x)
        state = x._state
        if state is not None and state.base is not None:
            synchronise(x)
        trace = x._trace
        if trace is not None and trace.late and may_wait(x):
            return slowly(x)
        value = x._value
        usual = trace is not None and trace.open and trace.lines is None and not trace.inside
        if not usual or value is None:
            return slowly(x)
        assert trace is not None
        try:
            value = theirs(value)
        except Exception as error:  # NumPy's, which goes on
            note_failure(theirs, error)
            raise
        types = trace.types
        key = (types[x._slot],)
        result_types = inferred.get(key) or _inferred(op, key, value)
        result_slot = len(types)
        types.append(result_types[0])
        trace.records.append((op, x._slot))
        usual = is_of(value, result_types[0])
        if type(value) is float and result_types[0].dtype.kind == "f" and not result_types[0].shape:
            result_slot, usual = _number(trace, result_slot), True
        traced = new_traced(Traced)
        traced._trace, traced._slot, traced._state = trace, result_slot, None
        traced._value = value if usual else None
        return traced if usual else agreed(value, traced, (x,))

    return quick


def is_of(value: Any, type_: Any) -> bool:
    """Whether a value is a new array or number of NumPy's that a type describes to the letter."""
    kind = type(value)
    return (
        (kind is np.float64 or (kind is np.ndarray and value.base is None) or kind is np.bool_)
        and type_.dtype is value.dtype
        and type_.shape == value.shape
        and not type_.weak
    )


def _lifted(trace: Trace, value: Any, kind: Any) -> int:
    """The slot of what is no traced array; an input of the program at each place of the code."""
    if kind is float:
        known = trace.arrays.get(id(value))
        if known is not None:
            return known[1]
    elif kind is int:
        frame = sys._getframe(2)
        known = trace.literals.get((id(frame.f_code), frame.f_lasti))
        if known is not None and known[0] is value:
            return known[1]
    return trace.lift(value)


def _number(trace: Trace, slot: int) -> int:
    """The slot of what was just recorded, as the number that Python would have in its place."""
    types = trace.types
    type_ = types[slot]
    if type_.weak or type_.dtype.kind not in "fic":
        return slot
    result_types = _numbers.get((type_,)) or _NUMBER.infer((type_,))
    trace.records.append((_NUMBER, slot))
    types.append(result_types[0])
    return len(types) - 1


def _inferred(op: Operation, types: tuple[Any, ...], value: Any) -> Any:
    """The types of the results, where they are not known yet."""
    try:
        return op.infer(types)
    except Exception as error:  # ours, which goes on
        if value is not None:  # for NumPy would have done it
            refuse(error)
        raise
