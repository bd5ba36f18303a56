"""The Cholesky factor L of H = L L^H, and its derivative as a linear map, both ways.

The derivative T of the factor along H' solves L T^H + T L^H = H', whose one lower triangular
solution with a real diagonal is T = L Phi(L^-1 H' L^-H), where Phi keeps the strictly lower
triangle and half of the diagonal (S. Sarkka, 2013, theorem A.1). It is computed block by block, in
which the factor costs n^3/3 operations and each derivative twice as many (I. Murray,
"Differentiation of the Cholesky decomposition", 2016, section 4), with matrix products alone. All
further derivatives are of the same kind, since they solve the same equation with another right-hand
side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ShapeError
from adjoint.primitives.declaration import Joint, Primitive
from adjoint.primitives.elementwise.conversion import cast, real
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.systems import (
    adjoint,
    matrix_dtype,
    multiply,
    same_square,
    square_shape,
)
from adjoint.primitives.samples import draw, sample, square
from adjoint.primitives.series import convolve, difference
from adjoint.primitives.structure.gathering import IOTA
from adjoint.primitives.structure.moving import align_batch, reshape, sum_to
from adjoint.primitives.typing_rules import broadcast_shape

_BLOCK = 48


def kept(x: Expression, share: float = 1.0) -> Expression:
    """The strictly lower triangle, and a share of the real part of the diagonal.

    Which is all of it for what LAPACK reads.
    """
    numbers = bind(IOTA, builder=x.builder, length=x.shape[-1])
    rows: Any = reshape(numbers, (x.shape[-1], 1))
    columns: Any = reshape(numbers, (1, x.shape[-1]))
    below = select(np.less(columns, rows), x, 0.0)
    part = real(x) if share == 1.0 else share * real(x)
    diagonal: Any = select(np.equal(columns, rows), part, 0.0)
    return below + cast(diagonal, x.dtype)  # type: ignore[no-any-return]


def _symmetric(x: Expression) -> Expression:
    return x + adjoint(x)  # type: ignore[no-any-return]


# --- the factor ----------------------------------------------------------------------------------


def _cholesky_taylor(operands: Any, results: Any, k: int) -> Any:
    """From L L^H = A: L_0 L_k^H + L_k L_0^H = A_k - sum_{j=1..k-1} L_j L_{k-j}^H."""
    (a,), (factor,) = operands, results
    right = None if a[k] is None else cast(a[k], factor.type.dtype)
    right = difference(right, convolve(_times_adjoint, factor, factor, k, 1, k - 1))
    return (None if right is None else bind(CHOLESKY_PUSHFORWARD, factor[0], right),)


def _times_adjoint(x: Expression, y: Expression) -> Expression:
    return multiply(x, adjoint(y))


CHOLESKY: Primitive = Primitive(
    "cholesky",
    infer=same_square("cholesky"),
    evaluate=np.linalg.cholesky,
    linear=None,
    derivative=lambda tangents, operands, results: (
        bind(CHOLESKY_PUSHFORWARD, results[0], cast(tangents[0], results[0].dtype)),
    ),
    batch=lambda operands, batched, size: bind(CHOLESKY, *operands),
    taylor=_cholesky_taylor,
    samples=(
        sample(square(3, 3)),
        sample(square(2, 2, 2)),
        sample(square(2, 2, dtype=complex)),
        sample(square(0, 0)),
    ),
)


# --- its derivative ------------------------------------------------------------------------------


def _slope_type(factor: ArrayType, x: ArrayType) -> ArrayType:
    lead = square_shape("the derivative of cholesky", factor)
    if factor.shape[-2:] != x.shape[-2:]:
        raise ShapeError(
            f"the derivative of cholesky: a factor of shape {factor.shape} does not fit a tangent "
            f"or cotangent of shape {x.shape}, which needs as many rows and columns."
        )
    lead = broadcast_shape("the derivative of cholesky", lead, x.shape[:-2])
    return array_type((*lead, *x.shape[-2:]), matrix_dtype("cholesky", factor, x))


def _adjoint_of(x: Any) -> Any:
    return np.swapaxes(x, -1, -2).conj()  # unlike np.conjugate, no copy of what is real


def _with_diagonal(below: Any, diagonal: Any) -> Any:
    """A matrix with another diagonal, of which the real part is taken."""
    places = np.arange(below.shape[-1])
    below[..., places, places] = np.real(diagonal)
    return below


def _diagonal(x: Any) -> Any:
    return np.diagonal(x, axis1=-2, axis2=-1)


def _lower(x: Any) -> Any:
    """What `kept` keeps."""
    return _with_diagonal(np.tril(x), _diagonal(x))


def _phi(x: Any) -> Any:
    return _with_diagonal(np.tril(x), 0.5 * _diagonal(x))


def _blocks(size: int) -> list[tuple[slice, slice, slice, slice]]:
    """For each block of columns: those before it, its own, the rows from it on, and below it."""
    starts = range(0, size, _BLOCK)
    return [
        (slice(0, n), slice(n, n + _BLOCK), slice(n, None), slice(n + _BLOCK, None)) for n in starts
    ]


def _pushforward_evaluate(factor: Any, tangent: Any) -> Any:
    # The columns of L T^H + T L^H = H', one block after the other: what comes from columns that are
    # known goes to the right-hand side.
    lead = np.broadcast_shapes(factor.shape, tangent.shape)
    pushed = np.zeros(lead, np.result_type(factor, tangent))
    for before, here, onwards, below in _blocks(lead[-1]):
        rest = tangent[..., onwards, here] - factor[..., onwards, before] @ _adjoint_of(
            pushed[..., here, before]
        )
        rest -= pushed[..., onwards, before] @ _adjoint_of(factor[..., here, before])
        corner = _lower(factor[..., here, here])
        width = corner.shape[-1]
        back = np.linalg.inv(corner)
        middle = np.tril(rest[..., :width, :], -1)
        middle = _with_diagonal(middle + _adjoint_of(middle), _diagonal(rest[..., :width, :]))
        moved = corner @ _phi(back @ middle @ _adjoint_of(back))
        pushed[..., here, here] = moved
        rest = rest[..., width:, :] - factor[..., below, here] @ _adjoint_of(moved)
        pushed[..., below, here] = rest @ _adjoint_of(back)
    return pushed


def _pullback_evaluate(factor: Any, cotangent: Any) -> Any:
    # The columns of (Y + Y^H) L = V in the lower triangle, from the last block to the first; what
    # is found so far of Y + Y^H is all that a block needs.
    lead = np.broadcast_shapes(factor.shape, cotangent.shape)
    both = np.zeros(lead, np.result_type(factor, cotangent))
    blocks = _blocks(lead[-1])
    for _, here, _, below in reversed(blocks):
        corner, column = _lower(factor[..., here, here]), factor[..., below, here]
        back = np.linalg.inv(corner)
        rest = cotangent[..., below, here] - both[..., below, below] @ column
        rest = rest @ back
        moved = _lower(cotangent[..., here, here] - _adjoint_of(rest) @ column)
        middle = _adjoint_of(back) @ _phi(_adjoint_of(corner) @ moved) @ back
        both[..., below, here], both[..., here, below] = rest, _adjoint_of(rest)
        both[..., here, here] = middle + _adjoint_of(middle)
    for _, here, _, below in blocks:
        both[..., here, here] = _phi(both[..., here, here])
        both[..., here, below] = 0
    return both


def _slope_batch(name: str) -> Any:
    def batch(operands: Any, batched: Any, size: int) -> Any:
        return bind(_SLOPES[name], *align_batch(operands, batched))

    return batch


def _slope_transpose(name: str) -> Any:
    def transpose(cotangents: Any, operands: Any) -> Any:
        factor, x = operands
        pulled = bind(_SLOPES[name], factor, cotangents[0])
        return None, cast(sum_to(pulled, x.shape), x.dtype)

    return transpose


def _pushforward_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    # L T^H + T L^H = H' gives L dT^H + dT L^H = dH' - dL T^H - T dL^H.
    (d_factor, d_tangent), (slope,) = tangents, results
    right = None if d_tangent is None else cast(d_tangent, slope.dtype)
    if d_factor is not None:
        right = difference(right, _symmetric(_times_adjoint(kept(d_factor), slope)))
    return (bind(CHOLESKY_PUSHFORWARD, operands[0], right),)


def _pushforward_taylor(operands: Any, results: Any, k: int) -> Any:
    (factor, tangent), (slope,) = operands, results
    known = convolve(lambda x, y: _times_adjoint(kept(x), y), factor, slope, k, 1, k)
    right = None if tangent[k] is None else cast(tangent[k], slope.type.dtype)
    right = difference(right, None if known is None else _symmetric(known))
    return (None if right is None else bind(CHOLESKY_PUSHFORWARD, factor[0], right),)


def _pullback_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    # The pullback Y of V solves (Y + Y^H) L = V, in the lower triangle.
    (d_factor, d_cotangent), (slope,) = tangents, results
    right = None if d_cotangent is None else cast(d_cotangent, slope.dtype)
    if d_factor is not None:
        right = difference(right, multiply(_symmetric(slope), kept(d_factor)))
    return (bind(CHOLESKY_PULLBACK, operands[0], right),)


def _pullback_taylor(operands: Any, results: Any, k: int) -> Any:
    (factor, cotangent), (slope,) = operands, results
    known = convolve(lambda x, y: multiply(_symmetric(y), kept(x)), factor, slope, k, 1, k)
    right = None if cotangent[k] is None else cast(cotangent[k], slope.type.dtype)
    right = difference(right, known)
    return (None if right is None else bind(CHOLESKY_PULLBACK, factor[0], right),)


_SAMPLES = (
    sample(square(3, 3), draw(3, 3)),
    sample(square(2, 2, 2), draw(2, 2)),
    sample(square(2, 2), draw(2, 2, 2)),
    sample(square(3, 3, dtype=complex), draw(3, 3, dtype=complex)),
    sample(square(2, 2, dtype=np.float32), draw(2, 2, dtype=np.float32)),
)

# T for the H' whose lower triangle is that of the tangent.
CHOLESKY_PUSHFORWARD: Primitive = Primitive(
    "cholesky_pushforward",
    infer=_slope_type,
    evaluate=_pushforward_evaluate,
    linear=Joint(frozenset({1})),
    derivative=_pushforward_derivative,
    transpose=_slope_transpose("cholesky_pullback"),
    batch=_slope_batch("cholesky_pushforward"),
    taylor=_pushforward_taylor,
    samples=_SAMPLES,
)
CHOLESKY_PULLBACK: Primitive = Primitive(
    "cholesky_pullback",
    infer=_slope_type,
    evaluate=_pullback_evaluate,
    linear=Joint(frozenset({1})),
    derivative=_pullback_derivative,
    transpose=_slope_transpose("cholesky_pushforward"),
    batch=_slope_batch("cholesky_pullback"),
    taylor=_pullback_taylor,
    samples=_SAMPLES,
)
_SLOPES = {p.name: p for p in (CHOLESKY_PUSHFORWARD, CHOLESKY_PULLBACK)}
