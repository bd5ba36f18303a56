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
from typing import Any

from adjoint.base.errors import ValueNeededError
from adjoint.capture.bytecode.assembly import Instruction, taken_apart
from adjoint.capture.recording.applying import concrete
from adjoint.capture.recording.guards import DONE
from adjoint.capture.recording.trace import current, note_effect
from adjoint.capture.recording.traced import Traced, is_known
from adjoint.program import Operation


def attempted(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A function's result; computed where the user's code would catch its failure.

    What was recorded for a function that fails is no part of the program.
    """
    if not in_attempt():
        return function(*args, **kwargs)
    trace = current()
    start = 0 if trace is None else len(trace.records)
    try:
        result = function(*args, **kwargs)
    except Exception:
        if trace is not None:
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
        made = range(start, len(trace.records))
        trace.failed.update(n for n in made if isinstance(trace.records[n][0], Operation))
        trace.asked = True
        note_effect("it handles an error that depends on values")
        raise
    return result


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
    places = {each.place: number for number, each in enumerate(instructions)}
    return tuple(
        (entry.start, entry.end)
        for entry in parse(code)
        if _catches(instructions, places[entry.target])
    )


def _catches(instructions: list[Instruction], start: int) -> bool:
    """Whether a handler is an `except`, and not the end of a `with`, a loop or a `finally`."""
    if instructions[start].name != "PUSH_EXC_INFO":
        return False
    for instruction in instructions[start + 1 :]:
        if instruction.name == "CHECK_EXC_MATCH":
            return True
        if instruction.name in ("RERAISE", "WITH_EXCEPT_START"):
            return False
        if instruction.name == "POP_EXCEPT":
            return True
    return False
