"""The sparsity pattern of a Jacobian: index sets, carried through the linear program of it.

The linear program is what `linearize` leaves of a function: its inputs are values that the function
computed, and the tangents. Some of these values decide where things go: the index arrays of a
gather, the condition of a choice, the number of rounds of a loop. They are *asked*, one by one.
What follows from the constants of a function alone is the pattern at all points; what depends on
the arguments themselves is only asked for the pattern near one point, and else may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.calculus.jacobians.sparsity.index_sets import Sets, canonical, empty, joined, single
from adjoint.calculus.jacobians.sparsity.repeated import PROGRAMS
from adjoint.calculus.jacobians.sparsity.rules import NotToBeAskedError, rule_of
from adjoint.loops.bodies import interpreted
from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.program import Atom, Equation, Literal, Program, Variable

Source = Callable[[], Any]


class PatternReport:
    """What was taken as dense for want of better: its primitives, with the records of lines."""

    def __init__(self) -> None:
        self.dense: dict[str, int | None] = {}


class SetWalk:
    """Index sets on their way through a program.

    sources: what gives the values of its inputs, None for those that vary. width: how many numbers
    the arguments have. local: whether values at the point count.
    """

    def __init__(
        self,
        program: Program,
        operands: Sequence[Sets],
        sources: Sequence[Source | None],
        width: int,
        local: bool,
        report: PatternReport,
    ) -> None:
        self.program = program
        self.width = width
        self.local = local
        self.report = report
        self.sets: dict[Variable, Sets] = dict(zip(program.inputs, operands, strict=True))
        self._sources = dict(zip(program.inputs, sources, strict=True))
        self._values: dict[Variable, Any] = {}
        self._makers: dict[Variable, Equation] = {}
        for equation in program.equations:
            self._makers.update(dict.fromkeys(equation.outputs, equation))

    def results(self) -> list[Sets]:
        """The sets of the program's results."""
        for equation in self.program.equations:
            operands = [self.of(atom) for atom in equation.inputs]
            if all(sets is None for sets in operands):
                results: list[Sets] = [None] * len(equation.outputs)
            else:
                rule = PROGRAMS.get(equation.primitive.name) or rule_of(equation)
                results = rule(self, equation, operands)
            self.sets.update(zip(equation.outputs, results, strict=True))
        return [self.of(atom) for atom in self.program.outputs]

    def of(self, atom: Atom) -> Sets:
        """The sets of an operand."""
        return None if isinstance(atom, Literal) else self.sets[atom]

    def assume_dense(self, equation: Equation) -> None:
        """Note that an equation is taken as dense."""
        self.report.dense.setdefault(equation.primitive.name, equation.origin)

    def inner(self, program: Program, operands: Sequence[Sets], sources: Sequence[Any]) -> SetWalk:
        """A walk through a program that an equation holds."""
        return SetWalk(program, operands, sources, self.width, self.local, self.report)

    # --- values ----------------------------------------------------------------------------------

    def value(self, atom: Atom) -> Any:
        """The value of what does not vary.

        Raises:
            NotToBeAskedError: it depends on the arguments.
        """
        if isinstance(atom, Literal):
            return atom.value
        pending = [atom]
        while pending:
            variable = pending[-1]
            if variable in self._values:
                pending.pop()
            elif variable in self._sources:
                source = self._sources[variable]
                if source is None:
                    raise NotToBeAskedError
                self._values[pending.pop()] = source()
            else:
                missing = self._missing(variable)
                pending += missing
                if not missing:
                    self._evaluate(self._makers[pending.pop()])
        return self._values[atom]

    def _missing(self, variable: Variable) -> list[Variable]:
        """The operands of what makes a variable whose values are not there yet."""
        inputs = self._makers[variable].inputs
        return [a for a in inputs if isinstance(a, Variable) and a not in self._values]

    def _evaluate(self, equation: Equation) -> None:
        operands = [
            atom.value if isinstance(atom, Literal) else self._values[atom]
            for atom in equation.inputs
        ]
        with np.errstate(all="ignore"):
            results = equation.primitive.evaluate(*operands, **equation.params)
        results = results if equation.primitive.multiple else (results,)
        self._values.update(zip(equation.outputs, results, strict=True))


class AskedValues:
    """The values that the function computes, as far as they may be asked.

    arguments: how many of the program's inputs are arguments, which only a local pattern asks.
    inputs: gives the value of an input by its number. used: those that were needed, with values.
    """

    def __init__(
        self, primal: Program, arguments: int, local: bool, inputs: Callable[[int], Any]
    ) -> None:
        self.primal = primal
        self.arguments = arguments
        self.local = local
        self.inputs = inputs
        self.used: dict[int, Any] = {}

    def source(self, atom: Atom) -> Source:
        """What gives the value of a result of the program."""

        @cache
        def part() -> tuple[Program, list[int]]:
            return needed_for(self.primal, atom)

        def compute() -> Any:
            program, numbers = part()
            if not self.local and numbers and numbers[0] < self.arguments:
                raise NotToBeAskedError
            for number in numbers:
                if number not in self.used:
                    self.used[number] = np.array(self.inputs(number))
            with np.errstate(all="ignore"):
                return interpreted(program)(*(self.used[number] for number in numbers))[0]

        return compute


def needed_for(program: Program, atom: Atom) -> tuple[Program, list[int]]:
    """The part of a program that a result follows from, and the numbers of its inputs.

    Of loops and branches too only what it needs is left: a loop that carries a counter beside what
    varies gives the counter without that.
    """
    whole = eliminate_dead_code(Program(program.inputs, program.equations, [atom]))
    needed: set[Atom] = {atom}
    for equation in whole.equations:
        needed.update(equation.inputs)
    numbers = [n for n, variable in enumerate(program.inputs) if variable in needed]
    inputs = [program.inputs[number] for number in numbers]
    return Program(inputs, whole.equations, [atom]), numbers


def pattern_of(
    linear: Program, residuals: Sequence[Source], local: bool, report: PatternReport
) -> list[Sets]:
    """The index sets of a linear program's results.

    linear: its first inputs are known, the others are tangents. residuals: give the known ones.
    """
    tangents = linear.inputs[len(residuals) :]
    width = sum(variable.type.size for variable in tangents)
    operands: list[Sets] = [None] * len(residuals)
    first = 0
    for variable in tangents:
        operands.append(single(first, variable.type.size, width))
        first += variable.type.size
    sources: list[Source | None] = [*residuals, *[None] * len(tangents)]
    return SetWalk(linear, operands, sources, width, local, report).results()


def whole_pattern(
    results: Sequence[Sets], varying: Sequence[bool], outputs: Sequence[ArrayType], width: int
) -> Any:
    """The pattern of a map in CSR format: the sets of its results below each other.

    results: those of what varies, which `varying` tells among the outputs.
    """
    sets = iter(results)
    parts = [
        (next(sets) if mark else None, of.size) for mark, of in zip(varying, outputs, strict=True)
    ]
    whole = joined(parts, width)
    return canonical(empty(sum(of.size for of in outputs), width) if whole is None else whole)
