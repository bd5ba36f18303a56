"""What a loop changes that its capture does not trace yet: a counter, a step length, known arrays.

All that changes from round to round is state of the loop, so it becomes traced while the loop is
looked at. A local name that is bound to such a value is bound to a traced one in its place, which
does what the other does. Python's numbers are lifted so, and what is made of known numbers or of
values of outer captures, where nothing but these names refers to it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.arrays import ArrayType, type_of
from adjoint.capture.bytecode.arithmetic import GREATEST_COUNT, NumericNames, numeric_names
from adjoint.capture.bytecode.code import original_of
from adjoint.capture.recording.tracing.applying import frozen, slot_in
from adjoint.capture.recording.tracing.trace import Trace
from adjoint.capture.recording.tracing.traced import Traced, from_slot
from adjoint.capture.rounds.frames import bindings, held_elsewhere, names_in, place_of


class _OuterSlot(NamedTuple):
    """What tells a value of an outer capture from others."""

    kind: type
    trace: int
    slot: int


def liftable_in(trace: Trace, frame: FrameType) -> dict[str, Any]:
    """Of the local names of a frame that it goes on with, those of values that can be lifted.

    Each with what tells its value from others.
    """
    code = original_of(frame.f_code)
    if code is None:
        return {}
    shared = {*code.co_cellvars, *code.co_freevars}
    numbers = numeric_names(code)
    return {
        name: _stamp(value)
        for name, value in names_in(frame).items()
        if name not in shared
        and (_is_foreign(trace, value) or (_is_number(value) and name in _named(numbers, value)))
    }


def known_and_bound(frame: FrameType, values: dict[str, Any]) -> frozenset[str]:
    """The names that the loop where a frame is binds, and that are of known values before it.

    They are used as numbers alone, or are bound to arrays of known numbers now. values: what can be
    lifted.
    """
    place, code = place_of(frame.f_code, frame.f_lasti), original_of(frame.f_code)
    if place is None or code is None:
        return frozenset()
    numbers = numeric_names(code)
    known = {name for name, stamp in values.items() if type(stamp) is not _OuterSlot}
    return place.bound & (numbers.floats | numbers.ints | known)


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) < GREATEST_COUNT)


def _named(numbers: NumericNames, value: Any) -> frozenset[str]:
    """The names of which a traced number may stand in for one of this kind."""
    return numbers.floats if type(value) is float else numbers.ints


def _is_foreign(trace: Trace, value: Any) -> bool:
    """Whether it is an array of known numbers, or a value of an outer capture."""
    if type(value) is not Traced or value._trace is trace:
        return False
    state = value._state
    if state is None:
        return True
    return state.base is None and not (state.aliases or state.flat or state.viewed)


def _stamp(value: Any) -> Any:
    if type(value) is not Traced:
        return type(value), value
    if value._trace is None:
        return Traced, np.asarray(value._value).tobytes()
    return _OuterSlot(Traced, id(value._trace), value._slot)


def changed(before: dict[str, Any], now: dict[str, Any]) -> frozenset[str]:
    """The names whose values differ, of the types that they had."""
    return frozenset(
        name
        for name, stamp in now.items()
        if name in before and before[name][0] is stamp[0] and before[name] != stamp
    )


def lift_names(trace: Trace, frame: FrameType, names: Collection[str]) -> dict[str, Traced]:
    """Bind names of a frame to traced values in the place of others; those that are new."""
    if not names:
        return {}
    values = {name: value for name, value in names_in(frame).items() if name in names}
    lifted = {
        name: from_slot(trace, trace.constant(value, type_of(value)), value)
        for name, value in values.items()
        if _is_number(value)
    }
    foreign = tuple({id(x): x for x in values.values() if _is_foreign(trace, x)}.values())
    bound = bindings(frame)
    values.clear()  # so that nothing but the frame's names is counted
    for value, is_shared in zip(foreign, held_elsewhere(frame, foreign), strict=True):
        if not is_shared:
            new = from_slot(trace, slot_in(trace, value), frozen(value._value))
            lifted.update({name: new for name, place in bound.items() if place == id(value)})
    _bind(frame, lifted)
    return lifted


def unlift_names(trace: Trace, frame: FrameType, names: Collection[str]) -> None:
    """Bind names to Python's numbers again, where these do not depend on the arguments."""
    plain = {
        name: value._value
        for name, value in names_in(frame).items()
        if name in names
        and type(value) is Traced
        and value._trace is trace
        and _is_number(value._value)
        and _is_constant(trace, value._slot)
    }
    _bind(frame, plain)


def _is_constant(trace: Trace, slot: int) -> bool:
    """Whether a slot follows from known constants alone."""
    trace.find_owners()
    waiting, seen = [slot], {slot}
    while waiting:
        one = waiting.pop()
        if trace.owners[one] < 0 or type(trace.values.get(one)) is Traced:
            return False
        head, *operands = trace.records[trace.owners[one]]
        if type(head) is not ArrayType:
            waiting += [operand for operand in operands if operand not in seen]
            seen.update(operands)
    return True


def _bind(frame: FrameType, values: dict[str, Any]) -> None:
    if not values:
        return
    names = frame.f_locals
    names.update(values)
    if type(names) is dict:  # before 3.13, it is a copy
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
        names_in(frame)
