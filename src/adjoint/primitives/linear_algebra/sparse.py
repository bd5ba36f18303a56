"""The product of a sparse matrix and a dense one: linear in the entries, and in the other matrix.

The matrix is given by its entries, their rows and their columns, which are data like any other, so
that programs do not depend on the pattern. Entries at the same place add up.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ShapeError, SingularError
from adjoint.primitives.declaration import Each, Primitive
from adjoint.primitives.elementwise.conversion import cast, conjugate
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import Fixed, draw, sample
from adjoint.primitives.structure.gathering import GATHER, IOTA
from adjoint.primitives.structure.moving import permute, reshape, sum_axes, with_batch
from adjoint.primitives.typing_rules import promoted


def _type(
    entries: ArrayType, rows: ArrayType, columns: ArrayType, x: ArrayType, height: int
) -> ArrayType:
    if x.ndim != 2 or entries.shape != rows.shape or entries.shape != columns.shape:
        raise ShapeError(f"sparse product: shapes {entries.shape} and {x.shape} do not fit.")
    return array_type((height, x.shape[1]), promoted(entries, x))


def _evaluate(entries: Any, rows: Any, columns: Any, x: Any, height: int) -> Any:
    dtype = np.result_type(entries, x)
    sparse = import_module("scipy.sparse")
    shape = (height, x.shape[0])
    wide = dtype if dtype.char in "fdFD" else np.result_type(dtype, float)
    matrix = sparse.coo_array((np.asarray(entries, wide), (rows, columns)), shape)
    return np.asarray(matrix @ np.asarray(x, wide), dtype)


def _derivative(tangents: Any, operands: Any, results: Any, height: int) -> Any:
    entries, rows, columns, x = operands
    total, dtype = None, results[0].dtype
    if tangents[0] is not None:
        total = sparse_product(cast(tangents[0], dtype), rows, columns, cast(x, dtype), height)
    if tangents[3] is not None:
        moved = cast(tangents[3], dtype)
        term = sparse_product(cast(entries, dtype), rows, columns, moved, height)
        total = term if total is None else total + term
    return (total,)


def _transpose(cotangents: Any, operands: Any, height: int) -> Any:
    entries, rows, columns, x = operands
    (cotangent,) = cotangents
    if isinstance(entries, Expression):
        back = sparse_product(conjugate(entries), columns, rows, cotangent, x.shape[0])
        return None, None, None, cast(back, x.dtype)
    left = bind(GATHER, cotangent, rows)
    right = bind(GATHER, conjugate(x), columns)
    return cast(sum_axes(left * right, (1,)), entries.dtype), None, None, None


def _batch(operands: Any, batched: Any, size: int, height: int) -> Any:
    entries, rows, columns, x = operands
    if not any(batched[:3]):  # one matrix: all right-hand sides side by side
        _, length, width = x.shape
        flat = reshape(permute(x, (1, 0, 2)), (length, size * width))
        product = sparse_product(entries, rows, columns, flat, height)
        return permute(reshape(product, (height, size, width)), (1, 0, 2))
    # Many matrices: they stand on the diagonal of a large one.
    entries, rows, columns, x = (
        with_batch(operand, mark, size) for operand, mark in zip(operands, batched, strict=True)
    )
    _, length, width = x.shape
    rows, columns = _on_diagonal(rows, height, size), _on_diagonal(columns, length, size)
    flat = reshape(x, (size * length, width))
    entries = reshape(entries, (size * entries.shape[1],))
    product = sparse_product(entries, rows, columns, flat, size * height)
    return reshape(product, (size, height, width))


def _on_diagonal(places: Any, length: int, size: int) -> Any:
    """The rows or columns of matrices that stand on the diagonal of a large one."""
    number = reshape(bind(IOTA, builder=places.builder, length=size), (size, 1))
    return reshape(places + number * length, (size * places.shape[1],))


_ROWS, _COLUMNS = Fixed(np.array([0, 2, 1, 0])), Fixed(np.array([1, 0, 1, 1]))
SPARSE_PRODUCT = Primitive(
    "sparse_product",
    infer=_type,
    evaluate=_evaluate,
    linear=Each(frozenset({0, 3})),
    derivative=_derivative,
    transpose=_transpose,
    batch=_batch,
    samples=(
        sample(draw(4), _ROWS, _COLUMNS, draw(2, 3), height=3),
        sample(draw(4, dtype=complex), _ROWS, _COLUMNS, draw(2, 1, dtype=complex), height=3),
    ),
)


def sparse_product(entries: Any, rows: Any, columns: Any, x: Any, height: int) -> Any:
    """The matrix of this height with these entries, times x."""
    return bind(SPARSE_PRODUCT, entries, rows, columns, x, height=height)


# --- solving with a sparse matrix -----------------------------------------------------------------


def _solve_type(entries: ArrayType, rows: ArrayType, columns: ArrayType, b: ArrayType) -> ArrayType:
    if b.ndim != 2 or entries.shape != rows.shape or entries.shape != columns.shape:
        raise ShapeError(f"sparse solve: shapes {entries.shape} and {b.shape} do not fit.")
    return array_type(b.shape, np.result_type(promoted(entries, b), np.float32))


def _solve_evaluate(entries: Any, rows: Any, columns: Any, b: Any) -> Any:
    dtype = np.result_type(entries, b, np.float32)
    wide = np.dtype(complex if dtype.kind == "c" else float)
    sparse, solvers = (import_module(name) for name in ("scipy.sparse", "scipy.sparse.linalg"))
    size = b.shape[0]
    matrix = sparse.csc_array((np.asarray(entries, wide), (rows, columns)), (size, size))
    try:
        solution = solvers.splu(matrix).solve(np.asarray(b, wide))
    except RuntimeError as error:
        raise SingularError(f"A sparse linear system has no single solution: {error}.") from None
    return np.asarray(solution, dtype)


def _solve_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    """A dx = db - dA x."""
    (_, rows, columns, b), (x,) = operands, results
    right = None if tangents[3] is None else cast(tangents[3], x.dtype)
    if tangents[0] is not None:
        moved = sparse_product(cast(tangents[0], x.dtype), rows, columns, x, b.shape[0])
        right = -moved if right is None else right - moved
    return (bind(SPARSE_SOLVE, *operands[:3], right),)


def _solve_transpose(cotangents: Any, operands: Any) -> Any:
    entries, rows, columns, b = operands
    solution = bind(SPARSE_SOLVE, conjugate(entries), columns, rows, cotangents[0])
    return None, None, None, cast(solution, b.dtype)


def _solve_batch(operands: Any, batched: Any, size: int) -> Any:
    entries, rows, columns, b = operands
    if not any(batched[:3]):
        _, length, width = b.shape
        flat = reshape(permute(b, (1, 0, 2)), (length, size * width))
        solutions = bind(SPARSE_SOLVE, entries, rows, columns, flat)
        return permute(reshape(solutions, (length, size, width)), (1, 0, 2))
    entries, rows, columns, b = (
        with_batch(operand, mark, size) for operand, mark in zip(operands, batched, strict=True)
    )
    _, length, width = b.shape
    flat_rows, flat_columns = (_on_diagonal(indices, length, size) for indices in (rows, columns))
    flat = reshape(entries, (size * entries.shape[1],))
    solutions = bind(
        SPARSE_SOLVE, flat, flat_rows, flat_columns, reshape(b, (size * length, width))
    )
    return reshape(solutions, (size, length, width))


SPARSE_SOLVE = Primitive(
    "sparse_solve",
    infer=_solve_type,
    evaluate=_solve_evaluate,
    linear=Each(frozenset({3})),
    derivative=_solve_derivative,
    transpose=_solve_transpose,
    batch=_solve_batch,
    samples=(
        sample(
            draw(5, low=1, high=2),
            Fixed(np.array([0, 1, 2, 2, 0])),
            Fixed(np.array([0, 1, 2, 0, 1])),
            draw(3, 2),
        ),
    ),
)
