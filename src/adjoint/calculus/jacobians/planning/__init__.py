"""Which order of products a Jacobian is computed in (lecture, "Product of Jacobians")."""

from adjoint.calculus.jacobians.planning.chain import Chain, Order, ProductStep
from adjoint.calculus.jacobians.planning.jacobians import check_real, jacobian_program
from adjoint.calculus.jacobians.planning.mode import Mode, ModeName, as_mode

__all__ = [
    "Chain",
    "Mode",
    "ModeName",
    "Order",
    "ProductStep",
    "as_mode",
    "check_real",
    "jacobian_program",
]
