"""Divergences of vector fields: traces of derivatives, which need no inner product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError, ShapeError
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.derived import core, derived
from adjoint.calculus.custom.missing_rules import possible
from adjoint.calculus.higher_order.operators.frames import STANDARD, in_parts, start
from adjoint.calculus.higher_order.operators.laplacian import real_arguments
from adjoint.calculus.inputs.arguments import Argnums, Chosen, check_argnums, check_callable
from adjoint.calculus.jit.replay import replay, way_of
from adjoint.capture import Captured
from adjoint.pipeline import prepare, run
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.diagonals import diagonal_part
from adjoint.primitives.structure.moving import permute, reshape, sum_axes, zeros
from adjoint.program import Atom, Builder, Program
from adjoint.transforms import tangent_type, vjp, vmap
from adjoint.transforms.collapsed import (
    Directions,
    Moving,
    collapse,
    count_all,
    count_axes,
    counted_lengths,
)


@named
def divergence(field: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The divergence div F(x) = tr ∂F(x) of a vector field, as a function of the same arguments.

    It is the trace of the derivative, a map of a space to itself, and so the same in every inner
    product. All directions are carried through the field together; what is done entry by entry, or
    for each particle alone, multiplies no zeros.

    Args:
        field: plain NumPy code, whose value has the structure and the shapes of the argument.
        argnums: which positional argument, or arguments: the value is a tuple then.

    Returns:
        A function that returns the divergence, a number.

    Raises:
        NotDifferentiableError: an argument or the value is not real and floating-point.
        ShapeError: the value has another shape than the argument.
        ArgumentTypeError: it has another structure; or it is no function.
        ArgumentError: `argnums` names an argument that the call does not have.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> field = lambda x: np.stack([x[0] ** 2 * x[1], x[1] ** 3])
        >>> float(ad.divergence(field)(np.array([1.0, 2.0])))
        16.0
    """
    check_callable(field, "divergence")
    check_argnums(argnums)
    way = way_of("divergence", argnums)

    def compute(function: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = real_arguments(argnums, args, kwargs, "divergence")
        captured = chosen.capture(function)
        check_field(chosen, captured, "divergence")
        kind = ("divergence", len(chosen.leaves))
        compiled = prepare(kind, captured, _derive, chosen.recapture, function)
        return run(compiled, [*chosen.leaves, *captured.constants])[0]

    origin, function = field, core(field)

    def divergence_of(*args: Any, **kwargs: Any) -> Any:
        return replay(way, function, compute, args, kwargs)

    return derived(divergence_of, divergence, origin, {"argnums": argnums})


def check_field(chosen: Chosen, captured: Captured, name: str) -> None:
    """Raise unless the value is a vector of the kind that the argument is."""
    whole = pytrees.flatten(chosen.point)[1]
    if not pytrees.alike(captured.treedef, whole):
        raise ArgumentTypeError(
            f"{name} was asked of a function that returns "
            f"{pytrees.structure_text(captured.treedef)}; expected "
            f"{pytrees.structure_text(whole)}, as its argument is: a vector field."
        )
    for number, (type_, own) in enumerate(zip(captured.output_types, chosen.types, strict=True)):
        if type_.dtype.kind != "f":
            raise NotDifferentiableError(
                f"{name} was asked of a function whose value is {type_}; a vector field has real "
                "floating-point values, as its argument has."
            )
        if type_.shape != own.shape:
            raise ShapeError(
                f"{name} was asked of a function whose value has shape {type_.shape}; expected "
                f"{own.shape}, that of {chosen.path(number)}: a vector field."
            )


def _derive(program: Program, kind: Any) -> tuple[Program, tuple[int, ...], None]:
    _, count = kind
    whole = possible(lambda: _forward(program, count)) or _reverse(program, count)
    return whole, (0,), None


def _forward(program: Program, count: int) -> Program:
    """By all directions at once."""
    builder = Builder()
    values: list[Atom] = [builder.input(variable.type) for variable in program.inputs]
    types = [variable.type for variable in program.inputs[:count]]
    builder.derived = True
    begun = start(builder, STANDARD.families, types, [])
    moving = [Moving(in_parts(own)) for own in begun.moving] + [Moving({})] * (len(values) - count)
    builder.derived = False
    _, moved = collapse(builder, program, values, moving, begun.sets, curved=False)
    total: Any = None
    for number, (state, type_) in enumerate(zip(moved, types, strict=True)):
        for part in state.sets.get(number, []):
            trace: Any = _trace(part, type_)
            total = trace if total is None else total + trace
    if total is None:
        total = zeros(builder, _number(types))
    return builder.build([total.atom])


def _number(types: Sequence[ArrayType]) -> ArrayType:
    """The type of a sum of numbers of these types; float64 for that of none."""
    dtypes = [type_.dtype for type_ in types]
    return array_type((), np.result_type(*dtypes) if dtypes else np.dtype(float))


def _trace(moved: Directions, type: ArrayType) -> Expression:
    """The sum over i of entry i of how a value moves in direction i."""
    shape = type.shape
    astray = [n for n, run in enumerate(moved.runs) if run not in (None, n)]
    moved = count_axes(moved, shape, astray)
    counted = [n for n, run in enumerate(moved.runs) if run is None]
    lead = counted_lengths(shape, moved.runs)
    rows = reshape(moved.rows, (*lead, *shape))
    kept = [n for n in range(len(shape)) if n not in counted]
    size = prod(lead)
    ordered = permute(
        rows,
        (*(len(lead) + n for n in kept), *range(len(lead)), *(len(lead) + n for n in counted)),
    )
    square = reshape(ordered, (*(shape[n] for n in kept), size, size))
    diagonal = diagonal_part(square)
    return sum_axes(diagonal, tuple(range(diagonal.ndim)))


def _reverse(program: Program, count: int) -> Program:
    """By all rows of the derivative, where it has no rule in forward mode."""
    builder = Builder()
    values: list[Atom] = [builder.input(variable.type) for variable in program.inputs]
    types = [variable.type for variable in program.inputs[:count]]
    active = [number < count for number in range(len(values))]
    pull = vjp(program, active)
    outputs = len(program.outputs)
    builder.derived = True
    begun = start(builder, STANDARD.families, [tangent_type(x.type) for x in program.outputs], [])
    total: Any = zeros(builder, _number(types))
    for number, type_ in enumerate(types):
        rows = count_all(begun.moving[number][number], type_.shape).rows
        seeds = [
            rows
            if place == number
            else zeros(builder, array_type((rows.shape[0], *atom.type.shape), atom.type.dtype))
            for place, atom in enumerate(program.outputs)
        ]
        marks = [False] * len(values) + [True] * outputs
        many = vmap(pull, marks, rows.shape[0])
        pulled = builder.inline(many, [*values, *(seed.atom for seed in seeds)])
        builder.derived = True
        column = Expression(builder, pulled[outputs + number])
        total = total + _trace(Directions(column, (None,) * type_.ndim), type_)
    return builder.build([total.atom])
