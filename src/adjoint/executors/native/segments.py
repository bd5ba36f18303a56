"""Long programs in segments, of which equal ones are compiled once.

A loop that Python unrolled comes as the same equations again and again. Runs of equations with a
period are cut into segments of a few periods; what is left, into pieces of bounded length, so that
the time to compile grows no faster than the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adjoint.program import Equation, Literal, Program, Variable

LONG: Final = 1200  # equations from which a program is cut
WANTED: Final = 96  # equations of a segment of a periodic run, about
LONGEST: Final = 1000  # equations of any other segment, at most
# Equations that must agree to be taken for a repetition. What is repeated may repeat something
# shorter within it (the stages of a Runge-Kutta step): longer windows see past that.
WINDOWS: Final = (24, 96, 384)
_BASE: Final = 1_000_003
_MODULUS: Final = (1 << 61) - 1


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


@dataclass
class _Template:
    first: tuple[Equation, ...]
    inputs: tuple[Variable, ...]
    wanted: set[tuple[int, int]] = field(default_factory=set)


def cut(program: Program) -> Cut | None:
    """The program in segments; None where it is short enough as it is."""
    equations = program.equations
    if len(equations) < LONG:
        return None
    pieces = _pieces(_codes(equations))
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


def _pieces(codes: list[int]) -> list[tuple[int, int]]:
    """Where to cut."""
    pieces: list[tuple[int, int]] = []
    end = 0
    runs = max((_runs(codes, window) for window in WINDOWS), key=_covered)
    for start, stop, period in runs:
        start = max(start, end)
        step = max(1, WANTED // period) * period
        if stop - start < 2 * step:
            continue
        _chop(end, start, pieces)
        while start + step <= stop:
            pieces.append((start, start + step))
            start += step
        end = start
    _chop(end, len(codes), pieces)
    return pieces


def _chop(start: int, stop: int, pieces: list[tuple[int, int]]) -> None:
    while start < stop:
        following = min(stop, start + LONGEST)
        pieces.append((start, following))
        start = following


def _covered(runs: Sequence[tuple[int, int, int]]) -> int:
    """How many equations are in runs that can be cut."""
    return sum(stop - start for start, stop, period in runs if stop - start >= 2 * period)


def _runs(codes: list[int], window: int) -> list[tuple[int, int, int]]:
    """Runs with a period: start, stop, period. A window is looked up by a rolling hash."""
    count = len(codes)
    top = pow(_BASE, window - 1, _MODULUS)
    seen: dict[int, int] = {}
    value = 0
    distances = [0] * count
    for place, code in enumerate(codes):
        if place >= window:
            value = (value - (codes[place - window] + 1) * top) % _MODULUS
        value = (value * _BASE + code + 1) % _MODULUS
        if place >= window - 1:
            before = seen.get(value)
            distances[place] = 0 if before is None else place - before
            seen[value] = place
    runs = []
    place = 0
    while place < count:
        period = distances[place]
        stop = place + 1
        while stop < count and distances[stop] == period:
            stop += 1
        if period and stop - place >= period:
            runs.append((place - window + 1 - period, stop, period))
        place = stop
    return [
        (start, stop, period)
        for start, stop, period in runs
        if all(codes[i] == codes[i + period] for i in range(max(start, 0), stop - period))
    ]


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
