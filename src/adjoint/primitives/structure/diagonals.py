"""Diagonal matrices, and the diagonals of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.declaration import ITSELF, Joint, Primitive
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import draw, sample


def _matrix_evaluate(x: Any) -> Any:
    matrices = np.zeros((*x.shape, x.shape[-1]), x.dtype)
    places = np.arange(x.shape[-1])
    matrices[..., places, places] = x
    return matrices


def _part_type(x: ArrayType) -> ArrayType:
    return array_type(x.shape[:-1], x.dtype)


DIAGONAL_MATRIX: Primitive = Primitive(
    "diagonal_matrix",
    infer=lambda x: array_type((*x.shape, x.shape[-1]), x.dtype),
    evaluate=_matrix_evaluate,
    linear=Joint(),
    derivative=ITSELF,
    transpose=lambda cotangents, operands: (diagonal_part(cotangents[0]),),
    batch=lambda operands, batched, size: bind(DIAGONAL_MATRIX, operands[0]),
    samples=(sample(draw(3)), sample(draw(2, 3, dtype=complex)), sample(draw(0))),
)
DIAGONAL_PART: Primitive = Primitive(
    "diagonal_part",
    infer=_part_type,
    evaluate=lambda x: np.diagonal(x, axis1=-2, axis2=-1).copy(),
    linear=Joint(),
    derivative=ITSELF,
    transpose=lambda cotangents, operands: (bind(DIAGONAL_MATRIX, cotangents[0]),),
    batch=lambda operands, batched, size: diagonal_part(operands[0]),
    samples=(sample(draw(3, 3)), sample(draw(2, 2, 2, dtype=complex))),
)


def diagonal_part(x: Expression) -> Expression:
    """The diagonals of square matrices."""
    return bind(DIAGONAL_PART, x)  # type: ignore[no-any-return]
