"""Debug mode: what is replayed is captured too, and both must be the same program."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from adjoint.base.errors import ProgramError
from adjoint.calculus.jit.calls import Call
from adjoint.calculus.jit.capturing import rehearsal
from adjoint.calculus.jit.paths import Path
from adjoint.capture import Captured, Traced, unwrap
from adjoint.capture.facts.writing import same
from adjoint.capture.recording.guards import Guard
from adjoint.capture.recording.trace import same_memory
from adjoint.program import Operation

# Whether what runs now is such a capture.
under_way: ContextVar[bool] = ContextVar("adjoint_check_of_replay", default=False)


def check_replay(path: Path, target: Any, call: Call) -> None:
    """ProgramError unless a capture of this call gives the program that is about to be replayed."""
    if path.key is None or call.traced:
        return
    script = path.script
    captured = _anew(lambda: rehearsal(target, call, [] if script is None else script.states()))
    if captured is None or _differs_in_answers(captured, path.guards):
        return
    constants = [unwrap(each) for each in captured.constants]
    own = list(path.constants)
    for place in () if script is None else script.places:
        own[place] = constants[place] if place < len(constants) else None
    if (
        _same_program(captured, path.key, path.treedef)
        and len(captured.trace.guards or ()) == len(path.guards)
        and len(constants) == len(own)
        and (all(map(_alike, constants, own)) or _equivalent(path, call, constants, own))
    ):
        return
    raise _defect(target)


def check_capture(
    function: Any, kept: Captured, guards: Sequence[Guard], again: Callable[..., Captured]
) -> None:
    """ProgramError unless a capture of this call gives the one that is kept. again: makes it."""
    captured = _anew(lambda: again(guarded=True))
    if captured is None or _differs_in_answers(captured, guards):
        return
    constants = [unwrap(each) for each in captured.constants]
    if (
        _same_program(captured, kept.key[0].parts, kept.treedef)
        and len(captured.trace.guards or ()) == len(guards)
        and len(constants) == len(kept.constants)
        and all(map(_alike, constants, kept.constants))
    ):
        return
    raise _defect(function)


def _anew(again: Callable[[], Captured]) -> Captured | None:
    """A capture that nobody hears of; None where it fails, as the run will as well."""
    under_way.set(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the run will warn
            return again()
    except Exception:
        return None
    finally:
        under_way.set(False)


def _differs_in_answers(captured: Captured, expected: Sequence[Guard]) -> bool:
    """Whether a question has another answer: the program may round otherwise than NumPy."""
    for guard, known in zip((captured.trace.guards or {}).values(), expected, strict=False):
        if guard.question != known.question:
            return False
        if guard.answer != known.answer:
            return True
    return False


def _same_program(captured: Captured, key: Any, treedef: Any) -> bool:
    return _forms(captured.key) == _forms(key) and captured.treedef == treedef


def _defect(function: Any) -> ProgramError:
    return ProgramError(
        f"The replay of {getattr(function, '__qualname__', function)} is not what a capture "
        "gives: a defect of adjoint. A fact that the function depends on was not noted."
    )


def _forms(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key with primitives for operations, whose parameters may hold functions made anew."""
    types, records, outputs, *rest = key
    heads = [(_form(head), *slots) for head, *slots in records]
    return (types, heads, outputs, *rest)


def _form(head: Any) -> Any:
    return head.primitive.name if isinstance(head, Operation) else head


def _equivalent(path: Path, call: Call, constants: list[Any], own: list[Any]) -> bool:
    """Whether other constants give the same results, as what `np.empty` held before does."""
    inputs = [unwrap(each) for each in call.arrays]
    expected = path.run(inputs, sure=True, constants=own)
    found = path.run(inputs, sure=True, constants=constants)
    return all(
        np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind in "fc")
        for one, other in zip(found, expected, strict=True)
    )


def _alike(one: Any, other: Any) -> bool:
    if type(one) is Traced or type(other) is Traced:
        return False
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and same_memory(one, other)
    return same(one, other)
