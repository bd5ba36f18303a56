"""The derivative rule of one operation, as a small program of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjoint.program import Atom, Builder, Equation, Operation, Program, Variable
from adjoint.transforms.jvp import push_forward, tangent_type

Marks = tuple[bool, ...]


@dataclass(frozen=True)
class DerivedRule:
    """The derivative of an operation.

    Its equations are in terms of the operands (variables or literals), their tangents (None where
    one stands still) and the results. slopes: the tangents of the results, None where one does not
    vary. moved: the variables that depend on tangents.
    """

    operands: tuple[Atom, ...]
    tangents: tuple[Variable | None, ...]
    results: tuple[Variable, ...]
    equations: tuple[Equation, ...]
    slopes: tuple[Atom | None, ...]
    moved: frozenset[Variable]


def derived_rule(
    op: Operation, operands: Sequence[Atom], marks: Marks, origin: int | None
) -> DerivedRule:
    """The derivative of an operation at operands of its own, in those that are marked.

    operands: literals as they are; for variables, others of the same types are taken. origin: the
    number of the recorded operation, for errors.
    """
    atoms = tuple(Variable(x.type) if isinstance(x, Variable) else x for x in operands)
    inputs = [atom for atom in atoms if isinstance(atom, Variable)]
    tangents = tuple(
        Variable(tangent_type(atom.type)) if mark else None
        for atom, mark in zip(atoms, marks, strict=True)
    )
    outputs = tuple(map(Variable, op.infer(tuple(atom.type for atom in atoms))))
    single = Program(inputs, [Equation(op, atoms, outputs, origin)], outputs)
    builder = Builder()
    moving = [
        tangent for atom, tangent in zip(atoms, tangents, strict=True) if isinstance(atom, Variable)
    ]
    _, slopes = push_forward(builder, single, inputs, moving)
    itself, *rest = builder.equations
    equations = _needed(rest, slopes)
    moved = {variable for variable in tangents if variable is not None}
    for equation in equations:
        if not moved.isdisjoint(equation.inputs):
            moved.update(equation.outputs)
    return DerivedRule(atoms, tangents, itself.outputs, equations, tuple(slopes), frozenset(moved))


def _needed(equations: Sequence[Equation], slopes: Sequence[Atom | None]) -> tuple[Equation, ...]:
    live = set(slopes)
    kept = []
    for equation in reversed(equations):
        if not live.isdisjoint(equation.outputs):
            live.update(equation.inputs)
            kept.append(equation)
    return tuple(reversed(kept))
