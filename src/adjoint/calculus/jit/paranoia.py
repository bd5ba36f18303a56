"""Debug mode: what is replayed is captured too, and both must be the same program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from adjoint.base.errors import ProgramError
from adjoint.calculus.jit.calls import Call
from adjoint.calculus.jit.capturing import (
    again_of,
    constants_of,
    guards_of,
    rehearsal,
    survey_of,
    widened,
)
from adjoint.calculus.jit.paths import Path
from adjoint.capture import Captured, Traced, unwrap
from adjoint.capture.facts.writing import same
from adjoint.capture.recording.tracing.constants import same_memory
from adjoint.capture.recording.tracing.guards import Guard
from adjoint.loops import WHILE
from adjoint.pipeline import forget_capture, prepare
from adjoint.program import Operation

# Whether what runs now is such a capture.
under_way: ContextVar[bool] = ContextVar("adjoint_check_of_replay", default=False)


def check_replay(path: Path, target: Any, call: Call, wide: tuple[str, ...]) -> None:
    """ProgramError unless a capture of this call gives the program that is about to be replayed."""
    if path.key is None or call.traced:
        return
    if wide:
        call = widened(call, survey_of(call, frozenset(wide)))
    captured = _anew(again_of(target, call), path)
    if captured is None or _differs_in_answers(captured, path.guards):
        return
    constants = constants_of(captured, guards_of(captured), path.script)
    own = _own_constants(path, path.constants, constants)
    same_constants = _all_alike(constants, own)
    if _same_program(captured, path.key, path.treedef, path) and (
        same_constants or _equivalent(path, call, constants, own)
    ):
        return
    if _loops(captured.key) or _loops(path.key):
        inputs = [unwrap(leaf) for leaf in call.arrays]
        results = path.run(inputs, sure=True, constants=own)
        plain = [unwrap(constant) for constant in captured.constants]
        if _close(_run(captured, inputs, plain), results):
            return
    raise _defect(target)


def check_capture(
    function: Any,
    kept: Captured,
    path: Path,
    again: Callable[..., Captured],
    arrays: Sequence[Any],
) -> None:
    """ProgramError unless a capture of this call gives the one that is kept. again: makes it.

    path: what tells whether that is right. arrays: the inputs.
    """
    captured = _anew(again, path)
    if captured is None or _differs_in_answers(captured, path.guards):
        return
    constants = [unwrap(constant) for constant in captured.constants]
    outputs = captured.outputs[: len(kept.outputs)]  # without what is printed
    captured = Captured(captured.trace, outputs, captured.treedef, captured.cells)
    own = _own_constants(path, kept.constants, constants)
    if _same_program(captured, kept.key[0].parts, kept.form, path) and (
        _all_alike(constants, own) or _same_values(captured, arrays, constants, own)
    ):
        return
    if _loops(captured.key) or _loops(kept.key[0].parts):
        results = [_run(one, arrays, given) for one, given in ((captured, constants), (kept, own))]
        if _close(*results):
            return
    raise _defect(function)


def _loops(key: tuple[Any, ...]) -> bool:
    """Whether there are loops in a program that end by values.

    A loop of Python's may have too few rounds to be one, so that the same function has another
    program, with the same results.
    """
    return any(type(head) is Operation and head.primitive is WHILE for head in key[2])


def _run(captured: Captured, arrays: Sequence[Any], constants: list[Any]) -> Sequence[Any]:
    """The results of a captured program."""
    compiled = prepare("value", captured, lambda program, _: (program, (), None))
    forget_capture()
    return compiled([*arrays, *constants])


def _close(actual: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Whether results are the same but for rounding."""
    return len(actual) == len(expected) and all(
        np.shape(one) == np.shape(other) and np.allclose(one, other, 1e-6, 1e-9, equal_nan=True)
        for one, other in zip(actual, expected, strict=True)
    )


def _same_values(
    captured: Captured, arrays: Sequence[Any], constants: list[Any], own: list[Any]
) -> bool:
    """Whether other constants give the same results; see `_equivalent`."""
    actual, expected = (_run(captured, arrays, closure) for closure in (constants, own))
    return _same_results(actual, expected)


def _own_constants(path: Path, kept: Sequence[Any], constants: list[Any]) -> list[Any]:
    """The constants that are kept; of those that a path draws, what was found."""
    own = list(kept)
    for place in () if path.script is None else path.script.places:
        own[place] = constants[place] if place < len(constants) else None
    return own


def _anew(again: Callable[..., Captured], path: Path) -> Captured | None:
    """A capture that nobody hears of; None where it fails, as the run will as well."""
    script = path.script
    under_way.set(True)
    try:  # the run will warn
        return rehearsal(again, [] if script is None else script.states())
    except Exception:  # of the user's code: the run will raise it
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


def _same_program(captured: Captured, key: Any, treedef: Any, path: Path) -> bool:
    return (
        _forms(captured.key) == _forms(key)
        and captured.form == treedef
        and len(captured.trace.guards or ()) == len(path.guards)
    )


def _defect(function: Any) -> ProgramError:
    return ProgramError(
        f"The replay of {getattr(function, '__qualname__', function)} is not what a capture "
        "gives: a defect of adjoint. A fact that the function depends on was not noted."
    )


def _forms(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key with primitives for operations, whose parameters may hold functions made anew."""
    types, constants, heads, *rest = key
    return (types, constants, list(map(_form, heads)), *rest)


def _form(head: Any) -> Any:
    return head.primitive.name if isinstance(head, Operation) else head


def _equivalent(path: Path, call: Call, constants: list[Any], own: list[Any]) -> bool:
    """Whether other constants give the same results, as what `np.empty` held before does."""
    inputs = [unwrap(leaf) for leaf in call.arrays]
    expected = path.run(inputs, sure=True, constants=own)
    actual = path.run(inputs, sure=True, constants=constants)
    return _same_results(actual, expected)


def _same_results(actual: Sequence[Any], expected: Sequence[Any]) -> bool:
    return all(
        np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind in "fc")
        for one, other in zip(actual, expected, strict=True)
    )


def _all_alike(constants: list[Any], own: list[Any]) -> bool:
    return len(constants) == len(own) and all(map(_alike, constants, own))


def _alike(one: Any, other: Any) -> bool:
    if type(one) is Traced or type(other) is Traced:
        return False
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and same_memory(one, other)
    return same(one, other)
