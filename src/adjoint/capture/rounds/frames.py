"""A running frame of the user's code: its names, and whether they are all that it goes on with."""

from __future__ import annotations

import dis
import inspect
import sys
from collections import Counter
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

from adjoint.capture.bytecode.assembly import Instruction, depths, taken_apart
from adjoint.capture.bytecode.liveness import live_names, loop_spans, looped
from adjoint.capture.bytecode.writing import stored_locals
from adjoint.capture.recording.tracing.trace import captures

_MARK: Final = ".rounds"  # under which no name of Python's can be
_GENERATORS: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
# What asks for the truth of what lies on the stack alone, and takes it from there.
_TESTS: Final = frozenset(
    {
        *("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "UNARY_NOT", "TO_BOOL"),
        *("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE"),
        *("POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE"),
    }
)
# From 3.13 on, a comparison may ask for the truth of its result. So do lists that are compared, of
# whether their entries are equal, before all of that: those questions are of other primitives.
_ORDERS: Final = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_ASKS_ITSELF: Final = 16  # in the argument of COMPARE_OP
# By what code may look at all names of a frame.
LOOKS_AT_FRAMES: Final = frozenset(
    {"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "f_locals", "stack"}
)
_LOOKING: Final = frozenset(map(id, (locals, vars, dir, eval, exec, sys._getframe)))
_MOST: Final = 4096
_JUMPS: Final = ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
_PASSED: Final = frozenset({"TO_BOOL", "COMPARE_OP", "NOP", "NOT_TAKEN", "CACHE"})


class AskingPlace(NamedTuple):
    """An instruction of a loop that asks for a truth value while nothing else lies on the stack.

    names: the local ones that the code may read from there on. bound: those that the innermost loop
    around it binds. primitive: of which the value is a result, if it is a comparison that asks.
    ways: where it goes on if it is true and if it is false. The test of a `while` is compiled
    twice, before the loop and at its end, and both go on at the same places: they are one question.
    """

    names: frozenset[str]
    bound: frozenset[str]
    ways: tuple[int, ...]
    primitive: str | None


_known: dict[int, tuple[CodeType, dict[int, AskingPlace]]] = {}


def place_of(code: CodeType, instruction: int) -> AskingPlace | None:
    """The instruction as a place from which code goes on with its names alone.

    None where something else lies on its stack (within a `for` loop, an iterator; within `with`,
    what is to be called at the end), and where it is run once.
    """
    known = _known.get(id(code))
    if known is None or known[0] is not code:
        if len(_known) >= _MOST:
            _known.clear()
        known = _known[id(code)] = (code, _places_alone(code))
    return known[1].get(instruction)


def _places_alone(code: CodeType) -> dict[int, AskingPlace]:
    if not code.co_flags & inspect.CO_OPTIMIZED:  # of a class, whose names are a dict of its own
        return {}
    if code.co_flags & _GENERATORS or not LOOKS_AT_FRAMES.isdisjoint(code.co_names):
        return {}
    instructions = taken_apart(code)
    heights = depths(instructions, code) or [-1] * len(instructions)
    numbers = {instruction.place: number for number, instruction in enumerate(instructions)}
    asked = {
        instruction.place: _ways(instructions, numbers, number)
        for number, (instruction, height) in enumerate(zip(instructions, heights, strict=True))
        if (instruction.name in _TESTS and height == 1)
        or (_comparing(instruction) is not None and height == 2)
    }
    repeated = looped(instructions)
    within = {ways for place, ways in asked.items() if place in repeated}
    if not within:
        return {}
    live, bound = live_names(code), _bound(instructions, code, asked)
    primitives = {instruction.place: _comparing(instruction) for instruction in instructions}
    return {
        place: AskingPlace(live[place], bound[ways], ways, primitives[place])
        for place, ways in asked.items()
        if ways in within
    }


def _bound(
    instructions: list[Instruction], code: CodeType, asked: dict[int, tuple[int, ...]]
) -> dict[tuple[int, ...], frozenset[str]]:
    """The local names that the innermost loop around each question binds, by where that leads."""
    loops = [range(first, last + 1) for first, last in loop_spans(instructions).items()]
    names = code.co_varnames
    bound = dict.fromkeys(asked.values(), frozenset[str]())
    for loop in sorted(loops, key=len, reverse=True):  # inner ones last
        stored = {
            names[local]
            for instruction in instructions
            if instruction.place in loop
            for local, _ in stored_locals(instruction)
            if local < len(names)  # else a cell
        }
        bound.update((ways, frozenset(stored)) for place, ways in asked.items() if place in loop)
    return bound


def _comparing(instruction: Instruction) -> str | None:
    """The primitive of a comparison that asks for the truth of its result."""
    if instruction.name != "COMPARE_OP" or sys.version_info < (3, 13):
        return None
    if not instruction.argument & _ASKS_ITSELF:
        return None
    return _ORDERS.get(dis.cmp_op[instruction.argument >> 5])


def _ways(instructions: list[Instruction], numbers: dict[int, int], number: int) -> tuple[int, ...]:
    """Where code goes on after a truth value, if it is true and if it is false."""
    asking = instructions[number]
    while instructions[number].name in _PASSED and number + 1 < len(instructions):
        number += 1
    jump = instructions[number]
    if jump.target is None or "POP_JUMP" not in jump.name or "NONE" in jump.name:
        return (asking.place,)
    starts = (numbers[jump.target], number + 1)
    ways = tuple([_after_jumps(instructions, numbers, start) for start in starts])
    return ways if jump.name.endswith("TRUE") else ways[::-1]


def _after_jumps(instructions: list[Instruction], numbers: dict[int, int], number: int) -> int:
    """The place of the first instruction from this one on that does something."""
    for _ in instructions:
        instruction = instructions[number]
        if instruction.name in _JUMPS and instruction.target is not None:
            number = numbers[instruction.target]
        elif instruction.name in ("NOP", "NOT_TAKEN", "CACHE", "RESUME"):
            number += 1
        else:
            break
    return instructions[number].place


def looks_at_frames(frame: FrameType) -> bool:
    """Whether a function that looks at frames has another name where the code looks it up."""
    names: Any = getattr(frame.f_globals, "original", frame.f_globals)
    return any(id(names.get(name)) in _LOOKING for name in frame.f_code.co_names)


def names_in(frame: FrameType) -> dict[str, Any]:
    """What the names of a frame are bound to that it goes on with.

    Nothing refers to that afterwards: how many names an array has is counted.
    """
    place = place_of(frame.f_code, frame.f_lasti)
    names = frame.f_locals
    live = () if place is None else place.names
    values = {name: value for name, value in names.items() if name in live}
    if type(names) is dict:  # before 3.13, it is kept with the frame
        mark = names.get(_MARK)
        names.clear()
        if mark is not None:
            names[_MARK] = mark
    return values


def bindings(frame: FrameType) -> dict[str, int]:
    """What the local names of a frame are bound to, by identity, but those that others share."""
    shared = {*frame.f_code.co_cellvars, *frame.f_code.co_freevars, _MARK}
    names = frame.f_locals
    bound = {name: id(value) for name, value in names.items() if name not in shared}
    names_in(frame)
    return bound


def held_elsewhere(frame: FrameType, values: tuple[Any, ...]) -> list[bool]:
    """For each value, whether more than local names of the frame and captures refers to it."""
    bound = Counter(bindings(frame).values())
    known = [capture.arrays for capture in captures()]
    return [
        references
        > _UNBOUND
        + bound[id(value)]
        + sum(id(value) in arrays and arrays[id(value)][0] is value for arrays in known)
        for value, references in zip(values, _references(values), strict=True)
    ]


def _references(values: tuple[Any, ...]) -> list[int]:
    return [sys.getrefcount(value) for value in values]


_UNBOUND: Final = _references((object(),))[0]


def mark(frame: FrameType) -> object:
    """What a frame is known by: another may lie at its place in memory when it has ended."""
    token = frame.f_locals.setdefault(_MARK, object())
    names_in(frame)
    return token


def is_marked(frame: FrameType, token: object) -> bool:
    """Whether it is the frame that was marked."""
    names = frame.f_locals
    marked = names.get(_MARK) is token
    if type(names) is dict:
        names_in(frame)
    return marked
