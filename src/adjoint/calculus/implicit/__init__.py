"""Implicit functions: solutions of equations, differentiated without looking into the solver."""

from adjoint.base.namespaces import names_of as _names_of
from adjoint.calculus.implicit.equations import argmin, fixed_point, root
from adjoint.calculus.implicit.function import function
from adjoint.calculus.implicit.linear import linear_solve
from adjoint.calculus.implicit.linear_solvers import Direct, Krylov, Method
from adjoint.calculus.implicit.quadratic_program import quadratic_program
from adjoint.calculus.implicit.solvers import Anderson, Iteration, Newton, SciPy

__dir__ = _names_of(__name__)

__all__ = [
    "Anderson",
    "Direct",
    "Iteration",
    "Krylov",
    "Method",
    "Newton",
    "SciPy",
    "argmin",
    "fixed_point",
    "function",
    "linear_solve",
    "quadratic_program",
    "root",
]
