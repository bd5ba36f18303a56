"""Functions of more rows than memory holds."""

from adjoint.calculus.rows.source import Rows, rows

__all__ = ["Rows", "rows"]
