"""Linear systems with the triangle of a matrix, which SciPy solves by substitution.

Of the matrix one triangle is read, and not its diagonal either where that is taken to be of ones:
so its derivative has zeros elsewhere. A zero on the diagonal raises SciPy's own `LinAlgError` when
a program runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.primitives.declaration import Joint, Primitive
from adjoint.primitives.elementwise.conversion import cast, conjugate
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.systems import by_columns, multiply, solve_type
from adjoint.primitives.samples import draw, sample, square
from adjoint.primitives.series import convolve, difference
from adjoint.primitives.structure.gathering import IOTA
from adjoint.primitives.structure.moving import align_batch, permute, reshape, sum_to

PLAIN, TRANSPOSED, ADJOINT = 0, 1, 2  # what SciPy calls `trans`


def _type(a: ArrayType, b: ArrayType, **how: Any) -> ArrayType:
    return solve_type(a, b, "solve_triangular")


def _evaluate(a: Any, b: Any, lower: bool, trans: int, unit: bool, check_finite: bool) -> Any:
    from scipy.linalg import solve_triangular  # late: slow to import

    if trans == ADJOINT and a.dtype.kind != "c":  # SciPy copies the matrix for that
        trans = TRANSPOSED
    how: Any = {"trans": trans, "lower": lower, "unit_diagonal": unit}
    if a.ndim == 2 and b.ndim == 2:
        return solve_triangular(a, b, check_finite=check_finite, **how)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b))
    few = solve_triangular(np.eye(1, dtype=a.dtype), np.ones((1, 1), b.dtype))
    solution = np.empty(b.shape, few.dtype)
    for place in np.ndindex(lead) if solution.size else ():
        solution[place] = solve_triangular(a[place], b[place], check_finite=check_finite, **how)
    return solution


def triangle_of(x: Expression, lower: bool, unit: bool = False) -> Expression:
    """One triangle of matrices, without the diagonal where that is of ones; zeros elsewhere."""
    numbers = bind(IOTA, builder=x.builder, length=x.shape[-1])
    rows: Any = reshape(numbers, (x.shape[-1], 1))
    columns: Any = reshape(numbers, (1, x.shape[-1]))
    inner, outer = (columns, rows) if lower else (rows, columns)
    kept = np.less(inner, outer) if unit else np.less_equal(inner, outer)
    return select(kept, x, 0.0)


def _turned(x: Expression, trans: int) -> Expression:
    if trans == PLAIN:
        return x
    x = permute(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    return conjugate(x) if trans == ADJOINT else x


def _moved(d_a: Expression, x: Expression, lower: bool, trans: int, unit: bool) -> Expression:
    """What the tangent of the matrix makes of the solution."""
    return multiply(_turned(triangle_of(d_a, lower, unit), trans), x)


def _derivative(tangents: Any, operands: Any, results: Any, check_finite: bool, **how: Any) -> Any:
    # T x = b gives dT x + T dx = db, so dx = T^-1 (db - dT x), whatever T is of the matrix.
    (a, _), (d_a, d_b), (x,) = operands, tangents, results
    right: Any = None if d_b is None else cast(d_b, x.dtype)
    if d_a is not None:
        right = difference(right, _moved(d_a, x, **how))
    return (solve_triangular(a, right, check_finite=False, **how),)


def _taylor(operands: Any, results: Any, k: int, check_finite: bool, **how: Any) -> Any:
    """From T x = b: T_0 x_k = b_k - sum_{j=1..k} T_j x_{k-j}."""
    (a, b), (x,) = operands, results
    right = None if b[k] is None else cast(b[k], x.type.dtype)
    right = difference(right, convolve(lambda t, y: _moved(t, y, **how), a, x, k, 1, k))
    if right is None:
        return (None,)
    return (solve_triangular(a[0], right, check_finite=False, **how),)


def _transpose(
    cotangents: Any, operands: Any, lower: bool, trans: int, unit: bool, check_finite: bool
) -> Any:
    # <T^-1 u, v> = <u, T^-H v>, and the adjoint of the transpose is the conjugate.
    a, b = operands
    if trans == TRANSPOSED:
        a = conjugate(a) if a.dtype.kind == "c" else a
    turned = ADJOINT if trans == PLAIN else PLAIN
    solution = solve_triangular(a, cotangents[0], lower, turned, unit, check_finite=False)
    return None, cast(sum_to(solution, b.shape), b.dtype)


def _batch(operands: Any, batched: Any, size: int, **how: Any) -> Any:
    a, b = operands
    if batched[0]:
        return solve_triangular(*align_batch(operands, batched), **how)
    return by_columns(b, lambda wide: solve_triangular(a, wide, **how))


def _sample(a: Any, b: Any, lower: bool, trans: int, unit: bool = False) -> Any:
    return sample(a, b, lower=lower, trans=trans, unit=unit, check_finite=True)


SOLVE_TRIANGULAR: Primitive = Primitive(
    "solve_triangular",
    infer=_type,
    evaluate=_evaluate,
    linear=Joint(frozenset({1})),
    derivative=_derivative,
    transpose=_transpose,
    batch=_batch,
    taylor=_taylor,
    samples=(
        _sample(square(3, 3), draw(3, 2), True, PLAIN),
        _sample(square(3, 3), draw(3, 1), False, TRANSPOSED, unit=True),
        _sample(square(2, 3, 3), draw(3, 2), False, PLAIN),
        _sample(square(2, 2), draw(3, 2, 2), True, ADJOINT, unit=True),
        _sample(square(2, 1, 2, 2), draw(3, 2, 1), True, TRANSPOSED),
        _sample(square(2, 2, dtype=complex), draw(2, 2, dtype=complex), False, ADJOINT),
        _sample(square(2, 2, dtype=complex), draw(2, 1), True, TRANSPOSED),
        _sample(square(2, 2), draw(2, 1, dtype=complex), True, PLAIN, unit=True),
        _sample(square(2, 2, dtype=np.float32), draw(2, 1), False, PLAIN),
        _sample(square(2, 2), draw(2, 0), True, PLAIN),
    ),
)


def solve_triangular(
    a: Expression,
    b: Expression,
    lower: bool = False,
    trans: int = PLAIN,
    unit: bool = False,
    check_finite: bool = False,
) -> Expression:
    """The solutions of T x = b, with T the triangle of a, its transpose, or its adjoint.

    unit: whether the diagonal is taken to be of ones. check_finite: whether SciPy refuses numbers
    that are not finite.
    """
    solution: Expression = bind(
        SOLVE_TRIANGULAR, a, b, lower=lower, trans=trans, unit=unit, check_finite=check_finite
    )
    return solution
