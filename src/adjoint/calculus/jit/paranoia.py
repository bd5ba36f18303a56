"""Debug mode: what is replayed is captured too, and both must be the same program."""

from __future__ import annotations

import warnings
from contextvars import ContextVar
from typing import Any

import numpy as np

from adjoint.base.errors import ProgramError
from adjoint.calculus.jit.calls import Call
from adjoint.calculus.jit.paths import Path
from adjoint.capture import Traced, capture, unwrap
from adjoint.capture.facts.writing import same
from adjoint.capture.recording.trace import same_memory
from adjoint.program import Operation

under_way: ContextVar[bool] = ContextVar("adjoint_check_of_replay", default=False)


def check_replay(path: Path, target: Any, call: Call) -> None:
    """ProgramError unless a capture of this call gives the program that is about to be replayed."""
    if path.key is None or call.traced:
        return
    active = (False,) * len(call.arrays)
    under_way.set(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the run will warn
            captured = capture(
                target, call.apply, call.types, call.arrays, active, frozen=True, guarded=True
            )
    except Exception:  # which the run will raise as well
        return
    finally:
        under_way.set(False)
    guards = captured.trace.guards or {}
    answers = [(each.question, each.answer) for each in guards.values()]
    expected = [(each.question, each.answer) for each in path.guards]
    for (question, answer), (asked, answered) in zip(answers, expected, strict=False):
        if question != asked:
            break
        if answer != answered:
            return  # the program may round otherwise than NumPy, where the last bit decides
    constants = [unwrap(each) for each in captured.constants]
    if (
        answers == expected
        and _forms(captured.key) == _forms(path.key)
        and captured.form == path.treedef
        and len(constants) == len(path.constants)
        and (all(map(_alike, constants, path.constants)) or _equivalent(path, call, constants))
    ):
        return
    raise ProgramError(
        f"The replay of {getattr(target, '__qualname__', target)} is not what a capture gives: a "
        "defect of adjoint. A fact that the function depends on was not noted."
    )


def _forms(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key with primitives for operations, whose parameters may hold functions made anew."""
    types, records, outputs, *rest = key
    heads = [(_form(head), *slots) for head, *slots in records]
    return (types, heads, outputs, *rest)


def _form(head: Any) -> Any:
    return head.primitive.name if isinstance(head, Operation) else head


def _equivalent(path: Path, call: Call, constants: list[Any]) -> bool:
    """Whether other constants give the same results, as what `np.empty` held before does."""
    inputs = [unwrap(each) for each in call.arrays]
    own, expected = path.constants, path.run(inputs, sure=True)
    try:
        path.constants = constants
        found = path.run(inputs, sure=True)
    finally:
        path.constants = own
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
