"""Calls of recursive functions that a capture has recorded before, and need not run again.

A determinant by expansion of minors calls itself a million times with a few hundred different
arguments. A call whose arguments are the same slots and numbers writes the same records as an
earlier one, so that its result is the slot that is there already. That holds for functions that are
proven to do nothing but compute (`repeatable.py`), where the earlier call asked nothing and wrote
into nothing. Only then is a result remembered, and only numbers are: they cannot be written into,
and each time a new object stands for one. Where NumPy has warned, the call is run again and what it
gives is the earlier slot still: programs do not depend on what is warned of.

Nothing is remembered before a function has been called some hundred times: a capture of an ordinary
function pays nothing for this.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple
from weakref import ref

import numpy as np

from adjoint.capture.clones.entering.clone import Stand
from adjoint.capture.clones.remembering.repeatable import Proof, proof_of
from adjoint.capture.recording.effects.floating_point import noted_modes
from adjoint.capture.recording.tracing.trace import Trace, captures, current
from adjoint.capture.recording.tracing.traced import Traced, from_slot, kind_of

_AFTER: Final = 256  # calls in one capture, from where on they are remembered
_DEPTH: Final = 16  # of remembered calls within each other, as each takes frames of the stack
_IN_VAIN: Final = 4096  # calls that were remembered, where few came again
_EXACT: Final = frozenset({int, bool, str, type(None)})  # which are equal as they are the same
_IMMUTABLE: Final = frozenset({float, complex, np.float64, np.float32, np.complex128, np.complex64})


class _CallResult(NamedTuple):
    """What a call gave.

    traced, held: its traced arguments, weakly, and its floats, which the key names. silent: whether
    NumPy warned of nothing.
    """

    slot: int
    value: Any
    traced: tuple[tuple[ref[Traced], int], ...]
    held: tuple[float, ...]
    silent: bool


class _ArgumentsTold:
    """What is told of arguments on the way to their key."""

    __slots__ = ("held", "traced")

    def __init__(self) -> None:
        self.traced: list[Traced] = []
        self.held: list[float] = []


class _UntoldArgument(Exception):
    """An argument that may change, or that is not told from others."""


class Calls:
    """The calls of one function in one capture. call: its clone."""

    __slots__ = ("call", "count", "depth", "function", "hits", "proof", "results")

    def __init__(self, function: Any, call: Callable[..., Any]) -> None:
        self.function = function
        self.call = call
        self.count = self.hits = self.depth = 0
        self.proof: Proof | None = None
        self.results: dict[Any, _CallResult] = {}

    def looked_up(self) -> Any:
        """What is to be called: the clone, or what remembers its calls."""
        self.count += 1
        if self.count <= _AFTER or self.depth >= _DEPTH:
            return self.call
        if self.proof is None:
            if self.count > _AFTER + 1:
                return self.call  # there is none
            self.proof = proof_of(self.function)
            if self.proof is None:
                return self.call
        if len(self.results) > _IN_VAIN + 8 * self.hits:
            return self.call
        return self._recall

    def _recall(self, *args: Any, **kwargs: Any) -> Any:
        trace, modes = current(), noted_modes()
        if kwargs or trace is None or modes is None or not self._may_recall(trace):
            return self.call(*args, **kwargs)
        if self.depth:
            return self._known_or_run(args, trace, modes)
        try:
            return self._known_or_run(args, trace, modes)
        except RecursionError:  # which there may be for the frames that remembering takes
            self.proof = None
            return self.call(*args)  # once more, as it only computes

    def _known_or_run(self, args: tuple[Any, ...], trace: Trace, modes: Any) -> Any:
        arguments = _ArgumentsTold()
        # Records that were set apart since, as by the end of an `errstate`, are not used again.
        apart = len(trace.quiet), len(trace.failed)
        try:
            key = (modes, apart, *[_key(argument, trace, arguments) for argument in args])
        except _UntoldArgument:
            return self.call(*args)
        known = self.results.get(key)
        if known is not None and all(
            [kept() is x for (kept, _), x in zip(known.traced, arguments.traced, strict=True)]
        ):
            self.hits += 1
            if not known.silent:
                self._run_within(args)  # for its warnings alone, which depend on values
            return from_slot(trace, known.slot, known.value)
        return self._run(args, key, arguments, trace)

    def _run(self, args: Any, key: Any, arguments: _ArgumentsTold, trace: Trace) -> Any:
        """Call the function, and remember what it gave if it did nothing else."""
        before = _noted()
        traced = tuple([(ref(x), x._slot) for x in arguments.traced])
        result = self._run_within(args)
        if _is_new_number(result, trace, arguments) and before == _noted():
            slots = [x._slot for x in arguments.traced]
            unwritten = slots == [slot for _, slot in traced]
            if unwritten and self._may_recall(trace):
                held, silent = tuple(arguments.held), not any([len(x.said) for x in captures()])
                self.results[key] = _CallResult(result._slot, result._value, traced, held, silent)
        return result

    def _run_within(self, args: Any) -> Any:
        self.depth += 1
        try:
            return self.call(*args)
        finally:
            self.depth -= 1

    def _may_recall(self, trace: Trace) -> bool:
        """Whether a call can be what an earlier one was, and is noted if it does more."""
        if (
            self.proof is None
            or current() is not trace
            or trace.remembered.get(self.function) is not self
        ):
            return False
        if not all(map(_is_usual, captures())):
            return False
        return self.proof.holds()


def _is_new_number(result: Any, trace: Trace, arguments: _ArgumentsTold) -> bool:
    """Whether a result is a traced number that is none of the arguments."""
    return (
        type(result) is Traced
        and result._trace is trace
        and _is_apart(result._state)
        and kind_of(result) in _IMMUTABLE
        and not any([result is argument for argument in arguments.traced])
    )


def _is_apart(state: Any) -> bool:
    """Whether an array is no view, and has none."""
    return state is None or (state.base is None and not state.viewed and not state.aliases)


def _is_usual(trace: Trace) -> bool:
    """Whether a capture computes values, and nothing was noted that may hide what is noted next."""
    return (
        trace.valued
        and not trace.witness
        and not trace.inside
        and trace.lines is None
        and not trace.effects
        and trace.refusal is None
    )


def _noted() -> list[tuple[Any, ...]]:
    """How much the captures under way have noted besides records."""
    return [
        (
            *(len(trace.questions), len(trace.guards or ()), len(trace.effects), len(trace.ran)),
            *(len(trace.failed), len(trace.supposed), len(trace.stale)),
            *(trace.asked, trace.survivors, trace.refusal),
        )
        for trace in captures()
    ]


def _key(value: Any, trace: Trace, arguments: _ArgumentsTold) -> Any:
    """What tells an argument from all others in a capture."""
    kind = type(value)
    if kind is Traced:
        state = value._state
        if value._trace is not trace or kind_of(value) is type(None):
            raise _UntoldArgument
        if state is not None and (state.base is not None or state.aliases or state.flat):
            raise _UntoldArgument
        arguments.traced.append(value)
        return Traced, id(value), value._slot
    if kind in _EXACT:
        return kind, value
    if kind is float:  # by identity: one object is one input of the program
        arguments.held.append(value)
        return kind, id(value)
    if kind is tuple:
        return kind, tuple([_key(entry, trace, arguments) for entry in value])
    raise _UntoldArgument


def is_recursive(function: types.FunctionType) -> bool:
    """Whether a function looks up its own name more than once a call: in two places, or a loop.

    Else each of its calls has arguments of its own, as in a recursion that only goes deep.
    """
    code = function.__code__
    return function.__name__ in code.co_names and _is_branching(code)


@lru_cache(maxsize=1024)
def _is_branching(code: types.CodeType) -> bool:
    instructions = list(dis.get_instructions(code))
    own = [x for x in instructions if x.opname == "LOAD_GLOBAL" and x.argval == code.co_name]
    loops = any(x.opname == "FOR_ITER" or "BACKWARD" in x.opname for x in instructions)
    return len(own) > 1 or (len(own) == 1 and loops)


def remembering(stand: Stand) -> Any:
    """What a clone calls for a function that is recursive."""
    trace, function, call = current(), stand.value, stand.called
    if trace is None:
        return call
    calls = trace.remembered.get(function)
    if calls is None or calls.call is not call:
        calls = trace.remembered[function] = Calls(function, call)
    return calls.looked_up()
