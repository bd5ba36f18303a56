"""Eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read.

From A V = V diag(l) follow, with E = V^H A' V, l' = diag(E) and V' = V Omega with Omega_ij =
E_ij / (l_j - l_i) off the diagonal (M. Giles, "Collected matrix derivative results", 2008, section
3.1). Where eigenvalues coincide, see `rotations.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, real_dtype
from adjoint.primitives.declaration import (
    ITSELF,
    Joint,
    Primitive,
)
from adjoint.primitives.elementwise.conversion import cast, conjugate, real
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.spectra.rotations import cluster_mean, rotation
from adjoint.primitives.linear_algebra.systems import (
    adjoint,
    matrix_dtype,
    multiply,
    same_square,
    square_shape,
)
from adjoint.primitives.samples import DiagonalDraw, Draw, draw, sample
from adjoint.primitives.structure.moving import sum_axes


class SpreadDraw(DiagonalDraw):
    """Random square matrices with 1, 2, 3, ... added on the diagonal: their eigenvalues differ."""

    def array(self, generator: np.random.Generator) -> Any:
        """A concrete operand."""
        drawn = Draw.array(self, generator)
        rows, columns = self.shape[-2:]
        spread = np.zeros((rows, columns))
        np.fill_diagonal(spread, 1.0 + np.arange(min(rows, columns)))
        return drawn + np.asarray(spread, drawn.dtype)


def spread(*shape: int, dtype: Any = float) -> Draw:
    """Matrices with well-separated eigenvalues and singular values, written briefly."""
    return SpreadDraw(shape, -0.3, 0.3, dtype)


# --- one triangle --------------------------------------------------------------------------------


def _half(x: Any, lower: bool) -> Any:
    return np.tril(x, -1) if lower else np.triu(x, 1)


def _with_real_diagonal(x: Any, of: Any) -> Any:
    places = np.arange(x.shape[-1])
    x[..., places, places] = np.real(np.diagonal(of, axis1=-2, axis2=-1))
    return x


def hermitian_of(x: Any, lower: bool) -> Any:
    """The Hermitian matrix with this triangle."""
    half = _half(x, lower)
    return _with_real_diagonal(half + np.conjugate(np.swapaxes(half, -1, -2)), x)


def _triangle_of(x: Any, lower: bool) -> Any:
    return _with_real_diagonal(_half(x + np.conjugate(np.swapaxes(x, -1, -2)), lower), x)


def _triangular(name: str, other: str, evaluate: Any) -> Primitive:
    def apply(which: str, x: Expression, lower: bool) -> Expression:
        return bind(_TRIANGLES[which], x, lower=lower)  # type: ignore[no-any-return]

    return Primitive(
        name,
        infer=same_square(name),
        evaluate=evaluate,
        linear=Joint(),
        derivative=ITSELF,
        transpose=lambda cotangents, operands, lower: (
            cast(apply(other, cotangents[0], lower), operands[0].dtype),
        ),
        batch=lambda operands, batched, size, lower: apply(name, operands[0], lower),
        samples=(
            sample(draw(3, 3), lower=True),
            sample(draw(2, 2, 2, dtype=complex), lower=False),
        ),
    )


# The Hermitian matrix whose triangle is given, and its transpose.
HERMITIAN = _triangular("hermitian", "triangle", hermitian_of)
TRIANGLE = _triangular("triangle", "hermitian", _triangle_of)
_TRIANGLES = {p.name: p for p in (HERMITIAN, TRIANGLE)}


# --- eigh ----------------------------------------------------------------------------------------


def _eigh_type(a: ArrayType, **params: Any) -> tuple[ArrayType, ArrayType]:
    lead, dtype = square_shape("eigh", a), matrix_dtype("eigh", a)
    return array_type((*lead, a.shape[-1]), real_dtype(dtype)), array_type(a.shape, dtype)


def _triangle_name(lower: bool) -> Any:
    return "L" if lower else "U"


def diagonal_of_product(x: Expression, y: Expression) -> Expression:
    """The diagonals of x^H y; written so that its transpose scales the columns of x."""
    return sum_axes(conjugate(x) * y, (x.ndim - 2,))


def _image(v: Expression, d_a: Expression, lower: bool) -> Expression:
    """A' V, for the A' with this triangle."""
    return multiply(bind(HERMITIAN, cast(d_a, v.dtype), lower=lower), v)


def _eigh_derivative(tangents: Any, operands: Any, results: Any, lower: bool, **params: Any) -> Any:
    values, v = results
    image = _image(v, tangents[0], lower)
    turn = rotation(values, multiply(adjoint(v), image), -1, general=False, **params)
    d_values = cluster_mean(values, real(diagonal_of_product(v, image)))
    return d_values, multiply(v, turn)


# used: which vectors are used, see `rotation`.
EIGH: Primitive = Primitive(
    "eigh",
    infer=_eigh_type,
    evaluate=lambda a, lower, **params: tuple(np.linalg.eigh(a, _triangle_name(lower))),
    linear=None,
    derivative=_eigh_derivative,
    batch=lambda operands, batched, size, **params: bind(EIGH, operands[0], **params),
    # Complex eigenvectors have no differences: LAPACK chooses their phases.
    samples=(
        sample(spread(3, 3), lower=True, used=None),
        sample(spread(2, 2, 2), lower=False, used=None),
        sample(draw(1, 1), lower=True, used=None),
    ),
    multiple=True,
)


def _eigvalsh_derivative(tangents: Any, operands: Any, results: Any, lower: bool) -> Any:
    values, vectors = bind(EIGH, operands[0], lower=lower, used=None)
    slope = diagonal_of_product(vectors, _image(vectors, tangents[0], lower))
    return (cluster_mean(values, real(slope)),)


EIGVALSH: Primitive = Primitive(
    "eigvalsh",
    infer=lambda a, lower: _eigh_type(a)[0],
    evaluate=lambda a, lower: np.linalg.eigvalsh(a, _triangle_name(lower)),
    linear=None,
    derivative=_eigvalsh_derivative,
    batch=lambda operands, batched, size, lower: bind(EIGVALSH, operands[0], lower=lower),
    samples=(
        sample(spread(3, 3), lower=True),
        sample(spread(3, 3, dtype=complex), lower=True),
        sample(spread(2, 2, 2), lower=False),
        sample(draw(0, 0), lower=True),
    ),
)
