"""Which inputs each output of a program depends on, through the loops and branches in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from adjoint.loops.declared import SCAN, SWITCH, WHILE
from adjoint.program import Atom, Equation, Program, Variable

# A set of inputs as the bits of an integer, of which the lowest stands for the first input.
Inputs = int


def influences(program: Program) -> list[Inputs]:
    """For each output, the inputs that it depends on."""
    return carried_through(program, [1 << place for place in range(len(program.inputs))])


def carried_through(program: Program, given: Sequence[Inputs]) -> list[Inputs]:
    """For each output, what it depends on where the inputs depend on what is given."""
    known: dict[Atom, Inputs] = dict(zip(program.inputs, given, strict=True))

    def of(atoms: Iterable[Atom]) -> list[Inputs]:
        return [known[atom] if isinstance(atom, Variable) else 0 for atom in atoms]

    for equation in program.equations:
        operands = of(equation.inputs)
        rule = _RULES.get(equation.primitive)
        if rule is None:
            known.update(dict.fromkeys(equation.outputs, together(operands)))
        else:
            known.update(zip(equation.outputs, rule(operands, equation), strict=True))
    return of(program.outputs)


def together(sets: Iterable[Inputs]) -> Inputs:
    """Their union."""
    return reduce(or_, sets, 0)


def _of_scan(operands: list[Inputs], equation: Equation) -> list[Inputs]:
    count, *others = operands
    results = _of_rounds(others, equation.params)
    return [count | result for result in results]


def _of_while(operands: list[Inputs], equation: Equation) -> list[Inputs]:
    constants, carried = equation.params["constants"], equation.params["carried"]
    results = _of_rounds(operands, equation.params)
    state = [*operands[:constants], *results[:carried]]
    (rounds,) = carried_through(equation.params["test"], state)
    return [rounds, *(rounds | result for result in results)]


def _of_rounds(operands: list[Inputs], params: dict[str, Any]) -> list[Inputs]:
    """What is carried, and the rows, after any number of rounds."""
    constants, carried = params["constants"], params["carried"]
    state = operands[constants : constants + carried]
    while True:
        given = [*operands[:constants], *state, *operands[constants + carried :]]
        results = carried_through(params["body"], given)
        grown = [old | new for old, new in zip(state, results, strict=False)]
        if grown == state:
            return [*state, *results[carried:]]
        state = grown


def _of_switch(operands: list[Inputs], equation: Equation) -> list[Inputs]:
    index, *others = operands
    of_branches = [carried_through(branch, others) for branch in equation.params["branches"]]
    return [index | together(results) for results in zip(*of_branches, strict=True)]


_RULES = {SCAN: _of_scan, WHILE: _of_while, SWITCH: _of_switch}
