"""Which equation computes a value, and writing a program again with other derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adjoint.primitives.expression import Expression
from adjoint.program import Atom, Builder, Equation, Operation, Program, Variable
from adjoint.program.builder import lookup


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


class Rewriting:
    """A copy of a program while it is written, in which some results have other derivatives.

    `builder` is at the equation that is replaced.
    """

    def __init__(self, program: Program) -> None:
        self.old = program
        self.builder = Builder()
        self.builder.inputs = list(program.inputs)
        self.names: dict[Variable, Atom] = {variable: variable for variable in program.inputs}

    def expression(self, atom: Atom) -> Expression:
        """What a value of the old program is in the new one."""
        return Expression(self.builder, lookup(self.names, atom))

    def written(
        self, replacements: Mapping[Equation, Replacement], operations: Mapping[Equation, Operation]
    ) -> Program:
        """The new program.

        replacements: what comes in the place of an equation's one result, once that is computed.
        operations: what an equation does instead.
        """
        for number, equation in enumerate(self.old.equations):
            self.builder.origin = number if equation.origin is None else equation.origin
            self.builder.derived = equation.derived
            operands = [lookup(self.names, atom) for atom in equation.inputs]
            results = self.builder.emit(operations.get(equation, equation.operation), operands)
            self.names.update(zip(equation.outputs, results, strict=True))
            if equation in replacements:
                self.builder.derived = True
                self.names[equation.outputs[0]] = replacements[equation](self).atom
        self.builder.origin, self.builder.derived = None, False
        return self.builder.build([lookup(self.names, atom) for atom in self.old.outputs])


Replacement = Callable[[Rewriting], Expression]
