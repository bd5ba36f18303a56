"""Inner-product spaces: what vectors and covectors are, and how an inner product joins them."""

from adjoint.base.namespaces import names_of as _names_of
from adjoint.spaces.custom import CustomSpace
from adjoint.spaces.dual_basis import dual_basis, reciprocal_basis
from adjoint.spaces.elements.basis import Basis
from adjoint.spaces.elements.covector import Covector
from adjoint.spaces.euclidean import Euclidean
from adjoint.spaces.functions import Boundary, Functions
from adjoint.spaces.inference import infer
from adjoint.spaces.inner_products import (
    ConjugateGradient,
    Metric,
    OrthonormalCoordinates,
    TangentBundle,
    Weighted,
)
from adjoint.spaces.matrices import (
    Diagonal,
    Hermitian,
    LowerTriangular,
    MatrixSubspace,
    Patterned,
    Skew,
    SkewHermitian,
    Span,
    Symmetric,
    TraceFree,
    UpperTriangular,
)
from adjoint.spaces.polynomials import PolynomialCoefficients, Polynomials
from adjoint.spaces.product import Product
from adjoint.spaces.space import Dual, Space

__dir__ = _names_of(__name__)

__all__ = [
    "Basis",
    "Boundary",
    "ConjugateGradient",
    "Covector",
    "CustomSpace",
    "Diagonal",
    "Dual",
    "Euclidean",
    "Functions",
    "Hermitian",
    "LowerTriangular",
    "MatrixSubspace",
    "Metric",
    "OrthonormalCoordinates",
    "Patterned",
    "PolynomialCoefficients",
    "Polynomials",
    "Product",
    "Skew",
    "SkewHermitian",
    "Space",
    "Span",
    "Symmetric",
    "TangentBundle",
    "TraceFree",
    "UpperTriangular",
    "Weighted",
    "dual_basis",
    "infer",
    "reciprocal_basis",
]
