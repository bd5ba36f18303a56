"""Linear systems with a sparse matrix, or with its adjoint, by one factorisation for both."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ShapeError
from adjoint.primitives.declaration import Each, Primitive
from adjoint.primitives.elementwise.conversion import cast, conjugate
from adjoint.primitives.expression import bind
from adjoint.primitives.linear_algebra.sparse.factors import solved
from adjoint.primitives.linear_algebra.sparse.products import on_diagonal, sparse_product
from adjoint.primitives.samples import Draw, Fixed, Sample, draw, sample
from adjoint.primitives.structure.moving import permute, reshape, with_batch
from adjoint.primitives.typing_rules import promoted


def _type(
    entries: ArrayType, rows: ArrayType, columns: ArrayType, b: ArrayType, **how: Any
) -> ArrayType:
    if b.ndim != 2 or entries.shape != rows.shape or entries.shape != columns.shape:
        raise ShapeError(f"sparse solve: shapes {entries.shape} and {b.shape} do not fit.")
    return array_type(b.shape, np.result_type(promoted(entries, b), np.float32))


def _evaluate(
    entries: Any, rows: Any, columns: Any, b: Any, adjoint: bool, elimination: str | None
) -> Any:
    dtype = np.result_type(entries, b, np.float32)
    if not b.size:
        return np.zeros(b.shape, dtype)
    wide = np.asarray(b, complex if b.dtype.kind == "c" else float)
    return np.asarray(solved(entries, rows, columns, wide, adjoint, elimination), dtype)


def _derivative(
    tangents: Any, operands: Any, results: Any, adjoint: bool, elimination: str | None
) -> Any:
    """A dx = db - dA x."""
    (_, rows, columns, b), (x,) = operands, results
    right = None if tangents[3] is None else cast(tangents[3], x.dtype)
    if tangents[0] is not None:
        moved = cast(tangents[0], x.dtype)
        moved = conjugate(moved) if adjoint else moved
        places = (columns, rows) if adjoint else (rows, columns)
        product = sparse_product(moved, *places, x, height=b.shape[0])
        right = -product if right is None else right - product
    return (bind(SPARSE_SOLVE, *operands[:3], right, adjoint=adjoint, elimination=elimination),)


def _transpose(cotangents: Any, operands: Any, adjoint: bool, elimination: str | None) -> Any:
    *matrix, b = operands
    back = bind(SPARSE_SOLVE, *matrix, cotangents[0], adjoint=not adjoint, elimination=elimination)
    return None, None, None, cast(back, b.dtype)


def _batch(operands: Any, batched: Any, size: int, **how: Any) -> Any:
    entries, rows, columns, b = operands
    if not any(batched[:3]):  # one matrix: all right-hand sides side by side
        _, length, width = b.shape
        flat = reshape(permute(b, (1, 0, 2)), (length, size * width))
        solutions = bind(SPARSE_SOLVE, entries, rows, columns, flat, **how)
        return permute(reshape(solutions, (length, size, width)), (1, 0, 2))
    # Many matrices: they stand on the diagonal of a large one, which fills in nothing between them.
    entries, rows, columns, b = (
        with_batch(operand, mark, size) for operand, mark in zip(operands, batched, strict=True)
    )
    _, length, width = b.shape
    places = [on_diagonal(indices, length, size) for indices in (rows, columns)]
    flat = reshape(entries, (size * entries.shape[1],))
    right = reshape(b, (size * length, width))
    solutions = bind(SPARSE_SOLVE, flat, *places, right, **how)
    return reshape(solutions, (size, length, width))


_PLACES = (Fixed(np.array([0, 1, 2, 2, 0])), Fixed(np.array([0, 1, 2, 0, 1])))


def _sample(entries: Draw, b: Draw, adjoint: bool) -> Sample:
    return sample(entries, *_PLACES, b, adjoint=adjoint, elimination=None)


# The solution of A x = b, or of A^H x = b. elimination: in which order; None to choose.
SPARSE_SOLVE = Primitive(
    "sparse_solve",
    infer=_type,
    evaluate=_evaluate,
    linear=Each(frozenset({3})),
    derivative=_derivative,
    transpose=_transpose,
    batch=_batch,
    samples=(
        _sample(draw(5, low=1, high=2), draw(3, 2), False),
        _sample(draw(5, low=1, high=2, dtype=complex), draw(3, 1), True),
        _sample(draw(5, low=1, high=2), draw(3, 1, dtype=complex), True),
    ),
)
