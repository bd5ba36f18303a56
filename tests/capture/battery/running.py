"""One program, run by plain NumPy and in one of our ways, and what that came to.

Every way begins with fresh state, calls, and calls once more with the state that the first call
left, where NumPy does the same with the same. Derivatives are held to differences of the plain
program, which is brought to the same state first.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import numpy as np

import adjoint as ad
from tests.capture.battery.differences import (
    SINGLE,
    WITHIN,
    difference,
    direction,
    inexact_leaves,
    is_single,
    like,
    paired,
    places,
    size,
    total,
)
from tests.capture.battery.observing import (
    RIGHT,
    Outcome,
    Seen,
    Verdict,
    copied,
    different_numbers,
    different_values,
    judged,
    refused,
    unchanged,
    watched,
    wrong,
)
from tests.capture.battery.registry import PROGRAMS, Program

ROUNDS = 2  # calls with one state


class Subject:
    """A program, and what plain NumPy gives."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.args = program.args
        self.places = places(self.args)
        self.tangents = direction(self.args, program.along)

    @cached_property
    def wanted(self) -> list[Seen]:
        """The calls of plain NumPy, with one state."""
        function, state = self.program.make()
        seen = []
        for _ in range(ROUNDS):
            args = copied(self.args)
            each = watched(lambda args=args: function(*args))  # type: ignore[misc]
            each.state = copied(state())
            seen.append(each)
        return seen

    @cached_property
    def slopes(self) -> list[list[Any] | None]:
        """The derivatives of these calls, where there are any."""
        return [self._difference(number, 1) for number in range(ROUNDS)]

    def _difference(self, calls: int, order: int) -> list[Any] | None:
        if self.wanted[calls].error is not None or self.program.smooth < order:
            return None

        def run(*args: Any) -> Any:
            function, _ = self.program.make()
            for _ in range(calls):
                function(*copied(self.args))
            return function(*copied(args))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return difference(run, self.args, self.tangents, order, self.single)

    @cached_property
    def second(self) -> list[Any] | None:
        """The second derivative of the first call."""
        return self._difference(0, 2)

    @property
    def single(self) -> bool:
        """Whether anything is in single precision."""
        return is_single((self.args, self.wanted[0].value))

    @property
    def chosen(self) -> tuple[Any, ...]:
        """The arguments that a derivative is taken in."""
        return tuple(copied(self.args[n]) for n in self.places)

    def of_chosen(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function of these alone; itself, if there are no others."""
        if len(self.places) == len(self.args):
            return function

        def alone(*some: Any) -> Any:
            whole = list(copied(self.args))
            for place, arg in zip(self.places, some, strict=True):
                whole[place] = arg
            return function(*whole)

        return alone

    @property
    def is_scalar(self) -> bool:
        """Whether the result has a gradient."""
        value = self.wanted[0].value
        number = isinstance(value, (float, np.floating, np.ndarray))
        return number and np.ndim(value) == 0 and np.asarray(value).dtype.kind == "f"

    def called(
        self, call: Callable[..., tuple[Any, Any]], state: Callable[[], Any], args: Any
    ) -> Seen:
        """One call of ours: `call` gives the value and the slope."""
        before = copied(args)
        seen = watched(lambda: call(*args))
        if seen.error is None:
            seen.value, seen.slope = seen.value
        seen.kept = unchanged(args, before)
        seen.state = _told(state)
        return seen

    def held(self, number: int, found: Seen, differentiated: bool = True) -> Verdict:
        """A call of ours against NumPy's of the same number."""
        verdict = judged(self.wanted[number], found, differentiated=differentiated)
        wanted = self.slopes[number]
        if verdict.outcome is not Outcome.RIGHT or found.error or wanted is None:
            return verdict
        if not differentiated or found.slope is None:
            return verdict
        reason = self.different_slopes(wanted, found.slope, 1)
        if not reason:
            return verdict
        return refused("said: " + reason) if found.says_so else wrong(reason)

    def different_slopes(self, wanted: list[Any], found: Any, order: int) -> str:
        """How slopes differ from the differences; one number is for the sum of all."""
        bound = max(WITHIN[order], SINGLE if self.single else 0)
        if isinstance(found, Sum):
            wanted, leaves = [total(wanted)], [found.value]
        else:
            leaves = inexact_leaves(found)
        if len(leaves) != len(wanted):
            return f"{len(leaves)} slopes for {len(wanted)} values"
        scale = size(wanted)
        for one, other in zip(wanted, leaves, strict=True):
            if np.shape(one) != np.shape(other):
                return f"slope has the shape {np.shape(other)}, not {np.shape(one)}"
            if not np.all(np.abs(one - other) <= bound * scale):
                return f"derivative {order}: {other}, by differences {one}"
        return ""


def _told(state: Callable[[], Any]) -> Any:
    """The state, or why it cannot be told."""
    try:
        return copied(state())
    except Exception as error:
        return error


class Sum:
    """The slope of the sum of all entries of a result."""

    def __init__(self, value: float) -> None:
        self.value = value


# --- the ways -------------------------------------------------------------------------------------


def _paired(subject: Subject, back: Any) -> Sum:
    """Gradients, along the direction."""
    return Sum(paired(back, subject.tangents))


def _reverse(subject: Subject, function: Any, jitted: bool = False) -> Callable[..., Any]:
    """Value and gradient; the pullback of ones where the result is not a real number."""
    if subject.is_scalar or subject.wanted[0].error is not None:
        transformed = ad.value_and_grad(function, argnums=subject.places)
        transformed = ad.jit(transformed) if jitted else transformed

        def call(*args: Any) -> Any:
            value, back = transformed(*args)
            return value, _paired(subject, back)

        return call
    alone = subject.of_chosen(function)
    alone = ad.jit(alone) if jitted else alone

    def pulled(*args: Any) -> Any:
        value, pullback = ad.vjp(alone, *(args[n] for n in subject.places))
        seeds = ad.base.pytrees.tree_map(lambda v: like(v, np.ones(np.shape(v))), value)
        return value, _paired(subject, pullback(seeds))

    return pulled


def _forward(subject: Subject, function: Any) -> Callable[..., Any]:
    """Value and slope."""
    alone = subject.of_chosen(function)
    return lambda *args: ad.jvp(alone, tuple(args[n] for n in subject.places), subject.tangents)


def _valued(subject: Subject, function: Any) -> Callable[..., Any]:
    """The value alone, jitted."""
    jitted = ad.jit(function)
    return lambda *args: (jitted(*args), None)


def _in_rounds(make_call: Callable[[Subject, Any], Any], differentiated: bool = True) -> Any:
    """Calls with one state, and one with fresh state."""

    def way(subject: Subject) -> Verdict:
        function, state = subject.program.make()
        call = make_call(subject, function)
        for number in range(ROUNDS):
            found = subject.called(call, state, copied(subject.args))
            verdict = subject.held(number, found, differentiated)
            if verdict.outcome is not Outcome.RIGHT:
                return Verdict(verdict.outcome, f"call {number + 1}: {verdict.reason}")
        function, state = subject.program.make()
        call = make_call(subject, function)
        found = subject.called(call, state, copied(subject.args))
        verdict = subject.held(0, found, differentiated)
        return Verdict(verdict.outcome, f"fresh: {verdict.reason}")

    return way


def _batched(subject: Subject) -> Verdict:
    """A batch of two, against one example after the other."""
    args = subject.args
    move = ad.base.pytrees.tree_map
    near = list(args)
    for n in subject.places:
        near[n] = move(lambda x: like(x, np.asarray(x) * 1.003 + 0.001), args[n])
    rows = [copied(args), copied(tuple(near))]
    columns = tuple(
        move(lambda *each: np.stack([np.asarray(x) for x in each]), args[n], near[n])
        if n in subject.places
        else arg
        for n, arg in enumerate(args)
    )
    axes = tuple(0 if n in subject.places else None for n in range(len(args)))
    wanted = []
    for row in rows:
        row = tuple(
            move(lambda x: np.asarray(x)[()], arg)  # as a loop over the batch gives it
            if n in subject.places
            else arg
            for n, arg in enumerate(row)
        )
        function, _ = subject.program.make()
        wanted.append(watched(lambda row=row, function=function: function(*row)))  # type: ignore[misc]
    function, _ = subject.program.make()
    found = watched(lambda: ad.vmap(function, in_axes=axes)(*columns))
    return _held_batch(wanted, found)


def _held_batch(wanted: list[Seen], found: Seen) -> Verdict:
    if found.error is not None or any(each.error for each in wanted):
        failed = next((each for each in wanted if each.error), wanted[0])
        return judged(failed, found, differentiated=True)
    values = [ad.base.pytrees.leaves(each.value) for each in wanted]
    leaves = ad.base.pytrees.leaves(found.value)
    reason = "" if len(leaves) == len(values[0]) else f"gives {found.value!r}"
    for one, other, both in zip(*values, leaves, strict=False):
        if np.shape(one) != np.shape(other):
            return RIGHT  # no batch has both
        reason = reason or different_numbers(np.stack([one, other]), both, 1e-12)
    if not reason:
        return RIGHT
    return refused("said: " + reason) if found.says_so else wrong(reason)


def _nested(subject: Subject) -> Verdict:
    """A function that adds the program and the derivative of the program."""
    if subject.second is None or subject.slopes[0] is None:
        return judged(subject.wanted[0], _plain_error(subject), differentiated=True)
    first, _ = subject.program.make()
    second, _ = subject.program.make()
    alone, other = subject.of_chosen(first), subject.of_chosen(second)

    def outer(*some: Any) -> Any:
        own = [x.copy() if isinstance(x, np.ndarray) else x for x in some]  # it may be written into
        return alone(*own), ad.jvp(other, some, subject.tangents)[1]

    chosen = subject.chosen
    found = watched(lambda: ad.jvp(outer, chosen, subject.tangents))
    if found.error is not None:
        return judged(subject.wanted[0], found, differentiated=True)
    (value, slope), (slope_too, second_slope) = found.value
    reason = (
        different_values(subject.wanted[0].value, value)
        or subject.different_slopes(subject.slopes[0], slope, 1)
        or subject.different_slopes(subject.slopes[0], slope_too, 1)
        or subject.different_slopes(subject.second, second_slope, 2)
    )
    if not reason:
        return RIGHT
    return refused("said: " + reason) if found.says_so else wrong(reason)


def _plain_error(subject: Subject) -> Seen:
    """An inner derivative, for its value or its error."""
    function, state = subject.program.make()
    alone = subject.of_chosen(function)

    def call(*args: Any) -> Any:
        some = tuple(args[n] for n in subject.places)
        inner = ad.jvp(lambda *these: ad.jvp(alone, these, subject.tangents), some, some)[0]
        return inner[0], None

    return subject.called(call, state, copied(subject.args))


MODES: dict[str, Callable[[Subject], Verdict]] = {
    "grad": _in_rounds(_reverse),
    "jvp": _in_rounds(_forward),
    "jit": _in_rounds(_valued, differentiated=False),
    "jit_grad": _in_rounds(lambda subject, function: _reverse(subject, function, jitted=True)),
    "vmap": _batched,
    "nested": _nested,
}


@cache
def subject_of(name: str) -> Subject:
    """A program by its full name."""
    return Subject(PROGRAMS[name])


@cache
def outcome(name: str, mode: str) -> Verdict:
    """What a way to run a program came to."""
    subject = subject_of(name)
    with ad.config(native=None) if subject.program.native else contextlib.nullcontext():
        return MODES[mode](subject)
