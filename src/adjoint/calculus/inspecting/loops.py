"""Which loops of a function's program are loops, and what keeps the others from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adjoint.capture.facts.writing import with_text
from adjoint.optimise import LeftRounds, RolledLoop, explain_rolling
from adjoint.program import Program


class LoopsReport(NamedTuple):
    """The loops of Python's that are loops of the program, and long ones that are not.

    rolled: with rounds, equations of a round, and the user's line. left: with which round differs
    from which, and in what. Print it to read it.
    """

    rolled: tuple[tuple[RolledLoop, str], ...]
    left: tuple[tuple[LeftRounds, str], ...]

    def __str__(self) -> str:
        lines = [
            f"a loop of {loop.rounds} rounds, {loop.equations} equations each{_at(line)}"
            for loop, line in self.rolled
        ]
        lines += [
            f"no loop of {rounds.rounds} rounds, {rounds.equations} equations in all: "
            f"{rounds.why}{_at(line)}"
            for rounds, line in self.left
        ]
        return "\n".join(lines) or "no loops"


def loops_report(program: Program, lines: Sequence[str]) -> LoopsReport:
    """The report of a program. lines: of the user's code, by the origin of an equation."""
    loops, left = explain_rolling(program)
    return LoopsReport(
        tuple((loop, _line(loop.origin, lines)) for loop in loops),
        tuple((rounds, _line(rounds.origin, lines)) for rounds in left),
    )


def equation_lines(program: Program, lines: Sequence[str]) -> tuple[str, ...]:
    """For each equation the user's line, `file:number`, or "" where there is none."""
    return tuple(_line(equation.origin, lines) for equation in program.equations)


def _line(origin: int | None, lines: Sequence[str]) -> str:
    return lines[origin] if origin is not None and origin < len(lines) else ""


def _at(line: str) -> str:
    return f"\n    {with_text(line)}" if line else ""
