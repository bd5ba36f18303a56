"""Formulas of functions of Hermitian matrices, g(A) = V diag(g(l)) V^H, and of their derivative.

Of divided differences g[l_i, l_j] the two forms, a quotient and a Taylor polynomial, are written
for all pairs, and the one with the smaller error is taken, as
`primitives/linear_algebra/spectra/divided_differences.py` says. Where two eigenvalues coincide up
to rounding, means of clusters are taken and more is asked: an index is out of bounds there, so that
NumPy runs, unless all that is known of both is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any, Final

import numpy as np

from adjoint.executors.native.machine.matrices import has_loop
from adjoint.executors.native.preparation.spectra import (
    adjoint,
    all_if,
    closeness,
    columns_of,
    filled,
    pairs,
    rows_of,
    swapped,
    zeros,
)
from adjoint.primitives.declaration import Primitive
from adjoint.primitives.elementwise.conversion import cast, conjugate
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import bind
from adjoint.primitives.linear_algebra.least_squares import PINV, UNCUT
from adjoint.primitives.linear_algebra.orthogonal import QR
from adjoint.primitives.linear_algebra.spectra.dilation import DILATED_BASIS, ZERO_WEIGHTS
from adjoint.primitives.linear_algebra.spectra.divided_differences import NEAR
from adjoint.primitives.linear_algebra.spectra.rotations import precision_of
from adjoint.primitives.linear_algebra.spectra.singular_values import SVD
from adjoint.primitives.linear_algebra.spectra.spectral import FRECHET, KNOWN, SPECTRAL
from adjoint.primitives.linear_algebra.systems import multiply
from adjoint.primitives.structure.moving import (
    broadcast_to,
    expand_reduced,
    insert_axes,
    sum_axes,
)
from adjoint.primitives.structure.reductions import MAX
from adjoint.primitives.structure.slicing import concatenate, take
from adjoint.program import Equation


def has_formula(equation: Equation) -> bool:
    """Whether there is a formula for just these operands."""
    shapes = [atom.type.shape for atom in equation.inputs]
    if equation.primitive is DILATED_BASIS:
        square = shapes[0][-1] == shapes[0][-2] == shapes[1][-1]
        return square or all(
            has_loop(name, equation.inputs[0].type.dtype) for name in ("qr_r_raw", "qr_complete")
        )
    if equation.primitive is PINV:
        type_ = equation.inputs[0].type
        return not equation.params["hermitian"] and type_.inexact and has_loop("svd_s", type_.dtype)
    if equation.primitive is not FRECHET:
        return True
    if len(shapes) > 3 + 2 * KNOWN + 1:
        return False
    numbers, vectors, _, *rest = [atom.type.dtype for atom in equation.inputs]
    functions, directions = rest[: 2 * KNOWN], rest[2 * KNOWN :]
    real = all(dtype == numbers for dtype in functions)
    return real and all(dtype == vectors for dtype in directions)


def _frechet(values: Any, v: Any, a: Any, *rest: Any, lower: bool) -> Any:
    reference, g, directions = rest[:KNOWN], rest[KNOWN : 2 * KNOWN], rest[2 * KNOWN :]
    apart = _settled(values, [*reference, *g])
    if not directions:
        matrix: Any = v * columns_of(g[0])
        return multiply(all_if(matrix, apart), adjoint(v))
    inner: Any = all_if(multiply(multiply(adjoint(v), directions[0]), v), apart)
    turned: Any = _differences(values, reference, g) * inner
    turned = select(np.equal(inner, zeros(inner)), zeros(turned), turned)
    return multiply(multiply(v, turned), adjoint(v))


def _settled(values: Any, functions: Sequence[Any]) -> Any:
    """Where two values are apart, or they and all functions of them are the very same.

    So are the zeros of a matrix that is not square, as its singular vectors are eigenvectors: they
    count as their own means.
    """
    _, apart = pairs(values, -1)
    same: Any = np.equal(columns_of(values), rows_of(values))
    for function in {x.atom: x for x in functions}.values():
        same = np.logical_and(same, np.equal(columns_of(function), rows_of(function)))
    return np.logical_or(apart, same)


def _differences(values: Any, reference: Sequence[Any], g: Sequence[Any]) -> Any:
    """g[l_i, l_j] for all pairs."""
    gap: Any = np.abs(columns_of(values) - rows_of(values))
    signed: Any = columns_of(values) - rows_of(values)
    largest = _largest(np.abs(values))
    near = np.less_equal(gap, columns_of(largest * NEAR))
    met = np.less_equal(gap, columns_of(closeness(values)))
    one = filled(gap, gap.shape, gap.dtype, 1)
    apart, met_apart = (select(mark, one, x) for mark, x in ((near, signed), (met, gap)))
    quotient: Any = _steps(g[0]) / apart
    errors = _errors(values, reference)
    error: Any = (columns_of(errors) + rows_of(errors)) / met_apart
    # The first signs of both differences are the same, or both are zero.
    signs = select(np.less(signed, zeros(signed)), -one, one)
    known_quotient: Any = signs * _steps(reference[0]) / met_apart
    smooth, known_smooth = (_taylor(gap, x[1], x[3]) for x in (g, reference))
    size = np.maximum(*(np.abs(side(reference[1])) for side in (columns_of, rows_of)))
    left: Any = gap * gap * np.abs(_steps(reference[3])) / 24
    smooth_error: Any = left + size * precision_of(values.dtype)
    agree = np.less_equal(np.abs(known_smooth - known_quotient), 10 * (error + smooth_error))
    chosen = np.logical_or(met, np.logical_and(agree, np.less_equal(smooth_error, 2 * error)))
    far: Any = signs * _steps(g[0]) / met_apart
    return select(near, select(chosen, smooth, far), quotient)


def _steps(x: Any) -> Any:
    """x_j - x_i."""
    step: Any = columns_of(x) - rows_of(x)
    return step


def _taylor(gap: Any, slope: Any, third: Any) -> Any:
    mean: Any = (rows_of(slope) + columns_of(slope)) / 2
    return mean - gap * gap * (rows_of(third) + columns_of(third)) / 24


def _largest(x: Any) -> Any:
    """The largest of each row, in all its places."""
    last = (x.ndim - 1,)
    return expand_reduced(bind(MAX, x, axes=last), last, x.shape)


def _errors(values: Any, reference: Sequence[Any]) -> Any:
    """What g may be wrong by: rounding where it is largest, and in terms that cancel."""
    power: Any = filled(values, values.shape, values.dtype, 1)
    total: Any = None
    for order, derivative in enumerate(reference):
        term: Any = np.abs(derivative * power) / factorial(order)
        total = term + _largest(term) if total is None else total + term
        power = power * values
    return total * precision_of(values.dtype)


# --- singular vectors -----------------------------------------------------------------------------


def _dilated_basis(u: Any, vh: Any) -> Any:
    v, half = adjoint(vh), u.dtype.type(np.sqrt(0.5))
    upper: Any = filled(u, u.shape, u.dtype, half) * u
    lower: Any = filled(v, v.shape, v.dtype, half) * v
    axis, count = u.ndim - 1, u.shape[-1]
    above, below = [upper, upper], [lower, -lower]
    if u.shape[-2] > count:
        above.append(_completing(u))
        below.append(filled(u, (*v.shape[:-1], u.shape[-2] - count), u.dtype, 0))
    elif v.shape[-2] > count:
        above.append(filled(u, (*u.shape[:-1], v.shape[-2] - count), u.dtype, 0))
        below.append(_completing(v))
    return concatenate([concatenate(above, axis), concatenate(below, axis)], axis - 1)


def _completing(x: Any) -> Any:
    """Orthonormal columns that complete those of x to a basis."""
    q, _ = bind(QR, x, complete=True)
    ends = [(0, length, 1) for length in q.shape[:-1]]
    return take(q, (*ends, (x.shape[-1], q.shape[-1], 1)))


def _zero_weights(s: Any) -> Any:
    gone: Any = cast(np.less_equal(s, closeness(s)), s.dtype)
    last = (s.ndim - 1,)
    count: Any = expand_reduced(sum_axes(gone, last), last, s.shape)
    one: Any = filled(s, s.shape, s.dtype, 1)
    return gone / np.maximum(count, one)


# --- pseudo-inverses ------------------------------------------------------------------------------

# The singular values below this share of the largest that NumPy drops unless it is told otherwise.
_DROPPED: Final = 1e-15


def _pinv(a: Any, rtol: float | None, hermitian: bool) -> Any:
    u, s, vh, _ = bind(SVD, a if a.dtype.kind == "f" else conjugate(a), full=False, used=None)
    cutoff: Any = _largest(s) * (_DROPPED if rtol is None else rtol)
    kept = np.greater(s, cutoff)
    one = filled(s, s.shape, s.dtype, 1)
    inverse = select(kept, one / select(kept, s, one), zeros(s))
    return multiply(swapped(vh), _scaled_rows(inverse, swapped(u)))


def _scaled_rows(factors: Any, x: Any) -> Any:
    wide = broadcast_to(insert_axes(factors, factors.ndim, factors.ndim + 1), x.shape)
    return wide * x


def _uncut(y: Any, a: Any) -> Any:
    """The pseudo-inverse y of a, where a y a = a up to rounding."""
    left: Any = _largest_entry(multiply(a, multiply(y, a)) - a)
    size, other = _largest_entry(a), _largest_entry(y)
    one = filled(size, size.shape, size.dtype, 1)
    bound: Any = size * np.maximum(one, size * other)
    limit = 10 * max(a.shape[-2:]) * precision_of(y.dtype)
    right = np.less_equal(left, bound * limit)
    return all_if(y, broadcast_to(insert_axes(right, right.ndim, right.ndim + 2), y.shape))


def _largest_entry(x: Any) -> Any:
    return bind(MAX, np.abs(x), axes=(x.ndim - 2, x.ndim - 1))


FORMULAS: Final[dict[Primitive, Callable[..., Any]]] = {
    FRECHET: _frechet,
    SPECTRAL: lambda value, *rest, lower: value,
    DILATED_BASIS: _dilated_basis,
    ZERO_WEIGHTS: _zero_weights,
    PINV: _pinv,
    UNCUT: _uncut,
}
