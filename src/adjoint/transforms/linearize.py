"""Linearisation: the derivative program, split in two.

The first part does not depend on the tangents; it runs once and leaves residuals. The second is
linear in them: it is the derivative as a linear map, and repeats none of the work of the first
(You Only Linearize Once, Radul et al. 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression
from adjoint.primitives.hardness import HARD, TAME
from adjoint.program import Atom, Builder, Equation, Program, Variable, operation
from adjoint.transforms.hard_zeros.hardness import masks_of
from adjoint.transforms.hard_zeros.masks import infinite_entries
from adjoint.transforms.jvp import push_forward, seeded, tangent_type
from adjoint.transforms.recognition.norms import of_nothing
from adjoint.transforms.recognition.shares import with_shares
from adjoint.transforms.staging import Staged, stage

_HOLDERS = frozenset({"scan", "while", "switch", "checkpoint"})


@dataclass(frozen=True)
class Linearised:
    """A program split in two.

    primal: inputs -> (outputs, residuals).
    linear: (residuals, tangents of the active inputs) -> tangents of the outputs that vary.
    residuals: how many there are.
    varying: for each output, whether it has a tangent that is not structurally zero.
    """

    primal: Program
    linear: Program
    residuals: int
    varying: tuple[bool, ...]


def linearize(
    program: Program, active: Sequence[bool], given: bool = True, still: bool = False
) -> Linearised:
    """Split the derivative of a program with respect to its active inputs.

    given: whether the zeros of tangents are hard, as those of seeds are. still: whether the inputs
        are data with infinities, which do not move.
    """
    builder = Builder()
    primals = [builder.input(variable.type) for variable in program.inputs]
    tangents = [
        Variable(tangent_type(variable.type)) if mark else None
        for variable, mark in zip(program.inputs, active, strict=True)
    ]
    outputs, slopes = push_forward(
        builder, program, primals, seeded(builder, tangents) if given else tangents
    )
    moving = [tangent for tangent in tangents if tangent is not None]
    varying = tuple(slope is not None for slope in slopes)
    results = [*outputs, *(slope for slope in slopes if slope is not None)]
    whole = Program([*primals, *moving], builder.equations, results)
    if not still:  # cut in two, an exponential and the quotient by a sum with it would not meet
        whole = with_shares(whole)
    staged = with_masks(_with_tame_late(stage(whole, len(primals), len(outputs))), still)
    return Linearised(staged.early, staged.late, staged.residuals, varying)


def _with_tame_late(staged: Staged) -> Staged:
    """Slopes that are tame are handed on as they are, and tamed where they are used."""
    first = len(staged.early.outputs) - staged.residuals
    early, tamed = _untamed(staged.early, first)
    if not tamed:
        return staged
    builder = Builder()
    inputs: list[Atom] = [builder.input(x.type) for x in staged.late.inputs]
    builder.derived = True
    for place in tamed:
        (inputs[place - first],) = builder.emit(operation(TAME), [inputs[place - first]])
    late = builder.build(builder.inline(staged.late, inputs))
    return Staged(early, late, staged.residuals)


def _untamed(program: Program, first: int) -> tuple[Program, set[int]]:
    """The program, whose outputs from a place on are not tamed, and which of them were.

    Outputs that are infinite by underflow alone, and not at zero, are NaN. Loops and branches hand
    on what their rounds and branches do.
    """
    holders = {id(x): _untamed_holder(x) for x in program.equations if x.primitive.name in _HOLDERS}
    makers: dict[Atom, Equation] = {
        result: equation for equation in program.equations for result in equation.outputs
    }
    outputs, tamed = list(program.outputs), set()
    builder = Builder()
    builder.inputs.extend(program.inputs)
    builder.equations.extend(
        holders[id(equation)][0] if id(equation) in holders else equation
        for equation in program.equations
    )
    builder.derived = True
    for place in range(first, len(outputs)):
        atom = outputs[place]
        equation = makers.get(atom)
        if equation is None:
            continue
        if equation.primitive is TAME:
            outputs[place], *under = equation.inputs  # none, where this was done before
            slope = Expression(builder, outputs[place])
            for size in under:
                tiny = infinite_entries(slope) & np.logical_not(of_nothing(size, makers, builder))
                outputs[place] = select(tiny, np.nan, slope).atom
            tamed.add(place)
        elif id(equation) in holders and equation.outputs.index(atom) in holders[id(equation)][1]:
            tamed.add(place)
    return (builder.build(outputs), tamed) if tamed else (program, tamed)


def _untamed_holder(equation: Equation) -> tuple[Equation, set[int]]:
    """A loop or branches that hand on results as they are, and the places that were tamed in any.

    What a loop carries stays tamed: the next round reads it.
    """
    params = equation.params
    several = "branches" in params
    programs = params["branches"] if several else (params["body"],)
    first = params.get("carried", 0)
    pairs = [_untamed(program, first) for program in programs]
    tamed = set[int]().union(*(places for _, places in pairs))
    if not tamed:
        return equation, tamed
    bodies = tuple(_infinite_as_nan(body, tamed - places) for body, places in pairs)
    changed = {**params, "branches": bodies} if several else {**params, "body": bodies[0]}
    op = operation(equation.primitive, **changed)
    held = Equation(op, equation.inputs, equation.outputs, equation.origin, equation.derived)
    head = len(equation.outputs) - len(programs[0].outputs)
    return held, {head + place for place in tamed}


def _infinite_as_nan(program: Program, places: set[int]) -> Program:
    """A branch whose outputs will be tamed as another one's are: what is infinite here is NaN."""
    if not places:
        return program
    builder = Builder()
    builder.inputs.extend(program.inputs)
    builder.equations.extend(program.equations)
    builder.derived = True
    outputs = list(program.outputs)
    for place in places:
        slope = Expression(builder, outputs[place])
        outputs[place] = select(infinite_entries(slope), np.nan, slope).atom
    return builder.build(outputs)


def with_masks(staged: Staged, still: bool) -> Staged:
    """The halves of a program, of which the first tells the second which zeros are hard.

    What may be hard zeros among the residuals is followed by truths that say where they are.
    """
    first = len(staged.early.outputs) - staged.residuals
    inexact = [n for n in range(staged.residuals) if staged.late.inputs[n].type.inexact]
    early, places = masks_of(staged.early, [first + place for place in inexact], still)
    if not places:
        return staged
    builder = Builder()
    inputs = [builder.input(x.type) for x in staged.late.inputs[: staged.residuals]]
    masks = [builder.input(x.type) for x in early.outputs[len(staged.early.outputs) :]]
    late = [builder.input(x.type) for x in staged.late.inputs[staged.residuals :]]
    builder.derived = True
    known: list[Atom] = list(inputs)
    for place, mask in zip(places, masks, strict=True):
        known[place - first] = builder.emit(operation(HARD), [known[place - first], mask])[0]
    results = builder.inline(staged.late, [*known, *late])
    return Staged(early, builder.build(results), staged.residuals + len(masks))
