"""Determinants: det, its sign and logarithm, and the adjugate, which is the derivative of det.

det is a polynomial, so its derivatives exist at singular matrices too, where A^-1 does not. The
first, d det(A)[E] = tr(adj(A) E) (Jacobi's formula), and the second are computed there from the
singular values, without a division; further ones through the inverse, or they raise.

Of one matrix alone, the LU factors may be given as further operands (`lu_factors`): then value and
derivatives share them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, real_dtype
from adjoint.base.errors import ShapeError
from adjoint.primitives.declaration import Joint, Primitive
from adjoint.primitives.elementwise.conversion import cast, conjugate, real
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.systems import (
    adjoint,
    inverse,
    inverse_of_factors,
    is_singular,
    matrix_dtype,
    multiply,
    one_norm,
    same_square,
    square_shape,
    trace_of_product,
)
from adjoint.primitives.samples import Fixed, draw, sample, square
from adjoint.primitives.structure.moving import align_batch, broadcast_to, reshape, sum_to, zeros
from adjoint.primitives.typing_rules import broadcast_shape

_SINGULAR = Fixed([[1.0, 2, 0], [2, 4, 0], [1, 1, 0.5]])
_RANK_ONE = Fixed([[1.0, 2, -1], [2, 4, -2], [0.5, 1, -0.5]])


# --- det -----------------------------------------------------------------------------------------


def _det_type(a: ArrayType, *factors: ArrayType) -> ArrayType:
    return array_type(square_shape("det", a), matrix_dtype("det", a))


def _det_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    return (trace_of_product(tangents[0], bind(ADJUGATE, *operands)),)


def _det_evaluate(a: Any, *factors: Any) -> Any:
    if factors:
        with np.errstate(all="ignore"):
            sign, logarithm = _slogdet_of_factors(*factors)
            value = sign * np.exp(logarithm)  # which is how NumPy does it
        if np.isfinite(value):
            return value
    return np.linalg.det(a)  # which warns under its own name


def _slogdet_of_factors(factors: Any, pivots: Any) -> tuple[Any, Any]:
    diagonal = np.diagonal(factors)
    size = np.abs(diagonal)
    if is_singular(factors):
        return factors.dtype.type(0), size.dtype.type(-np.inf)
    turns = diagonal / size if factors.dtype.kind == "c" else np.copysign(1, diagonal)
    swaps = np.count_nonzero(pivots != np.arange(len(pivots)))
    sign = np.prod(turns) * (-1 if swaps % 2 else 1)
    return factors.dtype.type(sign), np.sum(np.log(size))


DET: Primitive = Primitive(
    "det",
    infer=_det_type,
    evaluate=_det_evaluate,
    linear=None,
    derivative=_det_derivative,
    batch=lambda operands, batched, size: bind(DET, operands[0]),
    samples=(
        sample(square(3, 3)),
        sample(square(2, 2, 2)),
        sample(square(2, 2, dtype=complex)),
        sample(draw(1, 1), order=1),
        sample(_SINGULAR, order=2),
    ),
)


# --- adjugate ------------------------------------------------------------------------------------


def _leaving_one_out(values: Any) -> Any:
    """For each place of the last axis the product of all other values; nothing is divided."""
    one = np.ones_like(values[..., :1])
    before = np.cumprod(np.concatenate([one, values[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([one, values[..., :0:-1]], -1), -1)[..., ::-1]
    return before * after


def _leaving_two_out(values: Any) -> Any:
    """For each pair of different places the product of all others, (..., n, n); 0 for a pair."""
    same = np.eye(values.shape[-1], dtype=bool)
    one_gone = np.where(same, 1, values[..., None, :])
    return np.where(same, 0, _leaving_one_out(one_gone))


def _conjugate_transpose(a: Any) -> Any:
    return np.conjugate(np.swapaxes(a, -1, -2))


def _singular_values(a: Any) -> tuple[Any, Any, Any, Any]:
    """(U, s, V^H, det(U) det(V^H)), the last with axes to be multiplied with matrices."""
    u, s, vh = np.linalg.svd(a)
    return u, s, vh, (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


def _adjugate_evaluate(a: Any, *factors: Any) -> Any:
    a = np.asarray(a)
    if not a.size:
        return a.copy()
    try:
        inverted = inverse_of_factors(*factors) if factors else np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return _adjugate_by_singular_values(a)
    if np.max(one_norm(a) * one_norm(inverted)) > 1e3:
        return _adjugate_by_singular_values(a)
    determinant = np.asarray(_det_evaluate(a, *factors))[..., None, None]
    return np.multiply(inverted, determinant, out=inverted)


def _adjugate_by_singular_values(a: Any) -> Any:
    # adj(U S V^H) = adj(V^H) adj(S) adj(U), and adj(Q) = det(Q) Q^H for a unitary Q.
    u, s, vh, sign = _singular_values(a)
    inner = _leaving_one_out(s)[..., None] * _conjugate_transpose(u)
    adjugate = sign * (_conjugate_transpose(vh) @ inner)
    return adjugate.astype(a.dtype, copy=False)


ADJUGATE: Primitive = Primitive(
    "adjugate",
    infer=lambda a, *factors: same_square("adjugate")(a),
    evaluate=_adjugate_evaluate,
    linear=None,
    derivative=lambda tangents, operands, results: (
        bind(ADJUGATE_SLOPE, operands[0], tangents[0]),
    ),
    batch=lambda operands, batched, size: bind(ADJUGATE, operands[0]),
    samples=(
        sample(square(3, 3)),
        sample(square(2, 3, 3)),
        sample(square(3, 3, dtype=complex)),
        sample(draw(0, 0)),
        sample(_SINGULAR, order=1),
        sample(_RANK_ONE, order=1),
    ),
)


def _slope_type(a: ArrayType, direction: ArrayType) -> ArrayType:
    lead = square_shape("adjugate_slope", a)
    if a.shape[-2:] != direction.shape[-2:]:
        raise ShapeError(f"adjugate_slope: shapes {a.shape} and {direction.shape} do not fit.")
    lead = broadcast_shape("adjugate_slope", lead, direction.shape[:-2])
    return array_type((*lead, *a.shape[-2:]), matrix_dtype("adjugate_slope", a, direction))


def _slope_evaluate(a: Any, direction: Any) -> Any:
    # With E = U^H dA V: -E_ij times all singular values but two, off the diagonal, and on it the
    # sum over the k that differ from i of E_kk times all but those two.
    u, s, vh, sign = _singular_values(a)
    rest = _leaving_two_out(s)
    inner = _conjugate_transpose(u) @ direction @ _conjugate_transpose(vh)
    diagonal = np.diagonal(inner, axis1=-2, axis2=-1)
    sums = (rest @ diagonal[..., None])[..., 0]
    moved = -inner * rest + sums[..., None] * np.eye(s.shape[-1], dtype=s.dtype)
    slope = sign * (_conjugate_transpose(vh) @ moved @ _conjugate_transpose(u))
    return slope.astype(np.result_type(a, direction), copy=False)


def _slope_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    # In terms of X = A^-1 it is T = det(A) (X tr(X E) - X E X); here follows its derivative.
    (a, e), (d_a, d_e), (slope,) = operands, tangents, results
    total = None if d_e is None else bind(ADJUGATE_SLOPE, a, cast(d_e, slope.dtype))
    if d_a is None:
        return (total,)
    limit = float(np.finfo(a.dtype).eps ** -0.5)
    x = inverse(a, limit=limit)
    xe, xf = multiply(x, e), multiply(x, d_a)
    of_e, of_f = _traces(x, e), _traces(x, d_a)
    crossed = multiply(xf, xe) + multiply(xe, xf) - of_e * xf
    inner = multiply(crossed, x) - _traces(xe, xf) * x
    term = of_f * slope + _number(bind(DET, a)) * inner
    return (term if total is None else total + term,)


def _number(x: Expression) -> Expression:
    """Numbers with two axes more, to be multiplied with matrices."""
    return reshape(x, (*x.shape, 1, 1))


def _traces(x: Expression, y: Expression) -> Expression:
    lead = broadcast_shape("trace", x.shape[:-2], y.shape[:-2])
    x, y = (broadcast_to(matrix, (*lead, *matrix.shape[-2:])) for matrix in (x, y))
    return _number(trace_of_product(x, y))


def _slope_transpose(cotangents: Any, operands: Any) -> Any:
    # The second derivative of det is symmetric: tr(T(E) C^H) = tr(T(C^H) E).
    a, e = operands
    pulled = adjoint(bind(ADJUGATE_SLOPE, a, adjoint(cotangents[0])))
    return None, sum_to(pulled, e.shape)


ADJUGATE_SLOPE: Primitive = Primitive(
    "adjugate_slope",
    infer=_slope_type,
    evaluate=_slope_evaluate,
    linear=Joint(frozenset({1})),
    derivative=_slope_derivative,
    transpose=_slope_transpose,
    batch=lambda operands, batched, size: bind(ADJUGATE_SLOPE, *align_batch(operands, batched)),
    samples=(
        sample(square(3, 3), draw(3, 3)),
        sample(square(3, 3), draw(2, 3, 3)),
        sample(square(3, 3, dtype=complex), draw(3, 3, dtype=complex)),
    ),
)


# --- slogdet -------------------------------------------------------------------------------------


def _slogdet_type(a: ArrayType, *factors: ArrayType) -> tuple[ArrayType, ArrayType]:
    lead, dtype = square_shape("slogdet", a), matrix_dtype("slogdet", a)
    return array_type(lead, dtype), array_type(lead, real_dtype(dtype))


def _slogdet_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    # log det(A) has the derivative t = tr(A^-1 dA): its real part belongs to log |det(A)|, and the
    # sign exp(i phi) turns with its imaginary part. The sign of a real determinant is constant.
    (sign, _) = results
    turn = trace_of_product(tangents[0], inverse(*operands))
    if sign.dtype.kind != "c":
        return zeros(turn.builder, sign.type), turn
    return sign * (0.5 * (turn - conjugate(turn))), real(turn)


def _slogdet_evaluate(a: Any, *factors: Any) -> tuple[Any, Any]:
    if factors:
        with np.errstate(all="ignore"):
            sign, logarithm = _slogdet_of_factors(*factors)
        if logarithm < np.inf:
            return sign, logarithm
    return tuple(np.linalg.slogdet(a))  # which warns under its own name


SLOGDET: Primitive = Primitive(
    "slogdet",
    infer=_slogdet_type,
    evaluate=_slogdet_evaluate,
    linear=None,
    derivative=_slogdet_derivative,
    batch=lambda operands, batched, size: bind(SLOGDET, operands[0]),
    samples=(
        sample(square(3, 3)),
        sample(square(2, 2, 2)),
        sample(square(2, 2, dtype=complex)),
    ),
    multiple=True,
)
