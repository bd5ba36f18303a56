"""Which order of products a Jacobian is computed in (lecture, "Product of Jacobians")."""

from adjoint.calculus.planning.chain import Chain, Order, ProductStep
from adjoint.calculus.planning.jacobians import check_real, jacobian_program
from adjoint.calculus.planning.mode import Mode, ModeName, as_mode

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
