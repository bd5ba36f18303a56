"""Applying operations to traced arrays: recorded by a capture, or computed where all is known.

And the ways back from a traced array to a number: settled, peeked at, or asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from adjoint.base.errors import ValueNeededError
from adjoint.capture.recording.tracing.guards import WHOLE, Inquiry
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.places import PACKAGE, user_line
from adjoint.capture.recording.tracing.stale import Stale
from adjoint.capture.recording.tracing.trace import Trace, captures, outermost
from adjoint.capture.recording.tracing.traced import (
    Traced,
    from_array,
    from_slot,
    is_known,
    new_traced,
    postpone,
    postponed_of,
    synchronise,
    unwrap,
    wrap,
)
from adjoint.program import SILENT, Operation

_SMALL: Final = 1024  # numbers of an array whose value is noted


def apply(op: Operation, operands: Any) -> Any:
    """Apply an operation.

    Recorded by the innermost capture among its operands, computed at once where all are concrete.
    """
    trace: Trace | None = None
    for operand in operands:
        if type(operand) is Traced:
            if operand._state is not None:
                synchronise(operand)
            owner = operand._trace
            if owner is None or (trace is not None and owner is not trace):
                return _apply_mixed(op, operands)
            trace = owner
    if trace is None or not trace.open or trace.lines is not None:
        return _apply_mixed(op, operands)
    slots = [x._slot if type(x) is Traced else trace.lift(x) for x in operands]
    # What Trace.record does, without the calls: these are the hottest lines of capture.
    types = trace.types
    key = tuple([types[slot] for slot in slots])
    result_types = op._inferred.get(key) or op.infer(key)
    if op.multiple:
        return _recorded(op, trace, tuple(slots))
    traced = new_traced(Traced)
    traced._trace, traced._slot, traced._state, traced._value = trace, len(types), None, None
    types.append(result_types[0])
    trace.records.append((op, *slots))
    return traced


def apply_beside(op: Operation, others: Any, operands: Any = ()) -> Any:
    """Apply an operation to what is known: recorded where others would be, and not computed.

    So zeros of a derivative stay zeros in the program of an outer capture.
    """
    trace: Trace | None = None
    for other in others:
        if type(other) is Traced and not is_known(other):
            owner = other._trace
            if owner is not None and owner.open and (trace is None or owner.level > trace.level):
                trace = owner
    if trace is None:
        return apply(op, operands)
    return _recorded(op, trace, tuple([slot_in(trace, operand) for operand in operands]))


def apply_one(op: Operation, operand: Traced) -> Any:
    """Apply an operation with one operand and one result: `apply`, without its loops."""
    if operand._state is not None:
        synchronise(operand)
    trace = operand._trace
    if trace is None or not trace.open or trace.lines is not None:
        return _apply_mixed(op, (operand,))
    types = trace.types
    key = (types[operand._slot],)
    result_types = op._inferred.get(key) or op.infer(key)
    traced = new_traced(Traced)
    traced._trace, traced._slot, traced._state, traced._value = trace, len(types), None, None
    types.append(result_types[0])
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
        operands = [hooks.as_operand(operand) for operand in operands]
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
    return slot_in(trace, hooks.as_operand(values))


def slot_in(trace: Trace, operand: Any) -> int:
    """The slot of an operand in a trace, where it becomes a constant if it comes from elsewhere."""
    if type(operand) is not Traced:
        return trace.lift(operand)
    state = operand._state
    if state is not None:
        synchronise(operand)
    if operand._trace is None:
        return trace.lift_made(operand._value)
    if operand._trace is trace:
        return operand._slot
    known = trace.arrays.get(id(operand))
    if known is not None and (state is None or _is_unwritten(operand, trace.values[known[1]])):
        return known[1]
    if operand._trace.past is not None:
        return _slot_of_past(trace, operand)
    # An outer capture's value: what it is now, whatever is written to it later.
    held = _as_now(operand)
    note_value(operand)
    trace.nested = True
    trace.valued = trace.valued and operand._trace.valued
    slot = trace.constant(held, operand.type)
    if state is None or state.base is None:
        trace.arrays[id(operand)] = (operand, slot)
    return slot


def _is_unwritten(operand: Traced, held: Any) -> bool:
    """Whether an array that is no view is what it was when a capture within took it."""
    state = operand._state
    whole = state is not None and state.base is None and type(held) is Traced
    return whole and held._slot == operand._slot


def _as_now(operand: Traced) -> Traced:
    """An array as it is now, whatever is written to it later."""
    waiting = postponed_of(operand)
    assert operand._trace is not None
    if waiting is None:
        return from_slot(operand._trace, operand._slot, frozen(operand._value))
    held = from_slot(operand._trace, operand._slot)
    waiting.read = True
    postpone(held, waiting)
    return held


def is_waited_for() -> bool:
    """Whether all that is captured is to be machine code at once, as under `jit`."""
    outer = outermost()
    return outer is not None and outer.numbers is not None and outer.guards is not None


def note_value(value: Any) -> None:
    """Note what is known of a value that a capture within refers to.

    A question there leads to what its own capture recorded, which is not computed once more.
    """
    if type(value) is not Traced or value._state is not None or value._value is None:
        return
    trace, known = value._trace, value._value
    if trace is None or not trace.open or trace.nested or trace.witness:
        return
    if type(known) is np.ndarray:
        if known.size > _SMALL or not known.flags.c_contiguous:
            return  # a copy takes long, or would tell another layout
        known = known.copy()
    trace.values.setdefault(value._slot, known)


def _slot_of_past(trace: Trace, operand: Traced) -> int:
    """The slot of what follows from a value of an earlier call: a constant, which is remembered."""
    slot = trace.constant(frozen(peek(operand)), operand.type)
    past: Any = operand._trace
    stale = past.stale
    left = [stale[origin] for origin in hooks.origins(past, operand._slot) if origin in stale]
    if left:
        places = hooks.entries(past, operand._slot, past.places_of_stale)
        if places is not None:
            in_place = all(earlier.in_place for earlier in left)
            trace.stale[slot] = Stale(past.past, user_line(), in_place, places)
    if operand._state is None:
        trace.arrays[id(operand)] = (operand, slot)
    return slot


def bare(result: Any) -> Any:
    """A result; a scalar where it is known and has no axes, as programs give them that are run."""
    cell = type(result) is Traced and is_known(result) and type(result._value) is np.ndarray
    return result._value[()] if cell and not result._value.ndim else result


def silence(trace: Trace, first: int) -> None:
    """Let what the user has recorded from a number on warn of nothing."""
    for number in range(first, len(trace.records)):
        trace.quiet.setdefault(number, SILENT)


def hush(value: Any, mark: int) -> None:
    """Let the operation that was just recorded, and gave this value, warn of nothing.

    mark: as `Equation.derived` has it.
    """
    if not is_known(value) and value._trace.open:
        value._trace.quiet[len(value._trace.records) - 1] = mark


def reapply(op: Operation, operands: list[Any], mark: int) -> Any:
    """What was recorded once, applied for a capture around that one: silent where it was so."""
    results = apply(op, operands)
    if mark:
        hush(results[0] if op.primitive.multiple else results, mark)
    return results


def computed(trace: Trace, slot: int) -> Any:
    """The value of a slot, from the values of the arguments of the calls that are being recorded.

    Or from the inputs. It shares no memory with anything.
    """
    before = len(trace.values)
    for args in () if trace.witness else trace.calls:
        for traced in _traced_in(args):
            if traced._trace is trace and traced._value is not None:
                trace.values.setdefault(traced._slot, traced._value)
    seeded = len(trace.values) > before
    with np.errstate(all="ignore"):  # the program will warn when it runs
        value = peek(trace.value(slot, reapply))
    if seeded:  # what was computed may look into memory that is written to later
        for known in list(trace.values)[before:]:
            del trace.values[known]
    return frozen(value)


def _traced_in(argument: Any) -> Iterator[Traced]:
    if type(argument) is Traced:
        yield argument
    elif isinstance(argument, (list, tuple)):
        for part in argument:
            yield from _traced_in(part)
    elif isinstance(argument, dict):
        yield from _traced_in(list(argument.values()))


def frozen(value: Any) -> Any:
    """A value that later writes do not reach."""
    return value.copy() if type(value) is np.ndarray else value


def settle(value: Any) -> Any:
    """A value of a finished capture in terms of what surrounded it; others unchanged."""
    while type(value) is Traced and not is_known(value):
        trace = value._trace
        assert trace is not None
        if trace.open:
            return value
        hooks.settled(value)
        if value._value is not None and not trace.nested and not trace.witness:
            return wrap(value._value)
        value = trace.value(value._slot, reapply)
    return value


def peek(value: Any) -> Any:
    """The concrete value, for capture's own use: the program does not come to depend on it."""
    while type(value) is Traced and not is_known(value):
        trace = value._trace
        assert trace is not None
        if value._value is not None and not trace.witness:
            return value._value
        value = computed(trace, value._slot)
    return unwrap(value)


def has_value(value: Any) -> bool:
    """Whether `concrete` would have an answer: none for what differs within a batch."""
    while type(value) is Traced and not is_known(value):
        trace = value._trace
        assert trace is not None
        if value._value is not None and not trace.nested and not trace.witness:
            return True
        try:
            with np.errstate(all="ignore"):  # the program will warn when it runs
                value = trace.value(value._slot, reapply)
        except ValueNeededError:
            return False
    return True


def concrete(value: Any, kind: str = WHOLE) -> Any:
    """The concrete value, and a note that it was asked for.

    kind: what of it is asked for, so that the program comes to depend on that alone (`guards.py`).
    """
    if type(value) is not Traced or is_known(value):
        return unwrap(value)
    trace = value._trace
    assert trace is not None
    if value._slot not in trace.questions:
        _note_question(trace, value._slot, sys._getframe(2))
    if trace.witness:
        return ask_in_all(value, kind)
    return _answer(trace, value, kind)


def _inquire(trace: Trace, slot: int, kind: str, answer: Any, direct: bool = True) -> None:
    """Note a question among all."""
    truth = kind == "bool" and np.size(answer) == 1 and bool(answer)
    trace.inquiries.append(Inquiry(len(trace.records), slot, kind, truth, direct))


def _answer(trace: Trace, value: Traced, kind: str) -> Any:
    if not trace.nested and (value._value is not None or trace.calls):
        answer = computed(trace, value._slot) if value._value is None else value._value
        if trace.guards is None or trace.asked:
            trace.asked = True
        else:
            trace.guard(len(trace.records), value._slot, kind, answer)
        _inquire(trace, value._slot, kind, answer)
        return answer
    if value._value is not None and all(capture.guards is None for capture in captures()):
        for capture in captures():
            capture.asked = True
            slot = value._slot if capture is trace else -1
            _inquire(capture, slot, kind, value._value, capture is trace)
        return value._value
    return ask_in_all(value, kind)


def _note_question(trace: Trace, slot: int, frame: Any) -> None:
    """Note where the user's code asked for a value, or what of ours asked for a truth value."""
    if frame.f_code.co_filename.startswith(PACKAGE):
        if trace.types[slot].dtype.kind != "b":
            return  # the length of np.arange(x), say, is no branch
        while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
            frame = frame.f_back
    trace.questions[slot] = (frame.f_code, frame.f_lasti)


def asked(value: Any, kind: str = WHOLE) -> Any:
    """The concrete value for a question of the user's, put by a function of NumPy's."""
    answer = concrete(value, kind)
    if type(value) is Traced and value._trace is not None:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
            frame = frame.f_back
        value._trace.questions[value._slot] = (frame.f_code, frame.f_lasti)
    return answer


def ask_in_all(value: Any, kind: str) -> Any:
    """The same where the value depends on outer captures too, each of which notes the question."""
    met: list[tuple[Trace, int, int]] = []
    answer = None if value._trace.witness else value._value
    levels: list[tuple[Trace, int, int]] = []
    while type(value) is Traced:
        if is_known(value):
            value = unwrap(value)
            break
        trace = value._trace
        assert trace is not None
        if trace.guards is not None and not trace.asked:
            met.append((trace, len(trace.records), value._slot))
        trace.asked = True  # for good if it cannot be computed
        levels.append((trace, len(trace.records), value._slot))
        known = answer if value._value is None else value._value
        if known is not None and not trace.nested and not trace.witness:
            value = known
            break
        with np.errstate(all="ignore"):  # the program will warn when it runs
            value = trace.value(value._slot, reapply)
    for trace, place, slot in met:
        trace.asked = False
        trace.guard(place, slot, kind, value)
    for number, (trace, place, slot) in enumerate(levels):
        truth = kind == "bool" and np.size(value) == 1 and bool(value)
        trace.inquiries.append(Inquiry(place, slot, kind, truth, not number))
    return value if answer is None else answer
