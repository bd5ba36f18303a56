"""Programs, and changes between their calls: each call must give what NumPy gives at that moment.

A sequence is run from its beginning for every way, and for each end of the differences, so that
one run cannot disturb another.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import adjoint as ad
from tests.capture.battery.differences import (
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


def _steps(sequence: Sequence, run: Runner) -> list[Seen]:
    """All calls of a sequence."""
    seen = []
    with warnings.catch_warnings(record=True) as log, contextlib.closing(_open(sequence)) as steps:
        warnings.simplefilter("always")
        for function, *args in steps:
            before = copied(tuple(args))
            each = watched(lambda f=function, a=tuple(args): run(f, a), log)  # type: ignore[misc]
            if each.error is None:
                each.value, each.slope = each.value
            each.kept = unchanged(tuple(args), before)
            seen.append(each)
    return seen


def _open(sequence: Sequence) -> Any:
    return sequence.steps()


def _plain(step: float) -> Runner:
    """NumPy itself, a step away from the point; arguments are not to be seen to change."""

    def run(function: Any, args: tuple[Any, ...]) -> Any:
        here = copied(args)
        if step:
            here = moved(here, direction(args, None), step)
        return function(*here), None

    return run


@cache
def wanted(name: str) -> list[Seen]:
    """The values of plain NumPy, with the slopes of the sums of their entries."""
    sequence = SEQUENCES[name]
    seen = _steps(sequence, _plain(0.0))
    if not sequence.smooth:
        return seen
    step = WIDE if sequence.single else STEP
    rough = SINGLE if sequence.single else ROUGH
    ends = [_steps(sequence, _plain(each)) for each in (step, -step, step / 2, -step / 2)]
    for each, *around in zip(seen, *ends, strict=True):
        if each.error is None:
            sums = [total(inexact_leaves(end.value)) for end in around]
            wide, narrow = (sums[0] - sums[1]) / (2 * step), (sums[2] - sums[3]) / step
            if not abs(wide - narrow) <= rough * size([np.asarray(wide)]):
                raise RoughError(f"{name}: {wide} and {narrow} by two steps")
            each.slope = (4 * narrow - wide) / 3
    return seen


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


@cache
def outcome(name: str, mode: str) -> Verdict:
    """What a way to run a sequence came to: the worst of its calls."""
    sequence = SEQUENCES[name]
    expected = wanted(name)
    with native_too() if sequence.native else contextlib.nullcontext():
        found = _steps(sequence, MODES[mode]())
    if len(found) != len(expected):
        return wrong(f"{len(found)} steps, not {len(expected)}")
    worst = RIGHT
    for number, (one, other) in enumerate(zip(expected, found, strict=True)):
        verdict = _held(one, other, SINGLE if sequence.single else WITHIN)
        reason = f"step {number + 1}: {verdict.reason}"
        if verdict.outcome is Outcome.WRONG:
            return Verdict(Outcome.WRONG, reason)
        if verdict.outcome is Outcome.REFUSED and worst is RIGHT:
            worst = Verdict(Outcome.REFUSED, reason)
    return worst


def native_too() -> Any:
    """What comes by often becomes machine code."""
    return ad.config(native=None)


def names() -> Iterator[str]:
    """All sequences."""
    return iter(SEQUENCES)
