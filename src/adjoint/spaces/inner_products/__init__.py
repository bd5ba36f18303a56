"""Inner products other than a space's own: by weights, by operators, by the point."""

from adjoint.spaces.inner_products.conjugate_gradient import ConjugateGradient
from adjoint.spaces.inner_products.metric import Metric, TangentBundle
from adjoint.spaces.inner_products.orthonormal import OrthonormalCoordinates
from adjoint.spaces.inner_products.weighted import Weighted

__all__ = ["ConjugateGradient", "Metric", "OrthonormalCoordinates", "TangentBundle", "Weighted"]
