"""What is noted of each variable of a program over rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from adjoint.base.errors import RowsError
from adjoint.program import Atom, Equation, Literal, Program, Variable


def refused(equation: Equation, why: str) -> RowsError:
    """The error of an equation that needs all rows at once."""
    error = RowsError(
        f"{equation.primitive.name} cannot be computed on some rows at a time: {why}. Give the "
        "arrays themselves, or write it as sums, means, maxima or log-sum-exps over rows."
    )
    error.origin = equation.origin
    return error


class RowMark(NamedTuple):
    """What a variable holds.

    axis: of its rows; None where it has none. combined: how partial results of chunks become that
    of all: `add`, `maximum`, `minimum`, or `either`, where all are the same. counted: whether it is
    the numbers 0, 1, ... of the rows.
    """

    axis: int | None = None
    combined: str | None = None
    counted: bool = False

    @property
    def waits(self) -> bool:
        """Whether it is to be combined before it is used."""
        return self.combined not in (None, "zero")


WHOLE: Final = RowMark()
# Of what a loop begins with, if it is zero, and of what follows: rows, a sum or neither, which is
# not known yet. An input of a program is marked so if it is zero.
ZERO: Final = RowMark(combined="zero")


class RowMarks:
    """The marks and the stages of the variables of a program.

    rows: how many there are. bodies: the marks of the bodies of loops and of branches, by their
    first results and the names of parameters. agreed: results that all chunks must have from one
    place, although no row has a part in them.
    """

    def __init__(self, program: Program, inputs: Sequence[RowMark], rows: int) -> None:
        self.program = program
        self.rows = rows
        self.bodies: dict[Variable, dict[str, tuple[RowMarks, ...]]] = {}
        self.agreed: frozenset[Variable] = frozenset()
        self.of: dict[Variable, RowMark] = dict(zip(program.inputs, inputs, strict=True))
        self.stages: dict[Variable, int] = dict.fromkeys(program.inputs, 0)

    def used(self, atom: Atom) -> RowMark:
        """The mark of an operand: a partial result is whole by then."""
        if isinstance(atom, Literal):
            return WHOLE
        mark = self.of[atom]
        return WHOLE if mark.combined else mark

    def stage(self, equation: Equation) -> int:
        """The first stage in which all operands are there."""
        stages = [0]
        for atom in equation.inputs:
            if isinstance(atom, Variable):
                stages.append(self.stages[atom] + self.of[atom].waits)
        return max(stages)
