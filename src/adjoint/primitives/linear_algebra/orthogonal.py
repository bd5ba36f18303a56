"""The QR factorisation A = Q R.

With C = Q^H A' R^-1 = Omega + R' R^-1, of which Omega is skew and R' R^-1 upper triangular with a
real diagonal, Omega is the strictly lower triangle of C minus its adjoint, plus the imaginary part
of the diagonal. Then R' = (C - Omega) R and Q' = A' R^-1 - Q (C - Omega) (S. Walter, L. Lehmann, R.
Lamour, "On evaluating higher-order derivatives of the QR decomposition", 2012). Of a wide A = [A1
A2] the square part A1 is factorised, and R = [R1, Q^H A2].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import LinearAlgebraError, ShapeError
from adjoint.primitives.declaration import ITSELF, Joint, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.spectra.eigen import spread
from adjoint.primitives.linear_algebra.spectra.rotations import precision
from adjoint.primitives.linear_algebra.spectra.singular_values import (
    COMPLETED,
    columns_of,
    matrix_shape,
    rows_of,
)
from adjoint.primitives.linear_algebra.systems import adjoint, matrix_dtype, multiply, square_shape
from adjoint.primitives.samples import draw, sample, square
from adjoint.primitives.structure.moving import align_batch, sum_to, zeros
from adjoint.primitives.structure.slicing import concatenate
from adjoint.primitives.typing_rules import broadcast_shape

_CLOSE = 16.0  # a diagonal entry of R below this times n eps times the largest one counts as zero

# --- division by a triangular factor --------------------------------------------------------------


def _divide_type(x: ArrayType, r: ArrayType) -> ArrayType:
    lead = square_shape("triangular_division", r)
    if x.ndim < 2 or x.shape[-1] != r.shape[-1]:
        raise ShapeError(f"triangular_division: shapes {x.shape} and {r.shape} do not fit.")
    lead = broadcast_shape("triangular_division", x.shape[:-2], lead)
    return array_type((*lead, *x.shape[-2:]), matrix_dtype("triangular_division", x, r))


def _divide_evaluate(x: Any, r: Any) -> Any:
    size = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
    bound = _CLOSE * r.shape[-1] * precision(r) * np.max(size, axis=-1, keepdims=True, initial=0)
    if size.size and not (size > bound).all():
        place = int(np.argwhere(~(size > bound))[0][-1])
        raise LinearAlgebraError(
            f"The derivative of a QR factorisation needs linearly independent columns: R[{place}, "
            f"{place}] is {size.min():.1e}, zero up to rounding. Where only the span or the "
            "singular values matter, use np.linalg.svd or pinv."
        )
    swapped = np.linalg.solve(np.swapaxes(r, -1, -2), np.swapaxes(x, -1, -2))
    return np.swapaxes(swapped, -1, -2)


def divide(x: Expression, r: Expression) -> Expression:
    """X R^-1 for triangular R; an error where R is singular up to rounding."""
    return bind(DIVIDE, x, r)  # type: ignore[no-any-return]


def _divide_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    # Y R = X gives dY R = dX - Y dR.
    (d_x, d_r), (y,) = tangents, results
    right: Any = None if d_x is None else cast(d_x, y.dtype)
    if d_r is not None:
        moved = multiply(y, d_r)
        right = -moved if right is None else right - moved
    return (divide(right, operands[1]),)


def _divide_transpose(cotangents: Any, operands: Any) -> Any:
    x, r = operands
    return cast(sum_to(divide(cotangents[0], adjoint(r)), x.shape), x.dtype), None


DIVIDE: Primitive = Primitive(
    "triangular_division",
    infer=_divide_type,
    evaluate=_divide_evaluate,
    linear=Joint(frozenset({0})),
    derivative=_divide_derivative,
    transpose=_divide_transpose,
    batch=lambda operands, batched, size: divide(*align_batch(operands, batched)),
    samples=(
        sample(draw(3, 2), square(2, 2)),
        sample(draw(2, 2), square(2, 2, 2)),
        sample(draw(2, 2, dtype=complex), square(2, 2, dtype=complex)),
    ),
)


# --- the skew part --------------------------------------------------------------------------------


def _skew_evaluate(c: Any) -> Any:
    lower = np.tril(c, -1)
    skew = lower - np.conjugate(np.swapaxes(lower, -1, -2))
    if c.dtype.kind == "c":
        places = np.arange(c.shape[-1])
        skew[..., places, places] = 1j * np.diagonal(c, axis1=-2, axis2=-1).imag
    return skew


def _pulled_skew_evaluate(w: Any) -> Any:
    pulled = np.tril(w - np.conjugate(np.swapaxes(w, -1, -2)), -1)
    if w.dtype.kind == "c":
        places = np.arange(w.shape[-1])
        pulled[..., places, places] = 1j * np.diagonal(w, axis1=-2, axis2=-1).imag
    return pulled


def _skew(name: str, other: str, evaluate: Any) -> Primitive:
    return Primitive(
        name,
        infer=lambda x: array_type((*square_shape(name, x), *x.shape[-2:]), x.dtype),
        evaluate=evaluate,
        linear=Joint(),
        derivative=ITSELF,
        transpose=lambda cotangents, operands: (bind(_SKEWS[other], cotangents[0]),),
        batch=lambda operands, batched, size: bind(_SKEWS[name], operands[0]),
        samples=(sample(draw(3, 3)), sample(draw(2, 2, 2, dtype=complex))),
    )


# The skew Omega for which C - Omega is upper triangular with a real diagonal, and its transpose.
SKEW = _skew("skew_of_lower", "pulled_skew", _skew_evaluate)
PULLED_SKEW = _skew("pulled_skew", "skew_of_lower", _pulled_skew_evaluate)
_SKEWS = {p.name: p for p in (SKEW, PULLED_SKEW)}


# --- qr -------------------------------------------------------------------------------------------


def _qr_type(a: ArrayType, complete: bool) -> tuple[ArrayType, ArrayType]:
    lead, dtype = matrix_shape("qr", a), matrix_dtype("qr", a)
    rows, columns = a.shape[-2:]
    inner = rows if complete else min(rows, columns)
    return array_type((*lead, rows, inner), dtype), array_type((*lead, inner, columns), dtype)


def _qr_derivative(tangents: Any, operands: Any, results: Any, complete: bool) -> Any:
    q, r = results
    d_a = cast(tangents[0], q.dtype)
    rows, columns = d_a.shape[-2:]
    count = min(rows, columns)
    first_q, first_r = columns_of(q, 0, count), columns_of(rows_of(r, 0, count), 0, count)
    moved = divide(columns_of(d_a, 0, count), first_r)
    inner = multiply(adjoint(first_q), moved)
    upper = inner - bind(SKEW, inner)
    d_q, d_r = moved - multiply(first_q, upper), multiply(upper, first_r)
    if columns > count:  # R2 = Q^H A2
        rest = columns_of(operands[0], count, columns)
        other = multiply(adjoint(d_q), cast(rest, q.dtype))
        other = other + multiply(adjoint(q), columns_of(d_a, count, columns))
        d_r = concatenate([d_r, other], d_r.ndim - 1)
    if q.shape[-1] > count:
        d_q = _completed(q, d_q, count)
        below = array_type((*r.shape[:-2], q.shape[-1] - count, columns), r.dtype)
        d_r = concatenate([d_r, zeros(r.builder, below)], d_r.ndim - 2)
    return d_q, d_r


def _completed(q: Expression, d_first: Expression, count: int) -> Expression:
    """The tangent of Q, whose further columns stay orthogonal to the first and do not turn."""
    rest = columns_of(q, count, q.shape[-1])
    back = -multiply(columns_of(q, 0, count), adjoint(multiply(adjoint(rest), d_first)))
    whole = concatenate([d_first, back], q.ndim - 1)
    return bind(COMPLETED, whole, q, first=count, pulled=False)  # type: ignore[no-any-return]


QR: Primitive = Primitive(
    "qr",
    infer=_qr_type,
    evaluate=lambda a, complete: tuple(np.linalg.qr(a, "complete" if complete else "reduced")),
    linear=None,
    derivative=_qr_derivative,
    batch=lambda operands, batched, size, complete: bind(QR, operands[0], complete=complete),
    samples=(
        sample(spread(3, 3), complete=False),
        sample(spread(4, 2), complete=False),
        sample(spread(2, 4), complete=False),
        sample(spread(3, 2), complete=True),
        sample(spread(2, 3, 2, dtype=complex), complete=False),
        sample(spread(2, 3, dtype=complex), complete=False),
    ),
    multiple=True,
)
