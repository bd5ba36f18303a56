"""The text form of a program: stable, so that it can be compared, and meant to be read."""

from __future__ import annotations

from collections.abc import Iterator
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


def program_text(program: Any, title: str = "program") -> str:
    """The program as text, one line an equation; programs that it holds stand below theirs.

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

    lines = [f"{title}({', '.join(declare(variable) for variable in program.inputs)}) {{"]
    for equation in program.equations:
        operands = "".join(" " + use(atom) for atom in equation.inputs)
        results = ", ".join(declare(variable) for variable in equation.outputs)
        held = list(_held(equation.params))
        plain = {name: value for name, value in equation.params.items() if not _is_held(value)}
        call = equation.primitive.name + parameter_text(plain)
        lines.append(f"  {results} = {call}{operands}{' {' if held else ''}")
        for name, inner in held:
            lines += [f"    {line}" for line in program_text(inner, name).splitlines()]
        lines += ["  }"] if held else []
    lines.append(
        f"  return {', '.join(map(use, program.outputs))}" if program.outputs else "  return"
    )
    return "\n".join([*lines, "}"])


def _is_held(value: Any) -> bool:
    first = value[0] if isinstance(value, tuple) and value else value
    return hasattr(first, "equations")


def _held(params: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The programs among parameters, by name."""
    for name, value in params.items():
        if isinstance(value, tuple) and _is_held(value):
            yield from ((f"{name}[{place}]", program) for place, program in enumerate(value))
        elif _is_held(value):
            yield name, value
