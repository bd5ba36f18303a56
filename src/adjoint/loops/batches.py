"""Loops over batches: what varies between examples has an axis for them in every round.

Where the number of rounds varies, the loop goes on until the last example is done, and those that
are done earlier keep what they carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.loops.bodies import batch
from adjoint.loops.rules import INDEX, InputLayout
from adjoint.primitives.calls.custom import append
from adjoint.primitives.declaration import PRIMITIVES, Unbatched
from adjoint.primitives.elementwise.comparison import ANY
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.moving import permute, with_batch, zeros
from adjoint.primitives.structure.reductions import MAX
from adjoint.program import Builder, Program
from adjoint.transforms.pieces import Marks, flat, parts

_FLAG = array_type((), np.dtype(bool))


def _over_batch(
    body: Program, layout: InputLayout, batched: Sequence[bool], size: int
) -> tuple[Program, list[bool], list[bool]]:
    """The body over a batch; which carried values and which rows vary between examples."""
    fixed, carried, scanned = parts(batched, *layout)
    still = [False] * (len(body.outputs) - layout.carried)
    while True:
        batched_body = batch(
            body, tuple(flat(fixed, carried, scanned)), size, tuple(carried + still)
        )
        grown, rows = parts(batched_body.marks, layout.carried)
        if grown == carried:
            return batched_body.program, carried, rows
        carried = grown


def _swapped(x: Expression) -> Expression:
    """Rows of batches as batches of rows, and back: nothing that the user wrote."""
    builder = x.builder
    before, builder.derived = builder.derived, True
    swapped = permute(x, (1, 0, *range(2, x.ndim)))
    builder.derived = before
    return swapped


def _begun(
    operands: Sequence[Any], before: Sequence[bool], after: Sequence[bool], size: int
) -> list[Any]:
    """What is carried at first, repeated for all examples where it will vary between them."""
    return [
        with_batch(x, old, size) if new else x
        for x, old, new in zip(operands, before, after, strict=True)
    ]


def _shared(results: Sequence[Any], marks: Sequence[bool], stacked: bool) -> list[Any]:
    return [
        (_swapped(x) if stacked else x) if mark else Unbatched(x)
        for x, mark in zip(results, marks, strict=True)
    ]


def scan_batch(
    operands: Any,
    batched: Marks,
    size: int,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
    reverse: bool,
) -> Any:
    """A scan over a batch."""
    if batched[0]:
        return _ragged_scan(operands, batched, size, body, constants, carried, length, reverse)
    layout = InputLayout(constants, carried)
    program, varying, rows = _over_batch(body, layout, batched[1:], size)
    c, x, s = parts(operands[1:], *layout)
    _, before, scanned = parts(batched[1:], *layout)
    results = bind(
        PRIMITIVES["scan"],
        operands[0],
        *c,
        *_begun(x, before, varying, size),
        *(_swapped(array) if mark else array for array, mark in zip(s, scanned, strict=True)),
        body=program,
        constants=constants,
        carried=carried,
        length=length,
        reverse=reverse,
    )
    x, r = parts(results, carried)
    return (*_shared(x, varying, False), *_shared(r, rows, True))


def _choose(mask: Expression, new: Sequence[Expression], old: Sequence[Expression]) -> list[Any]:
    return [select(mask, x, y) for x, y in zip(new, old, strict=True)]


def _ragged_scan(
    operands: Any,
    batched: Marks,
    size: int,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
    reverse: bool,
) -> Any:
    """Scans of different lengths: (limit, constants; round, carried; rows)."""
    builder = Builder()
    tc, tx, ts = parts(body.input_types, constants, carried)
    types = flat([INDEX], tc, [INDEX], tx, ts)
    inputs = [Expression(builder, builder.input(type_)) for type_ in types]
    (limit,), c, (place,), x, s = parts(inputs, 1, constants, 1, carried)
    results = [
        Expression(builder, atom)
        for atom in append(builder, body, [operand.atom for operand in flat(c, x, s)])
    ]
    y, r = parts(results, carried)
    mask = np.less(place, limit)
    kept = _choose(mask, y, x)
    rows = _choose(mask, r, [zeros(builder, row.type) for row in r])
    after = place - 1 if reverse else place + 1
    masked = builder.build([result.atom for result in flat([after], kept, rows)])
    outer = operands[0].builder
    limits = cast(operands[0], INDEX.dtype)
    last = bind(MAX, limits, axes=(0,)) if size else zeros(outer, INDEX)
    first = last - 1 if reverse else zeros(outer, INDEX)
    fixed, moving, scanned = parts(operands[1:], constants, carried)
    mc, mx, ms = parts(batched[1:], constants, carried)
    place_and_results = scan_batch(
        (last, limits, *fixed, first, *moving, *scanned),
        (False, True, *mc, False, *mx, *ms),
        size,
        masked,
        constants + 1,
        carried + 1,
        length,
        reverse,
    )
    return place_and_results[1:]


def while_batch(
    operands: Any,
    batched: Marks,
    size: int,
    test: Program,
    body: Program,
    constants: int,
    carried: int,
    length: int | None,
) -> Any:
    """A loop over a batch: of all examples alike, if its test is the same for all."""
    layout = InputLayout(constants, carried)
    program, varying, rows = _over_batch(body, layout, batched, size)
    marks = (*batched[:constants], *varying)
    over = batch(test, marks, size, (False,))
    if over.marks[0]:
        return _ragged_while(operands, batched, size, test, body, layout, length)
    c, x = parts(operands, constants)
    results = bind(
        PRIMITIVES["while"],
        *c,
        *_begun(x, batched[constants:], varying, size),
        test=over.program,
        body=program,
        constants=constants,
        carried=carried,
        length=length,
    )
    rounds, x, r = results[0], *parts(results[1:], carried)
    return (Unbatched(rounds), *_shared(x, varying, False), *_shared(r, rows, True))


def _masked_body(test: Program, body: Program, layout: InputLayout) -> Program:
    """(constants; whether it goes on, its rounds, carried) -> (the same one round later; rows)."""
    builder = Builder()
    constants = [builder.input(type_) for type_ in body.input_types[: layout.constants]]
    goes_on = Expression(builder, builder.input(_FLAG))
    rounds = Expression(builder, builder.input(INDEX))
    old = [builder.input(type_) for type_ in body.input_types[layout.constants :]]
    results = [Expression(builder, x) for x in append(builder, body, [*constants, *old])]
    new, rows = parts(results, layout.carried)
    kept = _choose(goes_on, new, [Expression(builder, x) for x in old])
    rows = _choose(goes_on, rows, [zeros(builder, row.type) for row in rows])
    (after,) = append(builder, test, [*constants, *(value.atom for value in kept)])
    counted = rounds + cast(goes_on, INDEX.dtype)
    return builder.build([after, counted.atom, *(value.atom for value in flat(kept, rows))])


def _any_test(types: Sequence[ArrayType], place: int) -> Program:
    """Whether any of the flags holds that are the input at this place."""
    builder = Builder()
    inputs = [builder.input(type_) for type_ in types]
    return builder.build([bind(ANY, Expression(builder, inputs[place]), axes=(0,)).atom])


def _ragged_while(
    operands: Any,
    batched: Marks,
    size: int,
    test: Program,
    body: Program,
    layout: InputLayout,
    length: int | None,
) -> Any:
    """Loops of which each example ends in its own time."""
    builder = operands[0].builder
    constants, carried = layout
    c, x = parts(operands, constants)
    over = batch(test, batched, size, (True,))
    (goes_on,) = append(builder, over.program, [operand.atom for operand in operands])
    rounds = zeros(builder, array_type((size,), INDEX.dtype))
    masked = _masked_body(test, body, layout)
    wider = InputLayout(constants, carried + 2)
    marks = (*batched[:constants], True, True, *batched[constants:])
    program, varying, rows = _over_batch(masked, wider, marks, size)
    begun = _begun(x, batched[constants:], varying[2:], size)
    results = bind(
        PRIMITIVES["while"],
        *c,
        Expression(builder, goes_on),
        rounds,
        *begun,
        test=_any_test(program.input_types, constants),
        body=program,
        constants=constants,
        carried=wider.carried,
        length=length,
    )
    x, r = parts(results[3:], carried)
    return (results[2], *_shared(x, varying[2:], False), *_shared(r, rows, True))
