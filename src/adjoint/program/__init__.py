"""Floor 2: programs, how they are built, checked and printed. Knows no primitive's rules."""

from adjoint.program.builder import Builder, locating
from adjoint.program.checker import check_linear, check_program
from adjoint.program.operation import Operation, PrimitiveProtocol, operation
from adjoint.program.program import Atom, Equation, Literal, Program, Variable

__all__ = [
    "Atom",
    "Builder",
    "Equation",
    "Literal",
    "Operation",
    "PrimitiveProtocol",
    "Program",
    "Variable",
    "check_linear",
    "check_program",
    "locating",
    "operation",
]
