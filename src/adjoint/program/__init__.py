"""Floor 2: programs, how they are built, checked and printed. Knows no primitive's rules."""

from adjoint.program.builder import Builder, Locating
from adjoint.program.checker import check_linear, check_program
from adjoint.program.nested import all_equations, held_programs
from adjoint.program.operation import Operation, PrimitiveProtocol, operation
from adjoint.program.program import SILENT, Atom, Equation, Literal, Program, Variable

__all__ = [
    "SILENT",
    "Atom",
    "Builder",
    "Equation",
    "Literal",
    "Locating",
    "Operation",
    "PrimitiveProtocol",
    "Program",
    "Variable",
    "all_equations",
    "check_linear",
    "check_program",
    "held_programs",
    "operation",
]
