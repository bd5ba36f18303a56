"""Linear algebra of square matrices: solutions of linear systems, and the inverse.

All take stacks of matrices, with any number of axes in front. One matrix alone is factorised once,
for the value and all derivatives (`lu_factors`). Singular matrices raise NumPy's own
`LinAlgError` when a program runs. The derivatives are those of M. Giles, "Collected matrix
derivative results for forward and reverse mode algorithmic differentiation" (2008).
"""

from __future__ import annotations

from functools import lru_cache
from string import ascii_letters
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape, array_type, real_dtype
from adjoint.base.errors import DTypeError, LinearAlgebraError, ShapeError
from adjoint.primitives.declaration import (
    NO_DERIVATIVE,
    EmptySlot,
    Joint,
    Primitive,
)
from adjoint.primitives.elementwise.conversion import cast, conjugate
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import draw, sample, square
from adjoint.primitives.series import convolve, difference
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.moving import align_batch, broadcast_to, permute, reshape, sum_to
from adjoint.primitives.typing_rules import broadcast_shape

# --- types ---------------------------------------------------------------------------------------


def matrix_dtype(name: str, *types: ArrayType) -> np.dtype[Any]:
    """The dtype in which NumPy's linear algebra computes: single or double, real or complex.

    Integers count as doubles. Half and extended precision are refused, as NumPy refuses them.
    """
    kinds = {t.dtype.kind for t in types}
    for type_ in types:
        if type_.dtype.char not in "fdFD" and type_.dtype.kind not in "biu":
            raise DTypeError(
                f"{name}: array type {type_.dtype} is unsupported in linalg. Convert it to "
                "single or double precision with astype."
            )
    single = all(t.dtype.char in "fF" for t in types)
    return np.dtype(("F" if single else "D") if "c" in kinds else ("f" if single else "d"))


def square_shape(name: str, type_: ArrayType) -> Shape:
    """The axes in front of square matrices; an error where they are not square."""
    if type_.ndim < 2 or type_.shape[-1] != type_.shape[-2]:
        raise LinearAlgebraError(
            f"{name} takes square matrices, in the last two axes. Got an array of shape "
            f"{type_.shape}."
        )
    return type_.shape[:-2]


def same_square(name: str) -> Any:
    """The type rule of what takes square matrices to square matrices."""

    def infer(x: ArrayType, **params: Any) -> ArrayType:
        square_shape(name, x)
        return array_type(x.shape, matrix_dtype(name, x))

    return infer


# --- expressions ---------------------------------------------------------------------------------


def multiply(x: Expression, y: Expression) -> Expression:
    """The product of stacks of matrices, whose axes in front broadcast."""
    lead = broadcast_shape("matmul", x.shape[:-2], y.shape[:-2])
    labels = ascii_letters[3 : 3 + len(lead)]
    x, y = (broadcast_to(matrix, (*lead, *matrix.shape[-2:])) for matrix in (x, y))
    return contract(x, y, f"{labels}ab,{labels}bc->{labels}ac")


def adjoint(x: Expression) -> Expression:
    """The conjugate transposes of a stack of matrices."""
    lead = range(x.ndim - 2)
    return conjugate(permute(x, (*lead, x.ndim - 1, x.ndim - 2)))  # type: ignore[no-any-return]


def trace_of_product(x: Expression, y: Expression) -> Expression:
    """tr(x y), of stacks with the same axes in front."""
    labels = ascii_letters[3 : 3 + x.ndim - 2]
    return contract(x, y, f"{labels}ab,{labels}ba->{labels}")


# --- solve ---------------------------------------------------------------------------------------


def solve_type(a: ArrayType, b: ArrayType, name: str = "solve") -> ArrayType:
    """The type rule of what solves systems."""
    lead = square_shape(name, a)
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise ShapeError(
            f"{name}: matrices of shape {a.shape} do not fit right-hand sides of shape {b.shape}, "
            "which need as many rows (a right-hand side with one axis is one vector; any other "
            "holds matrices in its last two)."
        )
    lead = broadcast_shape(name, lead, b.shape[:-2])
    return array_type((*lead, *b.shape[-2:]), matrix_dtype(name, a, b))


def _solve_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    # A x = b gives dA x + A dx = db, so dx = A^-1 (db - dA x).
    (a, _), (d_a, d_b), (x,) = operands, tangents, results
    right: Any = None if d_b is None else cast(d_b, x.dtype)
    if d_a is not None:
        moved = multiply(d_a, x)
        right = -moved if right is None else right - moved
    return (_solve_again(a, right),)


def _solve_again(a: Expression, right: Expression) -> Expression:
    """A^-1 times a right-hand side that is known later."""
    if a.ndim > 2:
        return solve(a, right)
    # One matrix is factorised before the tangents are known, and never again.
    a = cast(a, right.dtype if a.dtype.kind == "c" else real_dtype(right.dtype))
    solution: Expression = bind(SOLVE_FACTORED, a, *bind(LU_FACTORS, a), right, adjoint=False)
    return solution


def _solve_taylor(operands: Any, results: Any, k: int) -> Any:
    """From A x = b: A_0 x_k = b_k - sum_{j=1..k} A_j x_{k-j}."""
    (a, b), (x,) = operands, results
    right = None if b[k] is None else cast(b[k], x.type.dtype)
    right = difference(right, convolve(multiply, a, x, k, 1, k))
    return (None if right is None else _solve_again(a[0], right),)


def _solve_transpose(cotangents: Any, operands: Any) -> Any:
    # <A^-1 u, v> = <u, A^-H v>.
    a, b = operands
    return None, cast(sum_to(solve(adjoint(a), cotangents[0]), b.shape), b.dtype)


def _solve_batch(operands: Any, batched: Any, size: int) -> Any:
    a, b = operands
    if batched[0]:
        return solve(*align_batch(operands, batched))
    return by_columns(b, lambda wide: solve(a, wide))


def by_columns(b: Expression, solve_all: Any) -> Expression:
    """A batch of right-hand sides as columns of one: one factorisation for all."""
    size, *lead, rows, columns = b.shape
    last = b.ndim - 1
    wide = permute(b, (*range(1, last), 0, last))
    x = solve_all(reshape(wide, (*lead, rows, size * columns)))
    x = reshape(x, (*x.shape[:-1], size, columns))
    return permute(x, (x.ndim - 2, *range(x.ndim - 2), x.ndim - 1))


SOLVE = Primitive(
    "solve",
    infer=solve_type,
    evaluate=np.linalg.solve,
    linear=Joint(frozenset({1})),
    derivative=_solve_derivative,
    transpose=_solve_transpose,
    batch=_solve_batch,
    taylor=_solve_taylor,
    samples=(
        sample(square(3, 3), draw(3, 2)),
        sample(square(2, 3, 3), draw(2, 3, 1)),
        sample(square(2, 2, 2), draw(2, 2)),
        sample(square(2, 2), draw(3, 2, 2)),
        sample(square(2, 1, 2, 2), draw(3, 2, 1)),
        sample(square(2, 2, dtype=complex), draw(2, 2, dtype=complex)),
        sample(square(2, 2, dtype=complex), draw(2, 1)),
        sample(square(2, 2), draw(2, 1, dtype=complex)),
        sample(square(2, 2, dtype=np.float32), draw(2, 1)),
        sample(square(2, 2), draw(2, 0)),
    ),
)


def solve(a: Expression, b: Expression) -> Expression:
    """The solutions x of a x = b, for stacks of matrices a and b."""
    return bind(SOLVE, a, b)  # type: ignore[no-any-return]


# --- solve, again and again ----------------------------------------------------------------------


@lru_cache
def _lapack(name: str, *dtypes: Any) -> Any:
    """LAPACK's routine for these dtypes."""
    from scipy.linalg import get_lapack_funcs  # late: slow to import

    routines: Any = get_lapack_funcs((name,), dtype=np.result_type(*dtypes))
    return routines[0]


def _factors_evaluate(a: Any) -> tuple[Any, Any]:
    a = np.asarray(a)
    a = a if a.dtype.kind in "fc" else a.astype(float)
    factorise = _lapack("getrf", a.dtype)
    if a.ndim == 2 and a.size:
        return factorise(a)[:2]  # type: ignore[no-any-return]
    factors, pivots = np.empty(a.shape, a.dtype), np.empty(a.shape[:-1], np.int32)
    for place in np.ndindex(a.shape[:-2]) if a.size else ():
        factors[place], pivots[place], _ = factorise(a[place])
    return factors, pivots


def is_singular(factors: Any) -> bool:
    """Whether a matrix with these LU factors has no inverse."""
    return not np.diagonal(factors).all()


def _require_regular(factors: Any) -> None:
    if is_singular(factors):
        raise np.linalg.LinAlgError("Singular matrix")


def inverse_of_factors(factors: Any, pivots: Any) -> Any:
    """The inverse of a matrix whose LU factors are given."""
    _require_regular(factors)
    if not factors.size:
        return np.zeros_like(factors)
    work, _ = _lapack("getri_lwork", factors.dtype)(len(factors))
    inverted, _ = _lapack("getri", factors.dtype)(factors, pivots, lwork=int(work.real))
    return inverted


def _factors_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    square_shape("lu_factors", a)
    dtype = matrix_dtype("lu_factors", a)
    return array_type(a.shape, dtype), array_type(a.shape[:-1], np.dtype(np.int32))


# Of what is only a way to compute A^-1 no derivative is asked: A has it. The factors of a singular
# matrix have a zero on their diagonal.
LU_FACTORS: Primitive = Primitive(
    "lu_factors",
    infer=_factors_type,
    evaluate=_factors_evaluate,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=lambda operands, batched, size: bind(LU_FACTORS, *operands),
    samples=(sample(square(3, 3)), sample(square(2, 2, 2, dtype=complex)), sample(draw(0, 0))),
    multiple=True,
)


def _factored_evaluate(a: Any, factors: Any, pivots: Any, b: Any, adjoint: bool) -> Any:
    _require_regular(factors)
    if not b.size:
        return np.zeros(b.shape, np.result_type(factors, b))
    substitute = _lapack("getrs", factors.dtype, b.dtype)
    wide = np.moveaxis(b, -2, 0)  # (n, ..., k): all are columns
    solution, _ = substitute(
        factors, pivots, wide.reshape(len(pivots), -1), trans=2 if adjoint else 0
    )
    return np.moveaxis(solution.reshape(wide.shape), 0, -2)


def _factored_derivative(tangents: Any, operands: Any, results: Any, adjoint: bool) -> Any:
    (d_a, _, _, d_b), (x,) = tangents, results
    right = None if d_b is None else cast(d_b, x.dtype)
    if d_a is not None:
        moved = multiply(_adjoint_if(d_a, adjoint), x)
        right = -moved if right is None else right - moved
    return (bind(SOLVE_FACTORED, *operands[:3], right, adjoint=adjoint),)


def _factored_taylor(operands: Any, results: Any, k: int, adjoint: bool) -> Any:
    (a, factors, pivots, b), (x,) = operands, results

    def product(left: Any, right: Any) -> Expression:
        return multiply(_adjoint_if(left, adjoint), right)

    right = None if b[k] is None else cast(b[k], x.type.dtype)
    right = difference(right, convolve(product, a, x, k, 1, k))
    if right is None:
        return (None,)
    return (bind(SOLVE_FACTORED, a[0], factors[0], pivots[0], right, adjoint=adjoint),)


def _adjoint_if(a: Expression, wanted: bool) -> Expression:
    return adjoint(a) if wanted else a


def _factored_transpose(cotangents: Any, operands: Any, adjoint: bool) -> Any:
    *known, b = operands
    solution = bind(SOLVE_FACTORED, *known, cotangents[0], adjoint=not adjoint)
    return None, None, None, cast(solution, b.dtype)


def _factored_batch(operands: Any, batched: Any, size: int, adjoint: bool) -> Any:
    a, factors, pivots, b = operands
    if batched[0]:  # NumPy factorises a stack of small matrices faster than Python walks through it
        return solve(*align_batch((_adjoint_if(a, adjoint), b), (True, batched[3])))
    return by_columns(
        b, lambda wide: bind(SOLVE_FACTORED, a, factors, pivots, wide, adjoint=adjoint)
    )


# The solution of A x = b, or A^H x = b, for one matrix A whose LU factors are given.
SOLVE_FACTORED: Primitive = Primitive(
    "solve_factored",
    infer=lambda a, factors, pivots, b, adjoint: solve_type(a, b),
    evaluate=_factored_evaluate,
    linear=Joint(frozenset({3})),
    derivative=_factored_derivative,
    transpose=_factored_transpose,
    batch=_factored_batch,
    taylor=_factored_taylor,
    # Not to be tried with other factors than those of A, as the generic checker would.
    samples=EmptySlot("it stands in derivatives of solve, whose samples try it"),
)


# --- inv -----------------------------------------------------------------------------------------


def _inv_evaluate(a: Any, *factors: Any, limit: float | None) -> Any:
    if factors:
        return inverse_of_factors(*factors)
    if limit is None:
        return np.linalg.inv(a)
    try:
        inverted = np.linalg.inv(a)
        condition = float(np.max(one_norm(a) * one_norm(inverted))) if inverted.size else 1.0
    except np.linalg.LinAlgError:
        condition = np.inf
    if not condition <= limit:
        raise LinearAlgebraError(
            f"A derivative needs the inverse of a matrix of condition number {condition:.1e}, "
            f"beyond {limit:.1e}, from where on it is lost in rounding errors: a third or higher "
            "derivative of det near a singular matrix. np.linalg.slogdet may do."
        )
    return inverted


def one_norm(a: Any) -> Any:
    """The largest column sums, of a stack of matrices with numbers in it."""
    if a.ndim == 2 and a.dtype.kind in "fc":  # LAPACK has it without arrays in between
        measure = _lapack("lange", a.dtype)
        return measure("1", a) if a.flags.f_contiguous else measure("I", a.T)
    return np.max(np.sum(np.abs(a), axis=-2), axis=-1)


def _inv_derivative(tangents: Any, operands: Any, results: Any, limit: float | None) -> Any:
    # A Y = I gives dY = -Y dA Y.
    (d_a, *_), (y,) = tangents, results
    return (-multiply(multiply(y, d_a), y),)


# Of one matrix alone, its LU factors may be given.
INV: Primitive = Primitive(
    "inv",
    infer=lambda a, *factors, limit: same_square("inv")(a),
    evaluate=_inv_evaluate,
    linear=None,
    derivative=_inv_derivative,
    batch=lambda operands, batched, size, limit: inverse(operands[0], limit=limit),
    samples=(
        sample(square(3, 3), limit=None),
        sample(square(2, 2, 2), limit=None),
        sample(square(2, 2, dtype=complex), limit=1e3),
        sample(square(0, 0), limit=1e3),
    ),
)


def inverse(a: Expression, *factors: Expression, limit: float | None = None) -> Expression:
    """The inverses; an error where a condition number is beyond a limit.

    factors: those of `lu_factors`, if they are known; there is no limit then.
    """
    return bind(INV, a, *factors, limit=limit)  # type: ignore[no-any-return]
