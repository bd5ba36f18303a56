"""Branches and recomputation under derivatives: the rules of `switch` and `checkpoint`.

The derivative of a branch is taken in the branch that is chosen. Cut in two, the early branches
leave their residuals in places that all of them share, since only one of them runs. What is to be
computed again is cut so that nothing is left but its operands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.loops import checkpoints
from adjoint.loops.bodies import batch, cut_body, linear_outputs, pull, push
from adjoint.loops.rules import row_type
from adjoint.primitives.calls.custom import append
from adjoint.primitives.declaration import PRIMITIVES, Unbatched
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.moving import reshape, zeros
from adjoint.program import Atom, Builder, Program, Variable, all_equations, operation
from adjoint.transforms.pieces import Halves, Marks, chosen, parts, present, spread


def _any_of(rows: Sequence[Marks]) -> Marks:
    return tuple(map(any, zip(*rows, strict=True)))


# --- switch --------------------------------------------------------------------------------------


def switch_derivative(
    tangents: Any, operands: Any, branches: tuple[Program, ...]
) -> tuple[Any, Any]:
    """The branch that is chosen, with tangents; a result varies if it does in any branch."""
    marks = present(tangents[1:])
    none = (False,) * len(branches[0].outputs)
    varying = _any_of([push(branch, marks, none).marks for branch in branches])
    pushed = tuple(push(branch, marks, varying).program for branch in branches)
    moving = chosen(tangents[1:], marks)
    results = bind(PRIMITIVES["switch"], *operands, *moving, branches=pushed)
    values, slopes = parts(results, len(none))
    return values, spread(slopes, varying)


def switch_is_linear(marks: Marks, branches: tuple[Program, ...]) -> bool:
    """Whether every branch is linear in the operands marked."""
    return not marks[0] and all(
        linear_outputs(branch, marks[1:]) is not None for branch in branches
    )


def switch_split(
    late: Marks, operands: Sequence[Atom], branches: tuple[Program, ...]
) -> Halves | None:
    """An early choice, and a late one of the same number."""
    if late[0]:
        return None
    marks = late[1:]
    none = (False,) * len(branches[0].outputs)
    forced = _any_of([cut_body(branch, marks, none).late_outputs for branch in branches])
    cuts = [cut_body(branch, marks, forced) for branch in branches]
    early_types = chosen(branches[0].input_types, marks, False)
    passed = _passed(cuts)
    places = _places(cuts)
    if not places and all(forced):
        return None
    builder = Builder()
    index = builder.input(operands[0].type)
    given = [builder.input(type_) for type_ in early_types]
    kept = forced.count(False)
    results: tuple[Atom, ...] = ()
    if kept or places:
        early = tuple(_early_branch(cut, places) for cut in cuts)
        op = operation(PRIMITIVES["switch"], branches=early)
        results = builder.emit(op, [index, *given])
    left = [*(given[place] for place in passed), *results[kept:]]
    first = builder.build([*results[:kept], index, *left])
    builder = Builder()
    index = builder.input(operands[0].type)
    known = [builder.input(atom.type) for atom in left]
    moving = [builder.input(type_) for type_ in chosen(branches[0].input_types, marks)]
    second = tuple(_late_branch(cut, passed, places) for cut in cuts)
    op = operation(PRIMITIVES["switch"], branches=second)
    return Halves(first, builder.build(builder.emit(op, [index, *known, *moving])), forced)


def _own_residuals(cut: Halves) -> list[Variable]:
    """What a branch computes early for the late one; other residuals are early operands."""
    given = set(cut.early.inputs)
    own = []
    for atom in cut.early.outputs[cut.early_count :]:
        assert isinstance(atom, Variable)
        if atom not in given:
            own.append(atom)
    return own


def _passed(cuts: Sequence[Halves]) -> list[int]:
    """The early operands, by number, that any late branch reads."""
    operands: set[int] = set()
    for cut in cuts:
        numbers: dict[Atom, int] = dict(zip(cut.early.inputs, count(), strict=False))
        residuals = cut.early.outputs[cut.early_count :]
        operands.update(numbers[atom] for atom in residuals if atom in numbers)
    return sorted(operands)


def _places(cuts: Sequence[Halves]) -> list[ArrayType]:
    """The types of the residuals: as many of each as the branch that needs the most."""
    most: Counter[ArrayType] = Counter()
    for cut in cuts:
        most |= Counter(atom.type for atom in _own_residuals(cut))
    return list(most.elements())


def _seats(cut: Halves, places: Sequence[ArrayType]) -> list[Variable | None]:
    """For each place, the residual of a branch that sits there."""
    waiting = _own_residuals(cut)
    seats: list[Variable | None] = []
    for type_ in places:
        seat = next((atom for atom in waiting if atom.type is type_), None)
        if seat is not None:
            waiting.remove(seat)
        seats.append(seat)
    return seats


def _early_branch(cut: Halves, places: Sequence[ArrayType]) -> Program:
    builder = Builder()
    inputs = [builder.input(type_) for type_ in cut.early.input_types]
    own = _own_residuals(cut)
    program = Program(
        cut.early.inputs, cut.early.equations, [*cut.early.outputs[: cut.early_count], *own]
    )
    results = builder.inline(program, inputs)
    names = dict(zip(own, results[cut.early_count :], strict=True))
    residuals = [
        _unread(builder, type_) if seat is None else names[seat]
        for type_, seat in zip(places, _seats(cut, places), strict=True)
    ]
    return builder.build([*results[: cut.early_count], *residuals])


def _unread(builder: Builder, type: ArrayType) -> Atom:
    """What a branch has in the place of another's residual: a number of Python's where that is."""
    atom: Atom = zeros(builder, type).atom
    if type.weak:
        (atom,) = builder.emit(operation(PRIMITIVES["python_number"]), [atom])
    return atom


def _late_branch(cut: Halves, passed: Sequence[int], places: Sequence[ArrayType]) -> Program:
    builder = Builder()
    early = cut.early
    names: dict[Atom, Atom] = {
        early.inputs[place]: builder.input(early.inputs[place].type) for place in passed
    }
    for type_, seat in zip(places, _seats(cut, places), strict=True):
        variable = builder.input(type_)
        if seat is not None:
            names[seat] = variable
    residuals = [names[atom] for atom in early.outputs[cut.early_count :]]
    moving = [builder.input(type_) for type_ in cut.late.input_types[len(residuals) :]]
    return builder.build(builder.inline(cut.late, [*residuals, *moving]))


def switch_transpose(cotangents: Any, operands: Any, branches: tuple[Program, ...]) -> Any:
    """The transpose of the branch that is chosen."""
    linear = tuple(not isinstance(operand, Expression) for operand in operands[1:])
    seeded = present(cotangents)
    gathering, none = (False,) * len(linear), (False,) * sum(linear)
    marks = [pull(branch, linear, seeded, gathering, none).marks for branch in branches]
    filled = _any_of(marks)
    pulled = tuple(pull(branch, linear, seeded, gathering, filled).program for branch in branches)
    known = chosen(operands[1:], linear, False)
    results = (
        bind(
            PRIMITIVES["switch"],
            operands[0],
            *known,
            *chosen(cotangents, seeded),
            branches=pulled,
        )
        if any(filled)
        else ()
    )
    return (None, *spread(spread(results, filled), linear))


def switch_batch(operands: Any, batched: Marks, size: int, branches: tuple[Program, ...]) -> Any:
    """The same branch for all examples, or for each its own."""
    index, *rest = operands
    marks = batched[1:]
    if not batched[0]:
        none = (False,) * len(branches[0].outputs)
        varying = _any_of([batch(branch, marks, size, none).marks for branch in branches])
        over = tuple(batch(branch, marks, size, varying).program for branch in branches)
        results = bind(PRIMITIVES["switch"], index, *rest, branches=over)
        pairs = zip(results, varying, strict=True)
        return tuple(result if mark else Unbatched(result) for result, mark in pairs)
    if any(_may_not_end(branch) for branch in branches):
        return _one_by_one(operands, batched, size, branches)
    return _all_branches(operands, batched, size, branches)


def _may_not_end(branch: Program) -> bool:
    return any(equation.primitive is PRIMITIVES["while"] for equation in all_equations(branch))


def _all_branches(operands: Any, batched: Marks, size: int, branches: tuple[Program, ...]) -> Any:
    """All branches for all examples, of which each keeps what its own gave."""
    index, *rest = operands
    builder = index.builder
    every = (True,) * len(branches[0].outputs)
    atoms = [operand.atom for operand in rest]
    before, builder.derived = builder.derived, True  # branches that are not taken warn of nothing
    rows = [
        append(builder, batch(branch, batched[1:], size, every).program, atoms)
        for branch in branches
    ]
    total = [Expression(builder, atom) for atom in rows[-1]]
    for number in range(len(branches) - 2, -1, -1):
        taken = np.less_equal(index, number)
        total = [
            select(_column(taken, x.ndim), Expression(builder, atom), x)
            for atom, x in zip(rows[number], total, strict=True)
        ]
    builder.derived = before
    return tuple(total)


def _column(mask: Expression, ndim: int) -> Expression:
    return reshape(mask, (*mask.shape, *(1,) * (ndim - 1)))


def _one_by_one(operands: Any, batched: Marks, size: int, branches: tuple[Program, ...]) -> Any:
    """One example after another: a branch might never end for the others."""
    shared, varying = chosen(operands, batched, False), chosen(operands, batched)
    builder = Builder()
    types = [operand.type for operand in shared]
    types += [row_type(operand.type) for operand in varying]
    inputs = [builder.input(type_) for type_ in types]
    fixed, rows = parts(inputs, len(shared))
    waiting, coming = iter(fixed), iter(rows)
    atoms = [next(coming) if mark else next(waiting) for mark in batched]
    op = operation(PRIMITIVES["switch"], branches=branches)
    body = builder.build(builder.emit(op, atoms))
    return bind(
        PRIMITIVES["scan"],
        size,
        *shared,
        *varying,
        body=body,
        constants=len(shared),
        carried=0,
        length=size,
        reverse=False,
    )


# --- checkpoint ----------------------------------------------------------------------------------


def checkpoint_derivative(
    tangents: Any, operands: Any, body: Program, schedule: str | int | None
) -> tuple[Any, Any]:
    """The body with tangents, to be computed again as well."""
    marks = present(tangents)
    pushed = push(body, marks, (False,) * len(body.outputs))
    moving = chosen(tangents, marks)
    results = bind(
        PRIMITIVES["checkpoint"], *operands, *moving, body=pushed.program, schedule=schedule
    )
    values, slopes = parts(results, len(body.outputs))
    return values, spread(slopes, pushed.marks)


def checkpoint_is_linear(marks: Marks, body: Program, schedule: str | int | None) -> bool:
    """Whether the body is linear in the operands marked."""
    return linear_outputs(body, marks) is not None


def checkpoint_split(
    late: Marks, operands: Sequence[Atom], body: Program, schedule: str | int | None
) -> Halves | None:
    """The body for its early results, and again for the late ones: only operands are kept."""
    cut = cut_body(body, late, (False,) * len(body.outputs))
    residuals = cut.early.outputs[cut.early_count :]
    if not cut.early_count and all(atom in cut.early.inputs for atom in residuals):
        return None
    kept = chosen(body.outputs, cut.late_outputs, False)
    builder = Builder()
    early = [builder.input(type_) for type_ in chosen(body.input_types, late, False)]
    results: tuple[Atom, ...] = ()
    if kept:
        first = Program(cut.early.inputs, cut.early.equations, cut.early.outputs[: cut.early_count])
        op = operation(PRIMITIVES["checkpoint"], body=first, schedule=schedule)
        results = builder.emit(op, early)
    first = builder.build([*results, *early])
    again = Program(
        [*chosen(body.inputs, late, False), *chosen(body.inputs, late)],
        body.equations,
        chosen(body.outputs, cut.late_outputs),
    )
    builder = Builder()
    inputs = [builder.input(type_) for type_ in again.input_types]
    op = operation(PRIMITIVES["checkpoint"], body=again, schedule=schedule)
    return Halves(first, builder.build(builder.emit(op, inputs)), cut.late_outputs)


def checkpoint_transpose(
    cotangents: Any, operands: Any, body: Program, schedule: str | int | None
) -> Any:
    """What was not kept is computed again, and then gone through backwards."""
    linear = tuple(not isinstance(operand, Expression) for operand in operands)
    seeded = present(cotangents)
    if schedule is not None:
        body = checkpoints.scheduled(body, schedule)
    gathering, none = (False,) * len(linear), (False,) * sum(linear)
    pulled = pull(body, linear, seeded, gathering, none)
    known = chosen(operands, linear, False)
    moving = chosen(cotangents, seeded)
    results = bind(PRIMITIVES["checkpoint"], *known, *moving, body=pulled.program, schedule=None)
    return tuple(spread(spread(results, pulled.marks), linear))


def checkpoint_batch(
    operands: Any, batched: Marks, size: int, body: Program, schedule: str | int | None
) -> Any:
    """The body over a batch."""
    over = batch(body, batched, size, (False,) * len(body.outputs))
    results = bind(PRIMITIVES["checkpoint"], *operands, body=over.program, schedule=schedule)
    return tuple(
        result if mark else Unbatched(result)
        for result, mark in zip(results, over.marks, strict=True)
    )
