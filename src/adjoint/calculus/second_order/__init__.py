"""Second derivatives: bilinear maps, Hessians, and their products with vectors."""

from adjoint.calculus.second_order.composition import Composition
from adjoint.calculus.second_order.curvature import second_derivative
from adjoint.calculus.second_order.lagrangian import lagrangian_hessian
from adjoint.calculus.second_order.products import hessian, hvp

__all__ = ["Composition", "hessian", "hvp", "lagrangian_hessian", "second_derivative"]
