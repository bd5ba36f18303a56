"""Vectorisation: programs of one example become programs of many, along axis 0 of what varies."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.base.arrays import array_type
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure import broadcast_to
from adjoint.program import Atom, Builder, Program, Variable, locating


def vmap(program: Program, batched: Sequence[bool], size: int) -> Program:
    """The program over a batch: batched inputs and all outputs have a leading axis of that size."""
    builder = Builder()
    names: dict[Variable, tuple[Atom, bool]] = {}
    for variable, mark in zip(program.inputs, batched, strict=True):
        type_ = variable.type
        over = array_type((size, *type_.shape), type_.dtype) if mark else type_
        names[variable] = (builder.input(over), mark)

    def find(atom: Atom) -> tuple[Atom, bool]:
        return names[atom] if isinstance(atom, Variable) else (atom, False)

    for equation in program.equations:
        builder.origin, builder.derived = equation.origin, equation.derived
        found = [find(atom) for atom in equation.inputs]
        marks = tuple(mark for _, mark in found)
        if any(marks):
            operands = tuple(Expression(builder, atom) for atom, _ in found)
            with locating(builder):
                rule = equation.primitive.rule("batch")
                results = rule(operands, marks, size, **equation.params)
            results = results if isinstance(results, tuple) else (results,)
            atoms = [result.atom for result in results]
        else:
            atoms = list(builder.emit(equation.operation, [atom for atom, _ in found]))
        names.update(
            (variable, (atom, any(marks)))
            for variable, atom in zip(equation.outputs, atoms, strict=True)
        )
    builder.origin = None
    outputs = []
    for atom in program.outputs:
        new, mark = find(atom)
        if not mark:
            new = broadcast_to(Expression(builder, new), (size, *new.type.shape)).atom
        outputs.append(new)
    return builder.build(outputs)
