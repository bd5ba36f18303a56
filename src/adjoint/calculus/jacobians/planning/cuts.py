"""The chain that a linear program is: cut where few numbers cross.

After each equation, the values that later ones need are all that the rest depends on. Where they
are few, the program is cut; what lies between two cuts is one map of the chain. A program that is
no chain (a graph with branches) is cut across all its branches at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice, pairwise
from math import inf
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, real_dtype
from adjoint.calculus.custom.missing_rules import is_transposable
from adjoint.calculus.jacobians.basis import dimension
from adjoint.calculus.jacobians.planning.chain import Chain, Order, ProductStep
from adjoint.calculus.jacobians.planning.operations import count_operations, operations
from adjoint.optimise import simplify
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.program import Atom, Equation, Program, Variable
from adjoint.transforms import transpose
from adjoint.transforms.staging import split_equations

MOST_CUTS: Final = 24  # between the ends; dynamic programming takes the cube of it


@dataclass(frozen=True)
class CutSegment:
    """What lies between two cuts, a linear program.

    program: (known, values at the first cut) -> values at the second. known: what it takes from
    outside.
    """

    program: Program
    known: tuple[Variable, ...]

    @cached_property
    def transposed(self) -> Program:
        """(known, cotangents at the second cut) -> cotangents at the first."""
        return simplify(transpose(self.program, len(self.known), given=False))

    @property
    def push_operations(self) -> float:
        """The operations on one tangent."""
        return self._moving_operations(self.program)

    @property
    def pull_operations(self) -> float:
        """The operations on one cotangent."""
        if not all(map(is_transposable, self.program.equations)):
            return inf
        return self._moving_operations(self.transposed)

    def _moving_operations(self, program: Program) -> float:
        moving = program.inputs[len(self.known) :]
        return count_operations(split_equations(program.equations, moving)[1])

    @property
    def given(self) -> tuple[Variable, tuple[int, ...]] | None:
        """Where the map is the product with one array: that array, and the order of its axes.

        Those of the argument come before those of the result.
        """
        if len(self.program.equations) != 1 or len(self.program.inputs) != len(self.known) + 1:
            return None
        (equation,) = self.program.equations
        if equation.primitive is not CONTRACT or self.program.outputs != equation.outputs:
            return None
        if equation.outputs[0].type.dtype.kind == "c":
            return None
        left, right, result = split_spec(equation.params["spec"])
        moving = self.program.inputs[-1]
        pairs = [(equation.inputs[0], left, right), (equation.inputs[1], right, left)]
        for (atom, labels, others), (other, _, _) in zip(pairs, pairs[::-1], strict=True):
            fits = len(labels) == len(others) + len(result) and set(labels) == {*others, *result}
            if other is moving and isinstance(atom, Variable) and fits:
                return atom, tuple(labels.index(label) for label in others + result)
        return None


class Crossings:
    """What crosses from before to after each equation of a linear program.

    fixed: the equations that do not depend on the tangents; moving: those that do. tangents,
    results: what goes in, and what comes out. sizes: how many numbers cross after each of `moving`.
    """

    def __init__(self, linear: Program, residuals: int) -> None:
        tangents = linear.inputs[residuals:]
        self.fixed, self.moving = split_equations(linear.equations, tangents)
        known = {
            *tangents,
            *(variable for equation in self.moving for variable in equation.outputs),
        }
        ends = dict.fromkeys(atom for atom in linear.outputs if atom in known)
        self.tangents = tuple(tangents)
        self.results = tuple(ends)
        self._last = self._last_uses()
        self.sizes = self._sizes()

    def _last_uses(self) -> dict[Variable, int]:
        last: dict[Variable, int] = {}
        for number, equation in enumerate(self.moving):
            last.update((variable, number) for variable in equation.outputs)
            last.update((atom, number) for atom in equation.inputs if isinstance(atom, Variable))
        last.update((variable, len(self.moving)) for variable in self.results)
        return last

    def _crossing(self, weight: Callable[[Variable], int]) -> list[int]:
        """The sum of the weights of what crosses after each number of equations."""
        changes = [0] * (len(self.moving) + 2)

        def add(variables: Sequence[Variable], place: int) -> None:
            for variable in variables:
                changes[place] += weight(variable)
                changes[self._last.get(variable, 0) + 1] -= weight(variable)

        add(self.tangents, 0)
        for number, equation in enumerate(self.moving):
            add(equation.outputs, number + 1)
        return list(accumulate(changes[:-1]))

    def _sizes(self) -> list[int]:
        sizes = self._crossing(lambda variable: _dimension([variable]))
        return sizes if self.moving else [sizes[0], _dimension(self.results)]

    def _uniform(self) -> list[bool]:
        """Whether all that crosses has one precision, and can be put into one array."""
        assigned = (variable for equation in self.moving for variable in equation.outputs)
        kinds = {real_dtype(variable.type.dtype) for variable in (*self.tangents, *assigned)}

        def count(kind: np.dtype[Any]) -> list[int]:
            return self._crossing(lambda variable: real_dtype(variable.type.dtype) == kind)

        return [sum(map(bool, column)) == 1 for column in zip(*map(count, kinds), strict=True)]

    @property
    def has_bottleneck(self) -> bool:
        """Whether fewer numbers cross somewhere than go in and than come out.

        Where there is none, starting from the narrower end takes at most twice the operations of
        the best order of a chain of matrices (Chandra 1975).
        """
        return min(self.sizes) < min(self.sizes[0], self.sizes[-1])

    def values(self, place: int) -> tuple[Variable, ...]:
        """What crosses after `place` equations, between the ends."""
        available = [*self.tangents]
        available += (variable for equation in self.moving[:place] for variable in equation.outputs)
        return tuple(variable for variable in available if self._last.get(variable, 0) >= place)

    def places(self) -> tuple[int, ...]:
        """Where to cut: after how many equations, both ends included.

        Before and after products, and what else is more work than to look at the numbers that
        cross, and where they are fewest; the narrowest ones, if there are many.
        """
        sizes, count = self.sizes, len(self.moving)
        heavy = [
            equation.primitive is CONTRACT or operations(equation) > sizes[n] + sizes[n + 1]
            for n, equation in enumerate(self.moving)
        ]
        candidates = {n for n in range(1, count) if heavy[n - 1] or heavy[n]}
        candidates |= _valleys(sizes)
        narrowest = sorted(candidates, key=lambda n: (sizes[n], n))
        uniform = self._uniform()
        inner = islice((n for n in narrowest if uniform[n]), MOST_CUTS)
        return (0, *sorted(inner), count)

    def between(self, first: int, last: int) -> CutSegment:
        """The equations between two places, as a program."""
        equations = self.moving[first:last]
        arriving = self.values(first) if first else self.tangents
        leaving = self.values(last) if last < len(self.moving) else self.results
        known = _taken(equations, arriving)
        return CutSegment(Program([*known, *arriving], equations, leaving), known)


class CutProgram:
    """A linear program cut into a chain.

    places: after how many equations, both ends included.
    """

    def __init__(self, crossings: Crossings, places: tuple[int, ...]) -> None:
        self.crossings = crossings
        self.places = places

    @classmethod
    def uncut(cls, crossings: Crossings, forward: bool) -> tuple[CutProgram, Order]:
        """The program in one piece, and forward or reverse mode through it.

        A product with an array where the mode starts is cut off: it is that array.
        """
        step, place = (ProductStep.PUSH, 0) if forward else (ProductStep.PULL, 1)
        last = len(crossings.moving)
        cut = 1 if forward else last - 1
        ends = (0, cut) if forward else (cut, last)
        if not last or crossings.between(*ends).given is None:
            return cls(crossings, (0, last)), Order(
                0, 1, step, (Order(place, place, ProductStep.IDENTITY, (), 0, 0),), 0, 0
            )
        if last == 1:
            return cls(crossings, (0, 1)), Order(0, 1, ProductStep.GIVEN, (), 0, 0)
        given = Order(place, place + 1, ProductStep.GIVEN, (), 0, 0)
        return cls(crossings, (0, cut, last)), Order(0, 2, step, (given,), 0, 0)

    def types(self, number: int) -> list[ArrayType]:
        """The types of the values at a cut."""
        segment = self.segments[max(number - 1, 0)]
        atoms = segment.program.outputs if number else segment.program.inputs[len(segment.known) :]
        return [atom.type for atom in atoms]

    @cached_property
    def segments(self) -> tuple[CutSegment, ...]:
        """What lies between the cuts."""
        return tuple(self.crossings.between(first, last) for first, last in pairwise(self.places))

    @cached_property
    def chain(self) -> Chain:
        """The chain, with the operations of each map."""
        sizes = self.crossings.sizes
        outputs = [_dimension(equation.outputs) for equation in self.crossings.moving]
        widths = [
            max((sizes[n] + outputs[n] for n in range(first, last)), default=sizes[first])
            for first, last in pairwise(self.places)
        ]
        return Chain(
            tuple(dimension(self.types(n)) for n in range(len(self.places))),
            tuple(segment.push_operations for segment in self.segments),
            tuple(segment.pull_operations for segment in self.segments),
            tuple(segment.given is not None for segment in self.segments),
            tuple(widths),
        )


def _dimension(variables: Sequence[Variable]) -> int:
    """How many real numbers they hold."""
    return dimension([variable.type for variable in variables])


def _valleys(sizes: Sequence[int]) -> set[int]:
    """Places between the ends where fewer numbers cross than before and after."""
    valleys: set[int] = set()
    first: int | None = None  # the first place of the run that we are in, if it lies lower
    for place in range(1, len(sizes) - 1):
        if sizes[place] < sizes[place - 1]:
            first = place
        if sizes[place] < sizes[place + 1] and first is not None:
            valleys.add(first)
            first = None
    return valleys


def _taken(equations: Sequence[Equation], arriving: Sequence[Atom]) -> tuple[Variable, ...]:
    """The variables that equations use, and neither assign nor find among what arrives."""
    available: set[Atom] = set(arriving)
    taken: dict[Variable, None] = {}
    for equation in equations:
        for atom in equation.inputs:
            if isinstance(atom, Variable) and atom not in available:
                taken[atom] = None
        available.update(equation.outputs)
    return tuple(taken)
