"""The plan of an execution: the order of the equations, and the memory of their results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.structure.gathering import GATHER_ADD, GATHER_SET
from adjoint.primitives.structure.moving import BROADCAST
from adjoint.primitives.structure.slicing import INCREMENT, SLICE, UPDATE
from adjoint.program import Atom, Equation, Program, Variable


@dataclass(frozen=True)
class Plan:
    """How to run a program.

    equations: in the order of execution.
    takes: for an equation, by number, the variable whose memory its result may overwrite.
    dies: for an equation, by number, all the names of the memory that nothing needs after it.
    roots: for each variable, the one whose memory it shares (itself when it has its own).
    detached: slices that are read out as copies, so that their array can be written in place.
    copied: outputs, by number, that must be copied because they share memory with an input, another
        output, or repeat it.
    """

    equations: tuple[Equation, ...]
    takes: dict[int, Variable]
    dies: dict[int, tuple[Variable, ...]]
    roots: dict[Variable, Variable]
    detached: frozenset[Variable]
    copied: frozenset[int]


def plan(program: Program, as_written: bool = False, owned: Iterable[Variable] = ()) -> Plan:
    """Plan the execution of a program on one machine with memory that can be overwritten.

    as_written: keep the order of the equations, where each derivative stands beside what it is the
        derivative of; else what the user wrote comes first, as far as it can. owned: inputs whose
        memory is the program's own, as is that of what a loop carries.
    """
    ours = set(owned)
    foreign = set(program.inputs) - ours
    equations = program.equations if as_written else _user_first(program)
    views = {equation.outputs[0] for equation in equations if _may_be_view(equation)}
    detached = _detached(program, equations, _roots(program, equations, views), foreign)
    views -= detached
    roots = _roots(program, equations, views)
    last = _last_uses(program, equations, roots)
    ours |= {v for equation in equations for v in equation.outputs if v not in views}
    ending: dict[int, list[Variable]] = {}
    for root, number in last.items():
        if number < len(equations) and root in ours:
            ending.setdefault(number, []).append(root)
    takes = {}
    for number, equation in enumerate(equations):
        for root in ending.get(number, ()):
            if _can_take(equation, root, roots):
                takes[number] = root
                break
    dies = _dying_names(equations, roots, ending, takes)
    copied = _copied(program, equations, roots, views, foreign)
    return Plan(equations, takes, dies, roots, detached, copied)


def _dying_names(
    equations: Sequence[Equation],
    roots: dict[Variable, Variable],
    ending: dict[int, list[Variable]],
    takes: dict[int, Variable],
) -> dict[int, tuple[Variable, ...]]:
    """Every name of the memory that ends at an equation: also views, and what took it over."""
    names: dict[Variable, list[Variable]] = {}
    dies = {}
    for number, equation in enumerate(equations):
        for variable in equation.outputs:
            names.setdefault(roots[variable], []).append(variable)
        taken = takes.get(number)
        if taken is not None:  # its memory lives on under the name of the result
            names[equation.outputs[0]] += names.pop(taken, [])
        roots_gone = [root for root in ending.get(number, ()) if root is not taken]
        gone = [variable for root in roots_gone for variable in names.pop(root, ())]
        if gone:
            dies[number] = tuple(gone)
    return dies


_OVERWRITES_FIRST = frozenset({UPDATE, INCREMENT, GATHER_SET, GATHER_ADD})


def _can_take(equation: Equation, root: Variable, roots: dict[Variable, Variable]) -> bool:
    """Whether the result may be written over this operand, which dies here."""
    if root not in equation.inputs or root.type is not equation.outputs[0].type:
        return False
    if root.type.ndim == 0:  # may be a NumPy scalar, which cannot be written to
        return False
    if equation.primitive in _OVERWRITES_FIRST:
        first, *others = equation.inputs
        # What is written, and the indices, must not be read from the memory that is written to.
        shared = any(isinstance(atom, Variable) and roots[atom] is root for atom in others)
        return first is root and not shared
    # Elementwise: each entry is read before it is written; NumPy sees to operands that overlap
    # otherwise.
    return equation.primitive.ufunc is not None or equation.primitive is SCALE


def _may_be_view(equation: Equation) -> bool:
    # NumPy reads a single entry out as a scalar.
    entry = equation.primitive is SLICE and equation.outputs[0].type.ndim == 0
    return bool(equation.primitive.view) and not entry


def _detached(
    program: Program,
    equations: Sequence[Equation],
    roots: dict[Variable, Variable],
    foreign: Set[Variable],
) -> frozenset[Variable]:
    """The slices of an array that are still needed when the array is written to.

    As views they would make every write copy the whole array: n writes of rows would cost n^2.
    """
    needed: dict[Variable, int] = dict.fromkeys(_variables(program.outputs), len(equations))
    written: dict[Variable, int] = {}
    detached = set()
    for number in range(len(equations) - 1, -1, -1):
        equation = equations[number]
        result = equation.outputs[0]
        end = max((needed.get(v, -1) for v in equation.outputs), default=-1)
        if equation.primitive is SLICE and result.type.ndim:
            (source,) = equation.inputs
            if isinstance(source, Variable) and written.get(roots[source], end + 1) <= end:
                detached.add(result)
        shares = roots[result] is not result
        for place, variable in enumerate(_variables(equation.inputs)):
            # What a view is needed for, its source is.
            until = end if shares and place == 0 and result not in detached else number
            needed[variable] = max(needed.get(variable, -1), number, until)
        if equation.primitive in _OVERWRITES_FIRST:
            target = equation.inputs[0]
            if isinstance(target, Variable) and roots[target] not in foreign:
                written[roots[target]] = number  # the first one, since we go backwards
    return frozenset(detached)


def _variables(atoms: Iterable[Atom]) -> list[Variable]:
    return [atom for atom in atoms if isinstance(atom, Variable)]


def _user_first(program: Program) -> tuple[Equation, ...]:
    """A stable order in which derived equations come after all that do not need them."""
    first: list[Equation] = []
    second: list[Equation] = []
    late: set[Variable] = set()
    for equation in program.equations:
        if equation.derived or any(x in late for x in equation.inputs):
            second.append(equation)
            late.update(equation.outputs)
        else:
            first.append(equation)
    return (*first, *second)


def _roots(
    program: Program, equations: Sequence[Equation], views: Set[Variable]
) -> dict[Variable, Variable]:
    roots = {variable: variable for variable in program.inputs}
    for equation in equations:
        for variable in equation.outputs:
            source = equation.inputs[0] if equation.inputs else None
            if variable in views and isinstance(source, Variable):
                roots[variable] = roots[source]
            else:
                roots[variable] = variable
    return roots


def _last_uses(
    program: Program, equations: Sequence[Equation], roots: dict[Variable, Variable]
) -> dict[Variable, int]:
    """For each memory, the last equation that reads it under any name; past the end for outputs."""
    last: dict[Variable, int] = {}
    for number, equation in enumerate(equations):
        for variable in equation.outputs:
            last[roots[variable]] = number
        for atom in equation.inputs:
            if isinstance(atom, Variable):
                last[roots[atom]] = number
    for atom in program.outputs:
        if isinstance(atom, Variable):
            last[roots[atom]] = len(equations)
    return last


def _copied(
    program: Program,
    equations: Sequence[Equation],
    roots: dict[Variable, Variable],
    views: Set[Variable],
    foreign: Set[Variable],
) -> frozenset[int]:
    repeated: set[Atom] = set()
    for equation in equations:
        (result, *_) = equation.outputs
        if equation.primitive is BROADCAST or (result in views and equation.inputs[0] in repeated):
            repeated.add(result)
    copied, seen = set(), set()
    for number, atom in enumerate(program.outputs):
        if not isinstance(atom, Variable) or atom.type.ndim == 0:
            continue
        root = roots[atom]
        if root in foreign or root in seen or atom in repeated:
            copied.add(number)
        seen.add(root)
    return frozenset(copied)
