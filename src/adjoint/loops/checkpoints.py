"""Loops in loops, of which a derivative keeps few states and computes the rounds in between again.

n rounds in blocks of blocks: m levels of about n^(1/m) blocks each keep m n^(1/m) states, and each
level computes the rounds once more (Griewank and Walther, Evaluating Derivatives, 2008, chapter 12,
have the optimal schedules, of which this is the simplest). With m = 2 the states are some sqrt(n);
with m that grows as log n, a multiple of log n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.loops.rules import INDEX, row_type
from adjoint.loops.tapes import LENGTHS
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.moving import reshape, zeros
from adjoint.primitives.structure.slicing import SLICE, UPDATE
from adjoint.program import Atom, Builder, Equation, Program, Variable
from adjoint.program.builder import lookup
from adjoint.transforms.pieces import as_atoms, express, flat, needed, parts

_BRANCHING = 16  # at most so many blocks a level, where the number of rounds is known
_LEVELS = 4  # where it is not


def scheduled(program: Program, schedule: str | int) -> Program:
    """The program with its loops in blocks; only loops that stand in it themselves."""
    builder = Builder()
    names: dict[Variable, Atom] = {
        variable: builder.input(variable.type) for variable in program.inputs
    }
    for equation in program.equations:
        builder.origin, builder.derived = equation.origin, equation.derived
        operands = [lookup(names, atom) for atom in equation.inputs]
        results = as_atoms(_in_blocks(builder, equation, express(builder, operands), schedule))
        names.update(zip(equation.outputs, results, strict=True))
    return builder.build([lookup(names, atom) for atom in program.outputs])


def _in_blocks(
    builder: Builder, equation: Equation, operands: list[Expression], schedule: str | int
) -> Sequence[Expression]:
    params = equation.params
    if equation.primitive is PRIMITIVES["scan"]:
        return _scan(operands, schedule, **params)
    if equation.primitive is PRIMITIVES["while"] and params["length"] is None:
        rounds = _count(operands, params["test"], params["body"], params["constants"])
        loop = {name: params[name] for name in ("body", "constants", "carried", "length")}
        return [rounds, *_scan([rounds, *operands], schedule, reverse=False, **loop)]
    atoms = [operand.atom for operand in operands]
    return express(builder, builder.emit(equation.operation, atoms))


def _count(operands: list[Expression], test: Program, body: Program, constants: int) -> Expression:
    """The number of rounds, by a loop that carries no more than its test depends on."""
    places = range(len(body.outputs))
    wanted: set[int] = set()
    asked = _read(test, test.outputs)
    grown = {place for place in places if test.inputs[constants + place] in asked}
    while grown != wanted:
        wanted = grown
        read = _read(body, [body.outputs[place] for place in wanted])
        grown = wanted | {place for place in places if body.inputs[constants + place] in read}
    kept = sorted(wanted)
    given = [*range(constants), *(constants + place for place in kept)]
    outputs = [body.outputs[place] for place in kept]
    results = bind(
        PRIMITIVES["while"],
        *(operands[place] for place in given),
        test=Program([test.inputs[n] for n in given], test.equations, test.outputs),
        body=Program([body.inputs[n] for n in given], needed(body.equations, outputs), outputs),
        constants=constants,
        carried=len(kept),
        length=None,
    )
    return results[0]  # type: ignore[no-any-return]


def _read(program: Program, outputs: Sequence[Atom]) -> set[Atom]:
    """All that these outputs depend on."""
    equations = needed(program.equations, outputs)
    return {*outputs, *(atom for equation in equations for atom in equation.inputs)}


# --- blocks ---------------------------------------------------------------------------------------


class _BlockedScan(NamedTuple):
    """A scan, as its blocks see it.

    radices: blocks a level, if known; else how many levels. most: blocks of the first level, where
    somebody has said how many.
    """

    body: Program
    constants: int
    carried: int
    reverse: bool
    radices: tuple[int, ...] | None
    levels: int
    most: int | None

    def length(self, level: int) -> int:
        """A bound of the blocks on a level; where that is not known, a short tape, which grows."""
        if self.radices is None and self.most is not None and not level:
            return self.most
        if self.radices is None:
            return LENGTHS[0 if self.levels > 2 else 1]
        return self.radices[level]


def _radices(length: int, levels: int, most: int | None) -> tuple[int, ...]:
    """Numbers whose product is the length, or a little more; the first is `most`, if given."""
    if most is not None:
        blocks = max(min(most, length), 1)
        return blocks, max(-(-length // blocks), 1)
    radices = []
    for level in range(levels, 0, -1):
        radix = max(math.ceil(round(length ** (1 / level), 9)), 1)
        radices.append(radix)
        length = -(-length // radix)
    return tuple(radices)


def _scan(
    operands: list[Expression],
    schedule: str | int,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
    reverse: bool,
) -> Sequence[Expression]:
    """A scan in blocks."""
    most = schedule if isinstance(schedule, int) else None
    levels = _LEVELS if schedule == "log" else 2
    if length is not None and schedule == "log":
        levels = max(2, math.ceil(math.log(max(length, 2), _BRANCHING)))
    radices = None if length is None else _radices(length, levels, most)
    loop = _BlockedScan(body, constants, carried, reverse, radices, levels, most)
    count: Any = operands[0]
    rest, builder = operands[1:], operands[0].builder
    c, x, s = parts(rest, constants, carried)
    count = np.maximum(_integer(count), 0)
    if radices is None:
        root: Any
        if most is not None:
            root = np.floor_divide(count + (most - 1), most)
        else:
            whole: Any = cast(count, np.dtype(float))
            root = cast(np.ceil(whole ** (1 / levels)), INDEX.dtype)
        sizes = _powers(np.maximum(root, 1), levels)
    else:
        sizes = []
        s = [_cut_up(rows, radices) for rows in s]
    program = _level(
        loop, 0, [operand.type for operand in flat([count], sizes, c, x, s)], len(sizes)
    )
    atoms = [operand.atom for operand in flat([count], sizes, c, x, s)]
    results = express(builder, builder.inline(program, atoms))
    return [
        *results[:carried],
        *(_put_together(blocks, radices, length) for blocks in results[carried:]),
    ]


def _integer(count: Expression) -> Any:
    return cast(count, INDEX.dtype)


def _powers(root: Expression, levels: int) -> list[Expression]:
    """The sizes of the blocks of each level but the last: root^(levels - 1), ..., root."""
    sizes = [root]
    for _ in range(levels - 2):
        sizes.append(sizes[-1] * root)
    return sizes[::-1]


def _cut_up(rows: Expression, radices: tuple[int, ...]) -> Expression:
    """Rows in blocks of blocks, filled up with zeros."""
    length, total = rows.shape[0], math.prod(radices)
    shape = rows.shape[1:]
    if total != length:
        whole = zeros(rows.builder, array_type((total, *shape), rows.dtype))
        index = ((0, length, 1), *((0, n, 1) for n in shape))
        rows = bind(UPDATE, whole, rows, index=index)
    return reshape(rows, (*radices, *shape))


def _put_together(
    blocks: Expression, radices: tuple[int, ...] | None, length: int | None
) -> Expression:
    """Blocks of blocks as rows."""
    assert radices is not None
    assert length is not None
    shape = blocks.shape[len(radices) :]
    rows = reshape(blocks, (math.prod(radices), *shape))
    index = ((0, length, 1), *((0, n, 1) for n in shape))
    return rows if rows.shape[0] == length else bind(SLICE, rows, index=index)


def _level(loop: _BlockedScan, level: int, types: Sequence[ArrayType], sizes: int) -> Program:
    """(rounds, sizes of blocks, constants, carried, rows in blocks) -> (carried, new rows)."""
    builder = Builder()
    inputs = [Expression(builder, builder.input(type_)) for type_ in types]
    (count,), given, c, x, s = parts(inputs, 1, sizes, loop.constants, loop.carried)
    if level == loop.levels - 1:
        results = bind(
            PRIMITIVES["scan"],
            *(count, *c, *x, *s),
            body=loop.body,
            constants=loop.constants,
            carried=loop.carried,
            length=loop.length(level),
            reverse=loop.reverse,
        )
        return builder.build(as_atoms(results))
    rows = [row_type(array.type) for array in s]
    fixed = [count, *given, *c]
    body = _block(loop, level, [[operand.type for operand in part] for part in (given, c, x)], rows)
    size: Any = math.prod(loop.radices[level + 1 :]) if loop.radices else given[0]
    blocks = np.floor_divide(count + (size - 1), size)
    first = blocks - 1 if loop.reverse else zeros(builder, INDEX)
    results = bind(
        PRIMITIVES["scan"],
        *(blocks, *fixed, first, *x, *s),
        body=body,
        constants=len(fixed),
        carried=1 + len(x),
        length=loop.length(level),
        reverse=loop.reverse,
    )
    return builder.build(as_atoms(results[1:]))


def _block(
    loop: _BlockedScan, level: int, types: Sequence[Sequence[ArrayType]], rows: Sequence[ArrayType]
) -> Program:
    """(rounds, sizes, constants; number of the block, carried; its rows) -> (..., its new rows)."""
    sizes, c, x = types
    builder = Builder()
    row = flat([INDEX], sizes, c, [INDEX], x, rows)
    inputs = [Expression(builder, builder.input(type_)) for type_ in row]
    (count,), given, fixed, (number,), state, blocks = parts(
        inputs, 1, len(sizes), len(c), 1, len(x)
    )
    size: Any = math.prod(loop.radices[level + 1 :]) if loop.radices else given[0]
    inside = np.minimum(count - number * size, size)
    moved = [inside, *given[1:], *fixed, *state, *blocks]
    body = _level(loop, level + 1, [operand.type for operand in moved], max(len(given) - 1, 0))
    results = bind(PRIMITIVES["checkpoint"], *moved, body=body, schedule=None)
    after = number - 1 if loop.reverse else number + 1
    return builder.build([after.atom, *as_atoms(results)])
