"""Linear and bilinear maps between inner-product spaces."""

from adjoint.base.namespaces import names_of as _names_of
from adjoint.maps.bilinear_map import BilinearMap
from adjoint.maps.constructors import diagonal, embedding, identity, rank_one, zero
from adjoint.maps.duality import TranspositionDiagram, natural_pairing, riesz_map
from adjoint.maps.finite_rank import (
    SingularValueDecomposition,
    finite_rank,
    rank_one_terms,
    singular_values,
)
from adjoint.maps.identities import adjoint_error, linearity_error, space_error, space_errors
from adjoint.maps.linear_map import LinearMap, MatrixBy
from adjoint.maps.matrices import from_matrix, from_scipy

__dir__ = _names_of(__name__)

__all__ = [
    "BilinearMap",
    "LinearMap",
    "MatrixBy",
    "SingularValueDecomposition",
    "TranspositionDiagram",
    "adjoint_error",
    "diagonal",
    "embedding",
    "finite_rank",
    "from_matrix",
    "from_scipy",
    "identity",
    "linearity_error",
    "natural_pairing",
    "rank_one",
    "rank_one_terms",
    "riesz_map",
    "singular_values",
    "space_error",
    "space_errors",
    "zero",
]
