"""Vectorisation: programs of one example become programs of many, along axis 0 of what varies."""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.base.arrays import array_type
from adjoint.primitives.declaration import Unbatched
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import broadcast_to
from adjoint.program import Atom, Builder, Locating, Program, Variable


def vmap(program: Program, batched: Sequence[bool], size: int) -> Program:
    """The program over a batch: batched inputs and all outputs have a leading axis of that size."""
    return over_batch(program, batched, size, (True,) * len(program.outputs))[0]


def over_batch(
    program: Program, batched: Sequence[bool], size: int, filled: Sequence[bool]
) -> tuple[Program, tuple[bool, ...]]:
    """The program over a batch, and which outputs have its axis: all that vary, or are marked."""
    builder = Builder()
    names: dict[Variable, tuple[Atom, bool]] = {}
    for variable, mark in zip(program.inputs, batched, strict=True):
        type_ = variable.type
        over = array_type((size, *type_.shape), type_.dtype) if mark else type_
        names[variable] = (builder.input(over), mark)
    for equation in program.equations:
        builder.origin, builder.derived = equation.origin, equation.derived
        marked_operands = [_find(names, atom) for atom in equation.inputs]
        marks = tuple(mark for _, mark in marked_operands)
        if any(marks):
            operands = tuple(Expression(builder, atom) for atom, _ in marked_operands)
            with Locating(builder):
                rule = equation.primitive.rule("batch")
                results = rule(operands, marks, size, **equation.params)
            results = results if isinstance(results, tuple) else (results,)
            marked_results = [
                (result.value.atom, False) if isinstance(result, Unbatched) else (result.atom, True)
                for result in results
            ]
        else:
            atoms = builder.emit(equation.operation, [atom for atom, _ in marked_operands])
            marked_results = [(atom, False) for atom in atoms]
        names.update(zip(equation.outputs, marked_results, strict=True))
    builder.origin = None
    builder.derived = True
    outputs, varying = [], []
    for atom, fill in zip(program.outputs, filled, strict=True):
        new, mark = _find(names, atom)
        if mark or fill:
            shape = (size, *atom.type.shape)
            whole = Expression(builder, new)
            whole = whole if mark else broadcast_to(whole, shape)
            # In a batch a Python number is an array, and may have widened others.
            new = cast(whole, atom.type.dtype).atom
        outputs.append(new)
        varying.append(mark or fill)
    return builder.build(outputs), tuple(varying)


def _find(names: dict[Variable, tuple[Atom, bool]], atom: Atom) -> tuple[Atom, bool]:
    return names[atom] if isinstance(atom, Variable) else (atom, False)
