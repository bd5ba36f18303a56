"""Manifolds: points that do not add, with an inner-product space of tangents at each."""

from adjoint.base.namespaces import names_of as _names_of
from adjoint.manifolds.manifold import Manifold
from adjoint.manifolds.positive_definite import PositiveDefinite
from adjoint.manifolds.product_manifold import ProductManifold
from adjoint.manifolds.sphere import Sphere
from adjoint.manifolds.stiefel import Stiefel

__dir__ = _names_of(__name__)

__all__ = ["Manifold", "PositiveDefinite", "ProductManifold", "Sphere", "Stiefel"]
