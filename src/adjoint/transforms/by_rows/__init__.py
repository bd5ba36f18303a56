"""Programs over many rows, cut into programs over some of them at a time."""

from adjoint.transforms.by_rows.marks import marked
from adjoint.transforms.by_rows.row_marks import ZERO, RowMark, RowMarks
from adjoint.transforms.by_rows.stages import RowPass, RowPasses, is_count, staged

__all__ = [
    "ZERO",
    "RowMark",
    "RowMarks",
    "RowPass",
    "RowPasses",
    "is_count",
    "marked",
    "staged",
]
