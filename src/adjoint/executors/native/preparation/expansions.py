"""Equations that machine code is made of by way of others."""

from __future__ import annotations

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.optimise.bodies import in_bodies
from adjoint.primitives.declaration import UFUNCS
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.hardness import STRONG_CONTRACT
from adjoint.primitives.linear_algebra.cholesky import CHOLESKY_PUSHFORWARD, kept
from adjoint.primitives.linear_algebra.systems import adjoint, multiply
from adjoint.primitives.linear_algebra.triangular import ADJOINT, solve_triangular
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.primitives.structure.gathering import GATHER, GATHER_SET, IOTA
from adjoint.primitives.structure.moving import reshape, zeros
from adjoint.program import Builder, Equation, Program


def last_write(equation: Equation) -> list[Equation]:
    """Which of the writes at some indices are the last there: each place notes its last writer."""
    builder = Builder()
    indices = [Expression(builder, atom) for atom in equation.inputs]
    count = int(np.prod(indices[0].shape))
    numbers = reshape(bind(IOTA, builder=builder, length=count), indices[0].shape)
    places = zeros(builder, array_type(equation.params["shape"], numbers.dtype))
    owners = bind(GATHER_SET, places, numbers, *indices)
    bind(UFUNCS[np.equal], bind(GATHER, owners, *indices), numbers)
    *first, last = builder.equations
    same = Equation(last.operation, last.inputs, equation.outputs, derived=equation.derived)
    return [*first, same]


def cholesky_slope(equation: Equation) -> list[Equation]:
    """The derivative of a Cholesky factor, or its transpose, by triangular systems.

    T = L Phi(L^-1 H' L^-H), and the transpose accordingly.
    """
    builder = Builder()
    builder.origin, builder.derived = equation.origin, equation.derived
    dtype = equation.outputs[0].type.dtype
    given = [Expression(builder, atom) for atom in equation.inputs]
    factor, x = (y if y.type.dtype == dtype else cast(y, dtype) for y in given)
    lower = kept(factor)
    triangle = factor if dtype.kind == "f" else lower  # whose diagonal may be complex
    if equation.primitive is CHOLESKY_PUSHFORWARD:
        middle = kept(x, 0.5)
        middle = solve_triangular(triangle, middle + adjoint(middle), lower=True)
        middle = solve_triangular(triangle, adjoint(middle), lower=True)
        multiply(lower, kept(middle, 0.5))
    else:
        middle = kept(multiply(adjoint(lower), kept(x)), 0.5)
        middle = solve_triangular(triangle, middle, lower=True, trans=ADJOINT)
        middle = solve_triangular(triangle, adjoint(middle), lower=True, trans=ADJOINT)
        kept(middle + adjoint(middle), 0.5)
    *first, last = builder.equations
    same = Equation(
        last.operation, last.inputs, equation.outputs, equation.origin, equation.derived
    )
    return [*first, same]


def with_finite_products(program: Program) -> Program:
    """The program whose sums of products with hard zeros are of finite terms, in bodies too.

    They are NaN where another term is infinite or undefined, whatever the sum is: so that machine
    code, which looks for NaN, has no results there.
    """
    equations = []
    for equation in program.equations:
        strong = equation.primitive is STRONG_CONTRACT
        equations += _finite_product(equation) if strong else [equation]
    return in_bodies(with_finite_products)(Program(program.inputs, equations, program.outputs))


def _finite_product(equation: Equation) -> list[Equation]:
    builder = Builder()
    builder.origin, builder.derived = equation.origin, True
    x, y, hard_x, hard_y = [Expression(builder, atom) for atom in equation.inputs]
    dtype = equation.outputs[0].type.dtype
    sides = []
    for factor, hard in ((x, hard_x), (y, hard_y)):
        counts = np.logical_not(hard)
        finite = np.isfinite(factor)
        lost = np.logical_and(counts, np.logical_not(finite))
        sides.append((select(np.logical_and(counts, finite), factor, 0), counts, lost))
    (value_x, soft_x, lost_x), (value_y, soft_y, lost_y) = sides

    def summed(one: Expression, other: Expression) -> Expression:
        pair = [side if side.type.dtype == dtype else cast(side, dtype) for side in (one, other)]
        return bind(CONTRACT, *pair, **equation.params)  # type: ignore[no-any-return]

    terms = summed(lost_x, soft_y) + summed(soft_x, lost_y)
    select(np.equal(terms, 0), summed(value_x, value_y), dtype.type(np.nan))
    *first, last = builder.equations
    same = Equation(last.operation, last.inputs, equation.outputs, equation.origin, derived=True)
    return [*first, same]
