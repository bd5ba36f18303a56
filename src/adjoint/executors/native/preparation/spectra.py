"""Formulas of what derivatives of eigenvalues, singular values and Q R are made of.

Parts of matrices are what NumPy's formulas say, number by number. What turns eigenvectors is a
quotient as long as no two values of a spectrum coincide; where some do, up to rounding, an index is
out of bounds, so that NumPy runs, which names the pair.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

import numpy as np

from adjoint.primitives.declaration import Primitive
from adjoint.primitives.elementwise.comparison import ANY
from adjoint.primitives.elementwise.conversion import IMAG, cast, conjugate, real
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.orthogonal import DIVIDE, PULLED_SKEW, SKEW
from adjoint.primitives.linear_algebra.spectra.eigen import HERMITIAN, TRIANGLE
from adjoint.primitives.linear_algebra.spectra.eigen_general import EIGENBASIS, basis_limit
from adjoint.primitives.linear_algebra.spectra.rotations import (
    CLUSTER_MEAN,
    LEADING,
    PULLED_ROTATION,
    ROTATION,
    precision_of,
    relative_closeness,
)
from adjoint.primitives.linear_algebra.spectra.singular_values import (
    COMPLETED,
    OVER,
    SLOPE,
    SVDVALS,
)
from adjoint.primitives.linear_algebra.systems import multiply, solve
from adjoint.primitives.structure.diagonals import DIAGONAL_MATRIX, DIAGONAL_PART
from adjoint.primitives.structure.gathering import GATHER, IOTA
from adjoint.primitives.structure.moving import (
    FILL,
    broadcast_to,
    expand_reduced,
    insert_axes,
    permute,
    reshape,
    sum_axes,
)
from adjoint.primitives.structure.reductions import MAX, MIN
from adjoint.primitives.structure.slicing import take
from adjoint.primitives.typing_rules import broadcast_shape


def all_if(x: Any, right: Any) -> Any:
    """Numbers as they are; a place out of bounds, and so NumPy, where the truth beside is not."""
    size = prod(x.shape)
    places = bind(IOTA, builder=x.builder, length=size)
    beyond = filled(x, (size,), np.dtype(np.intp), size)
    chosen = select(reshape(right, (size,)), places, beyond)
    return reshape(bind(GATHER, reshape(x, (size,)), chosen), x.shape)


def filled(like: Expression, shape: tuple[int, ...], dtype: np.dtype[Any], value: Any) -> Any:
    """An array of one number."""
    return bind(FILL, builder=like.builder, shape=shape, dtype=dtype, value=value)


def _places(x: Any) -> tuple[Any, Any]:
    """The row and the column of each number of matrices."""
    numbers = bind(IOTA, builder=x.builder, length=x.shape[-1])
    rows = bind(IOTA, builder=x.builder, length=x.shape[-2])
    return (
        broadcast_to(reshape(rows, (x.shape[-2], 1)), x.shape),
        broadcast_to(numbers, x.shape),
    )


def swapped(x: Any) -> Any:
    """The transpose."""
    return permute(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def adjoint(x: Any) -> Any:
    """The conjugate transpose."""
    return conjugate(swapped(x))


def zeros(x: Any) -> Any:
    """An array of zeros like another."""
    return filled(x, x.shape, x.dtype, 0)


def identity(x: Any) -> Any:
    """The identity for matrices of this shape."""
    rows, columns = _places(x)
    return cast(np.equal(rows, columns), x.dtype)


# --- parts of matrices ----------------------------------------------------------------------------


def _diagonal_part(x: Any) -> Any:
    count, lead = x.shape[-1], x.shape[:-2]
    flat = reshape(x, (*lead, count * count))
    return take(flat, (*((0, length, 1) for length in lead), (0, count * count, count + 1)))


def _diagonal_matrix(x: Any) -> Any:
    matrix = broadcast_to(insert_axes(x, x.ndim, x.ndim + 1), (*x.shape, x.shape[-1]))
    rows, columns = _places(matrix)
    return select(np.equal(rows, columns), matrix, zeros(matrix))


def _half(x: Any, lower: bool) -> Any:
    rows, columns = _places(x)
    return select(np.greater(rows, columns) if lower else np.less(rows, columns), x, zeros(x))


def _with_diagonal(x: Any, diagonal: Any) -> Any:
    rows, columns = _places(x)
    return select(np.equal(rows, columns), diagonal, x)


def _hermitian(x: Any, lower: bool) -> Any:
    half = _half(x, lower)
    return _with_diagonal(half + adjoint(half), cast(real(x), x.dtype))


def _triangle(x: Any, lower: bool) -> Any:
    return _with_diagonal(_half(x + adjoint(x), lower), cast(real(x), x.dtype))


def _skew(x: Any) -> Any:
    half = _half(x, True)
    return _with_imaginary_diagonal(half - adjoint(half), x)


def _pulled_skew(x: Any) -> Any:
    return _with_imaginary_diagonal(_half(x - adjoint(x), True), x)


def _with_imaginary_diagonal(x: Any, of: Any) -> Any:
    if of.dtype.kind != "c":
        return x
    return _with_diagonal(x, cast(bind(IMAG, of), of.dtype) * 1j)


# --- spectra --------------------------------------------------------------------------------------


def closeness(values: Any) -> Any:
    """Up to which distance values count as equal, for each of them."""
    last = (values.ndim - 1,)
    size: Any = expand_reduced(bind(MAX, np.abs(values), axes=last), last, values.shape)
    return size * relative_closeness(values.shape[-1], values.dtype)


def columns_of(values: Any) -> Any:
    """A matrix for each row of numbers, whose columns have one number each."""
    shape = (*values.shape, values.shape[-1])
    return broadcast_to(insert_axes(values, values.ndim - 1, values.ndim + 1), shape)


def rows_of(values: Any) -> Any:
    """The same with a number for each of its rows."""
    return swapped(columns_of(values))


def pairs(values: Any, sign: int) -> tuple[Any, Any]:
    """l_j + sign l_i, and whether it is no rounding error, or i = j and it need not be."""
    columns, rows = columns_of(values), rows_of(values)
    gap: Any = columns + rows if sign > 0 else columns - rows
    if sign > 0:
        near: Any = np.less_equal(np.abs(columns), columns_of(closeness(values)))
        return gap, np.logical_not(near)
    near = np.less_equal(np.abs(gap), columns_of(closeness(values)))
    diagonal = np.equal(*_places(gap))
    return gap, np.logical_or(np.logical_not(near), diagonal)


def _rotation(values: Any, x: Any, sign: int, used: Any, general: bool) -> Any:
    gap, apart = pairs(values, sign)
    shape = broadcast_shape("rotation", gap.shape, x.shape)
    gap, apart, x = (broadcast_to(operand, shape) for operand in (gap, apart, x))
    x = all_if(x, apart)
    if sign > 0:
        return x / gap
    diagonal = np.equal(*_places(gap))
    quotient: Any = x / select(diagonal, filled(gap, shape, gap.dtype, 1), gap)
    return select(diagonal, zeros(quotient), quotient)


def _pulled_rotation(values: Any, x: Any, sign: int, used: Any, general: bool) -> Any:
    if x.dtype.kind == "c" and sign < 0 and not general:
        axes = (x.ndim - 2, x.ndim - 1)
        most: Any = expand_reduced(bind(MAX, np.abs(x), axes=axes), axes, x.shape)
        bound: Any = most * precision_of(x.dtype) ** (2 / 3)
        phase: Any = bind(IMAG, x)
        fixed = np.less_equal(np.abs(phase), bound)
        x = all_if(x, np.logical_or(fixed, np.not_equal(*_places(x))))
    return _rotation(values, x, sign, used, general)


def _cluster_mean(values: Any, x: Any) -> Any:
    """The means of clusters in which each value is close to each other, and to none besides."""
    gap, apart = pairs(values, -1)
    rows, columns = _places(gap)
    same = np.logical_or(np.logical_not(apart), np.equal(rows, columns))
    last = (gap.ndim - 1,)
    # Closeness makes clusters if two values are close just where the first that is close to each is
    # the same one.
    beyond = filled(gap, gap.shape, columns.dtype, gap.shape[-1])
    first = bind(MIN, select(same, columns, beyond), axes=last)
    chained: Any = np.not_equal(np.equal(columns_of(first), rows_of(first)), same)
    wrong = np.logical_or(chained, np.logical_not(np.isfinite(gap)))
    right = np.logical_not(bind(ANY, wrong, axes=last))
    shape = broadcast_shape("cluster_mean", values.shape, x.shape)
    wide = (*shape, shape[-1])
    x = all_if(broadcast_to(x, shape), broadcast_to(right, shape))
    beside: Any = columns_of(x)
    marks = broadcast_to(same, wide)
    total: Any = sum_axes(select(marks, beside, zeros(beside)), (len(shape),))
    count: Any = broadcast_to(sum_axes(cast(same, np.dtype(float)), last), shape)
    alone = np.equal(count, filled(x, shape, count.dtype, 1))
    return select(alone, x, total / cast(count, np.zeros(0, x.dtype).real.dtype))


def _over_singular_values(s: Any, x: Any, pulled: bool) -> Any:
    there = np.logical_not(np.less_equal(s, closeness(s)))
    lead = broadcast_shape("over_singular_values", s.shape[:-1], x.shape[:-2])
    shape = (*lead, *x.shape[-2:])
    s, there = (
        broadcast_to(insert_axes(row, row.ndim - 1, row.ndim + 1), shape) for row in (s, there)
    )
    return all_if(broadcast_to(x, shape), there) / s


def _singular_slope(s: Any, x: Any, weight: float) -> Any:
    shape = broadcast_shape("singular_slope", s.shape, x.shape)
    gone = broadcast_to(np.less_equal(s, closeness(s)), shape)
    x = broadcast_to(x, shape)
    return select(gone, x * filled(x, shape, x.dtype, weight), x)


def _completed(x: Any, u: Any, first: int, pulled: bool) -> Any:
    """As it is, where in reverse nothing depends on how the columns of u complete a basis."""
    if not pulled or first == x.shape[-1]:
        return x
    completing, beside = (
        take(y, (*((0, length, 1) for length in y.shape[:-1]), (first, y.shape[-1], 1)))
        for y in (u, x)
    )
    block: Any = multiply(adjoint(completing), beside)
    skew: Any = np.abs(block - adjoint(block))
    most, size = (bind(MAX, y, axes=tuple(range(y.ndim))) for y in (skew, np.abs(x)))
    wrong = np.greater(most * 0.5, size * precision_of(x.dtype) ** (2 / 3))
    return all_if(x, broadcast_to(np.logical_not(wrong), x.shape))


# --- eigenvectors of matrices without symmetry ----------------------------------------------------


def _eigenbasis(v: Any) -> Any:
    """Eigenvectors that are linearly independent, as their singular values say."""
    sizes = bind(SVDVALS, v)
    last = (sizes.ndim - 1,)
    least, most = (bind(extreme, sizes, axes=last) for extreme in (MIN, MAX))
    right = np.greater(least, most * basis_limit(v.dtype))
    return all_if(v, broadcast_to(insert_axes(right, v.ndim - 2, v.ndim), v.shape))


def _leading_entries(v: Any) -> Any:
    """One at the first of the largest entries of each column."""
    above = (v.ndim - 2,)
    size: Any = np.abs(v)
    most: Any = expand_reduced(bind(MAX, size, axes=above), above, v.shape)
    rows, _ = _places(v)
    beyond = filled(v, v.shape, rows.dtype, v.shape[-2])
    least = bind(MIN, select(np.less(size, most), beyond, rows), axes=above)
    first: Any = expand_reduced(least, above, v.shape)
    return cast(np.equal(rows, first), size.dtype)


# --- Q and R --------------------------------------------------------------------------------------


def _divided(x: Any, r: Any) -> Any:
    """X R^-1, where no number on the diagonal of R is zero up to rounding."""
    dtype = np.promote_types(x.dtype, r.dtype)
    x, r = (operand if operand.dtype == dtype else cast(operand, dtype) for operand in (x, r))
    diagonal = _diagonal_part(r)
    size: Any = np.abs(diagonal)
    there = np.greater(size, closeness(diagonal))
    return swapped(solve(swapped(all_if(r, columns_of(there))), swapped(x)))


FORMULAS: Final[dict[Primitive, Callable[..., Any]]] = {
    DIAGONAL_PART: _diagonal_part,
    DIAGONAL_MATRIX: _diagonal_matrix,
    HERMITIAN: _hermitian,
    TRIANGLE: _triangle,
    SKEW: _skew,
    PULLED_SKEW: _pulled_skew,
    ROTATION: _rotation,
    PULLED_ROTATION: _pulled_rotation,
    CLUSTER_MEAN: _cluster_mean,
    OVER: _over_singular_values,
    SLOPE: _singular_slope,
    COMPLETED: _completed,
    EIGENBASIS: _eigenbasis,
    LEADING: _leading_entries,
    DIVIDE: _divided,
}
