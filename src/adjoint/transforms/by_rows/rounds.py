"""Loops over rows that go on while something holds, as loops of so many rounds.

How many rounds there are must be the same for all rows. So what the test follows from is gone
through by itself first, once for all rows, and that gives their number; machine code of chunks of
different lengths might round it differently, and stop at another round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.primitives.declaration import PRIMITIVES
from adjoint.program import Atom, Builder, Equation, Literal, Program, Variable, operation
from adjoint.program.builder import lookup
from adjoint.transforms.by_rows.row_marks import RowMark, refused


class WhileMet(Exception):
    """A loop over rows whose number of rounds is not known came up. operands: their marks."""

    def __init__(self, equation: Equation, operands: Sequence[RowMark]) -> None:
        self.equation = equation
        self.operands = operands


def with_rounds(
    program: Program, met: WhileMet, agreed: frozenset[Variable]
) -> tuple[Program, frozenset[Variable]]:
    """The program with a loop of so many rounds in the place of one that goes on while.

    agreed: variables that all chunks must have from one place.

    Returns:
        The program, and those variables in it: the number of the rounds is one more.
    """
    builder = Builder()
    names: dict[Variable, Atom] = {v: builder.input(v.type) for v in program.inputs}
    counted = set(agreed)
    for equation in program.equations:
        if equation is not met.equation:
            builder.copy_equations([equation], names)
            continue
        builder.origin, builder.derived = equation.origin, equation.derived
        operands = [lookup(names, atom) for atom in equation.inputs]
        rounds = builder.emit(*_counting(met, operands))[0]
        params = equation.params
        loop = operation(
            PRIMITIVES["scan"],
            body=params["body"],
            constants=params["constants"],
            carried=params["carried"],
            length=params["length"],
            reverse=False,
        )
        results = builder.emit(loop, [rounds, *operands])
        names.update(zip(equation.outputs, [rounds, *results], strict=True))
        counted.add(equation.outputs[0])
    known = frozenset(atom for v in counted if isinstance(atom := names[v], Variable))
    return builder.build([lookup(names, atom) for atom in program.outputs]), known


def _counting(met: WhileMet, operands: Sequence[Atom]) -> tuple[Any, list[Atom]]:
    """The loop of what no row has a part in, which says how many rounds there are."""
    params = met.equation.params
    test, body, constants = params["test"], params["body"], params["constants"]
    rows = [mark.axis is not None or mark.combined is not None for mark in met.operands]
    while True:  # until what is carried of rows is all known
        reached = _reached(body, rows)
        after = [
            *rows[:constants],
            *(one or other for one, other in zip(rows[constants:], reached, strict=False)),
        ]
        if after == rows:
            break
        rows = after
    if any(_reached(test, rows)):
        raise refused(met.equation, "how many rounds it makes follows from rows")
    apart = [number for number, of_rows in enumerate(rows) if not of_rows]
    carried = [number - constants for number in apart if number >= constants]
    loop = operation(
        PRIMITIVES["while"],
        test=_restricted(test, apart, [0]),
        body=_restricted(body, apart, carried),
        constants=len(apart) - len(carried),
        carried=len(carried),
        length=None,
    )
    return loop, [operands[number] for number in apart]


def _reached(program: Program, marks: Sequence[bool]) -> list[bool]:
    """Which outputs of a program follow from the inputs that are marked."""
    seen = {v for v, mark in zip(program.inputs, marks, strict=True) if mark}
    for equation in program.equations:
        if any(atom in seen for atom in equation.inputs if isinstance(atom, Variable)):
            seen.update(equation.outputs)
    return [not isinstance(atom, Literal) and atom in seen for atom in program.outputs]


def _restricted(program: Program, inputs: Sequence[int], outputs: Sequence[int]) -> Program:
    """The part of a program that gives some of its outputs, of the inputs that these need."""
    results = [program.outputs[number] for number in outputs]
    wanted = {atom for atom in results if isinstance(atom, Variable)}
    kept = []
    for equation in reversed(program.equations):
        if any(v in wanted for v in equation.outputs):
            kept.append(equation)
            wanted.update(atom for atom in equation.inputs if isinstance(atom, Variable))
    return Program([program.inputs[number] for number in inputs], kept[::-1], results)
