"""Subspaces of the square matrices, and of any space."""

from adjoint.spaces.matrices.matrices import (
    Diagonal,
    Hermitian,
    LowerTriangular,
    Skew,
    SkewHermitian,
    Symmetric,
    TraceFree,
    UpperTriangular,
)
from adjoint.spaces.matrices.patterned import MatrixSubspace, Patterned
from adjoint.spaces.matrices.subspaces import Span

__all__ = [
    "Diagonal",
    "Hermitian",
    "LowerTriangular",
    "MatrixSubspace",
    "Patterned",
    "Skew",
    "SkewHermitian",
    "Span",
    "Symmetric",
    "TraceFree",
    "UpperTriangular",
]
