"""What a function does besides giving a result: numbers that it draws, and text that it prints.

Neither is in a program, and both are to happen at every call. So they are written down in order:
a *script*, which a replay follows. Draws come first. They are made anew by the same generators, and
are inputs of the program, as constants are; then what the program gives is printed.

A script is written in a second capture, the *rehearsal*, in which what is drawn is traced and
nothing is printed. The first one, whose results count, tells whether there is anything to rehearse.
"""

from __future__ import annotations

import logging
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.capture.recording.tracing.constants import same_memory
from adjoint.capture.recording.tracing.places import user_line
from adjoint.capture.recording.tracing.trace import captures, note_effect, outermost
from adjoint.capture.recording.tracing.traced import from_slot

State = Any
_SCALARS: Final = frozenset({int, float, complex})
_ATOMS: Final = frozenset({type(None), bool, str, bytes, *_SCALARS, range, np.dtype})
GENERATORS: Final[dict[type, tuple[Callable[[Any], State], Callable[[Any, State], None]]]] = {
    np.random.Generator: (
        lambda rng: rng.bit_generator.state,
        lambda rng, state: setattr(rng.bit_generator, "state", state),
    ),
    np.random.RandomState: (
        lambda rng: rng.get_state(legacy=False),
        lambda rng, state: rng.set_state(state),
    ),
    random.Random: (lambda rng: rng.getstate(), lambda rng, state: rng.setstate(state)),
}
# What gives a generator, or something that a generator is made of.
MAKERS: Final[tuple[Any, ...]] = (
    *(np.random.default_rng, np.random.RandomState, np.random.Generator, np.random.SeedSequence),
    *(np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64),
    random.Random,
)
# Those that the functions of the modules draw from.
_functions: Any = (np.random.normal, random.random)
GLOBAL: Final[tuple[Any, ...]] = tuple(function.__self__ for function in _functions)
_IN_PLACE: Final = frozenset({"shuffle"})


class Unplayable(Exception):
    """A script cannot be followed: the function is to be captured, as if nothing had been kept."""


class _Unfit(Exception):
    """Something that a script cannot hold."""


class _StepResult(NamedTuple):
    """Stands for what an earlier step made."""

    step: int


class _Number(NamedTuple):
    """Stands for a number or an array that was drawn: its type, and what NumPy's has."""

    kind: type
    dtype: Any
    shape: tuple[int, ...]


class GeneratorCall(NamedTuple):
    """A draw: `function(*args, **kwargs)`, or a method of that name, of `owner`.

    gives: the form of its result; None for what makes a generator. line: the user's.
    """

    owner: Any
    function: Any
    args: Any
    kwargs: dict[str, Any]
    gives: Any
    line: str


class Printed(NamedTuple):
    """What is printed at once: text, and values that are shown. line: the user's."""

    pieces: tuple[Any, ...]
    flush: bool
    line: str


def _is_shown(piece: Any) -> bool:
    return type(piece) is not str


class Script:
    """What one capture draws and prints.

    rehearses: whether draws are traced. steps: the draws. places: which constants of the trace they
    give, in order. prints: whether a value was shown, or something printed. printed: what. file:
    what was printed to when it began. unlogged: levels of loggers that something was logged at in
    vain. before: the generators that were there before the call, each with its state at its first
    draw.
    """

    def __init__(self, rehearses: bool) -> None:
        self.rehearses = rehearses
        self.file = sys.stdout
        self.steps: list[GeneratorCall] = []
        self.places: list[int] = []
        self.prints = False
        self.printed: list[Printed] = []
        self.unlogged: list[tuple[logging.Logger, int]] = []
        self.before: dict[int, tuple[Any, State]] = {}
        self._generators: dict[int, tuple[Any, int]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do at a replay."""
        return not (self.steps or self.prints or self.printed or self.unlogged)

    @property
    def slots(self) -> tuple[int, ...]:
        """What a program gives for it to be printed."""
        return tuple(
            [piece.slot for line in self.printed for piece in line.pieces if _is_shown(piece)]
        )

    def lines(self) -> list[tuple[str, str]]:
        """What it does, and the lines of the user's that say so."""
        names = [getattr(step.function, "__name__", step.function) for step in self.steps]
        drawn = [
            (f"draws with {name}" if step.gives is not None else f"makes a {name}", step.line)
            for name, step in zip(names, self.steps, strict=True)
        ]
        return drawn + [("prints", line.line) for line in self.printed]

    # --- writing

    def draw(self, owner: Any, called: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of the user's that draws, made and written down.

        owner: the generator; None for a function that makes one.
        """
        name = getattr(called, "__name__", "")
        source: Any = owner
        if id(owner) in self._generators:
            source = _StepResult(self._generators[id(owner)][1])
        elif owner is not None and id(owner) not in self.before:
            self.before[id(owner)] = (owner, GENERATORS[type(owner)][0](owner))
        try:
            if name in _IN_PLACE or "out" in kwargs:
                raise _Unfit
            held = self._all_held(args, kwargs)
        except _Unfit:
            held = None
        result = called(*args, **kwargs)
        try:
            if held is None or not _alike(held, self._all_held(args, kwargs)):
                raise _Unfit
            if _is_part(result, (args, *kwargs.values())):
                raise _Unfit
            making = called in MAKERS
            gives = None if making else _form(result)
        except _Unfit:
            note_effect(f"it draws random numbers in a way that is not replayed ({name})")
            return result
        function = name if owner is not None and type(called) not in _FUNCTIONS else called
        self.steps.append(GeneratorCall(source, function, *held, gives, user_line()))
        if making:
            self._generators.setdefault(id(result), (result, len(self.steps) - 1))
            return result
        return self._lifted(result) if self.rehearses else result

    def _all_held(self, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return self._held(args), {name: self._held(argument) for name, argument in kwargs.items()}

    def _held(self, argument: Any) -> Any:
        """An argument as the script keeps it."""
        kind = type(argument)
        if kind in _ATOMS or isinstance(argument, (type, np.generic, np.dtype)):
            return argument
        if id(argument) in self._generators:
            return _StepResult(self._generators[id(argument)][1])
        if kind in (list, tuple):
            return kind(map(self._held, argument))
        if type(argument) is np.ndarray and argument.dtype.kind in "biufc":
            return argument.copy()
        raise _Unfit

    def _lifted(self, result: Any) -> Any:
        """What was drawn as traced values, for which the program has inputs."""
        if type(result) in (list, tuple):
            return type(result)(map(self._lifted, result))
        if result is None:
            return None
        trace = captures()[0]
        self.places.append(len(trace.constants))
        kept = result.copy() if isinstance(result, np.ndarray) else result
        return from_slot(trace, trace.constant(kept, type_of(kept)), result)

    def print(self, pieces: Sequence[Any], flush: bool) -> None:
        """Write down what is printed: text, and values that are shown."""
        self.printed.append(Printed(tuple(pieces), flush, user_line()))

    # --- following

    def say(self, values: Sequence[Any]) -> None:
        """Print, with what the program gives for `slots`."""
        waiting = iter(values)
        for pieces, flush, _ in self.printed:
            parts = [piece.text(next(waiting)) if _is_shown(piece) else piece for piece in pieces]
            print("".join(parts), end="", flush=flush)

    def states(self) -> list[tuple[Any, State]]:
        """The generators that were there before the call, and their states now."""
        return states_now(self.before.values())

    def drawn(self) -> list[Any]:
        """What is drawn anew, in the order of `places`; Unplayable if it is of another kind."""
        if any([logger.isEnabledFor(level) for logger, level in self.unlogged]):
            raise Unplayable
        results: list[Any] = []
        numbers: list[Any] = []
        for owner, function, args, kwargs, gives, _ in self.steps:
            called = function
            if type(function) is str:
                generator = results[owner.step] if type(owner) is _StepResult else owner
                called = getattr(generator, function)
            if results:
                args = _filled(args, results)
                kwargs = {name: _filled(argument, results) for name, argument in kwargs.items()}
            result = called(*args, **kwargs)
            results.append(result)
            if gives is not None:
                _collect(result, gives, numbers)
        return numbers


_FUNCTIONS: Final = frozenset({type(np.random.default_rng), type})
_WHOLE: Final = {int}


def states_now(states: Iterable[tuple[Any, State]]) -> list[tuple[Any, State]]:
    """The same generators, and the states that they are in now."""
    return [(rng, GENERATORS[type(rng)][0](rng)) for rng, _ in states]


def same_states(states: Iterable[tuple[Any, State]], others: Iterable[tuple[Any, State]]) -> bool:
    """Whether generators are in the same states."""
    return all(_alike(one, other) for (_, one), (_, other) in zip(states, others, strict=True))


def restore(states: Iterable[tuple[Any, State]]) -> None:
    """Put generators back into states that they were in."""
    for rng, state in states:
        GENERATORS[type(rng)][1](rng, state)


def script_under_way() -> Script | None:
    """The script that the captures under way write, if they do."""
    trace = outermost()
    return None if trace is None else trace.script


def _form(result: Any) -> Any:
    """What a replay must draw as well."""
    kind = type(result)
    if kind in (list, tuple):
        return kind(map(_form, result))
    if kind in _SCALARS:
        return _Number(kind, None, ())
    if (kind is np.ndarray or isinstance(result, np.generic)) and result.dtype.kind in "biufc":
        return _Number(kind, result.dtype, result.shape)
    if result is None:
        return ()
    raise _Unfit


def _is_part(result: Any, given: Any) -> bool:
    """Whether something that may be written into was drawn from what was given, and not a copy."""
    kind = type(result)
    if kind is list or kind is tuple:
        within = kind is list and any(container is result for container in _lists(given))
        return within or any(_is_part(part, given) for part in result)
    if kind is not np.ndarray:
        return False
    return any(type(x) is np.ndarray and np.may_share_memory(x, result) for x in _lists(given))


def _lists(given: Any) -> Iterator[Any]:
    """The lists and arrays among arguments."""
    if type(given) is not tuple:
        yield given
    if type(given) in (list, tuple):
        for part in given:
            yield from _lists(part)


def _collect(result: Any, form: Any, numbers: list[Any]) -> None:
    """Add the numbers of a result to those drawn, if they are of that form."""
    kind = type(form)
    if kind is _Number:
        alike = type(result) is form.kind
        if alike and form.dtype is not None:
            alike = result.dtype == form.dtype and result.shape == form.shape
        if not alike:
            raise Unplayable
        numbers.append(result)
    elif form != () or result is not None:
        if type(result) is not kind or len(result) != len(form):
            raise Unplayable
        for part, part_form in zip(result, form, strict=True):
            _collect(part, part_form, numbers)


def _filled(argument: Any, results: list[Any]) -> Any:
    """An argument with what was made in its places."""
    if type(argument) is _StepResult:
        return results[argument.step]
    if type(argument) in (list, tuple):
        return type(argument)([_filled(part, results) for part in argument])
    return argument


def _alike(one: Any, other: Any) -> bool:
    """Whether arguments, or states, are the same."""
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and same_memory(one, other)
    if type(one) in (list, tuple) and type(one) is type(other):
        if _WHOLE == {*map(type, one)} == {*map(type, other)}:  # hundreds of them, often
            return bool(one == other)
        return len(one) == len(other) and all(map(_alike, one, other))
    if type(one) is dict and type(other) is dict:
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    return one is other or (type(one) is type(other) and bool(one == other))
