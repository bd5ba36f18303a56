"""Inner-product spaces: what vectors and covectors are, and how an inner product joins them."""

from adjoint.spaces.basis import Basis
from adjoint.spaces.covector import Covector
from adjoint.spaces.euclidean import Euclidean
from adjoint.spaces.inference import infer
from adjoint.spaces.product import Product
from adjoint.spaces.space import Dual, Space
from adjoint.spaces.subspaces import Skew, Symmetric
from adjoint.spaces.weighted import Weighted

__all__ = [
    "Basis",
    "Covector",
    "Dual",
    "Euclidean",
    "Product",
    "Skew",
    "Space",
    "Symmetric",
    "Weighted",
    "infer",
]
