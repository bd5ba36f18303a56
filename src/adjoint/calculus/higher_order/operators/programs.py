"""The programs of linear differential operators, made from that of the function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, Final, NamedTuple

from adjoint.base.arrays import ArrayType, array_type
from adjoint.calculus.custom.missing_rules import possible
from adjoint.calculus.higher_order.operators.frames import (
    DirectionForm,
    Family,
    FirstMotion,
    array_types,
    in_parts,
    start,
)
from adjoint.calculus.second_order.composition import Composition, Twice, with_unit_weight
from adjoint.optimise import simplify
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.moving import reshape, zeros
from adjoint.program import Atom, Builder, Program
from adjoint.program import Literal as Constant
from adjoint.transforms import tangent_type, vjp, vmap
from adjoint.transforms.collapsed import Moving, collapse, count_all, joined

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class OperatorKind(NamedTuple):
    """What is asked of a function: it tells programs apart.

    leaves: how many are differentiated in. families: of the directions. drift: whether a
    first derivative is added. gradient: whether value and gradient are wanted too. times: how often
    the operator is applied.
    """

    name: str
    leaves: int
    families: tuple[Family, ...]
    drift: bool = False
    gradient: bool = False
    times: int = 1


def operator_program(program: Program, kind: OperatorKind) -> tuple[Program, tuple[int, ...], None]:
    """(arguments, constants, arrays of the frame, drift) -> the operator applied to each output.

    With `gradient`, (the value, the gradient, the operator applied).
    """
    whole = possible(partial(_collapsed, program, kind))
    if whole is None:
        whole = _by_hessian(program, kind) if _is_number(program) else _collapsed(program, kind)
    return whole, tuple(range(int(kind.gradient), len(whole.outputs))), None


def _is_number(program: Program) -> bool:
    """Whether a program has one real number for its result."""
    types = program.output_types
    return len(types) == 1 and not types[0].ndim and types[0].dtype.kind == "f"


class _Inputs:
    """The inputs of an operator's program: those of the function's, of the frame, and the drift."""

    def __init__(self, builder: Builder, program: Program, kind: OperatorKind) -> None:
        self.types = [variable.type for variable in program.inputs[: kind.leaves]]
        given = array_types(kind.families, self.types)
        along = map(tangent_type, self.types) if kind.drift else ()
        self.values: list[Atom] = [builder.input(variable.type) for variable in program.inputs]
        self.arrays: list[Atom] = [builder.input(type_) for type_ in given]
        self.drift: list[Atom] = [builder.input(type_) for type_ in along]

    @property
    def all(self) -> list[Atom]:
        """All of them, in order."""
        return [*self.values, *self.arrays, *self.drift]


def _collapsed(program: Program, kind: OperatorKind) -> Program:
    """By collapsed Taylor mode."""
    builder = Builder()
    inputs = _Inputs(builder, program, kind)
    values = inputs.values
    for _ in range(kind.times - 1):
        # First shorter, since all of it is derived again.
        program = simplify(_collapsed(program, kind._replace(times=1)))
        values = inputs.all
    builder.derived = True
    begun = start(builder, kind.families, inputs.types, inputs.arrays)
    moving = [Moving(in_parts(own)) for own in begun.moving]
    for place, atom in enumerate(inputs.drift):
        moving[place] = Moving(moving[place].sets, Expression(builder, atom))
    moving += [Moving({})] * (len(program.inputs) - kind.leaves)
    builder.derived = False
    outputs, moved = collapse(builder, program, values, moving, begun.sets)
    bent = [
        (zeros(builder, tangent_type(atom.type)) if state.curve is None else state.curve).atom
        for atom, state in zip(outputs, moved, strict=True)
    ]
    if not kind.gradient:
        return builder.build(bent)
    return builder.build([*outputs, *_gradient(builder, moved[0], begun, inputs.types), *bent])


def _gradient(
    builder: Builder, moved: Moving, begun: FirstMotion, types: Sequence[ArrayType]
) -> list[Atom]:
    """The gradient of a number: sum_r ∂f[u_r] u_r over an orthonormal basis."""
    gradient = []
    for own, type_ in zip(begun.moving, types, strict=True):
        total: Any = zeros(builder, tangent_type(type_))
        for number, first in own.items():
            if number not in moved.sets:
                continue
            lengths = begun.sets[number].lengths
            slopes = count_all(joined(moved.sets[number], lengths), lengths).rows
            if begun.forms[number] is DirectionForm.GIVEN:
                total = _combined(slopes, first.rows)
            elif begun.forms[number] is DirectionForm.SCALED:
                total = reshape(slopes, type_.shape) * reshape(first.rows, type_.shape)
            else:
                total = reshape(slopes, type_.shape)
        gradient.append(total.atom)
    return gradient


def _combined(weights: Expression, rows: Expression) -> Expression:
    """The sum of rows, each times its weight."""
    labels = _LETTERS[: rows.ndim]
    return contract(weights, rows, f"a,{labels}->{labels[1:]}")


def _products(rows: Expression, other: Expression) -> Expression:
    """The plain inner product of each row with an array, or with its own."""
    labels = _LETTERS[: rows.ndim]
    return contract(rows, other, f"{labels},{labels[rows.ndim - other.ndim :]}->a")


# --- where a rule for forward mode is missing -----------------------------------------------------


def _by_hessian(program: Program, kind: OperatorKind) -> Program:
    """The operator on a real function by products with its Hessian, in whatever mode there is."""
    for _ in range(kind.times - 1):
        program = simplify(_by_hessian(program, kind._replace(times=1)))
    builder = Builder()
    inputs = _Inputs(builder, program, kind)
    twice = Twice(program, kind.leaves, [True])
    pull = with_unit_weight(twice.pull(Composition.AUTO))
    reverse = vjp(program, twice.active, [True])
    one = Constant(program.output_types[0].dtype.type(1))
    value, *pulled = builder.inline(reverse, [*inputs.values, one])
    builder.derived = True
    slopes = [Expression(builder, atom) for atom in pulled]
    total: Any = zeros(builder, tangent_type(value.type))
    for cotangent, along in zip(slopes, inputs.drift, strict=False):
        flat = (1, *cotangent.shape)
        drifted = _products(reshape(Expression(builder, along), flat), cotangent)
        total = total + reshape(drifted, ())
    begun = start(builder, kind.families, inputs.types, inputs.arrays)
    gradient = [zeros(builder, tangent_type(type_)) for type_ in inputs.types]
    for number, set_ in enumerate(begun.sets):
        rows = _all_rows(builder, begun, number, inputs.types)
        curved, sloped = _along(builder, pull, inputs.values, rows, slopes)
        total = total + curved if set_.sign > 0 else total - curved
        gradient = [had + _combined(sloped, row) for had, row in zip(gradient, rows, strict=True)]
    if not kind.gradient:
        return builder.build([total.atom])
    return builder.build([value, *(part.atom for part in gradient), total.atom])


def _all_rows(
    builder: Builder, begun: FirstMotion, number: int, types: Sequence[ArrayType]
) -> list[Expression]:
    """The directions of one set, written out for all arguments."""
    lengths = begun.sets[number].lengths
    return [
        count_all(own[number], lengths).rows
        if number in own
        else zeros(builder, array_type((prod(lengths), *type_.shape), type_.dtype))
        for own, type_ in zip(begun.moving, types, strict=True)
    ]


def _along(
    builder: Builder,
    pull: Program,
    values: Sequence[Atom],
    rows: Sequence[Expression],
    slopes: Sequence[Expression],
) -> tuple[Any, Any]:
    """sum_r ∂²f[u_r, u_r], and ∂f[u_r] for each r."""
    marks = [False] * (len(pull.inputs) - len(rows)) + [True] * len(rows)
    many = vmap(pull, marks, rows[0].shape[0])
    bent = builder.inline(many, [*values[: len(pull.inputs) - len(rows)], *(x.atom for x in rows)])
    builder.derived = True
    curved: Any = 0
    sloped: Any = 0
    for row, product, slope in zip(rows, bent, slopes, strict=True):
        labels = _LETTERS[: row.ndim]
        curved = curved + contract(row, Expression(builder, product), f"{labels},{labels}->")
        sloped = sloped + _products(row, slope)
    return curved, sloped
