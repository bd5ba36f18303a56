"""Functions with rules of the user's own: `primitive`, and `linear` for linear ones.

And where a rule is missing that only the user can give.
"""

from adjoint.calculus.custom.function import linear, primitive

__all__ = ["linear", "primitive"]
