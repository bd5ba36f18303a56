"""Linearisation: the derivative program, split in two.

The first part does not depend on the tangents; it runs once and leaves residuals. The second is
linear in them: it is the derivative as a linear map, and repeats none of the work of the first
(You Only Linearize Once, Radul et al. 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.program import Builder, Program, Variable
from adjoint.transforms.jvp import push_forward, tangent_type
from adjoint.transforms.staging import stage


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
    moving = [tangent for tangent in tangents if tangent is not None]
    varying = tuple(slope is not None for slope in slopes)
    results = [*outputs, *(slope for slope in slopes if slope is not None)]
    whole = Program([*primals, *moving], builder.equations, results)
    staged = stage(whole, len(primals), len(outputs))
    return Linearised(staged.early, staged.late, staged.residuals, varying)
