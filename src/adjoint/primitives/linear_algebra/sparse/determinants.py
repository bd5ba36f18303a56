"""The determinant of a sparse positive definite matrix, and what its derivatives need of A^-1.

d log det A = tr(A^-1 dA) needs the entries of the inverse where A has entries, and no others. Those
of its derivative, -A^-1 dA A^-1, take whole columns of it, a block of them at a time: as many pairs
of solves as there are unknowns, and one more for each further order.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import NotPositiveDefiniteError
from adjoint.primitives.declaration import Each, EmptySlot, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.sparse.factors import SYMMETRIC_ORDER, Factors, factors_of
from adjoint.primitives.linear_algebra.sparse.products import on_diagonal
from adjoint.primitives.linear_algebra.sparse.selected import inverse_at, selected_inverse
from adjoint.primitives.samples import Fixed, draw, sample
from adjoint.primitives.structure.moving import reshape, sum_axes, with_batch


def _floating(*types: ArrayType) -> Any:
    return np.result_type(*(type_.dtype for type_ in types), np.float32)


def _require_positive(factors: Factors) -> None:
    if factors.symmetric is not None and np.all(factors.pivots > 0):
        return
    least = "it is not symmetric"
    if factors.symmetric is not None:
        least = f"its smallest pivot is {np.min(factors.pivots):.3e}"
    raise NotPositiveDefiniteError(
        f"The logarithm of the determinant of a sparse matrix with {factors.lu.shape[0]} rows was "
        f"asked for, and the matrix is not symmetric and positive definite: {least}."
    )


def _side_by_side(operands: Any, batched: Any, size: int, length: int) -> list[Any]:
    """A batch of matrices on the diagonal of a large one: entries, and their places."""
    whole = [with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True)]
    return [
        on_diagonal(x, length, size) if x.dtype.kind in "iu" else reshape(x, (size * x.shape[1],))
        for x in whole
    ]


# --- entries of A^-1, and of A^-1 D A^-1 E A^-1 ---------------------------------------------------
# Operands: A, the places of the entries that are wanted, and the matrices D, E, ... between the
# inverses; of each the entries, rows and columns. positive: whether A has to be symmetric and
# positive definite.

_FIRST = 5  # the place of the entries of D
_MIDDLES = 8  # how many there may be, for derivatives of one order more


def _inverse_type(*types: ArrayType, unknowns: int, positive: bool) -> ArrayType:
    return array_type(types[3].shape, _floating(types[0], *types[_FIRST::3]))


def _inverse_evaluate(
    entries: Any,
    rows: Any,
    columns: Any,
    at_rows: Any,
    at_columns: Any,
    *middles: Any,
    unknowns: int,
    positive: bool,
) -> Any:
    dtype = np.result_type(entries, *middles[::3], np.float32)
    factors = factors_of(entries, rows, columns, unknowns, SYMMETRIC_ORDER)
    if positive:
        _require_positive(factors)
    places = np.asarray(at_rows), np.asarray(at_columns)
    if not middles:
        return np.asarray(selected_inverse(factors, *places), dtype)
    sparse, shape = import_module("scipy.sparse"), (unknowns, unknowns)
    between = [
        sparse.csr_array((np.asarray(d, float), (d_rows, d_columns)), shape)
        for d, d_rows, d_columns in zip(*(middles[part::3] for part in range(3)), strict=True)
    ]
    return np.asarray(inverse_at(factors, between, *places), dtype)


def _inverse_derivative(tangents: Any, operands: Any, results: Any, **how: Any) -> Any:
    # d(A^-1) = -A^-1 dA A^-1 at each of the inverses, and the others are linear.
    dtype, total = results[0].dtype, None
    terms = []
    if tangents[0] is not None:
        moving = (cast(tangents[0], dtype), *operands[1:3])
        for place in range(_FIRST, len(operands) + 1, 3):
            chain = (*operands[:place], *moving, *operands[place:])
            terms.append(-bind(SPARSE_INVERSE, *chain, **how))
    for place in range(_FIRST, len(operands), 3):
        if tangents[place] is not None:
            chain = (*operands[:place], tangents[place], *operands[place + 1 :])
            terms.append(bind(SPARSE_INVERSE, *chain, **how))
    for term in terms:
        term = cast(term, dtype)
        total = term if total is None else total + term
    return (total,)


def _inverse_transpose(cotangents: Any, operands: Any, **how: Any) -> Any:
    # With X D Y, where X and Y are what stands beside D, and a cotangent W on the places wanted,
    # <W, X D Y> = <X^T W Y^T, D>, the transpose of which is Y W^T X: inverses with others between.
    place = next(n for n, x in enumerate(operands) if not isinstance(x, Expression))
    d, d_rows, d_columns = operands[place : place + 3]
    weights = (cotangents[0], operands[4], operands[3])
    middles = (*operands[place + 3 :], *weights, *operands[_FIRST:place])
    back = bind(SPARSE_INVERSE, *operands[:3], d_columns, d_rows, *middles, **how)
    return tuple(cast(back, d.dtype) if n == place else None for n in range(len(operands)))


def _inverse_batch(operands: Any, batched: Any, size: int, unknowns: int, positive: bool) -> Any:
    flat = _side_by_side(operands, batched, size, unknowns)
    inverse = bind(SPARSE_INVERSE, *flat, unknowns=size * unknowns, positive=positive)
    return reshape(inverse, (size, flat[3].shape[0] // size))


_PATTERN = tuple(Fixed(np.array(places)) for places in ([0, 1, 2, 0, 1], [0, 1, 2, 1, 0]))
_AT = (Fixed(np.array([2, 0, 1])), Fixed(np.array([0, 1, 1])))
SPARSE_INVERSE = Primitive(
    "sparse_inverse",
    infer=_inverse_type,
    evaluate=_inverse_evaluate,
    linear=Each(frozenset(range(_FIRST, _FIRST + 3 * _MIDDLES, 3))),
    derivative=_inverse_derivative,
    transpose=_inverse_transpose,
    batch=_inverse_batch,
    samples=(
        sample(draw(5, low=2, high=3), *_PATTERN, *_AT, unknowns=3, positive=False),
        sample(
            draw(5, low=2, high=3),
            *_PATTERN,
            *_AT,
            draw(3),
            *_AT,
            unknowns=3,
            positive=False,
            order=3,
        ),
    ),
)


# --- log det --------------------------------------------------------------------------------------


def _evaluate(entries: Any, rows: Any, columns: Any, unknowns: int, count: int) -> Any:
    factors = factors_of(entries, rows, columns, unknowns, SYMMETRIC_ORDER)
    _require_positive(factors)
    logarithms = np.log(factors.pivots)[factors.lu.perm_c]
    totals = logarithms.reshape(count, -1).sum(axis=1)
    return np.asarray(totals, np.result_type(entries, np.float32))


def _derivative(tangents: Any, operands: Any, results: Any, unknowns: int, count: int) -> Any:
    entries, rows, columns = operands
    inverse = bind(
        SPARSE_INVERSE, entries, rows, columns, columns, rows, unknowns=unknowns, positive=True
    )
    terms = inverse * cast(tangents[0], inverse.dtype)
    return (sum_axes(reshape(terms, (count, entries.shape[0] // count)), (1,)),)


def _batch(operands: Any, batched: Any, size: int, unknowns: int, count: int) -> Any:
    flat = _side_by_side(operands, batched, size, unknowns)
    totals = bind(SPARSE_LOG_DETERMINANT, *flat, unknowns=size * unknowns, count=size * count)
    return reshape(totals, (size, count))


# The logarithms of the determinants of as many symmetric positive definite matrices, on the
# diagonal of a large one.
SPARSE_LOG_DETERMINANT = Primitive(
    "sparse_log_determinant",
    infer=lambda entries, rows, columns, unknowns, count: array_type((count,), _floating(entries)),
    evaluate=_evaluate,
    linear=None,
    derivative=_derivative,
    batch=_batch,
    samples=EmptySlot(
        "its matrix is symmetric, as the checker's directions are not; "
        "tests/scipy/test_sparse_determinants.py tries it"
    ),
)
