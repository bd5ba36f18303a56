"""Linear differential operators: Laplacians, divergences, and sums of second derivatives."""

from adjoint.calculus.higher_order.operators.divergence import divergence
from adjoint.calculus.higher_order.operators.estimates import (
    Estimate,
    ProbeKind,
    estimate_divergence,
    estimate_laplacian,
    probes,
)
from adjoint.calculus.higher_order.operators.laplacian import (
    biharmonic,
    laplacian,
    value_grad_laplacian,
)
from adjoint.calculus.higher_order.operators.second_order import second_order_operator

__all__ = [
    "Estimate",
    "ProbeKind",
    "biharmonic",
    "divergence",
    "estimate_divergence",
    "estimate_laplacian",
    "laplacian",
    "probes",
    "second_order_operator",
    "value_grad_laplacian",
]
