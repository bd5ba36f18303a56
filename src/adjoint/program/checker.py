"""Checks of the rules of programs, run in the tests, and in debug mode after every pass."""

from __future__ import annotations

from collections.abc import Collection

from adjoint.base.errors import ProgramError
from adjoint.program.program import Atom, Equation, Program, Variable


def check_program(program: Program) -> Program:
    """Return the program if each variable is assigned once, before use, with its type; or raise."""
    known: set[Variable] = set()
    for variable in program.inputs:
        if variable in known:
            raise ProgramError(f"An input occurs twice in\n{program}")
        known.add(variable)
    for number, equation in enumerate(program.equations):
        _check_equation(program, number, equation, known)
    for atom in program.outputs:
        if isinstance(atom, Variable) and atom not in known:
            raise ProgramError(f"The program returns a variable that is never assigned: {atom!r}.")
    return program


def _check_equation(
    program: Program, number: int, equation: Equation, known: set[Variable]
) -> None:
    where = f"equation {number} ({equation.operation!r})"
    for atom in equation.inputs:
        if isinstance(atom, Variable) and atom not in known:
            raise ProgramError(f"In {where}, an operand is used before it is assigned.")
    expected = equation.operation.infer(tuple(atom.type for atom in equation.inputs))
    types = tuple(variable.type for variable in equation.outputs)
    if expected != types:
        raise ProgramError(
            f"In {where}, the results have types {types}, the rule gives {expected}."
        )
    for variable in equation.outputs:
        if variable in known:
            raise ProgramError(f"In {where}, a variable is assigned a second time in\n{program}")
        known.add(variable)


def check_linear(program: Program, linear_inputs: Collection[Variable]) -> Program:
    """Return the program if all that depends on these inputs is linear in them, or raise."""
    linear = set(linear_inputs)

    def is_linear(atom: Atom) -> bool:
        return isinstance(atom, Variable) and atom in linear

    for number, equation in enumerate(program.equations):
        marks = tuple(map(is_linear, equation.inputs))
        if not any(marks):
            continue
        if not equation.primitive.is_linear(marks, equation.params):
            raise ProgramError(
                f"Equation {number} ({equation.operation!r}) is not linear in its operands "
                f"{[place for place, mark in enumerate(marks) if mark]} in\n{program}"
            )
        linear.update(equation.outputs)
    return program
