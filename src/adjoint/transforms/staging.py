"""Staging: a program cut in two, by what is known when.

The first part needs the early inputs alone; it runs once and leaves residuals. The second takes the
residuals and the late inputs, and repeats none of the work of the first (You Only Linearize Once,
Radul et al. 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.program import Atom, Builder, Equation, Program, Variable
from adjoint.program.builder import lookup
from adjoint.transforms.pieces import Halves, chosen


@dataclass(frozen=True)
class Staged:
    """A program cut in two.

    early: early inputs -> (early outputs, residuals).
    late: (residuals, late inputs) -> the other outputs.
    residuals: how many there are.
    """

    early: Program
    late: Program
    residuals: int


def stage(program: Program, early_inputs: int, early_outputs: int) -> Staged:
    """Cut a program after its first inputs, of which its first outputs must be functions."""
    late_inputs = tuple(n >= early_inputs for n in range(len(program.inputs)))
    late_outputs = tuple(n >= early_outputs for n in range(len(program.outputs)))
    halves = cut(program, late_inputs, late_outputs)
    return Staged(halves.early, halves.late, len(halves.early.outputs) - early_outputs)


def cut(program: Program, late_inputs: Sequence[bool], late_outputs: Sequence[bool]) -> Halves:
    """Cut a program in two. Outputs are late if they depend on late inputs, or are marked."""
    inputs = chosen(program.inputs, late_inputs)
    fixed, moving = split_equations(program.equations, inputs)
    known_late = {*inputs, *(variable for equation in moving for variable in equation.outputs)}
    marks = tuple(
        mark or atom in known_late for mark, atom in zip(late_outputs, program.outputs, strict=True)
    )
    kept, outputs = chosen(program.outputs, marks, False), chosen(program.outputs, marks)
    residuals = _residuals(moving, outputs, inputs)
    early = Program(chosen(program.inputs, late_inputs, False), fixed, [*kept, *residuals])
    # The residuals are assigned in the early program and are inputs of the late one: give them
    # names of their own there.
    late = _renamed(Program([*residuals, *inputs], moving, outputs))
    return Halves(early, late, marks)


def split_equations(
    equations: Sequence[Equation], late_inputs: Sequence[Variable]
) -> tuple[list[Equation], list[Equation]]:
    """The equations that do not depend on these variables, and those that do.

    Loops and branches of which a part depends on them are cut in two.
    """
    late = set(late_inputs)
    fixed: list[Equation] = []
    moving: list[Equation] = []
    for equation in equations:
        marks = tuple(isinstance(atom, Variable) and atom in late for atom in equation.inputs)
        if not any(marks):
            fixed.append(equation)
            continue
        split = equation.primitive.split
        halves = split and split(marks, equation.inputs, **equation.params)
        if halves is None:
            late.update(equation.outputs)
            moving.append(equation)
        else:
            _insert(equation, marks, halves, fixed, moving)
            late.update(chosen(equation.outputs, halves.late_outputs))
    return fixed, moving


def _insert(
    equation: Equation,
    marks: Sequence[bool],
    halves: Halves,
    fixed: list[Equation],
    moving: list[Equation],
) -> None:
    """Put the two halves of an equation in its place."""
    early = chosen(equation.outputs, halves.late_outputs, False)
    operands = chosen(equation.inputs, marks, False)
    names = _place(halves.early, operands, early, equation, equation.derived, fixed)
    left = [lookup(names, atom) for atom in halves.early.outputs[len(early) :]]
    operands = [*left, *chosen(equation.inputs, marks)]
    late = chosen(equation.outputs, halves.late_outputs)
    _place(halves.late, operands, late, equation, True, moving)


def _place(
    program: Program,
    operands: Sequence[Atom],
    results: Sequence[Variable],
    origin: Equation,
    derived: int,
    target: list[Equation],
) -> dict[Variable, Atom]:
    """Append a program whose first outputs are to be these results."""
    named = dict(zip(program.outputs, results, strict=False))
    names: dict[Variable, Atom] = dict(zip(program.inputs, operands, strict=True))
    for equation in program.equations:
        inputs = [lookup(names, atom) for atom in equation.inputs]
        outputs = [named.get(x) or Variable(x.type) for x in equation.outputs]
        quiet = equation.derived or derived
        target.append(Equation(equation.operation, inputs, outputs, origin.origin, quiet))
        names.update(zip(equation.outputs, outputs, strict=True))
    return names


def _residuals(
    moving: Sequence[Equation], outputs: Sequence[Atom], late_inputs: Sequence[Variable]
) -> list[Variable]:
    """What the late equations use and do not assign, in the order of first use."""
    known = set(late_inputs)
    residuals: dict[Variable, None] = {}
    for equation in moving:
        for atom in equation.inputs:
            if isinstance(atom, Variable) and atom not in known:
                residuals[atom] = None
        known.update(equation.outputs)
    for atom in outputs:
        if isinstance(atom, Variable) and atom not in known:
            residuals[atom] = None
    return list(residuals)


def _renamed(program: Program) -> Program:
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in program.inputs]
    return builder.build(builder.inline(program, inputs))
