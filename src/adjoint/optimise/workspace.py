"""Workspace: intermediate results in memory that is kept from one run of a program to the next.

Fresh large arrays cost a page fault for every four kilobytes, which takes about as long as an
elementwise operation on them. Results that do not leave the program are put in a few arrays that
are handed out anew at every run; those that do, in arrays that are lent until nothing refers to
them any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from adjoint.base.arrays import ArrayType
from adjoint.optimise.plan import Plan
from adjoint.program import Equation, Program, Variable

SMALLEST = 1 << 15  # bytes; below that the system's allocator is as quick


@dataclass(frozen=True)
class Workspace:
    """What a run needs.

    slots: the types of the arrays. places: for an equation, by number, the slot of its result.
    lent, lent_places: the same for results that leave the program.
    """

    slots: tuple[ArrayType, ...] = ()
    places: dict[int, int] = field(default_factory=dict)
    lent: tuple[ArrayType, ...] = ()
    lent_places: dict[int, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The bytes of the slots."""
        return sum(map(_bytes, self.slots))


def workspace(program: Program, plan: Plan, fills: Callable[[Equation], bool]) -> Workspace:
    """Lay out the workspace of a planned program.

    fills: whether an equation can write its result into memory that it is given.
    """
    begins, ends, barred, leaving = _memories(program, plan)
    lent: dict[int, Variable] = {}
    slots: list[ArrayType] = []
    free: dict[ArrayType, list[int]] = {}
    places: dict[int, int] = {}
    ending: dict[int, list[int]] = {}
    for number, equation in enumerate(plan.equations):
        root = begins.get(number)
        if root is None or root in barred or not is_large(root.type) or not fills(equation):
            pass
        elif root in leaving:
            lent[number] = root
        else:
            waiting = free.setdefault(root.type, [])
            if not waiting:
                waiting.append(len(slots))
                slots.append(root.type)
            places[number] = waiting.pop()
            ending.setdefault(ends[root], []).append(places[number])
        # What ends here is read here: it can be handed out from the next equation on.
        for slot in ending.pop(number, ()):
            free[slots[slot]].append(slot)
    lent_types = tuple(root.type for root in lent.values())
    return Workspace(
        tuple(slots), places, lent_types, {number: slot for slot, number in enumerate(lent)}
    )


def peak_bytes(
    program: Program, plan: Plan, space: Workspace, within: Callable[[Equation], int]
) -> int:
    """The most bytes that a run of a planned program holds at any time, results among them.

    What it is given is not counted, and neither is what a primitive needs for itself. within: what
    an equation's own programs hold while it runs.
    """
    _, ends, _, leaving = _memories(program, plan)
    makers = {v: number for number, equation in enumerate(plan.equations) for v in equation.outputs}
    laid_out = {*space.places, *space.lent_places}
    given = {number for number, taken in plan.takes.items() if taken not in makers}
    laid_out |= given  # over what a loop carries
    change = [0] * (len(plan.equations) + 1)
    for memory, end in ends.items():
        if memory in makers and makers[memory] not in laid_out:
            change[makers[memory]] += _bytes(memory.type)
            change[len(plan.equations) if memory in leaving else end + 1] -= _bytes(memory.type)
    fixed = space.size + sum(map(_bytes, space.lent))
    held = peak = fixed
    for equation, more in zip(plan.equations, change, strict=False):
        held += more
        peak = max(peak, held + within(equation))
    kept = sum(_bytes(v.type) for v in leaving if makers[v] not in laid_out)
    copies = sum(_bytes(program.outputs[number].type) for number in plan.copied)
    return max(peak, fixed + kept + copies)


def _bytes(type: ArrayType) -> int:
    return type.size * type.dtype.itemsize


def is_large(type: ArrayType) -> bool:
    """Whether arrays of a type are worth planning for."""
    return _bytes(type) >= SMALLEST


def _memories(
    program: Program, plan: Plan
) -> tuple[dict[int, Variable], dict[Variable, int], set[Variable], set[Variable]]:
    """Where each memory begins (by equation) and ends; which others may keep; which are results.

    A memory is named by the first variable in it; results that take it over are in it too, and so
    are views.
    """
    home: dict[Variable, Variable] = {}
    begins: dict[int, Variable] = {}
    ends: dict[Variable, int] = {}
    barred: set[Variable] = set()
    leaving: set[Variable] = set()
    for number, equation in enumerate(plan.equations):
        for atom in equation.inputs:
            if isinstance(atom, Variable) and plan.roots[atom] in home:
                memory = home[plan.roots[atom]]
                ends[memory] = number
                if equation.primitive.opaque:  # may keep what it is given
                    barred.add(memory)
        for variable in equation.outputs:
            if plan.roots[variable] is not variable:
                continue
            taken = plan.takes.get(number)
            memory = home[taken] if taken is not None and taken in home else variable
            home[variable] = memory
            ends[memory] = number
            if memory is variable:
                begins[number] = variable
    for atom in program.outputs:
        if isinstance(atom, Variable) and plan.roots[atom] in home:
            leaving.add(home[plan.roots[atom]])
    return begins, ends, barred, leaving
