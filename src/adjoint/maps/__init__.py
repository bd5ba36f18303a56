"""Linear and bilinear maps between inner-product spaces."""

from adjoint.maps.bilinear_map import BilinearMap
from adjoint.maps.constructors import diagonal, embedding, identity, rank_one, zero
from adjoint.maps.identities import adjoint_error, linearity_error, space_error
from adjoint.maps.linear_map import LinearMap, MatrixBy
from adjoint.maps.matrices import from_matrix, from_scipy

__all__ = [
    "BilinearMap",
    "LinearMap",
    "MatrixBy",
    "adjoint_error",
    "diagonal",
    "embedding",
    "from_matrix",
    "from_scipy",
    "identity",
    "linearity_error",
    "rank_one",
    "space_error",
    "zero",
]
