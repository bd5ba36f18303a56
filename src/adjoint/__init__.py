"""Automatic differentiation for plain NumPy code: derivatives as maps between spaces."""

import sys as _sys
from typing import TYPE_CHECKING

from adjoint import manifolds, maps, scipy, spaces, tensors, testing
from adjoint.base import errors
from adjoint.base.containers import register_container
from adjoint.base.equivalents import advice as _advice
from adjoint.base.settings import config
from adjoint.calculus import (
    Composition,
    Coordinates,
    JacobianPlan,
    Kink,
    KinkKind,
    Mode,
    NaNReport,
    Node,
    Nodes,
    ProgramView,
    checkpoint,
    cond,
    derivative,
    derivative_tensor,
    differential,
    explain,
    explain_nan,
    fori_loop,
    grad,
    hessian,
    hvp,
    implicit,
    jacobian,
    jit,
    jvp,
    kinks,
    lagrangian_hessian,
    linear,
    linear_transpose,
    linearize,
    nodes,
    optimize,
    plan,
    primitive,
    program,
    pullback_metric,
    scan,
    second_derivative,
    stop_gradient,
    switch,
    taylor,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from adjoint.drawing import Drawing, draw
from adjoint.maps import LinearMap
from adjoint.pipeline import cache_clear, cache_info
from adjoint.spaces import Covector, Space

__version__ = "0.1.0"

__all__ = [
    "Composition",
    "Coordinates",
    "Covector",
    "Drawing",
    "JacobianPlan",
    "Kink",
    "KinkKind",
    "LinearMap",
    "Mode",
    "NaNReport",
    "Node",
    "Nodes",
    "ProgramView",
    "Space",
    "cache_clear",
    "cache_info",
    "checkpoint",
    "cond",
    "config",
    "derivative",
    "derivative_tensor",
    "differential",
    "draw",
    "errors",
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
    "linear",
    "linear_transpose",
    "linearize",
    "manifolds",
    "maps",
    "nodes",
    "optimize",
    "plan",
    "primitive",
    "program",
    "pullback_metric",
    "register_container",
    "scan",
    "scipy",
    "second_derivative",
    "spaces",
    "stop_gradient",
    "switch",
    "taylor",
    "tensors",
    "testing",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]


if not TYPE_CHECKING:  # with it, any name would be one for type checkers

    def __getattr__(name: str) -> object:
        """An error that says what other tools' names are here."""
        text = f"adjoint has no {name!r}.{_advice(name)}"
        raise AttributeError(text, name=name, obj=_sys.modules[__name__])
