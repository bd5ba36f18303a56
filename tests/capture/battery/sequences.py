"""Programs, and changes between their calls: each call must give what NumPy gives at that moment.

A sequence is run from its beginning for every way, and for each end of the differences of each
step, so that one run cannot disturb another.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import numpy as np

import adjoint as ad
from tests.capture.battery.differences import (
    KINK,
    SINGLE,
    RoughError,
    direction,
    inexact_leaves,
    moved,
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
    judged,
    refused,
    unchanged,
    watched,
    wrong,
)
from tests.capture.battery.registry import SEQUENCES, Sequence

STEP = 1e-4
WIDE = 0.02  # where there is single precision
WITHIN = 1e-6
ROUGH = 1e-3

Runner = Callable[[Any, tuple[Any, ...]], Any]
"""Calls a function at a point: gives a value and a slope."""

Without = frozenset[int]
"""The numbers of calls that are left out of a sequence."""


def _steps(
    sequence: Sequence, run: Runner, count: int | None = None, without: Without = frozenset()
) -> list[Seen]:
    """The calls of a sequence: all, or the first ones. without: calls that are left out."""
    seen = []
    with warnings.catch_warnings(record=True) as log, _opened(sequence) as steps:
        warnings.simplefilter("always")
        for number, (function, *args) in enumerate(islice(steps, count)):
            if number in without:
                seen.append(Seen())
                continue
            before = copied(tuple(args))
            each = watched(lambda f=function, a=tuple(args): run(f, a), log)  # type: ignore[misc]
            if each.error is None:
                each.value, each.slope = each.value
            each.kept = unchanged(tuple(args), before)
            seen.append(each)
    return seen


@contextlib.contextmanager
def _opened(sequence: Sequence) -> Iterator[Any]:
    """The steps; the globals of their file are bound as before when they end."""
    names = vars(sys.modules[sequence.steps.__module__])
    before = dict(names)
    try:
        with contextlib.closing(sequence.steps()) as steps:  # type: ignore[type-var]
            yield steps
    finally:
        for name in [name for name in names if name not in before]:
            del names[name]
        for name, value in before.items():
            if name not in names or names[name] is not value:
                names[name] = value


def _plain(function: Any, args: tuple[Any, ...]) -> Any:
    """NumPy itself; arguments are not to be seen to change."""
    return by_hand(function)(*copied(args)), None


def by_hand(function: Any) -> Any:
    """A function of derivatives may say what they are."""
    return getattr(function, "by_hand", function)


def _moved_at_last(number: int, step: float) -> Runner:
    """NumPy itself, where the call of this number is a step away from its point."""
    calls = iter(range(number + 1))

    def run(function: Any, args: tuple[Any, ...]) -> Any:
        here = copied(args)
        if next(calls) == number:
            here = moved(here, direction(args, None), step)
        return by_hand(function)(*here), None

    return run


@lru_cache(maxsize=1024)
def wanted(sequence: Sequence, without: Without = frozenset()) -> list[Seen]:
    """The values of plain NumPy, with the slopes of the sums of their entries."""
    seen = _steps(sequence, _plain, without=without)
    if sequence.smooth:
        for number, each in enumerate(seen):
            if each.error is None and number not in without:
                here = total(inexact_leaves(each.value))
                each.slope = _difference(sequence, number, here, without)
    return seen


def _difference(sequence: Sequence, number: int, here: float, without: Without) -> float:
    """The slope of a call, whose calls before are at their points."""
    step = WIDE if sequence.single else STEP
    rough = SINGLE if sequence.single else ROUGH
    ends, left = [], sum(each < number for each in without)
    for each in (step, -step, step / 2, -step / 2):
        last = _steps(sequence, _moved_at_last(number - left, each), number + 1, without)[-1]
        ends.append(total(inexact_leaves(last.value)))
    wide, narrow = (ends[0] - ends[1]) / (2 * step), (ends[2] - ends[3]) / step
    jump = abs(ends[2] - 2 * here + ends[3])
    smooth = abs(wide - narrow) <= rough * size([np.asarray(wide)])
    if not (smooth and jump <= KINK * step * max(1, abs(here))):
        raise RoughError(f"{sequence.name}, step {number + 1}: {here} between {ends}")
    return (4 * narrow - wide) / 3


# --- the ways -------------------------------------------------------------------------------------


def _gradient_along(transformed: Any, args: tuple[Any, ...]) -> Any:
    value, back = transformed(*args)
    return value, paired(back, direction(args, None))


def _kept(jitted: bool) -> Runner:
    """The same transformed function at all calls of a function."""
    made: dict[tuple[int, tuple[int, ...]], Any] = {}

    def run(function: Any, args: tuple[Any, ...]) -> Any:
        key = (id(function), places(args))
        if key not in made:
            transformed = ad.value_and_grad(function, argnums=places(args))
            made[key] = (ad.jit(transformed) if jitted else transformed, function)
        return _gradient_along(made[key][0], args)

    return run


def _anew(function: Any, args: tuple[Any, ...]) -> Any:
    """A new transformed function at every call."""
    return _gradient_along(ad.value_and_grad(function, argnums=places(args)), args)


def _forward(function: Any, args: tuple[Any, ...]) -> Any:
    """Forward mode, at every call."""
    chosen, rest = places(args), list(args)

    def alone(*some: Any) -> Any:
        for place, arg in zip(chosen, some, strict=True):
            rest[place] = arg
        return function(*rest)

    some = tuple(args[n] for n in chosen)
    if len(some) == len(args):
        alone = function
    value, slope = ad.jvp(alone, some, direction(args, None))
    return value, total(inexact_leaves(slope))


MODES: dict[str, Callable[[], Runner]] = {
    "kept": lambda: _kept(False),
    "anew": lambda: _anew,
    "forward": lambda: _forward,
    "jitted": lambda: _kept(True),
}


def _held(expected: Seen, found: Seen, within: float) -> Verdict:
    verdict = judged(expected, found, differentiated=True)
    if verdict.outcome is not Outcome.RIGHT or expected.slope is None or found.error:
        return verdict
    if abs(expected.slope - found.slope) <= within * size([np.asarray(expected.slope)]):
        return verdict
    reason = f"derivative {found.slope}, by differences {expected.slope}"
    return refused("said: " + reason) if found.says_so else wrong(reason)


def verdict_of(sequence: Sequence, mode: str) -> Verdict:
    """What a way to run a sequence came to: the worst of its calls.

    A refusal ends a call half-way, where NumPy goes on to change what it changes; so what comes
    later is not NumPy's, and should not be. Calls that are refused are therefore left out, here and
    there, and the sequence is run anew: all others are held to NumPy.
    """
    without: Without = frozenset()
    worst = RIGHT
    while True:
        verdict, number = _verdict(sequence, mode, without)
        if verdict.outcome is Outcome.WRONG:
            return verdict
        if worst is RIGHT:
            worst = verdict
        if number is None:
            return worst
        without |= {number}


def _verdict(sequence: Sequence, mode: str, without: Without) -> tuple[Verdict, int | None]:
    """The same without some calls, and the first call that was refused by an error."""
    expected = wanted(sequence, without)
    with ad.config(native=None) if sequence.native else contextlib.nullcontext():
        found = _steps(sequence, MODES[mode](), without=without)
    if len(found) != len(expected):
        return wrong(f"{len(found)} steps, not {len(expected)}"), None
    worst = RIGHT
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        verdict = _held(one, other, SINGLE if sequence.single else WITHIN)
        verdict = Verdict(verdict.outcome, f"step {number + 1}: {verdict.reason}")
        if verdict.outcome is Outcome.WRONG:
            return verdict, None
        if verdict.outcome is Outcome.REFUSED:
            worst = verdict if worst is RIGHT else worst
            if other.error is not None and one.error is None:
                return worst, number
    return worst, None


@cache
def outcome(name: str, mode: str) -> Verdict:
    """The same, by name."""
    return verdict_of(SEQUENCES[name], mode)
