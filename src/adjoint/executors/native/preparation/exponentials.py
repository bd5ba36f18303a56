"""The exponential of a matrix and its derivatives, which SciPy computes in a call.

exp(A) = r(2^-s A)^(2^s) with the Pade approximant r(A) = p(A) / p(-A) of degree 7, which is right
to double precision where the norm of A is at most 0.95 (N. Higham, "The scaling and squaring method
for the matrix exponential revisited", 2005). With so small a norm nothing cancels in p, and the
error of squarings is that of a change of A in its last digits: it is less than SciPy's, which takes
degree 13 up to norms of 4. A derivative stands in the corner of the exponential of a matrix of
blocks; it is linear in each direction, so that these have the norm 1 there. Where many squarings
would be needed, an index is out of bounds, so that SciPy runs.
"""

from __future__ import annotations

from math import factorial
from typing import Any, Final

import numpy as np

from adjoint.executors.native.preparation.spectra import all_if, filled, identity
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import bind
from adjoint.primitives.linear_algebra.systems import multiply, solve
from adjoint.primitives.structure.moving import broadcast_to, insert_axes, sum_axes
from adjoint.primitives.structure.reductions import MAX
from adjoint.primitives.structure.slicing import concatenate, take
from adjoint.program import Equation

_DEGREE: Final = 7
_NORM: Final = 0.95  # up to which the approximant is right
_SQUARINGS: Final = 6  # at most
_LARGEST: Final = 32  # rows, with blocks


def has_formula(equation: Equation) -> bool:
    """Whether it is the exponential of a small matrix, or a derivative of that."""
    size = equation.inputs[0].type.shape[-1] << (len(equation.inputs) - 1)
    return equation.params["function"] == "expm" and size <= _LARGEST


def exponential(*operands: Any, function: str) -> Any:
    """exp(A), or its derivative in directions."""
    dtype = np.result_type(*(x.dtype for x in operands), np.float32)
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in operands))
    size = operands[0].shape[-1]
    matrix, *directions = (
        broadcast_to(x if x.dtype == dtype else cast(x, dtype), (*lead, size, size))
        for x in operands
    )
    sizes = []
    for direction in directions:
        length = _norm(direction)
        length = select(np.greater(length, 0.0), length, filled(length, lead, length.dtype, 1))
        matrix = _blocks(matrix, direction / _wide(length, direction))
        sizes.append(length)
    corner: Any = _squared(matrix)
    if not sizes:
        return corner
    rows = matrix.shape[-1]
    ends = ((0, size, 1), (rows - size, rows, 1))
    corner = take(corner, (*((0, length, 1) for length in lead), *ends))
    for length in sizes:
        corner = corner * _wide(length, corner)
    return corner


def _blocks(matrix: Any, direction: Any) -> Any:
    """[[M, E], [0, M]], with the direction once for each block of M along its diagonal."""
    size, axis = direction.shape[-1], matrix.ndim - 1
    count = matrix.shape[-1] // size
    none = filled(direction, direction.shape, direction.dtype, 0)
    rows = [
        concatenate([direction if i == j else none for j in range(count)], axis)
        for i in range(count)
    ]
    corner = concatenate(rows, axis - 1)
    below = filled(matrix, matrix.shape, matrix.dtype, 0)
    return concatenate(
        [concatenate([matrix, corner], axis), concatenate([below, matrix], axis)], axis - 1
    )


def _squared(a: Any) -> Any:
    """The approximant of a part of A, squared as often as that was halved."""
    norm, part = _norm(a), a
    marks = []
    for number in range(_SQUARINGS):
        larger = np.greater(norm, _NORM * 2.0**number)
        half = filled(a, a.shape, a.dtype, 0.5)
        part = select(_wide(larger, a), part * half, part)
        marks.append(_wide(larger, a))
    within = np.less_equal(norm, _NORM * 2.0**_SQUARINGS)
    result = _approximant(all_if(part, _wide(within, a)))
    for larger in marks:
        result = select(larger, multiply(result, result), result)
    return result


def _approximant(a: Any) -> Any:
    """p(A) / p(-A); even and odd powers of A apart."""
    second: Any = multiply(a, a)
    fourth: Any = multiply(second, second)
    powers = identity(a), second, fourth, multiply(second, fourth)
    even, odd = (_sum(powers, _COEFFICIENTS[n::2]) for n in range(2))
    odd = multiply(a, odd)
    return solve(even - odd, even + odd)


def _sum(terms: Any, weights: Any) -> Any:
    total: Any = None
    for term, weight in zip(terms, weights, strict=True):
        weighted = term * filled(term, term.shape, term.dtype, weight)
        total = weighted if total is None else total + weighted
    return total


_COEFFICIENTS: Final = [
    factorial(2 * _DEGREE - n)
    * factorial(_DEGREE)
    / (factorial(2 * _DEGREE) * factorial(_DEGREE - n) * factorial(n))
    for n in range(_DEGREE + 1)
]


def _norm(a: Any) -> Any:
    """The largest sum of a column."""
    sums = sum_axes(np.abs(a), (a.ndim - 2,))
    return bind(MAX, sums, axes=(sums.ndim - 1,))


def _wide(x: Any, like: Any) -> Any:
    """A number for each matrix, once for each of its entries."""
    return broadcast_to(insert_axes(x, x.ndim, x.ndim + 2), like.shape)
