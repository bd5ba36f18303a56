"""Loops of which the rounds keep rows apart: each chunk goes through all of them.

What is carried from round to round holds rows, or is whole, or is a sum over rows that begins at
zero and is added to. Which of them a zero is shows when the body has been gone through: that is
repeated until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adjoint.program import Atom, Equation, Literal, Program
from adjoint.transforms.by_rows.row_marks import WHOLE, ZERO, RowMark, RowMarks, refused

_MarkBody = Callable[[Program, Sequence[RowMark], int], RowMarks]


class BodyMarks(RowMarks):
    """The marks of a loop's body, in which nothing can wait for a sum over all rows."""

    def used(self, atom: Atom) -> RowMark:
        """The mark of an operand, as it is."""
        return WHOLE if isinstance(atom, Literal) else self.of[atom]


def scanned(
    marks: RowMarks, equation: Equation, operands: list[RowMark], mark_body: _MarkBody
) -> list[RowMark]:
    """The marks of a loop's results. mark_body: the marks of its body, by those of its inputs."""
    params = equation.params
    body, constants = params["body"], params["constants"]
    first, stop = 1 + constants, 1 + constants + params["carried"]
    if operands[0] not in (WHOLE, ZERO):
        raise refused(equation, "the number of its rounds follows from rows")
    starts = equation.inputs[first:stop]
    carried = [
        ZERO if mark == WHOLE and is_zero(marks, atom) else plain(mark)
        for mark, atom in zip(operands[first:stop], starts, strict=True)
    ]
    scanned_marks = [_of_round(equation, mark) for mark in operands[stop:]]
    while True:
        inner = mark_body(body, [*operands[1:first], *carried, *scanned_marks], marks.rows)
        results = [plain(inner.used(atom)) for atom in body.outputs]
        pairs = zip(carried, results[: len(carried)], strict=True)
        after = [_joined(equation, before, later) for before, later in pairs]
        if after == carried and (ZERO not in carried or ZERO in operands):
            break
        # Of what is not known, although all is that it follows from, rows have no part.
        carried = [WHOLE if x == ZERO else x for x in after] if after == carried else after
    marks.bodies[equation.outputs[0]] = {"body": (inner,)}
    whole = [*carried, *(_of_rounds(mark) for mark in results[len(carried) :])]
    if isinstance(marks, BodyMarks):
        return whole
    # The loop runs within a pass, where each chunk gives the same.
    return [RowMark(combined="either") if mark == WHOLE else mark for mark in whole]


def plain(mark: RowMark) -> RowMark:
    """The mark, without that it numbers the rows."""
    return mark._replace(counted=False)


def _of_round(equation: Equation, mark: RowMark) -> RowMark:
    """What a round is given of an array whose first axis is gone along."""
    if mark.axis == 0:
        raise refused(equation, "it goes from row to row")
    return mark if mark.axis is None else RowMark(mark.axis - 1)


def _of_rounds(mark: RowMark) -> RowMark:
    """What all rounds give, one behind the other."""
    return mark if mark.axis is None else RowMark(mark.axis + 1)


def _joined(equation: Equation, before: RowMark, later: RowMark) -> RowMark:
    """What is carried, if it is one thing before a round and another after it."""
    if before in (later, ZERO):
        return later
    if later == ZERO:
        return before
    raise refused(equation, "what it carries follows from rows in some rounds only")


def is_zero(marks: RowMarks, atom: Atom) -> bool:
    """Whether a loop begins with zeros."""
    if isinstance(atom, Literal):
        return not np.any(atom.value)
    if marks.of[atom] == ZERO:
        return True
    makers = [e for e in marks.program.equations if atom in e.outputs]
    return bool(makers) and makers[0].primitive.name == "fill" and not makers[0].params["value"]
