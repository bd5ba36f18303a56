"""Loops and branches whose rounds and choices are known only when the program runs."""

from adjoint.calculus.control_flow import rounds as _rounds  # noqa: F401  # fills its hook
from adjoint.calculus.control_flow.branches import checkpoint, cond, switch
from adjoint.calculus.control_flow.loops import fori_loop, scan, while_loop

__all__ = ["checkpoint", "cond", "fori_loop", "scan", "switch", "while_loop"]
