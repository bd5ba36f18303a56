"""x = A^+ b for a sparse matrix of full rank: the least squares solution, or the shortest one.

By iterations, of which nothing is recorded. As G. H. Golub and V. Pereyra, "The differentiation of
pseudo-inverses and nonlinear least squares problems whose variables separate" (1973), have it,

    dx = A^+ (db - dA x) + A^+ A^+T dA^T (b - A x) + (I - A^+ A) dA^T A^+T x,

of which the last term is zero for a matrix with more rows than columns, and the one before it for
one with more columns. The transpose of b -> A^+ b is that of A^T.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import NotConvergedError, ShapeError, SingularError
from adjoint.primitives.declaration import NO_DERIVATIVE, Each, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import bind
from adjoint.primitives.linear_algebra.sparse.products import on_diagonal, sparse_product
from adjoint.primitives.samples import Fixed, draw, sample
from adjoint.primitives.structure.moving import permute, reshape, with_batch
from adjoint.primitives.structure.slicing import stack, take
from adjoint.primitives.typing_rules import promoted

_ROUNDING = 1e-13
_LOST = 1e-3  # as in `calculus.implicit.proofs`
_ENOUGH = 20  # times as many steps as there are unknowns, until nothing but rounding is left
_NOT_SOLVED = {
    3: "the condition number seems to be beyond conlim",
    6: "the condition number is beyond 1/eps",
    7: "the limit of iterations was reached",
}


def _type(
    entries: ArrayType, rows: ArrayType, columns: ArrayType, b: ArrayType, width: int, **how: Any
) -> ArrayType:
    if b.ndim != 2 or entries.shape != rows.shape or entries.shape != columns.shape:
        raise ShapeError(f"sparse least squares: shapes {entries.shape} and {b.shape} do not fit.")
    return array_type((width, b.shape[1]), np.result_type(promoted(entries, b), np.float32))


def solve_least_squares(
    matrix: Any, b: Any, method: str, options: tuple[tuple[str, Any], ...]
) -> Any:
    """The solution for one right-hand side, of a matrix or an operator."""
    solver = getattr(import_module("scipy.sparse.linalg"), method)
    given = dict(options)
    limit = "maxiter" if method == "lsmr" else "iter_lim"
    given.setdefault(limit, max(100, 4 * min(matrix.shape)))  # SciPy's is that of exact arithmetic
    x, reason, steps, residual = solver(matrix, b, **given)[:4]
    if reason in _NOT_SOLVED and not (reason == 7 and _is_solved(matrix, b, x)):
        raise NotConvergedError(
            f"A sparse least squares problem with a matrix of shape {matrix.shape} was not solved "
            f"by scipy.sparse.linalg.{method}: {_NOT_SOLVED[reason]} after {steps} steps, with a "
            f"residual of {residual:.2e} for a right-hand side of {np.linalg.norm(b):.2e}. Allow "
            "more, or a larger tolerance, or give damp."
        )
    return x


def solved_to_rounding(matrix: Any, b: Any, method: str) -> Any:
    """What the method comes to when it goes on as long as that makes sense."""
    limit = "maxiter" if method == "lsmr" else "iter_lim"
    solver = getattr(import_module("scipy.sparse.linalg"), method)
    steps = {limit: _ENOUGH * min(matrix.shape)}
    return solver(matrix, b, atol=1e-13, btol=1e-13, conlim=0, **steps)[0]


def _is_solved(matrix: Any, b: Any, x: Any) -> bool:
    """Whether no more than rounding is left of the equation A^T (b - A x) = 0."""
    rest = b - matrix @ x
    if not hasattr(matrix, "nnz"):  # an operator has no entries to look at
        left = np.linalg.norm(matrix.H @ rest)
        return bool(left <= _ROUNDING * np.linalg.norm(matrix.H @ b))
    sizes = abs(matrix)
    scale = sizes.T @ (sizes @ np.abs(x) + np.abs(b))
    return bool(np.all(np.abs(matrix.T @ rest) <= _ROUNDING * np.max(scale, initial=0.0)))


def _matrix(entries: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    sparse = import_module("scipy.sparse")
    return sparse.csr_array((np.asarray(entries, float), (rows, columns)), shape)


def _evaluate(
    entries: Any,
    rows: Any,
    columns: Any,
    b: Any,
    width: int,
    method: str,
    options: tuple[tuple[str, Any], ...],
) -> Any:
    matrix = _matrix(entries, rows, columns, (b.shape[0], width))
    solution = np.empty((width, b.shape[1]))
    for number in range(b.shape[1]):
        right = np.asarray(b[:, number], float)
        solution[:, number] = solve_least_squares(matrix, right, method, options)
    return np.asarray(solution, np.result_type(entries, b, np.float32))


def _derivative(tangents: Any, operands: Any, results: Any, width: int, **how: Any) -> Any:
    (entries, rows, columns, b), (x,) = operands, results
    height, dtype = b.shape[0], x.dtype
    given, turned = (cast(entries, dtype), rows, columns), (cast(entries, dtype), columns, rows)

    def solved(right: Any) -> Any:
        return bind(SPARSE_LEAST_SQUARES, *given, right, width=width, **how)

    def solved_transposed(right: Any) -> Any:
        return bind(SPARSE_LEAST_SQUARES, *turned, right, width=height, **how)

    right = None if tangents[3] is None else cast(tangents[3], dtype)
    extra: Any = None
    if tangents[0] is not None:
        moved = cast(tangents[0], dtype)
        full = bind(FULL_RANK, *given, height=height, width=width, **how)
        product = sparse_product(moved, rows, columns, x, height) * full
        right = -product if right is None else right - product
        if height > width:
            rest = cast(b, dtype) - sparse_product(*given, x, height)
            back = sparse_product(moved, columns, rows, rest, width)
            right = right + solved_transposed(back)
        elif height < width:
            back = sparse_product(moved, columns, rows, solved_transposed(x), width)
            extra = back - solved(sparse_product(*given, back, height))
    slope = solved(right)
    return (slope if extra is None else slope + extra,)


def _transpose(cotangents: Any, operands: Any, width: int, **how: Any) -> Any:
    entries, rows, columns, b = operands
    turned = (entries, columns, rows, cotangents[0])
    back = bind(SPARSE_LEAST_SQUARES, *turned, width=b.shape[0], **how)
    return None, None, None, cast(back, b.dtype)


def _batch(operands: Any, batched: Any, size: int, width: int, **how: Any) -> Any:
    entries, rows, columns, b = operands
    if not any(batched[:3]):
        _, height, count = b.shape
        flat = reshape(permute(b, (1, 0, 2)), (height, size * count))
        solutions = bind(SPARSE_LEAST_SQUARES, entries, rows, columns, flat, width=width, **how)
        return permute(reshape(solutions, (width, size, count)), (1, 0, 2))
    entries, rows, columns, b = (
        with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True)
    )
    _, height, count = b.shape
    places = (on_diagonal(rows, height, size), on_diagonal(columns, width, size))
    flat = reshape(entries, (size * entries.shape[1],))
    right = reshape(b, (size * height, count))
    solutions = bind(SPARSE_LEAST_SQUARES, flat, *places, right, width=size * width, **how)
    return reshape(solutions, (size, width, count))


_ROWS, _COLUMNS = (Fixed(np.array(x)) for x in ([0, 1, 2, 2, 0], [0, 1, 0, 1, 0]))
_TIGHT: dict[str, Any] = {"method": "lsmr", "options": (("atol", 1e-15), ("btol", 1e-15))}


def _sample(turned: bool, **how: Any) -> Any:
    places = (_COLUMNS, _ROWS) if turned else (_ROWS, _COLUMNS)
    right = draw(2, 1) if turned else draw(3, 2)
    width = 3 if turned else 2
    return sample(draw(5, low=1, high=2), *places, right, width=width, order=2, **_TIGHT, **how)


# The least squares solution, or the shortest one, for columns b. method, options: SciPy's.
SPARSE_LEAST_SQUARES = Primitive(
    "sparse_least_squares",
    infer=_type,
    evaluate=_evaluate,
    linear=Each(frozenset({3})),
    derivative=_derivative,
    transpose=_transpose,
    batch=_batch,
    samples=(_sample(False), _sample(True)),
)


# --- the rank -------------------------------------------------------------------------------------


def _rank_evaluate(
    entries: Any, rows: Any, columns: Any, height: int, width: int, method: str, options: Any
) -> Any:
    matrix = _matrix(entries, rows, columns, (height, width))
    matrix = matrix if height >= width else matrix.T.tocsr()
    vector = np.random.default_rng(0).standard_normal(matrix.shape[1])
    again = solved_to_rounding(matrix, matrix @ vector, method)
    # Of a matrix that lacks rank, a vector comes back without a part of it, as large as an entry.
    error = float(np.linalg.norm(again - vector))
    if not error <= _LOST:
        raise SingularError(
            f"A derivative of a least squares solution was asked for with respect to a matrix of "
            f"shape {(height, width)} that has not full rank, or so near to that that {method} "
            f"does not see it: {error:.1g} is lost of a random vector of length "
            f"{np.linalg.norm(vector):.3g}. Where it has not, the solution jumps. Give damp, or "
            "leave away what depends on the rest."
        )
    return np.ones((), np.result_type(entries, np.float32))


def _rank_batch(operands: Any, batched: Any, size: int, **how: Any) -> Any:
    whole = [with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True)]
    parts = [
        bind(FULL_RANK, *(take(x, (n, (0, x.shape[1], 1))) for x in whole), **how)
        for n in range(size)
    ]
    return stack(parts, axis=0)


# One: an error where a matrix has not full rank.
FULL_RANK: Primitive = Primitive(
    "sparse_full_rank",
    infer=lambda entries, *places, **how: array_type((), np.result_type(entries.dtype, np.float32)),
    evaluate=_rank_evaluate,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=_rank_batch,
    samples=(sample(draw(5, low=1, high=2), _ROWS, _COLUMNS, height=3, width=2, **_TIGHT),),
)
