"""Why a long stretch of equations that look like rounds of a loop is no loop."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.loops.declared import SCAN
from adjoint.optimise.rolling.blocks import calls
from adjoint.optimise.rolling.rolled import (
    FEWEST_EQUATIONS,
    FEWEST_OF_LARGE,
    FEWEST_ROUNDS,
    LARGE,
    has_large,
    roll,
)
from adjoint.optimise.rolling.runs import codes
from adjoint.program import Atom, Equation, Literal, Program, Variable

_LONG: Final = FEWEST_EQUATIONS[0]  # equations that are worth a word
_FEWEST: Final = 2 * FEWEST_ROUNDS  # rounds that are recognised as such though they differ


class RolledLoop(NamedTuple):
    """A loop that rolling has made. origin: of its first equation. equations: of a round."""

    origin: int | None
    rounds: int
    equations: int


class LeftRounds(NamedTuple):
    """Rounds that were left as they are.

    origin: of the first equation that differs from the round before it. rounds: how many there are,
    of so many kinds. why: which round differs from which, and in what.
    """

    origin: int | None
    rounds: int
    kinds: int
    equations: int
    why: str


def explain_rolling(program: Program) -> tuple[list[RolledLoop], list[LeftRounds]]:
    """The loops that a program becomes, and the rounds in it that become none."""
    before = set(program.equations)
    equations = roll(program).equations
    loops = []
    for equation in equations:
        if equation.primitive is SCAN and equation not in before:
            count = equation.inputs[0]
            rounds = int(np.asarray(count.value)) if isinstance(count, Literal) else 0
            body: Program = equation.params["body"]
            loops.append(RolledLoop(equation.origin, rounds, len(body)))
    left = []
    for rolled, group in groupby(equations, lambda equation: equation.primitive is SCAN):
        stretch = list(group)
        rounds_left = _left(stretch) if not rolled and len(stretch) >= _LONG else None
        if rounds_left is not None:
            left.append(rounds_left)
    return loops, left


def _left(stretch: Sequence[Equation]) -> LeftRounds | None:
    """What keeps the rounds of a stretch from being a loop; None where there are no rounds."""
    numbers = codes(stretch)
    rounds = _rounds(numbers)
    if not rounds:
        return None
    kinds = len({tuple(numbers[start:stop]) for start, stop in rounds})
    origin, why = _reason(stretch, numbers, rounds)
    return LeftRounds(origin, len(rounds), kinds, rounds[-1][1] - rounds[0][0], why)


def _reason(
    stretch: Sequence[Equation], numbers: Sequence[int], rounds: Sequence[tuple[int, int]]
) -> tuple[int | None, str]:
    for number, (before, now) in enumerate(pairwise(rounds), 2):
        place = _unlike(numbers[slice(*before)], numbers[slice(*now)])
        if place is not None:
            texts = [_text(stretch[slice(*span)], place) for span in (now, before)]
            why = f"round {number} has {texts[0]} where round {number - 1} has {texts[1]}"
            if texts[0] == texts[1]:
                why += ", of other types or numbers"
            return stretch[min(now[0] + place, now[1] - 1)].origin, why
    for equation in stretch:
        if calls(equation.primitive):
            return equation.origin, f"{_text([equation], 0)} calls what must run one by one"
    if has_large(stretch) and len(stretch) < FEWEST_OF_LARGE:
        why = f"they are {len(stretch)} equations of arrays of more than {LARGE >> 10} KiB, which "
        return stretch[0].origin, why + f"a loop is made of from {FEWEST_OF_LARGE} on"
    return _by_dataflow(stretch, rounds)


def _rounds(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Where rounds begin and end: between equal equations that come again and again.

    Between those for which the shortest text would do that has each kind of round once, then names
    the kind of each round, and then writes out what is in none.
    """
    places: dict[int, list[int]] = {}
    for place, number in enumerate(numbers):
        places.setdefault(number, []).append(place)
    best: list[tuple[int, int]] = []
    least = len(numbers)
    for occurrences in places.values():
        rounds = list(pairwise(occurrences))
        if len(rounds) < _FEWEST:
            continue
        kinds = {tuple(numbers[start:stop]) for start, stop in rounds}
        outside = len(numbers) - (rounds[-1][1] - rounds[0][0])
        length = sum(map(len, kinds)) + len(rounds) + outside
        if length < least and 2 * len(kinds) <= len(rounds):
            best, least = rounds, length
    return best


def _unlike(one: Sequence[int], other: Sequence[int]) -> int | None:
    """How far two rounds are alike; None where they are throughout."""
    if one == other:
        return None
    pairs = zip(one, other, strict=False)
    shorter = min(len(one), len(other))
    return next((place for place, (a, b) in enumerate(pairs) if a != b), shorter)


def _text(round_: Sequence[Equation], place: int) -> str:
    return f"`{round_[place].primitive.name}`" if place < len(round_) else "nothing more"


def _by_dataflow(
    stretch: Sequence[Equation], rounds: Sequence[tuple[int, int]]
) -> tuple[int | None, str]:
    """The first round of the same equations that reads from elsewhere than the one before."""
    makers = {x: number for number, equation in enumerate(stretch) for x in equation.outputs}
    for number, ((start, stop), (following, _)) in enumerate(pairwise(rounds), 2):
        if number == 2:  # the first round is given what was there before
            continue
        for place in range(stop - start):
            one, other = stretch[start + place], stretch[following + place]
            for old, new in zip(one.inputs, other.inputs, strict=True):
                before = _source(old, makers, start, stop - start)
                now = _source(new, makers, following, stop - start)
                if before != now:
                    why = f"in round {number}, {_text([other], 0)} reads {_place(now)}"
                    same = _place(now) == _place(before)
                    place_before = "another" if same else _place(before)
                    return other.origin, f"{why}, and in the one before {place_before}"
    why = "what its rounds hand on, or are given, does not fit into a loop, or would cost too much"
    return stretch[0].origin, why


def _source(atom: Atom, makers: dict[Variable, int], start: int, length: int) -> Any:
    """Where an operand comes from, as seen from its round: how many rounds before, and where."""
    if isinstance(atom, Literal):
        return "a number"
    maker = makers.get(atom)
    return "a value from outside" if maker is None else divmod(maker - start, length)


def _place(source: Any) -> str:
    if isinstance(source, str):
        return source
    before = -source[0]
    if before <= 1:
        return "a value of the round before" if before else "a value of its own round"
    return f"a value of {before} rounds before"
