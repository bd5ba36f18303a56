"""`jit`: programs that are kept, with guards for the values that the function asked for."""

from adjoint.calculus.jit.explaining import explain
from adjoint.calculus.jit.function import jit

__all__ = ["explain", "jit"]
