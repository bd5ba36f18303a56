"""Functions of many rows: of all at once, by `vmap`, or of more than memory holds."""

from adjoint.calculus.rows.source import Rows, rows

__all__ = ["Rows", "rows"]
