"""Branches and recomputation in Taylor mode: what is chosen, or computed again, acts on series."""

from __future__ import annotations

from typing import Any

from adjoint.loops.bodies import expand_body
from adjoint.loops.series import (
    Coefficients,
    coefficients,
    collected,
    moving_operands,
    there,
)
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.expression import bind
from adjoint.program import Program


def switch_taylor(operands: Any, order: int, branches: tuple[Program, ...]) -> list[Coefficients]:
    """The branch that is chosen, on series."""
    given = tuple(there(coefficients(series, order)) for series in operands[1:])
    none = ((False,) * order,) * len(branches[0].outputs)
    branch_marks = [expand_body(branch, order, given, none)[1] for branch in branches]
    marks = tuple(
        tuple(map(any, zip(*rows, strict=True))) for rows in zip(*branch_marks, strict=True)
    )
    expanded = tuple(expand_body(branch, order, given, marks)[0] for branch in branches)
    moving = moving_operands(operands[1:], order)
    results = bind(PRIMITIVES["switch"], operands[0][0], *moving, branches=expanded)
    return collected(results, marks)


def checkpoint_taylor(
    operands: Any, order: int, body: Program, schedule: str | int | None
) -> list[Coefficients]:
    """The body on series."""
    given = tuple(there(coefficients(series, order)) for series in operands)
    none = ((False,) * order,) * len(body.outputs)
    program, marks = expand_body(body, order, given, none)
    moving = moving_operands(operands, order)
    results = bind(PRIMITIVES["checkpoint"], *moving, body=program, schedule=schedule)
    return collected(results, marks)
