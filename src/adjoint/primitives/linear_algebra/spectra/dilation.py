"""Singular vectors as eigenvectors: those of [[0, A], [A^H, 0]], whose eigenvalues are s and -s.

So U diag(f(s)) V^H is a block of an odd function of that Hermitian matrix, and U diag(f(s)) U^H of
an even one, and their derivatives are those of functions of Hermitian matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.declaration import NO_DERIVATIVE, Primitive
from adjoint.primitives.expression import bind
from adjoint.primitives.linear_algebra.spectra.rotations import closeness
from adjoint.primitives.samples import Fixed, sample
from adjoint.primitives.structure.moving import with_batch


def _basis_type(u: ArrayType, vh: ArrayType) -> ArrayType:
    size = u.shape[-2] + vh.shape[-1]
    return array_type((*u.shape[:-2], size, size), u.dtype)


def _completing(x: Any) -> Any:
    """Orthonormal columns that complete those of x to a basis."""
    return np.linalg.qr(x, "complete")[0][..., x.shape[-1] :]


def _basis_evaluate(u: Any, vh: Any) -> Any:
    v = np.conjugate(np.swapaxes(vh, -1, -2))
    rows, columns, count = u.shape[-2], v.shape[-2], u.shape[-1]
    basis = np.zeros((*u.shape[:-2], rows + columns, rows + columns), u.dtype)
    half = u.dtype.type(np.sqrt(0.5))
    basis[..., :rows, :count] = basis[..., :rows, count : 2 * count] = half * u
    basis[..., rows:, :count] = half * v
    basis[..., rows:, count : 2 * count] = -half * v
    if rows > count:
        basis[..., :rows, 2 * count :] = _completing(u)
    elif columns > count:
        basis[..., rows:, 2 * count :] = _completing(v)
    return basis


_U = Fixed(np.eye(3)[:, :2])

# The eigenvectors of the dilation, for the eigenvalues s, -s, 0.
DILATED_BASIS: Primitive = Primitive(
    "dilated_basis",
    infer=_basis_type,
    evaluate=_basis_evaluate,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=lambda operands, batched, size: bind(
        DILATED_BASIS,
        *(with_batch(x, mark, size) for x, mark in zip(operands, batched, strict=True)),
    ),
    samples=(sample(_U, Fixed(np.eye(2))), sample(Fixed(np.eye(2)), Fixed(np.eye(3)[:2]))),
)


def _weights_evaluate(s: Any) -> Any:
    gone = (s <= closeness(s)).astype(s.dtype)
    return gone / np.maximum(np.sum(gone, axis=-1, keepdims=True), 1)


# Weights with which zero singular values have the mean 1, and others do not count.
ZERO_WEIGHTS: Primitive = Primitive(
    "zero_weights",
    infer=lambda s: s,
    evaluate=_weights_evaluate,
    linear=None,
    derivative=NO_DERIVATIVE,
    transpose=NO_DERIVATIVE,
    batch=lambda operands, batched, size: bind(ZERO_WEIGHTS, operands[0]),
    samples=(sample(Fixed([2.0, 0.0, 0.0])), sample(Fixed([2.0, 1.0]))),
)
