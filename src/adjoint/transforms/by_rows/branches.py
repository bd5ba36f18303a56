"""Branches over rows: each chunk takes the same one, if what it is chosen by is the same for all.

What a branch gives must be of one kind in all branches: rows, a sum over rows, or neither. A branch
that gives zeros goes along with sums: so does reverse mode, for weights that a branch has no part
of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adjoint.program import Atom, Equation, Program
from adjoint.transforms.by_rows.loops import BodyMarks, is_zero, plain
from adjoint.transforms.by_rows.row_marks import WHOLE, ZERO, RowMark, RowMarks, refused

_MarkBody = Callable[[Program, Sequence[RowMark], int], RowMarks]


def switched(
    marks: RowMarks, equation: Equation, operands: list[RowMark], mark_body: _MarkBody
) -> list[RowMark]:
    """The marks of a choice's results. mark_body: the marks of a branch, by those of its inputs."""
    if operands[0] not in (WHOLE, ZERO):
        raise refused(equation, "which branch is taken follows from rows")
    branches = equation.params["branches"]
    inner = tuple(mark_body(branch, operands[1:], marks.rows) for branch in branches)
    marks.bodies[equation.outputs[0]] = {"branches": inner}
    within = isinstance(marks, BodyMarks)
    results = []
    for number in range(len(equation.outputs)):
        mark = _joined(equation, inner, [branch.outputs[number] for branch in branches])
        if not within and mark in (WHOLE, ZERO):  # each chunk gives the same
            mark = RowMark(combined="either")
        results.append(mark)
    return results


def _joined(equation: Equation, inner: Sequence[RowMarks], outputs: Sequence[Atom]) -> RowMark:
    """The mark of a result, by the outputs of the branches that give it."""
    given = [plain(branch.used(atom)) for branch, atom in zip(inner, outputs, strict=True)]
    kinds = {mark for mark in given if mark != ZERO}
    if RowMark(combined="add") in kinds:
        pairs = zip(given, inner, outputs, strict=True)
        kinds = {x for x, branch, atom in pairs if not (x == WHOLE and is_zero(branch, atom))}
        kinds -= {ZERO}
    if len(kinds) > 1:
        raise refused(equation, "what it gives follows from rows in some of its branches only")
    return kinds.pop() if kinds else ZERO
