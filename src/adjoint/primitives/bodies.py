"""The seam between primitives that hold programs and the transforms of programs.

What a derivative does to a loop follows from what it does to the loop's body; but transforms stand
on a higher floor. They fill these names in when they are imported, as functions from programs to
programs, which are asked for the same thing often and remember it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from adjoint.base.arrays import ArrayType
from adjoint.primitives.expression import Expression
from adjoint.program import Atom, Builder, Equation, Operation, Program, Variable

Marks = tuple[bool, ...]


@dataclass(frozen=True)
class Marked:
    """A derived program, and which of what it might return is there; the rest is zero."""

    program: Program
    marks: Marks


@dataclass(frozen=True)
class Cut:
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


def _unset(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("adjoint.transforms was not imported")


# (program, active, filled) -> Marked: (inputs, tangents of the active ones) -> (outputs, tangents
# of those that vary). Outputs marked in `filled` have one in any case.
PUSH: Callable[[Program, Marks, Marks], Marked] = _unset
# (program, late inputs, forced) -> Cut; outputs marked in `forced` are late in any case.
CUT: Callable[[Program, Marks, Marks], Cut] = _unset
# (program, linear inputs, seeded outputs, gathering, filled) -> Marked: (the other inputs, what was
# gathered so far for the inputs marked, cotangents of the seeded outputs) -> cotangents of the
# linear inputs that have one; `filled` as above.
PULL: Callable[[Program, Marks, Marks, Marks, Marks], Marked] = _unset
# (program, batched inputs, size, filled) -> Marked: outputs have a batch axis where marked.
BATCH: Callable[[Program, Marks, int, Marks], Marked] = _unset
# (program, order, given, filled) -> (inputs, their given coefficients, input by input) -> (outputs,
# their coefficients that are there, output by output), with the marks of those.
EXPAND: Callable[
    [Program, int, tuple[Marks, ...], tuple[Marks, ...]], tuple[Program, tuple[Marks, ...]]
] = _unset
# (operation, types of its operands) -> a function of arrays that gives the results, or None.
COMPILE: Callable[[Operation, tuple[ArrayType, ...]], Any] = _unset
# program -> the same results by fewer equations.
SHORTEN: Callable[[Program], Program] = _unset
# program -> the same results, whose loops keep few states for a derivative.
SCHEDULE: Callable[[Program, str], Program] = _unset


def interpreted(program: Program) -> Callable[..., tuple[Any, ...]]:
    """A program as a function of arrays, one equation after another."""

    def run(*arguments: Any) -> tuple[Any, ...]:
        values: dict[Variable, Any] = dict(zip(program.inputs, arguments, strict=True))
        for equation in program.equations:
            operands = [
                values[atom] if isinstance(atom, Variable) else atom.value
                for atom in equation.inputs
            ]
            results = equation.primitive.evaluate(*operands, **equation.params)
            if not equation.primitive.multiple:
                results = (results,)
            values.update(zip(equation.outputs, results, strict=True))
        return tuple(
            values[atom] if isinstance(atom, Variable) else atom.value for atom in program.outputs
        )

    return run


def linear_outputs(program: Program, marks: Marks) -> Marks | None:
    """The outputs that depend on the inputs marked; None unless all are linear in those."""
    # Of loops that carry values and tangents, only the half that carries tangents is linear.
    cut = CUT(program, marks, (False,) * len(program.outputs))
    linear = set(cut.late.inputs[len(cut.early.outputs) - cut.early_count :])
    for equation in cut.late.equations:
        places = tuple(atom in linear for atom in equation.inputs)
        if not equation.primitive.is_linear(places, equation.params):
            return None
        linear.update(equation.outputs)
    return cut.late_outputs


def depending(equations: Iterable[Equation], inputs: Iterable[Variable]) -> set[Variable]:
    """These variables, and all that depend on them."""
    found = set(inputs)
    for equation in equations:
        if not found.isdisjoint(equation.inputs):
            found.update(equation.outputs)
    return found


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
    return [each.atom for each in expressions]


def chosen(items: Iterable[Any], marks: Iterable[bool], value: bool = True) -> list[Any]:
    """The items that are marked; those that are not with `value=False`."""
    return [item for item, mark in zip(items, marks, strict=True) if bool(mark) is value]


def spread(found: Iterable[Any], marks: Sequence[bool]) -> list[Any]:
    """Items in the places that are marked, None in the others."""
    rest = iter(found)
    return [next(rest) if mark else None for mark in marks]


def present(items: Iterable[Any]) -> Marks:
    """Which items are not None."""
    return tuple(item is not None for item in items)


def parts(items: Sequence[Any], *counts: int) -> list[list[Any]]:
    """A row cut into pieces of these lengths, and what is left."""
    found, start = [], 0
    for count in counts:
        found.append(list(items[start : start + count]))
        start += count
    return [*found, list(items[start:])]


def flat(*pieces: Iterable[Any]) -> list[Any]:
    """Pieces in one row."""
    return list(chain.from_iterable(pieces))
