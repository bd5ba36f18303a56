"""Tensors of type (m, p): multilinear maps written in bases, and what a change of basis does."""

from adjoint.base.namespaces import names_of as _names_of
from adjoint.tensors.bases import InBasis
from adjoint.tensors.contraction import contract
from adjoint.tensors.conversions import (
    bra,
    from_bilinear_map,
    from_covector,
    from_map,
    from_vector,
    identity,
    inner_product,
    inverse_inner_product,
    ket,
    to_bilinear_map,
    to_covector,
    to_map,
    to_vector,
)
from adjoint.tensors.products import TensorProduct
from adjoint.tensors.splitting import as_vector, joined, split
from adjoint.tensors.tensor import Tensor

__dir__ = _names_of(__name__)

__all__ = [
    "InBasis",
    "Tensor",
    "TensorProduct",
    "as_vector",
    "bra",
    "contract",
    "from_bilinear_map",
    "from_covector",
    "from_map",
    "from_vector",
    "identity",
    "inner_product",
    "inverse_inner_product",
    "joined",
    "ket",
    "split",
    "to_bilinear_map",
    "to_covector",
    "to_map",
    "to_vector",
]
