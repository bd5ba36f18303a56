"""Minimisation in a chosen inner product: steepest descent, and SciPy's methods (E.1.40-E.1.43)."""

from adjoint.base.namespaces import names_of as _names_of
from adjoint.calculus.optimize.descent import descend
from adjoint.calculus.optimize.directions import steepest_descent
from adjoint.calculus.optimize.fitting import curve_fit
from adjoint.calculus.optimize.line_search import LineSearch, Sharpness
from adjoint.calculus.optimize.result import Descent, Iterate, Reason, Step
from adjoint.calculus.optimize.scipy_methods import minimize

__dir__ = _names_of(__name__)

__all__ = [
    "Descent",
    "Iterate",
    "LineSearch",
    "Reason",
    "Sharpness",
    "Step",
    "curve_fit",
    "descend",
    "minimize",
    "steepest_descent",
]
