"""Linearisation: the derivative program, split in two.

The first part does not depend on the tangents; it runs once and leaves residuals. The second is
linear in them: it is the derivative as a linear map, and repeats none of the work of the first
(You Only Linearize Once, Radul et al. 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.program import Atom, Builder, Equation, Program, Variable
from adjoint.transforms.jvp import push_forward, tangent_type


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


def linearize(program: Program, active: Sequence[bool]) -> Linearised:
    """Split the derivative of a program with respect to its active inputs."""
    builder = Builder()
    primals = [builder.input(variable.type) for variable in program.inputs]
    tangents = [
        Variable(tangent_type(variable.type)) if mark else None
        for variable, mark in zip(program.inputs, active, strict=True)
    ]
    outputs, slopes = push_forward(builder, program, primals, tangents)
    linear_inputs = [tangent for tangent in tangents if tangent is not None]
    fixed, moving = split_equations(builder.equations, linear_inputs)
    varying = tuple(slope is not None for slope in slopes)
    linear_outputs = [slope for slope in slopes if slope is not None]
    residuals = _residuals(moving, linear_outputs, linear_inputs)
    primal = Program(primals, fixed, [*outputs, *residuals])
    # The residuals are assigned in the primal program and are inputs of the linear one: give them
    # names of their own there.
    linear = _renamed(Program([*residuals, *linear_inputs], moving, linear_outputs))
    return Linearised(primal, linear, len(residuals), varying)


def split_equations(
    equations: Sequence[Equation], linear_inputs: Sequence[Variable]
) -> tuple[list[Equation], list[Equation]]:
    """The equations that do not depend on these variables, and those that do."""
    linear = set(linear_inputs)
    fixed, moving = [], []
    for equation in equations:
        if any(isinstance(atom, Variable) and atom in linear for atom in equation.inputs):
            linear.update(equation.outputs)
            moving.append(equation)
        else:
            fixed.append(equation)
    return fixed, moving


def _residuals(
    moving: Sequence[Equation], outputs: Sequence[Atom], linear_inputs: Sequence[Variable]
) -> list[Variable]:
    """What the linear equations use and do not assign, in the order of first use."""
    known = set(linear_inputs)
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
