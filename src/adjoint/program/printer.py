"""The text form of a program: stable, so that it can be compared, and meant to be read."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

from adjoint.program.operation import parameter_text


def variable_name(number: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    name = ""
    number += 1
    while number:
        number, letter = divmod(number - 1, 26)
        name = ascii_lowercase[letter] + name
    return name


def program_text(program: Any) -> str:
    """The program as text, one line an equation.

    Example of the form:
        program(a: f8[3], b: f8[3,3]) {
          c: f8[3] = contract[spec=ij,j->i] b a
          return c
        }
    """
    names: dict[Any, str] = {}

    def declare(variable: Any) -> str:
        names[variable] = variable_name(len(names))
        return f"{names[variable]}: {variable.type}"

    def use(atom: Any) -> str:
        return names[atom] if atom in names else repr(atom)

    lines = [f"program({', '.join(declare(variable) for variable in program.inputs)}) {{"]
    for equation in program.equations:
        operands = "".join(" " + use(atom) for atom in equation.inputs)
        results = ", ".join(declare(variable) for variable in equation.outputs)
        call = equation.primitive.name + parameter_text(equation.params)
        lines.append(f"  {results} = {call}{operands}")
    lines.append(
        f"  return {', '.join(map(use, program.outputs))}" if program.outputs else "  return"
    )
    return "\n".join([*lines, "}"])
