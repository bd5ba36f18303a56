"""`try` around code that may fail: whether it does is asked at once, since the values decide.

Errors that come of values (a singular matrix, the root of a negative number in `math`) are raised
when a program runs. Where the user's code is ready to catch them, they are wanted while it is
captured.
"""

from __future__ import annotations

import dis
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.base.errors import ValueNeededError
from adjoint.capture.bytecode.assembly import Instruction, taken_apart
from adjoint.capture.recording.tracing import guards
from adjoint.capture.recording.tracing.applying import apply, ask_in_all, concrete
from adjoint.capture.recording.tracing.guards import DONE
from adjoint.capture.recording.tracing.trace import (
    captures,
    current,
    is_guarded,
    note_effect,
    outermost,
)
from adjoint.capture.recording.tracing.traced import Traced, is_known
from adjoint.primitives.calls.failing import FAILS
from adjoint.program import Operation, operation


def attempted(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A function's result; computed where the user's code would catch its failure.

    What was recorded for a function that fails is no part of the program.
    """
    if not in_attempt():
        return function(*args, **kwargs)
    trace, outer = current(), outermost()
    start = 0 if trace is None else len(trace.records)
    effects = 0 if outer is None else len(outer.effects)
    try:
        result = function(*args, **kwargs)
    except Exception as error:  # whatever the user's `except` may catch
        if outer is not None and _asks_for_failure(function, args, kwargs, error):
            del outer.effects[effects:]  # that an error came
        elif trace is not None:
            trace.asked = True  # the error is an answer that no guard can give
            note_effect("it handles an error that depends on values")
        raise
    first = result[0] if isinstance(result, tuple) and result else result
    if trace is None or type(first) is not Traced or is_known(first):
        return result
    try:
        concrete(first, DONE)
    except ValueNeededError:  # one of a batch: the run will tell
        return result
    except Exception:
        recorded = range(start, len(trace.records))
        trace.failed.update(n for n in recorded if isinstance(trace.records[n][0], Operation))
        trace.asked = True
        note_effect("it handles an error that depends on values")
        raise
    return result


def _asks_for_failure(function: Any, args: Any, kwargs: Any, error: Exception) -> bool:
    """Note that a function has failed as a question that a program can answer, if it can."""
    if type(error) is not np.linalg.LinAlgError or not is_guarded():
        return False
    count = next((n for n, argument in enumerate(args) if type(argument) is not Traced), len(args))
    operands, rest, named = args[:count], args[count:], tuple(sorted(kwargs.items()))
    constant = all(
        type(argument) in _CONSTANTS for argument in (*rest, *(argument for _, argument in named))
    )
    if not constant or not operands or any(trace.witness for trace in captures()):
        return False
    name = function.__wrapped__.__name__
    failing = apply(operation(FAILS, function=name, rest=rest, named=named, levels=()), operands)
    if type(failing) is not Traced or is_known(failing):
        return False
    failing._value = np.True_
    ask_in_all(failing, guards.FAILS)
    return True


_CONSTANTS: Final = frozenset({int, float, bool, str, type(None)})


def in_attempt() -> bool:
    """Whether code of a clone, among those that are running, is inside of a `try` with `except`."""
    if not _codes:
        return False
    frame: Any = sys._getframe(1)
    while frame is not None:
        known = _codes.get(id(frame.f_code))
        if known is not None:
            place = frame.f_lasti
            if any(start <= place < end for start, end in known[1]):
                return True
        frame = frame.f_back
    return False


def note_attempts(code: types.CodeType) -> None:
    """Keep the code of a clone, if there is a `try` in it."""
    stretches = _attempts(code) if code.co_exceptiontable else ()
    if stretches:
        key = id(code)
        forgetting = weakref.ref(code, lambda _: _codes.pop(key, None))
        _codes[key] = (forgetting, stretches)


# By identity, and without keeping code alive: a program may make functions without end.
_codes: dict[int, tuple[weakref.ref[types.CodeType], tuple[tuple[int, int], ...]]] = {}


def _attempts(code: types.CodeType) -> tuple[tuple[int, int], ...]:
    """The stretches of code whose errors are caught by an `except`."""
    parse: Any = dis._parse_exception_table  # type: ignore[attr-defined]
    instructions = taken_apart(code)
    places = {instruction.place: number for number, instruction in enumerate(instructions)}
    return tuple(
        (entry.start, entry.end)
        for entry in parse(code)
        if _catches(instructions, places[entry.target])
    )


def _catches(instructions: list[Instruction], start: int) -> bool:
    """Whether a handler is an `except` or the end of a `with`, not of a loop or a `finally`."""
    if instructions[start].name != "PUSH_EXC_INFO":
        return False
    for instruction in instructions[start + 1 :]:
        if instruction.name == "CHECK_EXC_MATCH":
            return True
        if instruction.name == "RERAISE":
            return False
        if instruction.name in ("POP_EXCEPT", "WITH_EXCEPT_START"):  # the latter may suppress it
            return True
    return False
