"""Products of a sparse matrix with a dense one, and with a sparse one: linear in either."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ShapeError
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
    rows, columns = on_diagonal(rows, height, size), on_diagonal(columns, length, size)
    flat = reshape(x, (size * length, width))
    entries = reshape(entries, (size * entries.shape[1],))
    product = sparse_product(entries, rows, columns, flat, size * height)
    return reshape(product, (size, height, width))


def on_diagonal(places: Any, length: int, size: int) -> Any:
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


# --- two sparse matrices --------------------------------------------------------------------------
# The entries of A B at given places. In A they are linear with the transpose W -> (W B^H) at the
# places of A, and in B with W -> (A^H W) at those of B, which are such products again.


def _entries_type(*types: ArrayType, sizes: tuple[int, int, int]) -> ArrayType:
    a, a_rows, a_columns, b, b_rows, b_columns, rows, columns = types
    if a.shape != a_rows.shape or a.shape != a_columns.shape or b.shape != b_rows.shape:
        raise ShapeError(f"product of sparse matrices: {a.shape} and {b.shape} entries do not fit.")
    if b.shape != b_columns.shape or rows.shape != columns.shape:
        raise ShapeError(f"product of sparse matrices: {rows.shape} places do not fit.")
    return array_type(rows.shape, promoted(a, b))


def _entries_evaluate(
    a: Any,
    a_rows: Any,
    a_columns: Any,
    b: Any,
    b_rows: Any,
    b_columns: Any,
    rows: Any,
    columns: Any,
    sizes: tuple[int, int, int],
) -> Any:
    dtype = np.result_type(a, b)
    if not len(rows):
        return np.zeros(0, dtype)
    height, inner, width = sizes
    wide = dtype if dtype.char in "fdFD" else np.result_type(dtype, float)
    # SciPy's older class: its entries at a list of places are dense.
    matrix = import_module("scipy.sparse").csr_matrix
    left = matrix((np.asarray(a, wide), (a_rows, a_columns)), (height, inner))
    right = matrix((np.asarray(b, wide), (b_rows, b_columns)), (inner, width))
    product = left @ right
    product.sum_duplicates()
    return np.asarray(product[rows, columns], dtype).reshape(-1)


def _entries_derivative(tangents: Any, operands: Any, results: Any, sizes: Any) -> Any:
    total, dtype = None, results[0].dtype
    for place in (0, 3):
        if tangents[place] is not None:
            moved = list(operands)
            moved[place] = tangents[place]
            moved[0], moved[3] = cast(moved[0], dtype), cast(moved[3], dtype)
            term = bind(SPARSE_ENTRIES, *moved, sizes=sizes)
            total = term if total is None else total + term
    return (total,)


def _entries_transpose(cotangents: Any, operands: Any, sizes: tuple[int, int, int]) -> Any:
    a, a_rows, a_columns, b, b_rows, b_columns, rows, columns = operands
    (cotangent,) = cotangents
    height, inner, width = sizes
    product = (cotangent, rows, columns)
    nothing: list[Any] = [None] * len(operands)
    if isinstance(a, Expression):
        left = (conjugate(a), a_columns, a_rows)
        back = bind(
            SPARSE_ENTRIES, *left, *product, b_rows, b_columns, sizes=(inner, height, width)
        )
        nothing[3] = cast(back, b.dtype)
    else:
        right = (conjugate(b), b_columns, b_rows)
        back = bind(
            SPARSE_ENTRIES, *product, *right, a_rows, a_columns, sizes=(height, width, inner)
        )
        nothing[0] = cast(back, a.dtype)
    return tuple(nothing)


def _entries_batch(operands: Any, batched: Any, size: int, sizes: tuple[int, int, int]) -> Any:
    whole = [with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True)]
    height, inner, width = sizes
    lengths = (None, height, inner, None, inner, width, height, width)
    flat = [
        reshape(x, (size * x.shape[1],)) if length is None else on_diagonal(x, length, size)
        for x, length in zip(whole, lengths, strict=True)
    ]
    product = bind(SPARSE_ENTRIES, *flat, sizes=(size * height, size * inner, size * width))
    return reshape(product, (size, whole[6].shape[1]))


# Operands: a sparse matrix A, another one B, and the rows and columns of the entries of A B that
# are wanted. sizes: rows of A, columns of A, columns of B.
SPARSE_ENTRIES = Primitive(
    "sparse_entries",
    infer=_entries_type,
    evaluate=_entries_evaluate,
    linear=Each(frozenset({0, 3})),
    derivative=_entries_derivative,
    transpose=_entries_transpose,
    batch=_entries_batch,
    samples=tuple(
        sample(
            *(draw(4, dtype=kind), _ROWS, _COLUMNS),
            *(draw(3), Fixed(np.array([0, 1, 1])), Fixed(np.array([3, 0, 1]))),
            *(Fixed(np.array([0, 0, 2, 1])), Fixed(np.array([0, 3, 2, 1]))),
            sizes=(3, 2, 4),
        )
        for kind in (float, complex)
    ),
)
