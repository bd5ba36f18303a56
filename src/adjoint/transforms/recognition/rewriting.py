"""Which equation computes a value."""

from __future__ import annotations

from adjoint.program import Atom, Equation, Program, Variable


class Makers:
    """For each value of a program its equation, and the place among the equation's results."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.makers: dict[Variable, tuple[Equation, int]] = {
            variable: (equation, place)
            for equation in program.equations
            for place, variable in enumerate(equation.outputs)
        }

    def maker(self, atom: Atom) -> tuple[Equation | None, int]:
        """The equation that computes a value, and its place; no equation of inputs and literals."""
        return self.makers.get(atom, (None, 0)) if isinstance(atom, Variable) else (None, 0)
