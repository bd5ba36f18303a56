"""A captured program with guards, cut into stages that may be run before all guards are known.

A stage computes how many of its guards hold, up to the first that does not. Arithmetic may be done
ahead of a guard, since nobody sees what comes of it. What calls the user's own code, or may run
without end, may not: it is in a stage of its own, which runs once all guards before it have held.
But a loop can be *held*: that the guards before it hold is part of its test, or a factor of the
number of its rounds, so that it ends at once where one does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.capture.recording.tracing.guards import DONE, FAILS, WHOLE, Guard
from adjoint.loops import SCAN, WHILE
from adjoint.pipeline import roll_if_it_pays, watch_all
from adjoint.primitives import UFUNCS, Primitive
from adjoint.primitives.calls.custom import is_users_code
from adjoint.primitives.elementwise.comparison import ALL
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.structure.moving import SUM
from adjoint.program import Atom, Builder, Equation, Literal, Program, Variable
from adjoint.program.operation import operation

_ROUNDINGS = {"int": np.trunc, "floor": np.floor, "ceil": np.ceil, "round": np.rint}


class StageProgram(NamedTuple):
    """A stage.

    program: returns `outputs`, and if there are guards, how many of them hold in a row. inputs: the
    variables of the whole program that it reads, then `expected` that guards compare with, as
    numbers of guards. outputs: of the whole program. watched: see `Compiled`. plain: returns the
    values that are guarded, one for each guard; not simplified. guards: which ones.
    """

    program: Program
    inputs: tuple[Variable, ...]
    expected: tuple[int, ...]
    outputs: tuple[Atom, ...]
    watched: tuple[int, ...]
    plain: Program
    guards: range


class StagedProgram(NamedTuple):
    """A program in stages. inputs, results: of the whole, without the values that are guarded."""

    stages: list[StageProgram]
    inputs: tuple[Variable, ...]
    results: tuple[Atom, ...]


def cut(program: Program, guards: Sequence[Guard]) -> StagedProgram:
    """The stages of a program, whose last outputs are the values that are guarded."""
    count = len(program.outputs) - len(guards)
    results, atoms = program.outputs[:count], program.outputs[count:]
    bounds, _ = _bounds(program, guards)
    if len(bounds) == 1:
        whole = _stage(program.inputs, program.equations, results, atoms, guards, bounds[0])
        return StagedProgram([whole], program.inputs, results)
    program, results, atoms = _once_each(program, count)
    bounds, waiting = _bounds(program, guards)
    places = _places(program, results, atoms, bounds, waiting)
    owner: dict[Atom, int | None] = {
        variable: place
        for equation, place in zip(program.equations, places, strict=True)
        for variable in equation.outputs
    }
    stages = []
    for number, own in enumerate(bounds):
        equations = [
            equation
            for equation, place in zip(program.equations, places, strict=True)
            if place == number
        ]
        wanted = results
        if number < len(bounds) - 1:
            later = (
                atom
                for equation, place in zip(program.equations, places, strict=True)
                if place is not None and place > number
                for atom in equation.inputs
            )
            crossing = dict.fromkeys((*later, *results, *atoms[own.stop :]))
            wanted = tuple(atom for atom in crossing if owner.get(atom) == number)
        stages.append(_stage(None, equations, wanted, atoms, guards, own))
    return StagedProgram(stages, program.inputs, results)


# --- where to cut ---------------------------------------------------------------------------------


def _bounds(program: Program, guards: Sequence[Guard]) -> tuple[list[range], dict[Equation, int]]:
    """The guards of each stage, and the stage of each equation that must wait for guards.

    Those are in stages without guards, so that no guard is looked at again after such a call.
    """
    bounds = []
    waiting: dict[Equation, int] = {}
    first = passed = 0
    calls = False
    held = _can_be_held(program, guards)
    for equation in program.equations:
        if equation in held or not must_wait(equation):
            continue
        before = passed
        while passed < len(guards) and guards[passed].place <= (equation.origin or 0):
            passed += 1
        if passed > before:
            if calls:
                bounds.append(range(first, first))
            bounds.append(range(first, passed))
            first = passed
        waiting[equation] = len(bounds)
        calls = True
    if first < len(guards):
        if calls:
            bounds.append(range(first, first))
        bounds.append(range(first, len(guards)))
    elif calls:
        bounds.append(range(first, first))
    return bounds or [range(0)], waiting


def _can_be_held(program: Program, guards: Sequence[Guard]) -> set[Equation]:
    """The loops that wait for guards all of whose values are known where the loops begin."""
    loops = [equation for equation in program.equations if _ends_by_value(equation)]
    if not loops:
        return set()
    atoms = program.outputs[len(program.outputs) - len(guards) :]
    order = {equation: number for number, equation in enumerate(program.equations)}
    makers = {x: order[equation] for equation in program.equations for x in equation.outputs}
    return {
        loop
        for loop in loops
        if not any(map(calls_users, _within(loop)))
        and all(
            not isinstance(atom, Variable) or makers.get(atom, -1) < order[loop]
            for atom, guard in zip(atoms, guards, strict=True)
            if guard.place <= (loop.origin or 0)
        )
    }


def _held(loop: Equation, held: Atom) -> Equation:
    """A loop whose test is whether something holds, besides its own."""
    params = dict(loop.params)
    constants, body = params["constants"], params["body"]
    test: Program = params["test"]
    inner = Builder()
    inputs = [inner.input(variable.type) for variable in test.inputs]
    holds = inner.input(held.type)
    ordered = [*inputs[:constants], holds, *inputs[constants:]]
    (truth,) = inner.inline(test, inputs)
    inner.derived = True
    (both,) = inner.emit(operation(UFUNCS[np.logical_and]), [holds, truth])
    inner.inputs = ordered
    unused = Variable(held.type)
    given = (*body.inputs[:constants], unused, *body.inputs[constants:])
    params["test"] = inner.build([both])
    params["body"] = Program(given, body.equations, body.outputs)
    params["constants"] = constants + 1
    operands = (*loop.inputs[:constants], held, *loop.inputs[constants:])
    whole = operation(loop.primitive, **params)
    return Equation(whole, operands, loop.outputs, loop.origin, loop.derived)


def must_wait(equation: Equation) -> bool:
    """Whether an equation must not be run where a guard before it does not hold."""
    if calls_users(equation) or _ends_by_value(equation):
        return True
    return any(map(must_wait, _within(equation)))


def _ends_by_value(equation: Equation) -> bool:
    """Whether it is a loop of which nobody knows how many rounds it makes."""
    if equation.primitive is SCAN:
        return not isinstance(equation.inputs[0], Literal)
    return equation.primitive is WHILE


def calls_users(equation: Equation) -> bool:
    """Whether an equation calls code of the user's, which may do more than to compute."""
    if is_users_code(equation.primitive):
        return True
    return any(map(calls_users, _within(equation)))


def _within(equation: Equation) -> Iterator[Equation]:
    """The equations of the programs that are parameters of one."""
    for value in equation.params.values():
        for program in value if isinstance(value, tuple) else (value,):
            if isinstance(program, Program):
                yield from program.equations


def _once_each(program: Program, count: int) -> tuple[Program, tuple[Atom, ...], tuple[Atom, ...]]:
    """Equal equations once, so that no stage calls the user's code again; results and the rest."""
    names: dict[Variable, Variable] = {}
    known: dict[Any, Equation] = {}
    equations = []

    def rename(atom: Atom) -> Atom:
        return names.get(atom, atom) if isinstance(atom, Variable) else atom

    for equation in program.equations:
        inputs = tuple(map(rename, equation.inputs))
        key = (
            equation.operation,
            equation.derived,
            *(x if isinstance(x, Variable) else x.key for x in inputs),
        )
        if key in known:
            names.update(zip(equation.outputs, known[key].outputs, strict=True))
            continue
        known[key] = Equation(
            equation.operation, inputs, equation.outputs, equation.origin, equation.derived
        )
        equations.append(known[key])
    outputs = tuple(map(rename, program.outputs))
    unique = Program(program.inputs, equations, outputs)
    return unique, outputs[:count], outputs[count:]


def _places(
    program: Program,
    results: Sequence[Atom],
    atoms: Sequence[Atom],
    bounds: Sequence[range],
    waiting: dict[Equation, int],
) -> list[int | None]:
    """The stage of each equation: the first that needs it; None if none does."""
    wanted: dict[Atom, int] = {}
    for atom in results:
        wanted[atom] = len(bounds) - 1
    for number, own in reversed(list(enumerate(bounds))):
        for guard in own:
            wanted[atoms[guard]] = number
    places: list[int | None] = []
    for equation in reversed(program.equations):
        place = min((wanted[x] for x in equation.outputs if x in wanted), default=None)
        if place is not None:
            place = waiting.get(equation, place)
        places.append(place)
        if place is not None:
            wanted.update((x, min(place, wanted.get(x, place))) for x in equation.inputs)
    return places[::-1]


# --- one stage ------------------------------------------------------------------------------------


def _stage(
    inputs: tuple[Variable, ...] | None,
    equations: Sequence[Equation],
    wanted: Sequence[Atom],
    atoms: Sequence[Atom],
    guards: Sequence[Guard],
    own: range,
) -> StageProgram:
    """The stage of these equations and guards. inputs: None for what it reads."""
    guarded = [atoms[number] for number in own]
    if inputs is None:
        defined = {variable for equation in equations for variable in equation.outputs}
        read = (*(x for equation in equations for x in equation.inputs), *wanted, *guarded)
        inputs = tuple(
            dict.fromkeys(x for x in read if isinstance(x, Variable) and x not in defined)
        )
    plain = Program(inputs, equations, guarded)
    if not own:
        whole = Program(inputs, equations, wanted)
        return StageProgram(whole, inputs, (), tuple(wanted), watch_all(whole), plain, own)
    counting = _Counting(inputs, equations)
    for number in own:
        counting.add(atoms[number], guards[number], number)
    expected = tuple(number for number in own if guards[number].value is not None)
    whole, watched = counting.finished(wanted)
    return StageProgram(whole, inputs, expected, tuple(wanted), watched, plain, own)


class _Counting:
    """Writes a program that counts the guards that hold, each as soon as it can be told."""

    def __init__(self, inputs: Sequence[Variable], equations: Sequence[Equation]) -> None:
        self.builder = Builder()
        self.builder.inputs = list(inputs)
        self.waiting = iter(equations)
        self.known: set[Atom] = set(inputs)
        self.held: Atom | None = None  # all guards so far
        self.count: Atom | None = None  # of those that hold in a row
        self.looked_at: dict[Atom, None] = {}
        self.kept: list[Atom] = []  # what must be computed, though nobody may want it

    def add(self, atom: Atom, guard: Guard, number: int) -> None:
        """Count one more guard."""
        while atom not in self.known and isinstance(atom, Variable):
            self.known.update(self._append(next(self.waiting)).outputs)
        self.looked_at[atom] = None
        self.builder.derived = True  # the user did not write it, and is not warned
        holds = self._holds(atom, guard)
        if self.held is None:
            self.held = holds
            (self.count,) = self._emit(CAST, holds, dtype=np.dtype(np.int64))
        else:
            assert self.count is not None
            (self.held,) = self._emit(np.logical_and, self.held, holds)
            (self.count,) = self._emit(np.add, self.count, self.held)
        self.builder.derived = False

    def finished(self, outputs: Sequence[Atom]) -> tuple[Program, tuple[int, ...]]:
        """The program, and its outputs to be watched."""
        assert self.count is not None
        for equation in self.waiting:
            self._append(equation)
        whole = [*outputs, self.count]
        watched = watch_all(self.builder.build(whole))
        if watched:
            sentinel = self._sentinel()
            if sentinel is not None:
                whole.append(sentinel)
                watched = (*watched, len(whole) - 1)
        return roll_if_it_pays(self.builder.build([*whole, *self.kept])), watched

    def _append(self, equation: Equation) -> Equation:
        """Go on with an equation; a loop runs only if all guards so far hold."""
        if self.held is not None and _ends_by_value(equation):
            held = self.held
            equation = (_held if equation.primitive is WHILE else self._counted)(equation, held)
        self.builder.equations.append(equation)
        return equation

    def _counted(self, loop: Equation, held: Atom) -> Equation:
        """A loop of so many rounds, or of none where something does not hold."""
        count, *operands = loop.inputs
        derived, self.builder.derived = self.builder.derived, True
        (factor,) = self._emit(CAST, held, dtype=count.type.dtype)
        (rounds,) = self._emit(np.multiply, count, factor)
        self.builder.derived = derived
        inputs = (rounds, *operands)
        return Equation(loop.operation, inputs, loop.outputs, loop.origin, loop.derived)

    def _emit(self, which: Any, *operands: Atom, **params: Any) -> tuple[Variable, ...]:
        primitive = UFUNCS.get(which, which)
        return self.builder.emit(operation(primitive, **params), operands)

    def _holds(self, atom: Atom, guard: Guard) -> Atom:
        if guard.kind == DONE:
            self.kept.append(atom)
            return Literal(True)
        if guard.kind == FAILS:
            return atom
        if guard.kind == "bool":
            truth: Atom = atom
            if atom.type.dtype.kind != "b":
                (truth,) = self._emit(np.not_equal, atom, Literal(0))
            truth = self._all(truth)
            return truth if guard.answer else self._emit(np.logical_not, truth)[0]
        expected = self.builder.input(atom.type if guard.kind == WHOLE else type_of(guard.value))
        if guard.kind != WHOLE:
            (rounded,) = self._emit(_ROUNDINGS[guard.kind], atom)
            return self._all(self._emit(np.equal, rounded, expected)[0])
        (equal,) = self._emit(np.equal, atom, expected)
        if atom.type.inexact:  # 0.0 and -0.0 are not the same answer
            signs = [self._emit(np.signbit, side)[0] for side in (atom, expected)]
            (equal,) = self._emit(np.logical_and, equal, self._emit(np.equal, *signs)[0])
        return self._all(equal)

    def _all(self, atom: Atom) -> Atom:
        if not atom.type.ndim:
            return atom
        return self._emit(ALL, atom, axes=tuple(range(atom.type.ndim)))[0]

    def _sentinel(self) -> Atom | None:
        """A number that is NaN where the truth of a guard comes of a derivative that is NaN."""
        makers = {x: equation for equation in self.builder.equations for x in equation.outputs}
        derived = _downstream(self.builder.equations, SCALE)
        sentinel: Variable | None = None
        for atom in _nearest_inexact(self.looked_at, makers):
            if atom not in derived:
                continue
            if atom.type.dtype.kind == "c":
                (atom,) = self._emit(np.absolute, atom)
            if atom.type.ndim:
                axes = tuple(range(atom.type.ndim))
                (atom,) = self._emit(SUM, atom, axes=axes)
            sentinel = atom if sentinel is None else self._emit(np.add, sentinel, atom)[0]
        return sentinel


def _downstream(equations: Sequence[Equation], primitive: Primitive) -> set[Atom]:
    """All that depends on results of a primitive."""
    downstream: set[Atom] = set()
    for equation in equations:
        if equation.primitive is primitive or not downstream.isdisjoint(equation.inputs):
            downstream.update(equation.outputs)
    return downstream


def _nearest_inexact(atoms: Iterable[Atom], makers: dict[Variable, Equation]) -> list[Variable]:
    """The floating-point values that decide others which are not."""
    stack, seen = list(atoms), set()
    nearest = []
    while stack:
        atom = stack.pop()
        if atom in seen or not isinstance(atom, Variable):
            continue
        seen.add(atom)
        if atom.type.inexact:
            nearest.append(atom)
        elif atom in makers:
            stack.extend(makers[atom].inputs)
    return nearest
