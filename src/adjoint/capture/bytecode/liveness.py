"""Which local names code may still read from an instruction on (liveness, backwards over jumps)."""

from __future__ import annotations

import dis
from types import CodeType
from typing import Any, Final

from adjoint.capture.bytecode.assembly import ENDS, Instruction, taken_apart

_READS: Final = frozenset({"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "DELETE_FAST"})
# Instructions with two locals: whether they read the first, and the second; else they bind it.
_PAIRS: Final = {
    "LOAD_FAST_LOAD_FAST": (True, True),
    "STORE_FAST_LOAD_FAST": (False, True),
    "STORE_FAST_STORE_FAST": (False, False),
}
_Locals = frozenset[int]
_NONE: Final[_Locals] = frozenset()


def live_names(code: CodeType) -> dict[int, frozenset[str]]:
    """For each instruction, by its place, the local names that may be read from it on.

    Names that nested functions share are always among them. What looks at all names, as `locals()`
    does, is not told from other calls.
    """
    shared = frozenset((*code.co_cellvars, *code.co_freevars))
    names = code.co_varnames
    instructions = taken_apart(code)
    effects = [_effect(instruction) for instruction in instructions]
    if None in effects:
        return dict.fromkeys([x.place for x in instructions], shared | frozenset(names))
    successors, handlers = _ways(instructions, code)
    live: list[_Locals] = [_NONE] * len(instructions)
    changed = True
    while changed:
        changed = False
        for number in reversed(range(len(instructions))):
            reads, binds = effects[number]  # type: ignore[misc]
            after = _NONE.union(*[live[n] for n in successors[number]])
            # Where it fails, it has bound nothing.
            before = reads.union(after - binds, *[live[n] for n in handlers[number]])
            if before != live[number]:
                live[number], changed = before, True
    return {
        instruction.place: shared | {names[n] for n in alive if n < len(names)}  # else a cell
        for instruction, alive in zip(instructions, live, strict=True)
    }


def looped(instructions: list[Instruction]) -> set[int]:
    """The places of the instructions of loops: from where a jump leads back to, up to the jump.

    They may be run again in the same frame. What is moved out of a loop, as handlers of errors are,
    is not among them.
    """
    spans = loop_spans(instructions).items()
    places = [instruction.place for instruction in instructions]
    return {place for place in places if any(first <= place <= last for first, last in spans)}


def loop_spans(instructions: list[Instruction]) -> dict[int, int]:
    """The places to which jumps lead back, each with that of the last such jump."""
    return {
        instruction.target: instruction.place
        for instruction in instructions
        if instruction.target is not None and instruction.target <= instruction.place
    }


def _effect(instruction: Instruction) -> tuple[_Locals, _Locals] | None:
    """The locals that an instruction reads, and those that it binds; None if that is not known."""
    name, argument = instruction.name, instruction.argument
    if name in _READS:
        return frozenset({argument}), _NONE
    if name == "STORE_FAST":
        return _NONE, frozenset({argument})
    if name in _PAIRS:
        reads, binds = set(), set()
        for is_read, local in zip(_PAIRS[name], (argument >> 4, argument & 15), strict=True):
            if is_read and local not in binds:
                reads.add(local)
            elif not is_read:
                binds.add(local)
        return frozenset(reads), frozenset(binds)
    return None if "_FAST" in name else (_NONE, _NONE)


def _ways(
    instructions: list[Instruction], code: CodeType
) -> tuple[list[list[int]], list[list[int]]]:
    """For each instruction, by numbers, which may follow it, and which handle its errors."""
    numbers = {instruction.place: number for number, instruction in enumerate(instructions)}
    parse: Any = dis._parse_exception_table  # type: ignore[attr-defined]
    table = parse(code)
    successors, handlers = [], []
    for number, instruction in enumerate(instructions):
        following = []
        if instruction.target is not None:
            following.append(numbers[instruction.target])
        if instruction.name not in ENDS and number + 1 < len(instructions):
            following.append(number + 1)
        successors.append(following)
        handlers.append([numbers[x.target] for x in table if x.start <= instruction.place <= x.end])
    return successors, handlers
