"""Automatic differentiation for plain NumPy code: derivatives as maps between spaces."""

from adjoint import maps, spaces, testing
from adjoint.base import errors
from adjoint.base.settings import config
from adjoint.calculus import (
    Mode,
    ProgramView,
    derivative,
    differential,
    grad,
    hessian,
    hvp,
    jacobian,
    jit,
    jvp,
    linear,
    linear_transpose,
    linearize,
    primitive,
    program,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from adjoint.maps import LinearMap
from adjoint.pipeline import cache_clear, cache_info
from adjoint.spaces import Covector, Space

__version__ = "0.1.0"

__all__ = [
    "Covector",
    "LinearMap",
    "Mode",
    "ProgramView",
    "Space",
    "cache_clear",
    "cache_info",
    "config",
    "derivative",
    "differential",
    "errors",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jit",
    "jvp",
    "linear",
    "linear_transpose",
    "linearize",
    "maps",
    "primitive",
    "program",
    "spaces",
    "stop_gradient",
    "testing",
    "value_and_grad",
    "vjp",
    "vmap",
]
