"""Programs inside programs: what loops and branches hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from adjoint.program.operation import Operation
from adjoint.program.program import SILENT, Equation, Program


def held_programs(op: Operation) -> tuple[Program, ...]:
    """The programs among an operation's parameters: looked for once, and asked for very often."""
    if op.held is None:
        values = op.params.values()
        lists = [value if isinstance(value, tuple) else (value,) for value in values]
        op.held = tuple([x for x in chain.from_iterable(lists) if isinstance(x, Program)])
    return op.held


def all_equations(program: Program) -> Iterator[Equation]:
    """The equations of a program, and of those that they hold."""
    for equation in program.equations:
        yield equation
        for held in held_programs(equation.operation):
            yield from all_equations(held)


def arranged(program: Program, inputs: Any, outputs: Any) -> Program:
    """The same equations with inputs and outputs chosen by number, in this order."""
    return Program(
        [program.inputs[place] for place in inputs],
        program.equations,
        [program.outputs[place] for place in outputs],
    )


def quiet(program: Program, mark: int = True) -> Program:
    """The program with all equations marked: as written by a transform, or `SILENT`."""
    equations = [
        Equation(e.operation, e.inputs, e.outputs, e.origin, e.derived or mark)
        if mark == SILENT
        else Equation(e.operation, e.inputs, e.outputs, e.origin, mark)
        for e in program.equations
    ]
    return Program(program.inputs, equations, program.outputs)
