"""Eigenvalues and eigenvectors of square matrices without symmetry: always complex here.

From A V = V diag(w) follow, with E = V^-1 A' V, w' = diag(E) and V' = V (Omega + diag(c)), Omega_ij
= E_ij / (w_j - w_i) off the diagonal. c keeps each column as LAPACK scales it: of length one, its
largest entry real. Matrices whose eigenvectors are linearly dependent up to rounding are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import LinearAlgebraError
from adjoint.primitives.declaration import Joint, Primitive
from adjoint.primitives.elementwise.conversion import IMAG, REAL, cast, conjugate
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.spectra.eigen import spread
from adjoint.primitives.linear_algebra.spectra.rotations import (
    LEADING,
    cluster_mean,
    precision_of,
    rotation,
)
from adjoint.primitives.linear_algebra.systems import matrix_dtype, multiply, solve, square_shape
from adjoint.primitives.samples import Fixed, draw, sample
from adjoint.primitives.structure.diagonals import diagonal_part
from adjoint.primitives.structure.moving import reshape, sum_axes


def basis_limit(dtype: np.dtype[Any]) -> float:
    """The least quotient of singular values of eigenvectors that are a basis, up to rounding."""
    return float(10 * precision_of(dtype) ** 0.5)


def _checked_evaluate(v: Any) -> Any:
    if v.size:
        sizes = np.linalg.svd(v, compute_uv=False)
        limit = basis_limit(v.dtype)
        bad = ~(sizes[..., -1] > limit * sizes[..., 0])
        if bad.any():
            with np.errstate(all="ignore"):
                condition = np.max(sizes[..., 0] / sizes[..., -1])
            raise LinearAlgebraError(
                "The eigenvectors of a matrix are linearly dependent up to rounding (condition "
                f"number {condition:.1e}, allowed up to {1 / limit:.1e}): the matrix is defective "
                "or nearly so, and its eigenvalues and eigenvectors have no derivative there that "
                "rounding leaves anything of. Where the matrix is Hermitian, use np.linalg.eigh."
            )
    return v


# Eigenvectors as they are; an error where they are no basis up to rounding.
EIGENBASIS: Primitive = Primitive(
    "eigenbasis",
    infer=lambda v: array_type((*square_shape("eig", v), *v.shape[-2:]), v.dtype),
    evaluate=_checked_evaluate,
    linear=Joint(),
    derivative=lambda tangents, operands, results: (tangents[0],),
    transpose=lambda cotangents, operands: (cotangents[0],),
    batch=lambda operands, batched, size: bind(EIGENBASIS, operands[0]),
    samples=(sample(spread(3, 3)), sample(spread(2, 2, 2, dtype=complex))),
    view=True,
)


def _complex(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype("F" if dtype.char in "fF" else "D")


def _eig_type(a: ArrayType) -> tuple[ArrayType, ArrayType]:
    square_shape("eig", a)
    dtype = _complex(matrix_dtype("eig", a))
    return array_type(a.shape[:-1], dtype), array_type(a.shape, dtype)


def _eig_evaluate(a: Any) -> tuple[Any, Any]:
    values, vectors = np.linalg.eig(a)
    dtype = _complex(vectors.dtype)
    return values.astype(dtype, copy=False), vectors.astype(dtype, copy=False)


def _in_basis(v: Expression, d_a: Expression) -> Expression:
    return solve(bind(EIGENBASIS, v), multiply(cast(d_a, v.dtype), v))


def _eig_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    values, v = results
    inner = _in_basis(v, tangents[0])
    turn = rotation(values, inner, -1, used=None, general=True)
    moved: Any = multiply(v, turn)
    leading = bind(LEADING, v)
    length = sum_axes(bind(REAL, conjugate(v) * moved), (v.ndim - 2,))
    angle = sum_axes(leading * bind(IMAG, moved), (v.ndim - 2,))
    angle = angle / sum_axes(leading * bind(REAL, v), (v.ndim - 2,))
    scale: Any = cast(length, v.dtype) + 1j * cast(angle, v.dtype)
    scale = reshape(scale, (*scale.shape[:-1], 1, scale.shape[-1]))
    return cluster_mean(values, diagonal_part(inner)), moved - v * scale


EIG: Primitive = Primitive(
    "eig",
    infer=_eig_type,
    evaluate=_eig_evaluate,
    linear=None,
    derivative=_eig_derivative,
    batch=lambda operands, batched, size: bind(EIG, operands[0]),
    samples=(
        sample(spread(3, 3)),
        sample(Fixed([[1.0, -2.0, 0.3], [1.5, 0.8, 0.2], [0.1, 0.4, 3.0]])),
        sample(spread(2, 2, 2, dtype=complex)),
        sample(draw(1, 1)),
    ),
    multiple=True,
)


def _eigvals_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    values, v = bind(EIG, operands[0])
    return (cluster_mean(values, diagonal_part(_in_basis(v, tangents[0]))),)


def _eigvals_evaluate(a: Any) -> Any:
    values = np.linalg.eigvals(a)
    return values.astype(_complex(values.dtype), copy=False)


EIGVALS: Primitive = Primitive(
    "eigvals",
    infer=lambda a: _eig_type(a)[0],
    evaluate=_eigvals_evaluate,
    linear=None,
    derivative=_eigvals_derivative,
    batch=lambda operands, batched, size: bind(EIGVALS, operands[0]),
    samples=(
        sample(spread(3, 3)),
        sample(spread(2, 2, 2, dtype=complex)),
        sample(draw(0, 0)),
    ),
)
