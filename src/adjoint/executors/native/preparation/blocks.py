"""Loops over rounds that go through arrays number by number, as loops over blocks of the arrays.

`for c in reversed(coefficients): y = y * t + c` walks through all of `y` and `t` in each round. If
these do not fit into the first cache, each round waits for the second one. No number of a result
depends on more than its own place: so a block of numbers goes through all rounds, and then the next
one. Sums over the arrays, one a round, are added up block by block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.loops.declared import SCAN
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.primitives.structure.moving import SUM, reshape, zeros
from adjoint.primitives.structure.slicing import concatenate, take
from adjoint.program import Atom, Builder, Equation, Literal, Program, Variable, operation
from adjoint.program.builder import lookup

_FIRST_CACHE: Final = 1 << 15  # bytes of arrays that a round may well go through
_LONGEST: Final = 1 << 15  # numbers, from which threads share a round
_FEWEST_ROUNDS: Final = 8
_BLOCK: Final = 512  # numbers, at least
_LANES: Final = 64  # by which blocks are a multiple, so that vectors fill them
_MOST_BLOCKS: Final = 16  # whose sums are added up one after the other
_ELEMENTWISE: Final = frozenset({SCALE, SELECT, CAST})


@dataclass
class _PointwiseLoop:
    """What a loop does with arrays of one length.

    along: the variables of its body that have that length, number by number. states: which of what
    is carried are such; all rows that it returns are sums over such.
    """

    size: int
    along: set[Atom]
    states: list[bool]


def in_blocks(program: Program) -> Program:
    """The program with its loops over arrays that are not small as loops over blocks of these."""
    if all(_pointwise_loop(equation) is None for equation in program.equations):
        return program
    builder, names = Builder(), dict[Variable, Atom]()
    builder.inputs = list(program.inputs)

    def rename(atom: Atom) -> Atom:
        return names.get(atom, atom) if isinstance(atom, Variable) else atom

    for equation in program.equations:
        inputs = [rename(atom) for atom in equation.inputs]
        builder.origin, builder.derived = equation.origin, equation.derived
        walk = _pointwise_loop(equation)
        if walk is None:
            results: list[Atom] = list(builder.emit(equation.operation, inputs))
        else:
            results = _BlockedLoop(builder, equation, inputs, walk).results()
        names.update(zip(equation.outputs, results, strict=True))
    return builder.build([rename(atom) for atom in program.outputs])


# --- what may be cut ------------------------------------------------------------------------------


def _pointwise_loop(equation: Equation) -> _PointwiseLoop | None:
    """How a loop goes through arrays, if block by block is as well and faster."""
    if equation.primitive is not SCAN:
        return None
    body: Program = equation.params["body"]
    constants, carried = equation.params["constants"], equation.params["carried"]
    states = body.inputs[constants : constants + carried]
    shapes = [shape for shape in {x.type.shape for x in states} if shape]
    if len(shapes) != 1 or len(shapes[0]) != 1:
        return None
    size = shapes[0][0]
    along: set[Atom] = {x for x in body.inputs[: constants + carried] if x.type.shape == (size,)}
    walked = sum(x.type.size * x.type.dtype.itemsize for x in (*along, *states))
    if (
        _rounds(equation) < _FEWEST_ROUNDS
        or not 2 * _BLOCK <= size <= _LONGEST
        or walked < _FIRST_CACHE
    ):
        return None
    walk = _PointwiseLoop(size, along, [x in along for x in states])
    return walk if _stays_in_place(body, walk, carried) else None


def _rounds(equation: Equation) -> int:
    """How many rounds there are; where that is not known, more than a few, as a loop is for."""
    count = equation.inputs[0]
    if isinstance(count, Literal):
        return int(np.asarray(count.value))
    return equation.params["length"] or _FEWEST_ROUNDS


def _stays_in_place(body: Program, walk: _PointwiseLoop, carried: int) -> bool:
    """Whether each number depends on those at its own place alone, and all rows are sums."""
    along, sums = walk.along, set[Atom]()
    for equation in body.equations:
        if not sums.isdisjoint(equation.inputs):
            return False
        if along.isdisjoint(equation.inputs):
            continue
        others = [x for x in equation.inputs if x not in along]
        if _is_elementwise(equation) and not any(x.type.ndim for x in others):
            along.add(equation.outputs[0])
        elif _is_sum(equation) and not others:
            sums.add(equation.outputs[0])
        else:
            return False
    following, rows = body.outputs[:carried], body.outputs[carried:]
    if any(x in sums for x in following) or not all(row in sums for row in rows):
        return False
    return [x in along for x in following] == walk.states


def _is_elementwise(equation: Equation) -> bool:
    primitive = equation.primitive
    return not primitive.multiple and (primitive.ufunc is not None or primitive in _ELEMENTWISE)


def _is_sum(equation: Equation) -> bool:
    """Whether it adds up all numbers of an array, or of a product of two."""
    type_ = equation.outputs[0].type
    return equation.primitive in (SUM, CONTRACT) and not type_.ndim and type_.inexact


# --- how it is cut --------------------------------------------------------------------------------


class _BlockedLoop:
    """Writes a loop as one over blocks, and one over what is left."""

    def __init__(
        self, builder: Builder, equation: Equation, inputs: Sequence[Atom], walk: _PointwiseLoop
    ) -> None:
        self.builder = builder
        self.walk = walk
        self.params = equation.params
        self.body: Program = equation.params["body"]
        self.count = inputs[0]
        constants, carried = equation.params["constants"], equation.params["carried"]
        self.operands = dict(zip(self.body.inputs, inputs[1:], strict=True))
        self.constants = self.body.inputs[:constants]
        self.states = self.body.inputs[constants : constants + carried]
        self.rows = self.body.inputs[constants + carried :]
        self.sums = [x.type for x in equation.outputs[carried:]]
        # What all blocks read, and what each reads its own part of.
        given = [*self.constants, *self.states, *self.rows]
        self.shared = [x for x in given if x not in walk.along]
        self.parted = [x for x in given if x in walk.along]

    def results(self) -> list[Atom]:
        """What the loop returns."""
        size = self.walk.size
        length = max(_BLOCK, -(-size // (_MOST_BLOCKS * _LANES)) * _LANES)
        count = size // length
        results = self._of_blocks(count, length)
        if count * length < size:
            rest = self._of_part(count * length, size)
            results = [
                self._joined(place, one, other)
                for place, (one, other) in enumerate(zip(results, rest, strict=True))
            ]
        return results

    def _joined(self, place: int, one: Atom, other: Atom) -> Atom:
        parts = [Expression(self.builder, x) for x in (one, other)]
        if place >= len(self.states):
            total: Expression = parts[0] + parts[1]
            return total.atom
        if not self.walk.states[place]:
            return one
        whole: Expression = concatenate(parts, 0)
        return whole.atom

    def _of_part(self, start: int, stop: int) -> list[Atom]:
        """The loop over the numbers from one place to another."""
        names = dict(self.operands)
        for x in self.parted:
            names[x] = take(Expression(self.builder, names[x]), ((start, stop, 1),)).atom
        return list(self._loop(self.builder, self.count, names, stop - start))

    def _loop(
        self, builder: Builder, count: Atom, names: Mapping[Variable, Atom], length: int
    ) -> Sequence[Variable]:
        """The rounds, over so many numbers."""
        op = operation(SCAN, **{**self.params, "body": self._narrowed(length)})
        return builder.emit(op, [count, *(names[x] for x in self.body.inputs)])

    def _narrowed(self, length: int) -> Program:
        body = Builder()
        names: dict[Variable, Atom] = {}
        for x in self.body.inputs:
            narrow = x in self.walk.along
            names[x] = body.input(array_type((length,), x.type.dtype) if narrow else x.type)
        body.copy_equations(self.body.equations, names)
        return body.build([lookup(names, atom) for atom in self.body.outputs])

    def _of_blocks(self, count: int, length: int) -> list[Atom]:
        """The loop over blocks: sums grow, and what has no length is the same in each."""
        outer = self.builder
        body = Builder()
        body.derived, body.origin = outer.derived, outer.origin
        count_within = body.input(self.count.type)
        names: dict[Variable, Atom] = {x: body.input(self.operands[x].type) for x in self.shared}
        totals = [body.input(type_) for type_ in self.sums]
        single = [x for x, moves in zip(self.states, self.walk.states, strict=True) if not moves]
        for x in single:
            body.input(x.type)
        for x in self.parted:
            names[x] = body.input(array_type((length,), x.type.dtype))
        results = self._loop(body, count_within, names, length)
        finals, sums = results[: len(self.states)], results[len(self.states) :]
        grown = [
            (Expression(body, total) + Expression(body, part)).atom
            for total, part in zip(totals, sums, strict=True)
        ]
        marked = list(zip(finals, self.walk.states, strict=True))
        carried = [*grown, *(x for x, moves in marked if not moves)]
        block = body.build([*carried, *(x for x, moves in marked if moves)])
        op = operation(
            SCAN,
            body=block,
            constants=1 + len(self.shared),
            carried=len(carried),
            length=count,
            reverse=False,
        )
        begun = [zeros(outer, type_).atom for type_ in self.sums]
        parts = [
            reshape(
                take(Expression(outer, self.operands[x]), ((0, count * length, 1),)),
                (count, length),
            ).atom
            for x in self.parted
        ]
        outer_results = outer.emit(
            op,
            [
                Literal(np.int64(count)),
                self.count,
                *(self.operands[x] for x in self.shared),
                *begun,
                *(self.operands[x] for x in single),
                *parts,
            ],
        )
        ends = iter(outer_results[len(begun) : len(carried)])
        whole = iter(outer_results[len(carried) :])
        return [
            reshape(Expression(outer, next(whole)), (count * length,)).atom if moves else next(ends)
            for moves in self.walk.states
        ] + list(outer_results[: len(begun)])
