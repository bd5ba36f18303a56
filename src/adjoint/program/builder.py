"""Building programs equation by equation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import AdjointError
from adjoint.program.operation import Operation
from adjoint.program.program import Atom, Equation, Program, Variable


class Builder:
    """Collects equations, with their types; `origin` and `derived` mark them (see `Equation`)."""

    __slots__ = ("derived", "equations", "inputs", "origin")

    def __init__(self) -> None:
        self.inputs: list[Variable] = []
        self.equations: list[Equation] = []
        self.origin: int | None = None
        self.derived: int = False

    def input(self, type: ArrayType) -> Variable:
        """A new input."""
        variable = Variable(type)
        self.inputs.append(variable)
        return variable

    def emit(self, operation: Operation, inputs: Sequence[Atom]) -> tuple[Variable, ...]:
        """Append an equation and return its results."""
        types = operation.infer(tuple([atom.type for atom in inputs]))
        outputs = tuple([Variable(type_) for type_ in types])
        self.equations.append(Equation(operation, inputs, outputs, self.origin, self.derived))
        return outputs

    def inline(self, program: Program, arguments: Iterable[Atom]) -> list[Atom]:
        """Append another program's equations, fed with these arguments, and return its results."""
        names: dict[Variable, Atom] = dict(zip(program.inputs, arguments, strict=True))
        self.copy_equations(program.equations, names)
        return [lookup(names, atom) for atom in program.outputs]

    def copy_equations(self, equations: Iterable[Equation], names: dict[Variable, Atom]) -> None:
        """Append equations under new names, which are added to `names`."""
        for equation in equations:
            self.origin, self.derived = equation.origin, equation.derived
            operands = [lookup(names, atom) for atom in equation.inputs]
            outputs = self.emit(equation.operation, operands)
            names.update(zip(equation.outputs, outputs, strict=True))
        self.origin, self.derived = None, False

    def build(self, outputs: Iterable[Atom]) -> Program:
        """The finished program."""
        return Program(self.inputs, self.equations, outputs)


class Locating:
    """Notes on an error which recorded operation was being treated (its number, as `origin`).

    A class, and not a generator: it is entered for each equation of each transform.
    """

    __slots__ = ("builder",)

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def __enter__(self) -> None:
        """Nothing is noted before."""

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if isinstance(error, AdjointError) and error.origin is None:
            error.origin = self.builder.origin


def lookup(names: Mapping[Variable, Atom], atom: Atom) -> Atom:
    """What an atom is called now: literals are their own name."""
    return names[atom] if isinstance(atom, Variable) else atom
