"""Floor 9: the calculus that users call."""

from adjoint.calculus import implicit, optimize
from adjoint.calculus.control_flow import (
    checkpoint,
    cond,
    fori_loop,
    scan,
    switch,
    while_loop,
)
from adjoint.calculus.custom.function import linear, primitive
from adjoint.calculus.first_order.coordinates import Coordinates
from adjoint.calculus.first_order.derivative import derivative, jvp, linearize, vjp
from adjoint.calculus.first_order.gradient import differential, grad, value_and_grad
from adjoint.calculus.first_order.linear_transpose import linear_transpose
from adjoint.calculus.first_order.metrics import pullback_metric
from adjoint.calculus.first_order.stopping import stop_gradient
from adjoint.calculus.higher_order.derivative_tensor import derivative_tensor
from adjoint.calculus.higher_order.operators import (
    Estimate,
    ProbeKind,
    biharmonic,
    divergence,
    estimate_divergence,
    estimate_laplacian,
    laplacian,
    probes,
    second_order_operator,
    value_grad_laplacian,
)
from adjoint.calculus.higher_order.taylor import taylor
from adjoint.calculus.inspecting.kinks import Kink, kinks
from adjoint.calculus.inspecting.nans import NaNPlace, NaNReport, NaNStep, explain_nan
from adjoint.calculus.inspecting.node import Node, Nodes
from adjoint.calculus.inspecting.nodes import nodes
from adjoint.calculus.inspecting.programs import ProgramView, program
from adjoint.calculus.jacobians.jacobian import jacobian
from adjoint.calculus.jacobians.planning import Mode
from adjoint.calculus.jacobians.planning.plan import JacobianPlan, plan
from adjoint.calculus.jacobians.sparsity.patterns import colouring, sparsity
from adjoint.calculus.jit import explain, jit
from adjoint.calculus.rows.batching import vmap
from adjoint.calculus.second_order import (
    Composition,
    hessian,
    hvp,
    lagrangian_hessian,
    second_derivative,
)
from adjoint.primitives.elementwise.kink_table import KinkKind

__all__ = [
    "Composition",
    "Coordinates",
    "Estimate",
    "JacobianPlan",
    "Kink",
    "KinkKind",
    "Mode",
    "NaNPlace",
    "NaNReport",
    "NaNStep",
    "Node",
    "Nodes",
    "ProbeKind",
    "ProgramView",
    "biharmonic",
    "checkpoint",
    "colouring",
    "cond",
    "derivative",
    "derivative_tensor",
    "differential",
    "divergence",
    "estimate_divergence",
    "estimate_laplacian",
    "explain",
    "explain_nan",
    "fori_loop",
    "grad",
    "hessian",
    "hvp",
    "implicit",
    "jacobian",
    "jit",
    "jvp",
    "kinks",
    "lagrangian_hessian",
    "laplacian",
    "linear",
    "linear_transpose",
    "linearize",
    "nodes",
    "optimize",
    "plan",
    "primitive",
    "probes",
    "program",
    "pullback_metric",
    "scan",
    "second_derivative",
    "second_order_operator",
    "sparsity",
    "stop_gradient",
    "switch",
    "taylor",
    "value_and_grad",
    "value_grad_laplacian",
    "vjp",
    "vmap",
    "while_loop",
]
