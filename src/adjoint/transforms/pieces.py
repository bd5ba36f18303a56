"""Programs in pieces: cut in two, derived in part, with marks of what is there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from adjoint.primitives.expression import Expression
from adjoint.program import Atom, Builder, Equation, Program, Variable

Marks = tuple[bool, ...]


@dataclass(frozen=True)
class Marked:
    """A derived program, and which of what it might return is there; the rest is zero."""

    program: Program
    marks: Marks


@dataclass(frozen=True)
class Halves:
    """A program, or an equation, cut in two by what is known when.

    early: early inputs -> (early outputs, residuals). late: (residuals, late inputs) -> late
    outputs. late_outputs: for each output, whether it is one of the late ones.
    """

    early: Program
    late: Program
    late_outputs: Marks

    @property
    def early_count(self) -> int:
        """How many outputs are early."""
        return self.late_outputs.count(False)


def depending(equations: Iterable[Equation], inputs: Iterable[Variable]) -> set[Variable]:
    """These variables, and all that depend on them."""
    dependent = set(inputs)
    for equation in equations:
        if not dependent.isdisjoint(equation.inputs):
            dependent.update(equation.outputs)
    return dependent


def needed(equations: Sequence[Equation], wanted: Iterable[Atom]) -> list[Equation]:
    """The equations that these depend on."""
    live = set(wanted)
    kept = []
    for equation in reversed(equations):
        if not live.isdisjoint(equation.outputs):
            live.update(equation.inputs)
            kept.append(equation)
    return kept[::-1]


# --- writing programs ----------------------------------------------------------------------------


def express(builder: Builder, atoms: Iterable[Atom]) -> list[Expression]:
    """Atoms as expressions."""
    return [Expression(builder, atom) for atom in atoms]


def as_atoms(expressions: Iterable[Expression]) -> list[Atom]:
    """Expressions as atoms."""
    return [expression.atom for expression in expressions]


def chosen(items: Iterable[Any], marks: Iterable[bool], value: bool = True) -> list[Any]:
    """The items that are marked; those that are not with `value=False`."""
    return [item for item, mark in zip(items, marks, strict=True) if bool(mark) is value]


def spread(items: Iterable[Any], marks: Sequence[bool]) -> list[Any]:
    """Items in the places that are marked, None in the others."""
    rest = iter(items)
    return [next(rest) if mark else None for mark in marks]


def present(items: Iterable[Any]) -> Marks:
    """Which items are not None."""
    return tuple([item is not None for item in items])


def parts(items: Sequence[Any], *counts: int) -> list[list[Any]]:
    """A row cut into pieces of these lengths, and what is left."""
    pieces, start = [], 0
    for count in counts:
        pieces.append(list(items[start : start + count]))
        start += count
    return [*pieces, list(items[start:])]


def flat(*pieces: Iterable[Any]) -> list[Any]:
    """Pieces in one row."""
    return list(chain.from_iterable(pieces))
