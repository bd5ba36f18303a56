"""Jacobians by forward mode of programs with loops: values and columns in the same rounds.

The linear part of a program with loops has loops of its own, over all that the rounds of the values
have stored for them. Columns that are carried along with the values need nothing stored, whatever
the number of rounds, and what a round computes is there for both.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoint.base.arrays import ArrayType, array_type
from adjoint.calculus.jacobians.basis import standard_basis
from adjoint.calculus.jacobians.planning.units import without_units
from adjoint.loops.declared import LOOPS
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression
from adjoint.primitives.hardness import hard
from adjoint.primitives.structure.moving import permute, reshape, zeros
from adjoint.program import Atom, Builder, Program
from adjoint.transforms.jvp import push_forward, tangent_type
from adjoint.transforms.vmap import over_batch


def goes_with_its_loops(program: Program, arguments: int) -> bool:
    """Whether a program has loops, and one argument, whose columns may go through them."""
    loops = any(equation.primitive in LOOPS for equation in program.equations)
    return loops and arguments == 1 and program.inputs[0].type.size > 0


def pushed_jacobian(program: Program, kept: int) -> tuple[Program, tuple[int, ...]]:
    """(arguments, constants) -> (auxiliary outputs, blocks of the Jacobian), and the blocks.

    kept: how many of the outputs are differentiated, with respect to the first input.
    """
    pushed, moving = _pushed(program, kept)
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in program.inputs]
    to = tangent_type(program.inputs[0].type)
    builder.derived = True
    (basis,) = standard_basis(builder, [to])
    marks = [*(False for _ in inputs), True]
    # What the values need is computed once for all columns.
    filled = [number >= len(program.outputs) for number in range(len(pushed.outputs))]
    columns, _ = over_batch(pushed, marks, to.size, filled)
    results = builder.inline(columns, [*inputs, cast(hard(basis), to.dtype).atom])
    slopes = iter(results[len(program.outputs) :])
    aux = list(results[kept : len(program.outputs)])
    builder.derived = True
    blocks = [
        _block(builder, next(slopes) if moves else None, atom.type, to)
        for atom, moves in zip(program.outputs[:kept], moving, strict=True)
    ]
    return without_units(builder.build([*aux, *blocks])), tuple(range(len(aux), len(aux) + kept))


def _pushed(program: Program, kept: int) -> tuple[Program, Sequence[bool]]:
    """(inputs, tangent of the first) -> (outputs, tangents of those kept that have one)."""
    builder = Builder()
    primals = [builder.input(variable.type) for variable in program.inputs]
    tangent = builder.input(tangent_type(program.inputs[0].type))
    still: list[Atom | None] = [None] * (len(primals) - 1)
    outputs, slopes = push_forward(builder, program, primals, [tangent, *still])
    moving = [slope is not None for slope in slopes[:kept]]
    return builder.build([*outputs, *(s for s in slopes[:kept] if s is not None)]), moving


def _block(builder: Builder, column: Atom | None, of: ArrayType, to: ArrayType) -> Atom:
    """The block of an output, of one column after the other along axis 0."""
    shape = (*of.shape, *to.shape)
    if column is None:
        return zeros(builder, array_type(shape, of.dtype)).atom
    columns = cast(Expression(builder, column), of.dtype)
    return reshape(permute(columns, (*range(1, columns.ndim), 0)), shape).atom
