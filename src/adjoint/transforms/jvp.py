"""Forward mode: a program that carries tangents along (E.1.59, E.1.60).

Each equation y = p(x) is followed by those of its derivative, so that (x, u) becomes (f(x),
df(x)[u]). Tangents that are structurally zero are None, and nothing is recorded for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.declaration import NO_DERIVATIVE, Itself, Joint, Primitive, Together
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.hardness import hard
from adjoint.primitives.identities import SAME_AS
from adjoint.primitives.structure.moving import zeros
from adjoint.program import Atom, Builder, Equation, Literal, Locating, Program, Variable
from adjoint.transforms.pieces import present
from adjoint.transforms.recognition.norms import with_norms
from adjoint.transforms.recognition.recognised import recognised


def tangent_type(type: ArrayType) -> ArrayType:
    """The type of a tangent at a value of this type: the same, but never weak."""
    return array_type(type.shape, type.dtype) if type.weak else type


def jvp(program: Program, active: Sequence[bool]) -> Program:
    """(inputs, tangents of the active inputs) -> (outputs, tangents of the inexact outputs)."""
    builder = Builder()
    primals = [builder.input(variable.type) for variable in program.inputs]
    tangents = seeded(
        builder,
        [
            builder.input(tangent_type(variable.type)) if mark else None
            for variable, mark in zip(program.inputs, active, strict=True)
        ],
    )
    outputs, output_tangents = push_forward(builder, program, primals, tangents)
    filled = [
        tangent if tangent is not None else zeros(builder, tangent_type(atom.type)).atom
        for atom, tangent in zip(program.outputs, output_tangents, strict=True)
        if atom.type.inexact
    ]
    return builder.build([*outputs, *filled])


def seeded(builder: Builder, seeds: Sequence[Any]) -> list[Any]:
    """Tangents or cotangents that are given: where they are zero, nothing is asked for."""
    builder.derived = True
    hard_seeds = [seed if seed is None else hard(Expression(builder, seed)).atom for seed in seeds]
    builder.derived = False
    return hard_seeds


def push_forward(
    builder: Builder,
    program: Program,
    primals: Sequence[Atom],
    tangents: Sequence[Atom | None],
) -> tuple[list[Atom], list[Atom | None]]:
    """Append a program together with its derivative; returns its outputs and their tangents."""
    program = with_norms(recognised(program, push_forward))
    values: dict[Variable, Atom] = dict(zip(program.inputs, primals, strict=True))
    slopes: dict[Variable, Atom | None] = dict(zip(program.inputs, tangents, strict=True))

    def value(atom: Atom) -> Atom:
        return values[atom] if isinstance(atom, Variable) else atom

    def slope(atom: Atom) -> Atom | None:
        return slopes[atom] if isinstance(atom, Variable) else None

    for number, equation in enumerate(program.equations):
        builder.origin = number if equation.origin is None else equation.origin
        builder.derived = equation.derived
        operands = [value(atom) for atom in equation.inputs]
        moving = [slope(atom) for atom in equation.inputs]
        results: Sequence[Atom]
        if isinstance(equation.primitive.derivative, Together) and any(present(moving)):
            with Locating(builder):
                results, derivatives = _derive_together(builder, equation, operands, moving)
            values.update(zip(equation.outputs, results, strict=True))
        else:
            if equation.primitive is SAME_AS:  # it has done its work once derivatives are taken
                results = operands[:1]
            else:
                results = builder.emit(equation.operation, operands)
            values.update(zip(equation.outputs, results, strict=True))
            builder.derived = True
            with Locating(builder):
                derivatives = _derive(builder, equation, operands, moving, results)
        slopes.update(zip(equation.outputs, derivatives, strict=True))
    builder.origin = None
    return [value(atom) for atom in program.outputs], [slope(atom) for atom in program.outputs]


def _derive(
    builder: Builder,
    equation: Equation,
    operands: Sequence[Atom],
    tangents: Sequence[Atom | None],
    results: Sequence[Atom],
) -> Sequence[Atom | None]:
    """The tangents of one equation's results."""
    primitive = equation.primitive
    nothing = [None] * len(results)
    if not any(present(tangents)) or primitive.derivative is NO_DERIVATIVE:
        return nothing

    def express(atom: Atom | None) -> Any:
        if atom is None or (isinstance(atom, Literal)):
            return atom if atom is None else atom.value
        return Expression(builder, atom)

    moving = tuple([express(tangent) for tangent in tangents])
    if isinstance(primitive.derivative, Itself):
        derived = _derive_linear(builder, primitive, operands, moving, equation.params)
        slopes = derived if primitive.multiple else (derived,)
    else:
        slopes = primitive.rule("derivative")(
            moving,
            tuple([Expression(builder, atom) for atom in operands]),
            tuple([express(result) for result in results]),
            **equation.params,
        )
    return [
        None if tangent is None or not result.type.inexact else tangent.atom
        for tangent, result in zip(slopes, results, strict=True)
    ]


def _derive_together(
    builder: Builder,
    equation: Equation,
    operands: Sequence[Atom],
    tangents: Sequence[Atom | None],
) -> tuple[Sequence[Atom], Sequence[Atom | None]]:
    """The results of one equation, and their tangents, out of another that takes its place."""
    values, slopes = equation.primitive.rule("derivative")(
        tuple(None if atom is None else Expression(builder, atom) for atom in tangents),
        tuple(Expression(builder, atom) for atom in operands),
        **equation.params,
    )
    return [value.atom for value in values], [
        None if slope is None or not value.type.inexact else slope.atom
        for slope, value in zip(slopes, values, strict=True)
    ]


def _derive_linear(
    builder: Builder,
    primitive: Primitive,
    operands: Sequence[Atom],
    tangents: Sequence[Expression | None],
    params: dict[str, Any],
) -> Any:
    """A linear primitive on tangents: all at once, or by the product rule one operand at a time."""
    whole = [Expression(builder, atom) for atom in operands]
    linear = primitive.linear
    assert linear is not None
    if isinstance(linear, Joint):
        moved = [
            tangent if tangent is not None else zeros(builder, tangent_type(operand.type))
            for operand, tangent in zip(whole, tangents, strict=True)
        ]
        chosen = [
            new if linear.places is None or place in linear.places else old
            for place, (old, new) in enumerate(zip(whole, moved, strict=True))
        ]
        return bind(primitive, *chosen, **params)
    terms = [
        bind(primitive, *whole[:place], tangent, *whole[place + 1 :], **params)
        for place, tangent in enumerate(tangents)
        if tangent is not None
    ]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
