"""Which parts of a program become machine code, and which are left to NumPy.

The equations are put into as few segments as the order of dependence allows: all that can be
lowered and is ready, then all that is left to NumPy and is ready, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adjoint.primitives.structure.moving import BROADCAST
from adjoint.program import Equation, Program, Variable

FEWEST: Final = (
    2  # operations of a segment that are worth machine code; views of arrays do not count
)
_ROUNDS: Final = 8  # how often segments that are too small are dissolved and all is arranged anew


@dataclass(frozen=True)
class Segment:
    """A part of a program, as a program whose inputs and outputs are variables of the whole.

    native: whether it can be machine code.
    """

    program: Program
    native: bool

    @property
    def outputs(self) -> tuple[Variable, ...]:
        """The variables of the whole program that it computes for others."""
        return tuple(atom for atom in self.program.outputs if isinstance(atom, Variable))


def partition(program: Program, lowerable: Callable[[Equation], bool]) -> list[Segment]:
    """The segments of a program in the order of execution; one, the program itself, if possible.

    lowerable: whether an equation can become machine code.
    """
    equations = program.equations
    marks = _marks(equations, lowerable)
    if all(marks):
        return [Segment(program, True)]
    graph = _Dependencies(program, marks)
    for _ in range(_ROUNDS):
        groups = graph.groups(marks)
        small = [
            number
            for native, group in groups
            if native and sum(_is_work(equations[number]) for number in group) < FEWEST
            for number in group
        ]
        if not small:
            break
        for number in small:
            marks[number] = False
    else:
        groups = graph.groups(marks)
    if not any(native for native, _ in groups):
        return [Segment(program, False)]
    return _segments(program, [(native, graph.with_repeated(group)) for native, group in groups])


def _marks(equations: Sequence[Equation], lowerable: Callable[[Equation], bool]) -> list[bool]:
    """Which equations can be machine code: asked once for each operation on operands of a type."""
    known: dict[Any, bool] = {}
    marks = []
    for equation in equations:
        key = (equation.operation, *[atom.type for atom in equation.inputs])
        mark = known.get(key)
        if mark is None:
            mark = known[key] = not equation.primitive.opaque and lowerable(equation)
        marks.append(mark)
    return marks


def _is_work(equation: Equation) -> bool:
    """Whether NumPy does more for it than make a view."""
    return bool(equation.inputs) and not equation.primitive.view


class _Dependencies:
    """Which equations wait for which.

    Those that cost less to repeat than to store (numbers written out, and their repetition along
    axes) belong to no group: each group has its own.
    """

    def __init__(self, program: Program, marks: Sequence[bool]) -> None:
        self.equations = program.equations
        self.producers: dict[Variable, int] = {}
        self.repeated: set[int] = set()
        kept = set(program.outputs)
        users: list[list[int]] = []
        self.waiting: list[int] = []
        for number, equation in enumerate(self.equations):
            if marks[number] and _is_cheap(equation) and kept.isdisjoint(equation.outputs):
                self.repeated.add(number)
            before = set(map(self._source, _variables(equation)))
            for source in before - {-1}:
                users[source].append(number)
            users.append([])
            self.waiting.append(len(before - {-1}))
            for variable in equation.outputs:
                self.producers[variable] = number
        self.users = users

    def _source(self, variable: Variable) -> int:
        """The equation of a group that a variable waits for; -1 for none."""
        number = self.producers.get(variable, -1)
        while number in self.repeated:
            number = max(
                (self.producers.get(operand, -1) for operand in _variables(self.equations[number])),
                default=-1,
            )
        return number

    def groups(self, marks: Sequence[bool]) -> list[tuple[bool, list[int]]]:
        """The fewest groups that begin with either kind."""
        native_first, other_first = self._grouped(marks, True), self._grouped(marks, False)
        return min(native_first, other_first, key=len)

    def _grouped(self, marks: Sequence[bool], native: bool) -> list[tuple[bool, list[int]]]:
        waiting = list(self.waiting)
        ready: dict[bool, list[int]] = {True: [], False: []}
        for number, count in enumerate(waiting):
            if not count and number not in self.repeated:
                ready[marks[number]].append(number)
        groups: list[tuple[bool, list[int]]] = []
        while ready[True] or ready[False]:
            group: list[int] = []
            queue = ready[native]
            while queue:
                number = queue.pop()
                group.append(number)
                for user in self.users[number]:
                    waiting[user] -= 1
                    if not waiting[user] and user not in self.repeated:
                        ready[marks[user]].append(user)
            if group:
                groups.append((native, sorted(group)))
            native = not native
        return groups

    def with_repeated(self, group: Sequence[int]) -> list[int]:
        """A group with what is repeated in it, in the order of the program."""
        numbers = set(group)
        stack = list(group)
        while stack:
            for variable in _variables(self.equations[stack.pop()]):
                number = self.producers.get(variable, -1)
                if number in self.repeated and number not in numbers:
                    numbers.add(number)
                    stack.append(number)
        return sorted(numbers)


def _is_cheap(equation: Equation) -> bool:
    return not equation.inputs or equation.primitive is BROADCAST


def _variables(equation: Equation) -> list[Variable]:
    return [atom for atom in equation.inputs if isinstance(atom, Variable)]


def _segments(program: Program, groups: Sequence[tuple[bool, list[int]]]) -> list[Segment]:
    """The groups as programs, each of which returns what later ones or the caller need."""
    needed = {atom for atom in program.outputs if isinstance(atom, Variable)}
    segments = []
    for native, group in reversed(groups):
        equations = [program.equations[number] for number in group]
        assigned = dict.fromkeys(
            variable for equation in equations for variable in equation.outputs
        )
        read = dict.fromkeys(
            variable for equation in equations for variable in _variables(equation)
        )
        outputs = [variable for variable in assigned if variable in needed]
        inputs = [variable for variable in read if variable not in assigned]
        needed.difference_update(outputs)
        needed.update(inputs)
        segments.append(Segment(Program(inputs, equations, outputs), native))
    return segments[::-1]


def deaths(segments: Sequence[Segment], kept: Iterable[Variable]) -> list[list[Variable]]:
    """For each segment, the variables that nothing needs after it."""
    seen = set(kept)
    dying = []
    for segment in reversed(segments):
        last = [
            variable
            for variable in (*segment.program.inputs, *segment.outputs)
            if variable not in seen
        ]
        seen.update(last)
        dying.append(last)
    return dying[::-1]
