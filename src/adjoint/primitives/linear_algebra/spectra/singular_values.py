"""Singular values and singular vectors.

From A = U S V^H follow, with E = U^H A' V, S' = Re diag(E), and U' = U (X + Y) + (1 - U U^H) A' V /
S, V' = V (X - Y) + (1 - V V^H) A'^H U / S, where X_ij = H_ij / (s_j - s_i) off the diagonal for the
Hermitian part H of E, and Y_ij = K_ij / (s_i + s_j) for K = E - H. Where singular values coincide
or vanish, see `rotations.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, real_dtype
from adjoint.base.errors import DegenerateError, ShapeError
from adjoint.base.settings import settings
from adjoint.primitives.declaration import (
    Joint,
    Primitive,
)
from adjoint.primitives.elementwise.conversion import cast, real
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.spectra.eigen import diagonal_of_product, spread
from adjoint.primitives.linear_algebra.spectra.rotations import (
    closeness,
    cluster_mean,
    precision,
    rotation,
)
from adjoint.primitives.linear_algebra.systems import adjoint, matrix_dtype, multiply
from adjoint.primitives.samples import Fixed, draw, sample
from adjoint.primitives.structure.moving import align_batch, broadcast_to, reshape, sum_to
from adjoint.primitives.structure.slicing import concatenate, take
from adjoint.primitives.typing_rules import broadcast_shape, promoted

# --- vectors that vanish or are not determined ----------------------------------------------------


def _over_type(s: ArrayType, x: ArrayType, **params: Any) -> ArrayType:
    lead = broadcast_shape("over_singular_values", s.shape[:-1], x.shape[:-2])
    return array_type((*lead, *x.shape[-2:]), promoted(s, x))


def _over_evaluate(s: Any, x: Any, pulled: bool) -> Any:
    gone = (s <= closeness(s))[..., None, :]
    size = np.max(np.abs(x), axis=(-2, -1), keepdims=True, initial=0)
    bound = precision(x) ** (2 / 3) * size
    bad = gone & (np.abs(x) > bound)
    if bad.any():
        place = int(np.argwhere(bad)[0][-1])
        raise DegenerateError(
            f"Singular value {place} is zero up to rounding, and its vectors are any basis of a "
            "common space with those that complete the basis; "
            + (
                "the function depends on which one LAPACK chose."
                if pulled
                else "the tangent turns it, so that no derivative of the vectors exists."
            )
            + " Use what does not depend on the basis, such as a function of the matrix "
            "(U * f(s)) @ Vh with f(0) = 0, or the singular values alone."
        )
    quotient = np.where(gone, 0, x / np.where(gone, 1, s[..., None, :]))
    return quotient.astype(np.result_type(s, x), copy=False)


def _over_derivative(tangents: Any, operands: Any, results: Any, pulled: bool) -> Any:
    (d_s, d_x), (x,) = tangents, results
    right = d_x
    if d_s is not None:
        moved = x * bind_row(d_s)
        right = -moved if right is None else right - moved
    return (over(operands[0], right, pulled),)


def bind_row(x: Expression) -> Expression:
    """Numbers along the last axis, to be multiplied with the columns of matrices."""
    return reshape(x, (*x.shape[:-1], 1, x.shape[-1]))


def over(s: Expression, x: Expression, pulled: bool) -> Expression:
    """x_ij / s_j; zero where s_j is, after a check that x_ij vanishes there."""
    return bind(OVER, s, x, pulled=pulled)  # type: ignore[no-any-return]


def _over_batch(operands: Any, batched: Any, size: int, pulled: bool) -> Any:
    s, x = operands
    s, x = align_batch((bind_row(s), x), batched)
    return over(take_row(s), x, pulled)


def take_row(x: Expression) -> Expression:
    """The inverse of `bind_row`."""
    return reshape(x, (*x.shape[:-2], x.shape[-1]))


OVER: Primitive = Primitive(
    "over_singular_values",
    infer=_over_type,
    evaluate=_over_evaluate,
    linear=Joint(frozenset({1})),
    derivative=_over_derivative,
    transpose=lambda cotangents, operands, pulled: (
        None,
        sum_to(over(operands[0], cotangents[0], not pulled), operands[1].shape),
    ),
    batch=_over_batch,
    samples=(
        sample(Fixed([2.0, 0.5]), draw(3, 2), pulled=False),
        sample(Fixed([[2.0, 0.5], [1.0, 0.7]]), draw(2, 3, 2, dtype=complex), pulled=True),
    ),
)


def _completed_evaluate(x: Any, u: Any, first: int, pulled: bool) -> Any:
    if pulled:
        block = np.conjugate(np.swapaxes(u[..., first:], -1, -2)) @ x[..., first:]
        skew = 0.5 * np.abs(block - np.conjugate(np.swapaxes(block, -1, -2)))
        if np.max(skew, initial=0) > precision(x) ** (2 / 3) * np.max(np.abs(x), initial=0):
            raise DegenerateError(
                f"The columns from {first} on complete an orthonormal basis, in any way, and the "
                "function depends on the one that LAPACK chose. Use what does not, such as the "
                "projector onto their span, or full_matrices=False, or mode='reduced'."
            )
    return np.array(x)


# x itself, a tangent of orthonormal columns u of which those from `first` on merely complete a
# basis; in reverse it is checked that nothing depends on how.
COMPLETED: Primitive = Primitive(
    "completed_basis",
    infer=lambda x, u, first, pulled: x,
    evaluate=_completed_evaluate,
    linear=Joint(frozenset({0})),
    derivative=lambda tangents, operands, results, **params: (
        None if tangents[0] is None else bind(COMPLETED, tangents[0], operands[1], **params),
    ),
    transpose=lambda cotangents, operands, first, pulled: (
        bind(COMPLETED, cotangents[0], operands[1], first=first, pulled=not pulled),
        None,
    ),
    batch=lambda operands, batched, size, **params: bind(
        COMPLETED, *_both(operands, batched, size), **params
    ),
    samples=(sample(draw(3, 3), draw(3, 3), constant=(1,), first=2, pulled=False),),
)


def _both(operands: Any, batched: Any, size: int) -> list[Any]:
    x, u = operands
    if not batched[0]:
        x = broadcast_to(x, (size, *x.shape))
    return [x, u]


# --- singular values ------------------------------------------------------------------------------


def _kink_type(s: ArrayType, x: ArrayType, weight: float) -> ArrayType:
    return array_type(broadcast_shape("singular_slope", s.shape, x.shape), x.dtype)


def _kink_evaluate(s: Any, x: Any, weight: float) -> Any:
    return np.where(s <= closeness(s), x.dtype.type(weight) * x, x)


# s is the absolute value of what passes through zero: the tangent there times `weight`.
SLOPE: Primitive = Primitive(
    "singular_slope",
    infer=_kink_type,
    evaluate=_kink_evaluate,
    linear=Joint(frozenset({1})),
    derivative=lambda tangents, operands, results, weight: (
        None if tangents[1] is None else bind(SLOPE, operands[0], tangents[1], weight=weight),
    ),
    transpose=lambda cotangents, operands, weight: (
        None,
        sum_to(bind(SLOPE, operands[0], cotangents[0], weight=weight), operands[1].shape),
    ),
    batch=lambda operands, batched, size, weight: bind(
        SLOPE, *align_batch(operands, batched), weight=weight
    ),
    samples=(sample(Fixed([2.0, 0.0]), draw(2), constant=(0,), weight=0.0),),
)


def _slopes(s: Expression, u: Expression, image: Expression) -> tuple[Expression, Expression]:
    """Re diag(U^H A' V), as a tangent of the singular values: their sizes, and with signs."""
    x = cluster_mean(s, real(diagonal_of_product(u, image)))
    return bind(SLOPE, s, x, weight=2 * settings().kink - 1), x


# --- svd ------------------------------------------------------------------------------------------


def matrix_shape(name: str, a: ArrayType) -> tuple[int, ...]:
    """The axes in front of matrices; an error where there are no two axes."""
    if a.ndim < 2:
        raise ShapeError(
            f"{name}: {a.ndim}-dimensional array given. Array must be at least two-dimensional."
        )
    return a.shape[:-2]


def _svd_type(a: ArrayType, full: bool, **params: Any) -> tuple[ArrayType, ...]:
    lead, dtype = matrix_shape("svd", a), matrix_dtype("svd", a)
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    left, right = (rows, columns) if full else (count, count)
    return (
        array_type((*lead, rows, left), dtype),
        array_type((*lead, count), real_dtype(dtype)),
        array_type((*lead, right, columns), dtype),
        array_type((*lead, count), real_dtype(dtype)),
    )


def columns_of(x: Expression, start: int, stop: int) -> Expression:
    """A range of the columns of matrices."""
    if (start, stop) == (0, x.shape[-1]):
        return x
    whole = tuple((0, length, 1) for length in x.shape[:-1])
    return take(x, (*whole, (start, stop, 1)))


def rows_of(x: Expression, start: int, stop: int) -> Expression:
    """A range of the rows of matrices."""
    if (start, stop) == (0, x.shape[-2]):
        return x
    whole = tuple((0, length, 1) for length in x.shape)
    return take(x, (*whole[:-2], (start, stop, 1), whole[-1]))


def _svd_derivative(tangents: Any, operands: Any, results: Any, full: bool, **params: Any) -> Any:
    u, _, vh, s = results
    v, d_a, count = adjoint(vh), cast(tangents[0], u.dtype), s.shape[-1]
    first_u, first_v = columns_of(u, 0, count), adjoint(rows_of(vh, 0, count))
    av, ahu = multiply(d_a, first_v), multiply(adjoint(d_a), first_u)
    inner = multiply(adjoint(first_u), av)
    half = 0.5 * (inner + adjoint(inner))
    even = rotation(s, half, -1, general=False, **params)
    odd = rotation(s, inner - half, 1, general=False, **params)
    d_u = _moved(u, s, even + odd, av, inner)
    d_v = _moved(v, s, even - odd, ahu, adjoint(inner))
    sizes, signed = _slopes(s, first_u, av)
    return d_u, sizes, adjoint(d_v), signed


def _moved(u: Expression, s: Expression, turn: Expression, image: Any, inner: Any) -> Expression:
    """U (X + Y) and what leaves the span: (1 - U U^H) A' V / S; the rest of a basis follows."""
    count, size = s.shape[-1], u.shape[-2]
    first = columns_of(u, 0, count)
    moved: Any = multiply(first, turn)
    if size == count:
        return moved  # type: ignore[no-any-return]
    moved = moved + over(s, image - multiply(first, inner), False)
    if u.shape[-1] == count:
        return moved  # type: ignore[no-any-return]
    rest = columns_of(u, count, size)
    back = -multiply(first, adjoint(multiply(adjoint(rest), moved)))
    whole = concatenate([moved, back], u.ndim - 1)
    completed: Expression = bind(COMPLETED, whole, u, first=count, pulled=False)
    return completed


_FREE: dict[str, Any] = {"used": None}


def _svd_evaluate(a: Any, full: bool, used: Any) -> tuple[Any, ...]:
    u, s, vh = np.linalg.svd(a, full_matrices=full)
    return u, s, vh, s.copy()


# U, S, V^H, and S again with signs: where the vectors move smoothly, a singular value that is zero
# changes its sign, and has a derivative. used: see `rotation`.
SVD: Primitive = Primitive(
    "svd",
    infer=_svd_type,
    evaluate=_svd_evaluate,
    linear=None,
    derivative=_svd_derivative,
    batch=lambda operands, batched, size, **params: bind(SVD, operands[0], **params),
    # Complex singular vectors have no differences: LAPACK chooses their phases.
    samples=(
        sample(spread(3, 3), full=False, **_FREE),
        sample(spread(4, 2), full=False, **_FREE),
        sample(spread(2, 3), full=False, **_FREE),
        sample(spread(3, 2), full=True, **_FREE),
        sample(spread(2, 2, 2), full=False, **_FREE),
    ),
    multiple=True,
)


def _svdvals_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    u, s, vh, _ = bind(SVD, operands[0], full=False, **_FREE)
    image = multiply(cast(tangents[0], u.dtype), adjoint(vh))
    return (_slopes(s, u, image)[0],)


SVDVALS: Primitive = Primitive(
    "svdvals",
    infer=lambda a: _svd_type(a, False)[1],
    evaluate=lambda a: np.linalg.svd(a, compute_uv=False),
    linear=None,
    derivative=_svdvals_derivative,
    batch=lambda operands, batched, size: bind(SVDVALS, operands[0]),
    samples=(
        sample(spread(3, 2)),
        sample(spread(3, 3, dtype=complex)),
        sample(spread(2, 2, 3)),
        sample(draw(0, 2)),
    ),
)
