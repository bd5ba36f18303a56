"""Transposition of linear programs; reverse mode is the transpose of the linearised program.

Equations are taken in reverse order, which is a reverse topological order of the graph, so the
cotangent of a value is complete, summed over all its uses (E.1.68), before it is propagated (E.1.61
- E.1.66).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adjoint.base.arrays import ArrayType, Shape
from adjoint.base.errors import NotLinearError
from adjoint.primitives.declaration import Into
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import zeros
from adjoint.program import Atom, Builder, Equation, Locating, Program, Variable
from adjoint.transforms.jvp import push_forward, seeded, tangent_type
from adjoint.transforms.staging import split_equations


class Unknown:
    """Stands for a linear operand in transpose rules: it has a type, but no value."""

    __slots__ = ("type",)

    def __init__(self, type: ArrayType) -> None:
        self.type = type

    @property
    def shape(self) -> Shape:
        """Its shape."""
        return self.type.shape

    @property
    def ndim(self) -> int:
        """Its number of axes."""
        return self.type.ndim

    @property
    def dtype(self) -> Any:
        """Its dtype."""
        return self.type.dtype


def transpose(program: Program, residuals: int, given: bool = True) -> Program:
    """(residuals, cotangents of the outputs) -> cotangents of the linear inputs.

    given: whether the zeros of cotangents are hard, as those of seeds are. The program must be
    linear in its inputs after the first `residuals`; NotLinearError otherwise.
    """
    builder = Builder()
    known = [builder.input(variable.type) for variable in program.inputs[:residuals]]
    cotangents = [builder.input(tangent_type(atom.type)) for atom in program.outputs]
    seeds = seeded(builder, cotangents) if given else cotangents
    names: dict[Variable, Atom] = dict(zip(program.inputs, known, strict=False))
    linear_inputs = program.inputs[residuals:]
    fixed, moving = split_equations(program.equations, linear_inputs)
    builder.copy_equations(fixed, names)
    pulled = pull_back(builder, moving, names, program.outputs, seeds, linear_inputs)
    return builder.build(instantiate(builder, pulled, linear_inputs))


def vjp(program: Program, active: Sequence[bool], outputs: Sequence[bool] | None = None) -> Program:
    """(inputs, cotangents of the inexact outputs) -> (outputs, cotangents of the active inputs).

    outputs: which outputs take a cotangent; all the inexact ones if not given.
    """
    builder = Builder()
    primals = [builder.input(variable.type) for variable in program.inputs]
    marks = outputs or [atom.type.inexact for atom in program.outputs]
    cotangents = [
        builder.input(tangent_type(atom.type))
        for atom, mark in zip(program.outputs, marks, strict=True)
        if mark
    ]
    tangents = [
        Variable(tangent_type(variable.type)) if mark else None
        for variable, mark in zip(program.inputs, active, strict=True)
    ]
    values, slopes = push_forward(builder, program, primals, tangents)
    linear_inputs = [tangent for tangent in tangents if tangent is not None]
    fixed, moving = split_equations(builder.equations, linear_inputs)
    builder.equations[:] = fixed
    seeds = [slope for slope, mark in zip(slopes, marks, strict=True) if mark]
    pulled = pull_back(builder, moving, {}, seeds, seeded(builder, cotangents), linear_inputs)
    return builder.build([*values, *instantiate(builder, pulled, linear_inputs)])


def instantiate(
    builder: Builder, cotangents: Sequence[Atom | None], inputs: Sequence[Variable]
) -> list[Atom]:
    """Write out the cotangents that are structurally zero."""
    return [
        atom if atom is not None else zeros(builder, variable.type).atom
        for atom, variable in zip(cotangents, inputs, strict=True)
    ]


def pull_back(
    builder: Builder,
    equations: Sequence[Equation],
    names: dict[Variable, Atom],
    outputs: Sequence[Atom | None],
    cotangents: Sequence[Atom],
    linear_inputs: Sequence[Variable],
    before: Mapping[Variable, Expression] | None = None,
) -> list[Atom | None]:
    """Append the transpose of linear equations; returns the cotangents of the linear inputs.

    names: what the variables that are not linear are called in the builder (their own name when
        absent). before: cotangents that have been gathered elsewhere, to be added to.
    """
    linear = set(linear_inputs)
    for equation in equations:
        linear.update(equation.outputs)
    gathered: dict[Variable, Any] = dict(before or {})

    def add(atom: Atom | None, cotangent: Any) -> None:
        if cotangent is None or not isinstance(atom, Variable) or atom not in linear:
            return
        known = gathered.get(atom)
        if isinstance(cotangent, Into):
            target = zeros(builder, tangent_type(atom.type)) if known is None else known
            gathered[atom] = cotangent.add(target)
        else:
            gathered[atom] = cotangent if known is None else known + cotangent

    builder.derived = True
    for atom, cotangent in zip(outputs, cotangents, strict=True):
        add(atom, Expression(builder, cotangent))
    for equation in reversed(equations):
        arriving = tuple([gathered.pop(variable, None) for variable in equation.outputs])
        if all([cotangent is None for cotangent in arriving]):
            continue
        builder.origin = equation.origin
        with Locating(builder):
            leaving = _transposed(builder, equation, names, linear, arriving)
        for atom, cotangent in zip(equation.inputs, leaving, strict=True):
            add(atom, cotangent)
    builder.origin = None
    return [getattr(gathered.get(variable), "atom", None) for variable in linear_inputs]


def _transposed(
    builder: Builder,
    equation: Equation,
    names: dict[Variable, Atom],
    linear: set[Variable],
    cotangents: Sequence[Expression | None],
) -> Sequence[Any]:
    """The cotangents that one equation sends to its operands."""
    marks = tuple([isinstance(atom, Variable) and atom in linear for atom in equation.inputs])
    if not equation.primitive.is_linear(marks, equation.params):
        raise NotLinearError(
            f"The function is not linear: {equation.operation!r} is applied to what depends on "
            "the argument. linear_transpose needs a linear function; vjp differentiates any."
        )
    operands: list[Any] = []
    for atom, mark in zip(equation.inputs, marks, strict=True):
        if mark:
            operands.append(Unknown(atom.type))
        else:
            known = names.get(atom, atom) if isinstance(atom, Variable) else atom
            operands.append(Expression(builder, known))
    rule = equation.primitive.rule("transpose")
    return rule(cotangents, tuple(operands), **equation.params)  # type: ignore[no-any-return]
