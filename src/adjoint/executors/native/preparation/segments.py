"""Long programs in segments, of which equal ones are compiled once.

A loop that Python unrolled comes as the same equations again and again. Runs of equations with a
period are cut into segments of a few periods; what is left, into pieces of bounded length, so that
the time to compile grows no faster than the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from adjoint.optimise.rolling import Run, has_large, runs
from adjoint.program import Equation, Literal, Program, Variable

WANTED: Final = 96  # equations of a segment of a periodic run, about
WINDOWS: Final = (24, 96, 384)  # equations that must agree to be taken for a repetition


class Lengths(NamedTuple):
    """From how many equations on a program is cut, and how many other segments have at most.

    What LLVM takes for a function grows faster than the function. But each has to load what others
    have computed: very long programs, which LLVM goes through in a single sweep, have longer ones.
    Where arrays are large, a longer segment goes through them less often.
    """

    cut: int
    longest: int


OF_SMALL_ARRAYS: Final = Lengths(300, 100)
OF_VERY_LONG: Final = Lengths(8000, 400)
OF_LARGE_ARRAYS: Final = Lengths(1200, 1000)


@dataclass
class TemplateCall:
    """A run of equations: which template it is, what it reads, and what it computes for others.

    outputs: by the template's outputs; None where nobody needs it of this one.
    """

    template: int
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]


@dataclass
class Cut:
    """A program in segments. templates: a program for each kind of segment."""

    segments: list[TemplateCall]
    templates: list[Program]

    def single(self) -> set[int]:
        """The templates of one segment only."""
        calls = Counter(segment.template for segment in self.segments)
        return {template for template, count in calls.items() if count == 1}


@dataclass
class _Template:
    first: tuple[Equation, ...]
    inputs: tuple[Variable, ...]
    wanted: set[tuple[int, int]] = field(default_factory=set)


def cut(program: Program) -> Cut | None:
    """The program in segments; None where it is short enough as it is."""
    equations = program.equations
    lengths = _lengths_for(equations)
    if len(equations) < lengths.cut:
        return None
    pieces = _pieces(_codes(equations), lengths.longest)
    last = _last_uses(program)
    templates: dict[Any, int] = {}
    kinds: list[_Template] = []
    stretches: list[tuple[int, int, tuple[Variable, ...]]] = []
    for start, stop in pieces:
        key, inputs = _shape(equations, start, stop)
        number = templates.setdefault(key, len(templates))
        if number == len(kinds):
            kinds.append(_Template(equations[start:stop], inputs))
        for place in range(start, stop):
            for which, variable in enumerate(equations[place].outputs):
                if last.get(variable, -1) >= stop:
                    kinds[number].wanted.add((place - start, which))
        stretches.append((number, start, inputs))
    places = [sorted(kind.wanted) for kind in kinds]
    segments = [
        TemplateCall(
            number,
            inputs,
            tuple(equations[start + place].outputs[which] for place, which in places[number]),
        )
        for number, start, inputs in stretches
    ]
    programs = [
        Program(
            kind.inputs,
            kind.first,
            [kind.first[place].outputs[which] for place, which in wanted],
        )
        for kind, wanted in zip(kinds, places, strict=True)
    ]
    segments.append(_ending(program, programs))
    return Cut(segments, programs)


def _lengths_for(equations: Sequence[Equation]) -> Lengths:
    if len(equations) >= OF_SMALL_ARRAYS.cut and has_large(equations):
        return OF_LARGE_ARRAYS
    return OF_VERY_LONG if len(equations) >= OF_VERY_LONG.cut else OF_SMALL_ARRAYS


def _ending(program: Program, programs: list[Program]) -> TemplateCall:
    """A last segment that writes the outputs of the program that are no segment's own."""
    own = {v for equation in program.equations for v in equation.outputs}
    seen: set[Any] = set()
    copied = []
    for atom in program.outputs:
        if atom not in own or atom in seen:
            copied.append(atom)
        seen.add(atom)
    inputs = tuple(dict.fromkeys(atom for atom in copied if isinstance(atom, Variable)))
    programs.append(Program(inputs, (), copied))
    return TemplateCall(len(programs) - 1, inputs, tuple(Variable(atom.type) for atom in copied))


def _codes(equations: Sequence[Equation]) -> list[int]:
    """A number for each equation, equal where the operation and its types are."""
    known: dict[Any, int] = {}
    return [
        known.setdefault(
            (equation.operation, equation.derived, *(atom.type for atom in equation.inputs)),
            len(known),
        )
        for equation in equations
    ]


def _pieces(codes: list[int], longest: int) -> list[tuple[int, int]]:
    """Where to cut."""
    pieces: list[tuple[int, int]] = []
    end = 0
    repetitions = max((runs(codes, (window,)) for window in WINDOWS), key=_covered)
    for start, stop, period in sorted(repetitions):
        start = max(start, end)
        step = max(1, WANTED // period) * period
        if stop - start < 2 * step:
            continue
        _chop(end, start, longest, pieces)
        while start + step <= stop:
            pieces.append((start, start + step))
            start += step
        end = start
    _chop(end, len(codes), longest, pieces)
    return pieces


def _chop(start: int, stop: int, longest: int, pieces: list[tuple[int, int]]) -> None:
    while start < stop:
        following = min(stop, start + longest)
        pieces.append((start, following))
        start = following


def _covered(repetitions: Sequence[Run]) -> int:
    """How many equations are in runs that can be cut."""
    return sum(run.stop - run.start for run in repetitions if run.rounds >= 2)


def _shape(
    equations: Sequence[Equation], start: int, stop: int
) -> tuple[Any, tuple[Variable, ...]]:
    """What makes two segments equal, and what this one reads from outside."""
    names: dict[Variable, int] = {}
    outside: dict[Variable, int] = {}
    rows: list[Any] = []
    for equation in equations[start:stop]:
        row: list[Any] = [equation.operation, equation.derived]
        for atom in equation.inputs:
            if isinstance(atom, Literal):
                row.append(atom.key)
            elif atom in names:
                row.append(names[atom])
            else:
                row.append((outside.setdefault(atom, len(outside)), atom.type))
        for variable in equation.outputs:
            names[variable] = len(names)
        rows.append(tuple(row))
    return tuple(rows), tuple(outside)


def _last_uses(program: Program) -> dict[Variable, int]:
    """The last equation that reads a variable; past the end for outputs."""
    last: dict[Variable, int] = {}
    for number, equation in enumerate(program.equations):
        for atom in equation.inputs:
            if isinstance(atom, Variable):
                last[atom] = number
    for atom in program.outputs:
        if isinstance(atom, Variable):
            last[atom] = len(program.equations)
    return last
