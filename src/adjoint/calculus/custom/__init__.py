"""Functions with rules of the user's own: `primitive`, and `linear` for linear ones."""

from adjoint.calculus.custom.function import linear, primitive

__all__ = ["linear", "primitive"]
