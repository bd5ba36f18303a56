"""Loops and branches in collapsed Taylor mode: their bodies carry slopes and one sum of curvatures.

What a value carries along is told by a `Motion`: along which sets of directions it moves, and which
axes of a set run along its own (`transforms/collapsed/directions.py`). A loop finds the least that
what it carries keeps from round to round; axes that do not stay are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

from adjoint.base.arrays import array_type
from adjoint.loops.bodies import remembered
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import broadcast_to, permute, zeros
from adjoint.program import Atom, Builder, Program, Variable, operation
from adjoint.transforms.collapsed import (
    AxisRun,
    Directions,
    DirectionSet,
    Moving,
    collapse,
    count_axes,
    counted_lengths,
    joined,
)
from adjoint.transforms.jvp import tangent_type
from adjoint.transforms.pieces import flat, parts

Sets = tuple[DirectionSet, ...]
Results = tuple[list[Atom], list[Moving]]


class Motion(NamedTuple):
    """What of a value's motion is there.

    runs: for each set along which it moves, its number and the axes that run along the value's.
    curve: whether it has a sum of curvatures.
    """

    runs: tuple[tuple[int, tuple[AxisRun, ...]], ...] = ()
    curve: bool = False

    @property
    def arrays(self) -> int:
        """How many arrays that takes."""
        return len(self.runs) + self.curve


STILL = Motion()


def motion_of(moving: Moving, sets: Sets) -> Motion:
    """What of a motion is there, in one part for each set."""
    runs = []
    for number in sorted(moving.sets):
        of_parts = [part.runs for part in moving.sets[number]]
        columns = zip(*of_parts, strict=True)
        same = (column[0] if len(set(column)) == 1 else None for column in columns)
        runs.append((number, tuple(same)))
    return Motion(tuple(runs), moving.curve is not None)


def either(one: Motion, other: Motion) -> Motion:
    """What is there of two motions: an axis runs where it does in both."""
    runs = dict(one.runs)
    for number, own in other.runs:
        had = runs.get(number, own)
        runs[number] = tuple(a if a == b else None for a, b in zip(had, own, strict=True))
    return Motion(tuple(sorted(runs.items(), key=lambda item: item[0])), one.curve or other.curve)


def written(builder: Builder, atom: Atom, moving: Moving, motion: Motion, sets: Sets) -> list[Atom]:
    """The arrays of a motion; zeros where there is less."""
    type_, derived = tangent_type(atom.type), builder.derived
    arrays: list[Any] = []
    builder.derived = True  # unlike the loop, which the user wrote
    for number, runs in motion.runs:
        lengths = sets[number].lengths
        wide = array_type((prod(counted_lengths(lengths, runs)), *type_.shape), type_.dtype)
        if number not in moving.sets:
            arrays.append(zeros(builder, wide))
            continue
        mixed = [place for place, run in enumerate(runs) if run is None]
        part = joined([count_axes(x, lengths, mixed) for x in moving.sets[number]], lengths)
        arrays.append(broadcast_to(cast(part.rows, type_.dtype), wide.shape))
    if motion.curve:
        curve = zeros(builder, type_) if moving.curve is None else moving.curve
        arrays.append(broadcast_to(cast(curve, type_.dtype), type_.shape))
    builder.derived = derived
    return [array.atom for array in arrays]


def read(builder: Builder, motion: Motion, arrays: Iterable[Atom]) -> Moving:
    """A motion from its arrays."""
    rest = iter(arrays)
    moved = {
        number: [Directions(Expression(builder, next(rest)), runs)] for number, runs in motion.runs
    }
    return Moving(moved, Expression(builder, next(rest)) if motion.curve else None)


@remembered
def collapse_body(
    program: Program, sets: Sets, curved: bool, given: tuple[Motion, ...], least: tuple[Motion, ...]
) -> tuple[Program, tuple[Motion, ...]]:
    """(inputs, their motions) -> (outputs, their motions), and what of the latter is there."""
    builder = Builder()
    values = [builder.input(variable.type) for variable in program.inputs]
    moving = []
    for variable, motion in zip(program.inputs, given, strict=True):
        type_ = tangent_type(variable.type)
        counts = [prod(counted_lengths(sets[n].lengths, runs)) for n, runs in motion.runs]
        types = [array_type((count, *type_.shape), type_.dtype) for count in counts]
        given_arrays = [builder.input(t) for t in (*types, *[type_] * motion.curve)]
        moving.append(read(builder, motion, given_arrays))
    outputs, states = collapse(builder, program, values, moving, sets, curved)
    builder.derived = True
    motions = tuple(
        either(motion_of(state, sets), wanted) if atom.type.inexact else STILL
        for atom, state, wanted in zip(program.outputs, states, least, strict=True)
    )
    arrays = [
        array
        for atom, state, motion in zip(program.outputs, states, motions, strict=True)
        for array in written(builder, atom, state, motion, sets)
    ]
    return builder.build([*outputs, *arrays]), motions


def _taken(
    builder: Builder, atoms: Sequence[Atom], motions: Sequence[Motion]
) -> tuple[list[Atom], list[Moving]]:
    """The results of what carries motions: values, and what follows them."""
    rest = iter(atoms[len(motions) :])
    moved = [
        read(builder, motion, [next(rest) for _ in range(motion.arrays)]) for motion in motions
    ]
    return list(atoms[: len(motions)]), moved


# --- branches ------------------------------------------------------------------------------------


def switch_collapsed(
    builder: Builder,
    operands: Sequence[Atom],
    moving: Sequence[Moving],
    sets: Sets,
    curved: bool,
    branches: tuple[Program, ...],
) -> Results:
    """The branch that is chosen, with motions."""
    given = tuple(motion_of(moved, sets) for moved in moving[1:])
    motions = (STILL,) * len(branches[0].outputs)
    for branch in branches:
        motions = collapse_body(branch, sets, curved, given, motions)[1]
    bodies = tuple(collapse_body(branch, sets, curved, given, motions)[0] for branch in branches)
    arrays = _all_written(builder, operands[1:], moving[1:], given, sets)
    op = operation(PRIMITIVES["switch"], branches=bodies)
    return _taken(builder, builder.emit(op, [*operands, *arrays]), motions)


def checkpoint_collapsed(
    builder: Builder,
    operands: Sequence[Atom],
    moving: Sequence[Moving],
    sets: Sets,
    curved: bool,
    body: Program,
    schedule: str | int | None,
) -> Results:
    """The body with motions."""
    given = tuple(motion_of(moved, sets) for moved in moving)
    least = (STILL,) * len(body.outputs)
    program, motions = collapse_body(body, sets, curved, given, least)
    arrays = _all_written(builder, operands, moving, given, sets)
    op = operation(PRIMITIVES["checkpoint"], body=program, schedule=schedule)
    return _taken(builder, builder.emit(op, [*operands, *arrays]), motions)


def _all_written(
    builder: Builder,
    atoms: Sequence[Atom],
    moving: Sequence[Moving],
    motions: Sequence[Motion],
    sets: Sets,
) -> list[Atom]:
    return [
        array
        for atom, moved, motion in zip(atoms, moving, motions, strict=True)
        for array in written(builder, atom, moved, motion, sets)
    ]


# --- loops ---------------------------------------------------------------------------------------


class _LoopBody(NamedTuple):
    """A loop's body with motions.

    Its inputs: constants, their motions, what is carried, its motions, rows, theirs. constants,
    carried: how many inputs these are. motions: of constants, of what is carried, of rows read and
    of rows stacked.
    """

    body: Program
    constants: int
    carried: int
    motions: tuple[list[Motion], list[Motion], list[Motion], list[Motion]]


def _with_motions(
    body: Program, constants: int, carried: int, given: Sequence[Motion], sets: Sets, curved: bool
) -> _LoopBody:
    """The body, with the least that what is carried keeps from round to round."""
    fixed, moved, rows = parts(given, constants, carried)
    still = [STILL] * (len(body.outputs) - carried)
    while True:
        program, motions = collapse_body(
            body, sets, curved, tuple(flat(fixed, moved, rows)), tuple(moved + still)
        )
        kept, stacked = parts(motions, carried)
        if kept == moved:
            break
        moved = kept
    counts = [sum(motion.arrays for motion in group) for group in (fixed, moved)]
    c, x, s, dc, dx, ds = parts(program.inputs, constants, carried, len(rows), *counts)
    y, r, dy, dr = parts(program.outputs, carried, len(stacked), counts[1])
    whole = Program(flat(c, dc, x, dx, s, ds), program.equations, flat(y, dy, r, dr))
    return _LoopBody(whole, len(c + dc), len(x + dx), (fixed, moved, rows, stacked))


def _row_motion(motion: Motion) -> Motion:
    """That of the rows of an array: an axis that runs along the rows is counted."""
    runs = ((number, tuple(run - 1 if run else None for run in own)) for number, own in motion.runs)
    return Motion(tuple(runs), motion.curve)


def _stack_motion(motion: Motion) -> Motion:
    """That of an array, from that of its rows."""
    runs = (
        (number, tuple(None if run is None else run + 1 for run in own))
        for number, own in motion.runs
    )
    return Motion(tuple(runs), motion.curve)


def _turned(builder: Builder, atom: Atom) -> Atom:
    """Directions and rows in the other order."""
    derived, builder.derived = builder.derived, True
    turned = permute(Expression(builder, atom), (1, 0, *range(2, atom.type.ndim)))
    builder.derived = derived
    return turned.atom


def _rows_written(
    builder: Builder,
    atoms: Sequence[Atom],
    moving: Sequence[Moving],
    motions: Sequence[Motion],
    sets: Sets,
) -> list[Atom]:
    """The motions of arrays of rows, row by row."""
    arrays = []
    for atom, moved, motion in zip(atoms, moving, motions, strict=True):
        own = written(builder, atom, moved, _stack_motion(motion), sets)
        turned = [_turned(builder, array) for array in own[: len(motion.runs)]]
        arrays += [*turned, *own[len(motion.runs) :]]
    return arrays


def _loop_results(builder: Builder, atoms: Sequence[Atom], loop: _LoopBody) -> Results:
    """The results of a loop with motions."""
    _, carried, _, stacked = loop.motions
    kept, rows = parts(atoms, loop.carried)
    values, moved = _taken(builder, kept, carried)
    stacks, rest = rows[: len(stacked)], iter(rows[len(stacked) :])
    for motion in stacked:
        arrays = [_turned(builder, next(rest)) for _ in motion.runs]
        arrays += [next(rest) for _ in range(motion.curve)]
        moved.append(read(builder, _stack_motion(motion), arrays))
    return [*values, *stacks], moved


def scan_collapsed(
    builder: Builder,
    operands: Sequence[Atom],
    moving: Sequence[Moving],
    sets: Sets,
    curved: bool,
    body: Program,
    constants: int,
    carried: int,
    **params: Any,
) -> Results:
    """A scan that carries motions."""
    c, x, s = parts(operands[1:], constants, carried)
    dc, dx, ds = parts(moving[1:], constants, carried)
    given = [motion_of(moved, sets) for moved in (*dc, *dx)]
    given += [_row_motion(motion_of(moved, sets)) for moved in ds]
    loop = _with_motions(body, constants, carried, given, sets, curved)
    fixed, moved, rows, _ = loop.motions
    inputs = flat(
        *(c, _all_written(builder, c, dc, fixed, sets)),
        *(x, _all_written(builder, x, dx, moved, sets)),
        *(s, _rows_written(builder, s, ds, rows, sets)),
    )
    op = operation(
        PRIMITIVES["scan"],
        body=loop.body,
        constants=loop.constants,
        carried=loop.carried,
        **params,
    )
    return _loop_results(builder, builder.emit(op, [operands[0], *inputs]), loop)


def while_collapsed(
    builder: Builder,
    operands: Sequence[Atom],
    moving: Sequence[Moving],
    sets: Sets,
    curved: bool,
    test: Program,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
) -> Results:
    """A loop that carries motions, whose test looks at the values."""
    given = [motion_of(moved, sets) for moved in moving]
    loop = _with_motions(body, constants, carried, given, sets, curved)
    fixed, moved, _, _ = loop.motions
    c, x = parts(operands, constants)
    dc, dx = parts(moving, constants)
    inputs = flat(
        *(c, _all_written(builder, c, dc, fixed, sets)),
        *(x, _all_written(builder, x, dx, moved, sets)),
    )
    kept, looked = parts(test.inputs, constants)
    types = loop.body.input_types
    beside = [Variable(type_) for type_ in types[constants : loop.constants]]
    start = loop.constants + carried
    behind = [Variable(type_) for type_ in types[start : loop.constants + loop.carried]]
    op = operation(
        PRIMITIVES["while"],
        test=Program(flat(kept, beside, looked, behind), test.equations, test.outputs),
        body=loop.body,
        constants=loop.constants,
        carried=loop.carried,
        length=length,
    )
    rounds, *results = builder.emit(op, inputs)
    values, states = _loop_results(builder, results, loop)
    return [rounds, *values], [Moving({}), *states]
