"""What repeats in a run, and what differs from round to round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.loops.declared import WHILE
from adjoint.optimise.rolling.runs import INDEXED, Run
from adjoint.primitives.calls.custom import CUSTOM_CALL, CUSTOM_LINEAR
from adjoint.program import Atom, Equation, Literal, Program, Variable

_DEEPEST: Final = 8  # rounds that a value is looked back for
_ATTEMPTS: Final = 8  # how often a block is tried again with rounds left out at either end
_CALLS: Final = frozenset({CUSTOM_CALL, CUSTOM_LINEAR, WHILE})
_LONGEST_TURNED: Final = 1000  # equations of rounds that may begin at another one than the first
_SPARED: Final = 3  # rounds left out at the end, at most, as they may be no rounds of the loop


class Within(NamedTuple):
    """An operand made in the same round: by which equation of the block, as which result."""

    place: int
    result: int


class Before(NamedTuple):
    """An operand made in an earlier round; begin holds it for the first rounds, as many as lag."""

    place: int
    result: int
    lag: int
    begin: tuple[Atom, ...]


class Invariant(NamedTuple):
    """An operand from outside, the same in all rounds."""

    atom: Atom


class Varying(NamedTuple):
    """An operand from outside, another in each round."""

    atoms: tuple[Variable, ...]


class Numbers(NamedTuple):
    """An integer that is another one in each round."""

    values: tuple[int, ...]


Source = Within | Before | Invariant | Varying | Numbers


@dataclass
class RepeatedBlock:
    """A block of equations that is repeated.

    equations: of one round. start, rounds: where in the program, and how often. sources: of each
    operand of each equation. indices: of an equation whose index differs from round to round, the
    numbers in it that do, by place (axis); the starts of slices. uses: of the whole program. used:
    the rounds whose results are used outside, by (place, result).
    """

    start: int
    rounds: int
    equations: tuple[Equation, ...]
    sources: list[list[Source]]
    indices: dict[int, dict[int, tuple[int, ...]]]
    uses: Uses
    used: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    @property
    def period(self) -> int:
        """How many equations there are in a round."""
        return len(self.equations)

    @property
    def stop(self) -> int:
        """The first equation after it."""
        return self.start + self.rounds * self.period

    @property
    def run(self) -> Run:
        """Where it lies."""
        return Run(self.start, self.stop, self.period)

    def output(self, k: int, place: int, result: int) -> Variable:
        """A result of a round, as the program names it."""
        number = self.start + k * self.period + place
        return self.uses.equations[number].outputs[result]


class Uses:
    """Where variables of a program are made, and used last."""

    def __init__(self, program: Program) -> None:
        self.equations = program.equations
        self._last = dict.fromkeys(program.outputs, len(program.equations))
        self._looked_at = len(program.equations)
        self.maker: dict[Atom, tuple[int, int]] = {
            variable: (number, place)
            for number, equation in enumerate(program.equations)
            for place, variable in enumerate(equation.outputs)
        }

    def last_from(self, start: int) -> dict[Atom, int]:
        """Where atoms are used last, for all that are used by this equation or a later one.

        A block asks for what comes after it, which is little where it is most of a long program.
        """
        last = self._last
        for number in range(self._looked_at - 1, start - 1, -1):
            for atom in self.equations[number].inputs:
                last.setdefault(atom, number)
        self._looked_at = min(self._looked_at, start)
        return last


class _Broken(Exception):
    """The dataflow does not repeat. first, last: rounds to be left out for another attempt."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__()
        self.first = first
        self.last = last


def block_of(uses: Uses, run: Run, fewest: int) -> RepeatedBlock | None:
    """The block of a run whose dataflow repeats too; rounds at the ends may be left out.

    None for what calls the user's functions, or runs for an unknown time: guards look at those.
    """
    whole = uses.equations[run.start : run.stop]
    if any(map(calls, {equation.primitive for equation in whole})):
        return None
    for spared in range(_SPARED):
        start, rounds = run.start, run.rounds - spared
        for _ in range(_ATTEMPTS):
            if rounds < fewest:
                break
            try:
                return block_at(uses, start, rounds, run.period)
            except _Broken as broken:
                start += broken.first * run.period
                rounds -= broken.first + broken.last
    return None


def carried_bytes(block: RepeatedBlock) -> list[int]:
    """The bytes that go from round to round, if rounds begin at the first equation, the second, ...

    A value that is made at place q and read r equations later is carried over as many ends of
    rounds as lie between: (q + r) // period, with places counted from where the rounds begin.
    """
    period = block.period
    reach: dict[tuple[int, int], int] = {}
    for place, sources in enumerate(block.sources):
        for source in sources:
            if isinstance(source, Within | Before):
                lag = source.lag if isinstance(source, Before) else 0
                value = (source.place, source.result)
                reach[value] = max(reach.get(value, 0), place + lag * period - source.place)
    places = np.array([place for place, _ in reach], np.int64)
    lasting = np.array(list(reach.values()), np.int64)
    types = [block.equations[place].outputs[result].type for place, result in reach]
    sizes = np.array([type_.size * type_.dtype.itemsize for type_ in types], np.int64)
    starts = range(period if period <= _LONGEST_TURNED else 1)
    return [int(((places - start) % period + lasting) // period @ sizes) for start in starts]


def calls(primitive: Any) -> bool:
    """Whether a primitive calls the user's functions, or runs for an unknown time."""
    return primitive.opaque or primitive in _CALLS


def block_at(uses: Uses, start: int, rounds: int, period: int) -> RepeatedBlock:
    """The block of so many rounds."""
    equations = uses.equations
    sources: list[list[Source]] = []
    indices: dict[int, dict[int, tuple[int, ...]]] = {}
    for place in range(period):
        own = equations[start + place : start + rounds * period : period]
        operands = zip(*(equation.inputs for equation in own), strict=True)
        sources.append([_source(uses, atoms, start, place, period) for atoms in operands])
        if own[0].primitive in INDEXED:
            varying_numbers = _index_of(own)
            if varying_numbers:
                indices[place] = varying_numbers
    last = equations[start + (rounds - 1) * period : start + rounds * period]
    block = RepeatedBlock(start, rounds, tuple(last), sources, indices, uses)
    _find_used(uses, block)
    return block


def _source(uses: Uses, atoms: Sequence[Atom], start: int, place: int, period: int) -> Source:
    """What an operand is in all rounds."""
    final = atoms[-1]
    if isinstance(final, Literal):
        return _of_literals(atoms)
    maker = uses.maker.get(final)
    number = start + place + (len(atoms) - 1) * period
    if maker is None or maker[0] < start:
        return _from_outside(uses, atoms, start)
    delta, result = number - maker[0], maker[1]
    lag, inner = divmod(place - delta, period)
    lag = -lag
    if lag > _DEEPEST:
        raise _Broken(len(atoms), 0)
    first = start + place + lag * period - delta
    outputs = [
        equation.outputs[result] for equation in uses.equations[first : maker[0] + 1 : period]
    ]
    if list(atoms[lag:]) != outputs:
        last = max(k for k, variable in enumerate(outputs) if atoms[lag + k] is not variable)
        raise _Broken(last + 1, 0)
    if not lag:
        return Within(inner, result)
    begun = _begun(uses, atoms[:lag], start, period)
    if begun:
        raise _Broken(begun, 0)
    return Before(inner, result, lag, tuple(atoms[:lag]))


def _begun(uses: Uses, begin: Sequence[Atom], start: int, period: int) -> int:
    """How many rounds to leave out, so that what a chain begins with is made before the loop.

    A name may be bound to something else of the first rounds than of all others.
    """
    begun = 0
    for atom in begin:
        maker = uses.maker.get(atom) if isinstance(atom, Variable) else None
        if maker is not None and maker[0] >= start:
            begun = max(begun, (maker[0] - start) // period + 1)
    return begun


def _of_literals(atoms: Sequence[Atom]) -> Source:
    literals = [atom for atom in atoms if isinstance(atom, Literal)]
    if len(literals) < len(atoms):  # in the first rounds the operand is a variable, not a number
        first = max(k for k, atom in enumerate(atoms) if not isinstance(atom, Literal))
        raise _Broken(first + 1, 0)
    if all(literal.key == literals[0].key for literal in literals):
        return Invariant(literals[0])
    if literals[0].type.dtype.kind != "i" or literals[0].type.weak:
        raise _Broken(len(atoms), 0)
    return Numbers(tuple([int(np.asarray(literal.value)) for literal in literals]))


def _from_outside(uses: Uses, atoms: Sequence[Atom], start: int) -> Source:
    final = atoms[-1]
    if all(atom is final for atom in atoms):
        return Invariant(final)
    same = 0
    while atoms[-1 - same] is final:
        same += 1
    if 2 * same > len(atoms):  # only the first rounds, the minority, read something else
        raise _Broken(len(atoms) - same, 0)
    for k in range(len(atoms) - 1, -1, -1):
        atom = atoms[k]
        maker = uses.maker.get(atom) if isinstance(atom, Variable) else None
        if not isinstance(atom, Variable) or (maker is not None and maker[0] >= start):
            raise _Broken(k + 1, 0) if 2 * (k + 1) < len(atoms) else _Broken(0, len(atoms) - k)
    return Varying(tuple(atoms))  # type: ignore[arg-type]


def _index_of(own: Sequence[Equation]) -> dict[int, tuple[int, ...]]:
    """The numbers of an index that differ, by axis."""
    varying_numbers = {}
    rows = [equation.params["index"] for equation in own]
    for axis, first in enumerate(rows[0]):
        whole = isinstance(first, int)
        numbers = tuple([row[axis] if whole else row[axis][0] for row in rows])
        if any(number != numbers[0] for number in numbers):
            varying_numbers[axis] = numbers
    return varying_numbers


def _find_used(uses: Uses, block: RepeatedBlock) -> None:
    """Find the results that are used after the block."""
    start, stop, last = block.start, block.stop, uses.last_from(block.stop)
    used: dict[tuple[int, int], list[int]] = defaultdict(list)
    own = (variable for equation in uses.equations[start:stop] for variable in equation.outputs)
    for atom in list(last) if len(last) < stop - start else own:
        number, result = uses.maker.get(atom, (-1, 0))
        if start <= number < stop and last.get(atom, -1) >= stop:
            k, place = divmod(number - start, block.period)
            used[place, result].append(k)
    block.used = {key: sorted(used[key]) for key in sorted(used)}
