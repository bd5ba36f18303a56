"""NumPy's own values beside what is recorded.

What the user's code does with a traced array is done twice: *theirs*, by NumPy, on values, which
settles dtype, shape, layout, errors and warnings; and *ours*, which writes records. While ours runs
it is *inside*: it is not the user who calls, and nothing is computed but what ours asks for.

Where both do not agree, ours is refused: a program of another dtype or shape than NumPy's is never
kept. A refusal is remembered, so that the capture ends with it even if the user's code catches it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from adjoint.base.errors import AdjointError, UnsupportedFunctionError, ValueNeededError
from adjoint.capture.recording.tracing.trace import Trace, captures, inside, note_effect
from adjoint.capture.recording.tracing.traced import (
    Traced,
    is_known,
    state_of,
    synchronise,
    value_of,
    wrap,
)
from adjoint.capture.recording.values.agreement import agreed
from adjoint.capture.recording.values.asking import later
from adjoint.capture.recording.values.awaited_arrays import (
    AwaitedArray,
    MeetsAwaited,
    holds_awaited,
    stood_for,
)
from adjoint.capture.recording.values.containers import (
    Filled,
    MeetsContainer,
    check_written,
    combined,
    first_container,
    is_container,
    plain_numbers,
)
from adjoint.capture.recording.values.postponed import Postponed
from adjoint.capture.recording.values.recipes import RECIPES, Asked, asked_of, followed
from adjoint.program import Operation

AFTER_ERROR: Final = "it goes on after an error that depends on values"
Function = Callable[..., Any]


class Unvalued(Exception):
    """An argument has no value."""


# --- values ---------------------------------------------------------------------------------------


def plain(argument: Any) -> Any:
    """An argument with values in the place of traced arrays; Unvalued where one has none."""
    kind = type(argument)
    if kind is Traced:
        value = argument._value if argument._state is None else value_of(argument)
        if value is None:
            raise Unvalued
        return value
    if kind in _ATOMS:
        return argument
    if kind is np.poly1d:
        return np.poly1d(plain(argument.coeffs))
    if isinstance(argument, list):
        return [plain(part) for part in argument]
    if isinstance(argument, tuple):
        return tuple([plain(part) for part in argument])
    if kind is dict:
        return {name: plain(part) for name, part in argument.items()}
    if kind is slice:
        return slice(plain(argument.start), plain(argument.stop), plain(argument.step))
    if isinstance(argument, AwaitedArray):
        raise MeetsAwaited
    if kind is Filled or is_container(argument):
        raise MeetsContainer
    return argument


# --- both at once ---------------------------------------------------------------------------------


def beside(theirs: Function, ours: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function of the user's call: NumPy's result, and ours recorded beside it."""
    stack = captures()
    if stack and stack[-1].inside:
        return ours(*args, **kwargs)
    if stack and stack[-1].late:
        postponed = later(theirs, args, kwargs)
        if postponed is not None:
            return _recorded(stack, theirs, ours, postponed, None, args, kwargs)
    alone = len(stack) == 1 and stack[0].valued and ours in RECIPES
    asked = asked_of(stack[0], args, kwargs) if alone else None
    if asked is not None:
        values, named = asked.values, asked.named
    else:
        try:
            values = [x if type(x) in _ATOMS else plain(x) for x in args]
            named = {name: plain(value) for name, value in kwargs.items()} if kwargs else kwargs
        except MeetsContainer:
            return _with_containers(theirs, ours, args, kwargs)
        except MeetsAwaited:
            return beside(theirs, ours, stood_for(tuple(args)), stood_for(kwargs))
        except Unvalued:
            if holds_awaited((*args, kwargs)):
                return beside(theirs, ours, stood_for(tuple(args)), stood_for(kwargs))
            if first_container((*args, *kwargs.values())) is not None:
                return _with_containers(theirs, ours, args, kwargs)
            with refusing(), recording_for(args, kwargs):
                return ours(*args, **kwargs)
    try:
        expected = theirs(*values, **named)
    except Exception as error:  # NumPy's, which goes on
        note_failure(theirs, error)
        raise
    return _recorded(stack, theirs, ours, expected, asked, args, kwargs)


def _recorded(
    stack: list[Trace],
    theirs: Function,
    ours: Function,
    expected: Any,
    asked: Asked | None,
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> Any:
    """What ours records, with NumPy's result, which is there or is postponed."""
    if len(stack) != 1:
        with refusing():
            with recording_for(args, kwargs):
                result = ours(*args, **kwargs)
            return agreed(expected, result, args)
    trace = stack[0]  # as above, without the contexts: the usual case
    if asked is not None:
        result = followed(ours, trace, asked, args, kwargs)
        if result is not None:
            return agreed(expected, result, args)
    refusal = trace.refusal
    trace.inside = True
    trace.calls.append((args, kwargs))
    try:
        result = ours(*args, **kwargs)
        trace.inside = False
        return agreed(expected, result, args)
    except Exception as error:
        if _without_entries((args, kwargs)):
            trace.refusal = refusal
            return wrap(expected.taken() if type(expected) is Postponed else expected)
        refusal = _as_refusal(error, theirs)
        refuse(refusal)
        raise refusal from (None if refusal is error else error)
    finally:
        trace.inside = False
        trace.calls.pop()


def _with_containers(
    theirs: Function, ours: Function, args: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    """The same where containers of other libraries are among the arguments."""

    def recorded(*numbers: Any, **named: Any) -> Any:
        return beside(theirs, ours, numbers, named)

    return combined(theirs, recorded, args, kwargs)


def _as_refusal(error: Exception, theirs: Function) -> Exception:
    """What NumPy does and ours failed at is refused by type; NumPy's errors came before."""
    if isinstance(error, AdjointError):
        return error
    name = getattr(theirs, "__name__", str(theirs))
    return UnsupportedFunctionError(
        f"{name} gives a value for these arguments, and its record cannot be made of traced "
        f"arrays: {type(error).__name__}: {error}."
    )


def _without_entries(arguments: Any) -> bool:
    """Whether no traced array among arguments has an entry: what follows from them is constant."""
    if type(arguments) is Traced:
        return not arguments.size
    if isinstance(arguments, (list, tuple)):
        return all(map(_without_entries, arguments))
    return not isinstance(arguments, dict) or all(map(_without_entries, arguments.values()))


_IN_ONE: Final = (
    "raised, and caught, in a function that runs for a whole batch (inside vmap), where each "
    "example may fail or not. Choose with np.where, or with ad.cond."
)


def note_failure(theirs: Function, error: Exception) -> None:
    """Note an error of NumPy's or Python's: in one of a batch it says nothing of the others."""
    note_effect(AFTER_ERROR)
    stack = captures()
    if stack and stack[-1].witness and _decided_by_values(theirs, error):
        refusal = ValueNeededError(f"{type(error).__name__} was {_IN_ONE}")
        refusal.__cause__ = error  # which a capture gives way to, unless the user's code catches it
        refuse(refusal)


def _decided_by_values(theirs: Function, error: Exception) -> bool:
    """Whether an error comes of the values of one example, and not of shapes and types."""
    if isinstance(error, (ArithmeticError, np.linalg.LinAlgError)):
        return True
    return isinstance(error, ValueError) and theirs.__module__ in ("math", "cmath")


_ATOMS: Final = frozenset({float, int, bool, str, type(None), np.ndarray, np.float64})


def writing(
    targets: Sequence[Traced],
    theirs: Function,
    ours: Function,
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> Any:
    """A function that writes into traced arrays: ours first, since it reads what was there.

    If NumPy then refuses, what was recorded is as if it had not been.
    """
    if inside():
        return ours(*args, **kwargs)
    if holds_awaited((*args, kwargs)):
        args, kwargs = stood_for(tuple(args)), stood_for(kwargs)
    try:
        values, named = plain(list(args)), plain(kwargs)
    except MeetsContainer:
        check_written(theirs, args, kwargs)
        return writing(targets, theirs, ours, plain_numbers(args), plain_numbers(kwargs))
    except Unvalued:
        with refusing(), recording_for(args, kwargs):
            return ours(*args, **kwargs)
    if not any_slot(args) and not any_slot(kwargs):
        return ours(*args, **kwargs)  # all is known: NumPy's own writing
    before = [(x, x._trace, x._slot, x._value) for target in targets for x in _chain(target)]
    starts = [(trace, len(trace.records)) for trace in captures()]
    refusals = [(trace, trace.refusal) for trace in captures()]

    def undo() -> None:
        for array, trace, slot, value in before:
            array._trace, array._slot, array._value = trace, slot, value
            state_of(array).version += 1
        for capture, start in starts:
            for number in range(start, len(capture.records)):
                if isinstance(capture.records[number][0], Operation):
                    capture.failed.add(number)

    numpys = None
    try:
        with recording_for(args, kwargs):
            result = ours(*args, **kwargs)
    except Exception as error:
        undo()
        numpys = _error_of(theirs, values, named)
        if numpys is None:
            refuse(error)  # for NumPy would have done it
            raise
    if numpys is not None:  # which goes on, and ours is forgotten
        for trace, refusal in refusals:
            trace.refusal = refusal
        note_effect(AFTER_ERROR)
        raise numpys
    if all(map(is_known, targets)) and all(trace is None for _, trace, _, _ in before):
        return result  # a question was asked, and NumPy has written
    for array, _, _, value in before:
        array._value = value
    try:
        expected = theirs(*values, **named)
    except Exception:  # NumPy's, which goes on
        undo()
        note_effect(AFTER_ERROR)
        raise
    return agreed(expected, result, args)


def raises(theirs: Function, args: Any, kwargs: Any) -> bool:
    """Whether a function raises an error for values as they are; true where they are not known."""
    try:
        values, named = plain(list(args)), plain(kwargs)
    except Unvalued:
        return True
    return _error_of(theirs, values, named) is not None


def _error_of(theirs: Function, values: Any, named: dict[str, Any]) -> Exception | None:
    """What NumPy raises for these arguments, or would for copies of them; None if it does not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs(*map(apart, values), **{name: apart(value) for name, value in named.items()})
    except Exception as error:
        error.__context__ = None  # it does not follow from an error of ours
        return error
    return None


def apart(value: Any) -> Any:
    """A copy of what could be written into."""
    if isinstance(value, np.ndarray):
        copy = value.copy()
        copy.flags.writeable = value.flags.writeable
        return copy
    return tuple(map(apart, value)) if type(value) is tuple else value


def any_slot(argument: Any) -> bool:
    """Whether an argument is, or holds, a traced array that is not known."""
    if type(argument) is Traced:
        return not is_known(argument)
    if type(argument) is Filled:
        return True
    if isinstance(argument, (list, tuple)):
        return any(map(any_slot, argument))
    return isinstance(argument, dict) and any(map(any_slot, argument.values()))


def _chain(target: Traced) -> list[Traced]:
    """A traced array, and what it is a view of."""
    synchronise_any(target)
    chain = [target]
    while (state := chain[-1]._state) is not None and state.base is not None:
        chain.append(state.base)
    return chain


def synchronise_any(x: Traced) -> None:
    """Bring an array up to date, whether it is a view or not."""
    if x._state is not None:
        synchronise(x)


@contextmanager
def recording_for(args: Sequence[Any], kwargs: dict[str, Any]) -> Iterator[None]:
    """While ours runs for a call with these arguments, whose values ours may ask for."""
    before = [(trace, trace.inside) for trace in captures()]
    for trace, _ in before:
        trace.inside = True
        trace.calls.append((args, kwargs))
    try:
        yield
    finally:
        for trace, was in before:
            trace.inside = was
            trace.calls.pop()


@contextmanager
def users_code() -> Iterator[None]:
    """While a function of the user's runs that one of NumPy's was given."""
    before = [(trace, trace.inside) for trace in captures()]
    for trace, _ in before:
        trace.inside = False
    try:
        yield
    finally:
        for trace, was in before:
            trace.inside = was


@contextmanager
def refusing(kind: type[Exception] = Exception) -> Iterator[None]:
    """What is raised here is a refusal of ours, and outlives an `except` of the user's.

    kind: of the errors that are ours alone, where code of the user's may raise others.
    """
    try:
        yield
    except kind as error:
        refuse(error)
        raise


@contextmanager
def attempting() -> Iterator[None]:
    """What fails here is tried in another way, and is no refusal."""
    before = [(trace, trace.refusal) for trace in captures()]
    try:
        yield
    except Exception:
        for trace, refusal in before:
            trace.refusal = refusal
        raise


def refuse(error: Exception) -> None:
    """Remember that a capture was refused, whatever the user's code makes of the error."""
    for trace in captures():
        if trace.refusal is None:
            trace.refusal = error
