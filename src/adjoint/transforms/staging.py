"""Staging: a program cut in two, by what is known when.

The first part needs the early inputs alone; it runs once and leaves residuals. The second takes the
residuals and the late inputs, and repeats none of the work of the first (You Only Linearize Once,
Radul et al. 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.program import Atom, Builder, Equation, Program, Variable


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
    inputs = program.inputs[early_inputs:]
    kept, outputs = program.outputs[:early_outputs], program.outputs[early_outputs:]
    fixed, moving = split_equations(program.equations, inputs)
    residuals = _residuals(moving, outputs, inputs)
    early = Program(program.inputs[:early_inputs], fixed, [*kept, *residuals])
    # The residuals are assigned in the early program and are inputs of the late one: give them
    # names of their own there.
    late = _renamed(Program([*residuals, *inputs], moving, outputs))
    return Staged(early, late, len(residuals))


def split_equations(
    equations: Sequence[Equation], late_inputs: Sequence[Variable]
) -> tuple[list[Equation], list[Equation]]:
    """The equations that do not depend on these variables, and those that do."""
    late = set(late_inputs)
    fixed, moving = [], []
    for equation in equations:
        if any(isinstance(atom, Variable) and atom in late for atom in equation.inputs):
            late.update(equation.outputs)
            moving.append(equation)
        else:
            fixed.append(equation)
    return fixed, moving


def _residuals(
    moving: Sequence[Equation], outputs: Sequence[Atom], late_inputs: Sequence[Variable]
) -> list[Variable]:
    """What the late equations use and do not assign, in the order of first use."""
    known = set(late_inputs)
    found: dict[Variable, None] = {}
    for equation in moving:
        for atom in equation.inputs:
            if isinstance(atom, Variable) and atom not in known:
                found[atom] = None
        known.update(equation.outputs)
    for atom in outputs:
        if isinstance(atom, Variable) and atom not in known:
            found[atom] = None
    return list(found)


def _renamed(program: Program) -> Program:
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in program.inputs]
    return builder.build(builder.inline(program, inputs))
