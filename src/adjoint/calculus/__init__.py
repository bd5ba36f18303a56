"""Floor 9: the calculus that users call."""

from adjoint.calculus.batching import vmap
from adjoint.calculus.custom import linear, primitive
from adjoint.calculus.derivative import derivative, jvp, linear_transpose, linearize, vjp
from adjoint.calculus.gradient import differential, grad, value_and_grad
from adjoint.calculus.inspection import ProgramView, program
from adjoint.calculus.jacobian import Mode, jacobian
from adjoint.calculus.jit import jit
from adjoint.calculus.second_order import hessian, hvp
from adjoint.calculus.stopping import stop_gradient

__all__ = [
    "Mode",
    "ProgramView",
    "derivative",
    "differential",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jit",
    "jvp",
    "linear",
    "linear_transpose",
    "linearize",
    "primitive",
    "program",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]
