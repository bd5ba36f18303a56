"""Linear algebra over rows: a matrix for each, or rows as right-hand sides of one system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adjoint.program import Atom, Equation
from adjoint.transforms.by_rows.row_marks import RowMark, RowMarks, refused

# What is done to each matrix of a stack; the third operand may be a vector of pivots.
_OF_MATRICES: Final = (
    *("lu_factors", "solve", "solve_factored", "solve_triangular", "inv", "det", "slogdet"),
    *("adjugate", "cholesky", "cholesky_pullback", "cholesky_pushforward", "hermitian", "triangle"),
    *("eigh", "eigvalsh", "svd", "svdvals", "qr", "skew_of_lower", "pulled_skew"),
    *("triangular_division",),
)
_OF_VECTORS: Final = ("cluster_mean", "singular_slope")
_OF_BOTH: Final = ("rotation", "pulled_rotation")  # of a vector, and then a matrix
STACKS: Final = (*_OF_MATRICES, *_OF_VECTORS, *_OF_BOTH)
_SOLVING: Final = ("solve", "solve_factored", "solve_triangular")


def stacked(
    marks: RowMarks, equation: Equation, operands: Sequence[RowMark]
) -> RowMark | list[RowMark]:
    """The marks of the results: rows are an axis of the stack, or columns that are solved for."""
    name = equation.primitive.name
    sides = [mark.axis is not None for mark in operands]
    right = equation.inputs[-1].type
    alone = sides == [*[False] * (len(sides) - 1), True]
    if name in _SOLVING and alone and operands[-1].axis == right.ndim - 1:
        return RowMark(equation.outputs[0].type.ndim - 1)
    leads = [x.type.ndim - _own_axes(name, n, x) for n, x in enumerate(equation.inputs)]
    triples = list(zip(equation.inputs, operands, leads, strict=True))
    if any(mark.axis is not None and mark.axis >= lead for _, mark, lead in triples):
        raise refused(equation, "rows are within the matrices")
    places = {lead - mark.axis for _, mark, lead in triples if mark.axis is not None}
    if len(places) != 1:
        raise refused(equation, "its operands have rows along different axes")
    (place,) = places
    for atom, mark, lead in triples:
        if mark.axis is None and lead >= place and atom.type.shape[lead - place] != 1:
            raise refused(equation, "an operand has as many matrices as there are rows")
    return [RowMark(max(leads) - place)] * len(equation.outputs)


def _own_axes(name: str, number: int, operand: Atom) -> int:
    """How many axes one matrix, or one vector, of an operand has."""
    pivots = name in _OF_MATRICES and number == 2 and operand.type.dtype.kind in "iu"
    vector = name in _OF_VECTORS or (name in _OF_BOTH and number == 0)
    return 1 if vector or pivots else 2
