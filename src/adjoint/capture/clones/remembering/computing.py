"""What a function's instructions do with values, with what they look up, and with what they call.

Code is followed from one instruction to the next along all its branches, with what lies on the
stack: data, functions, modules. It is told from data what may be called or looked into, as anybody
can hang attributes on a function: one that is looked up is called at once, or the code is refused.
So is code with an instruction that this file does not know, as one of a later version of Python.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

DATA: Final = "data"
"""On the stack: an array, a number, a tuple, a range and what is like them."""
FUNCTION: Final = "function"
"""On the stack: what does nothing but compute when it is called."""
_NULL: Final = "null"  # beside what is to be called
Lookup = Callable[[str], Any]
"""What a name is: DATA, FUNCTION, a module, or None for what is not known."""
Stack = tuple[Any, ...]

_NULL_LAST: Final = sys.version_info >= (3, 13)  # after what is called, not before it
_METHOD_FLAG: Final = sys.version_info >= (3, 12)  # of LOAD_ATTR
_ATTRIBUTES: Final = frozenset({"shape", "ndim", "size"})  # what any array is asked for
_NUMBERS: Final = frozenset({int, float, complex, bool, type(None), str})
# What instructions take from the stack, and how much they leave there, where both are data.
_TAKEN_AND_LEFT: Final = {
    **dict.fromkeys(("RESUME", "NOP", "CACHE", "EXTENDED_ARG", "PRECALL", "NOT_TAKEN"), (0, 0)),
    **dict.fromkeys(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"), (0, 0)),
    **dict.fromkeys(("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_CONST"), (0, 1)),
    **dict.fromkeys(("LOAD_SMALL_INT", "FOR_ITER"), (0, 1)),
    **dict.fromkeys(("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"), (0, 2)),
    **dict.fromkeys(("STORE_FAST", "POP_TOP", "RETURN_VALUE"), (1, 0)),
    **dict.fromkeys(("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"), (1, 0)),
    **dict.fromkeys(("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE"), (1, 0)),
    **dict.fromkeys(("POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE"), (1, 0)),
    **dict.fromkeys(("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"), (1, 0)),
    **dict.fromkeys(("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_NOT", "TO_BOOL"), (1, 1)),
    **dict.fromkeys(("BINARY_OP", "BINARY_SUBSCR", "COMPARE_OP"), (2, 1)),
    **{"STORE_FAST_LOAD_FAST": (1, 1), "STORE_FAST_STORE_FAST": (2, 0)},
    **{"BINARY_SLICE": (3, 1), "RETURN_CONST": (0, 0)},
}
# Those of a loop: what an iterator takes on the stack, and who takes it away, differs by version.
_OF_LOOPS: Final = frozenset({"GET_ITER", "END_FOR", "POP_ITER"})
_COUNTED: Final = frozenset({"BUILD_TUPLE", "BUILD_SLICE"})
_RETURNS: Final = frozenset({"RETURN_VALUE", "RETURN_CONST"})
_KEEPING: Final = frozenset({"JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"})  # where they jump
_UNCONDITIONAL: Final = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})
_UNTOLD: Final = frozenset({"PRECALL", *_RETURNS})  # whose effects Python counts otherwise


class _UnknownInstruction(Exception):
    """An instruction that may do more than compute."""


def only_computes(code: types.CodeType, look_up: Lookup, member: Callable[[Any, str], Any]) -> bool:
    """Whether code does nothing but compute with its arguments and with what it looks up.

    member: what a name in a module is. Both are asked for all that can be reached, and no more.
    """
    instructions = list(dis.get_instructions(code))
    following = {x.offset: y.offset for x, y in pairwise(instructions)}
    by_place = {instruction.offset: instruction for instruction in instructions}
    reached: dict[int, Stack] = {}
    waiting: list[tuple[int, Stack]] = [(instructions[0].offset, ())]
    while waiting:
        place, stack = waiting.pop()
        if place in reached:
            if reached[place] != stack:
                return False
            continue
        reached[place] = stack
        instruction = by_place[place]
        try:
            after = _after(instruction, stack, look_up, member)
        except _UnknownInstruction:
            return False
        name = instruction.opname
        if "JUMP" in name or name == "FOR_ITER":
            waiting.append((instruction.argval, _where_it_jumps(name, stack, after)))
        if name not in _UNCONDITIONAL and name not in _RETURNS:
            waiting.append((following[place], after))
    return True


def _where_it_jumps(name: str, stack: Stack, after: Stack) -> Stack:
    """The stack at the target of a jump, which differs from that at the next instruction."""
    if name in _KEEPING:
        return stack
    if name == "FOR_ITER" and not _METHOD_FLAG:  # later, what is left is taken by END_FOR
        return stack[:-1]
    return after


def _after(
    instruction: dis.Instruction, stack: Stack, look_up: Lookup, member: Callable[[Any, str], Any]
) -> Stack:
    """The stack after an instruction, where it does not jump."""
    name, count = instruction.opname, instruction.arg or 0
    if name == "LOAD_GLOBAL":
        entry = _known(look_up(instruction.argval))
        return _pushed(stack, entry, called=bool(count & 1))
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        called = name == "LOAD_METHOD" or (_METHOD_FLAG and bool(count & 1))
        return _looked_into(instruction.argval, stack, called, member)
    if name == "CALL":
        return _called(stack, count)
    if name == "PUSH_NULL":
        return (*stack, _NULL)
    if name in ("COPY", "SWAP"):
        return _moved(name, stack, count)
    if name in ("LOAD_CONST", "RETURN_CONST") and not _is_constant(instruction.argval):
        raise _UnknownInstruction
    if name == "UNPACK_SEQUENCE":
        return _exchanged(stack, 1, count)
    if name in _COUNTED:
        return _exchanged(stack, count, 1)
    return _exchanged(stack, *_taken_and_left(instruction))


def _taken_and_left(instruction: dis.Instruction) -> tuple[int, int]:
    """How much data an instruction takes from the stack, and how much it leaves there."""
    name = instruction.opname
    if name in _UNTOLD:
        return _TAKEN_AND_LEFT[name]
    if name not in _TAKEN_AND_LEFT and name not in _OF_LOOPS:
        raise _UnknownInstruction
    effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
    if name in _OF_LOOPS:
        return (1, 1 + effect) if name == "GET_ITER" else (-effect, 0)
    taken, left = _TAKEN_AND_LEFT[name]
    if effect != left - taken:  # of a version that gives the name to something else
        raise _UnknownInstruction
    return taken, left


def _known(entry: Any) -> Any:
    if entry is None:
        raise _UnknownInstruction
    return entry


def _pushed(stack: Stack, entry: Any, called: bool) -> Stack:
    if not called:
        return (*stack, entry)
    return (*stack, entry, _NULL) if _NULL_LAST else (*stack, _NULL, entry)


def _looked_into(name: str, stack: Stack, called: bool, member: Callable[[Any, str], Any]) -> Stack:
    """The stack after an attribute was asked for: of a module, or the shape of data."""
    owner = stack[-1] if stack else _NULL
    if isinstance(owner, types.ModuleType):
        return _pushed(stack[:-1], _known(member(owner, name)), called)
    if owner is not DATA or called or name not in _ATTRIBUTES:
        raise _UnknownInstruction
    return stack


def _called(stack: Stack, count: int) -> Stack:
    """The stack after a function was called with data."""
    first = len(stack) - count - 2
    if first < 0 or {*stack[first : first + 2]} != {FUNCTION, _NULL}:
        raise _UnknownInstruction
    return (*_exchanged(stack, count, 0)[:first], DATA)


def _moved(name: str, stack: Stack, count: int) -> Stack:
    """The stack where data has been copied to the top, or has changed place with it."""
    if len(stack) < count or stack[-count] is not DATA or stack[-1] is not DATA:
        raise _UnknownInstruction
    return (*stack, DATA) if name == "COPY" else stack


def _exchanged(stack: Stack, taken: int, left: int) -> Stack:
    """The stack after data was taken, and other data left."""
    kept = len(stack) - taken
    if kept < 0 or any([entry is not DATA for entry in stack[kept:]]):
        raise _UnknownInstruction
    return (*stack[:kept], *(DATA,) * left)


def _is_constant(value: Any) -> bool:
    """Whether a constant of code is a number, text, or a tuple or slice of such."""
    kind = type(value)
    if kind is tuple:
        return all(map(_is_constant, value))
    if kind is slice:
        return all(map(_is_constant, (value.start, value.stop, value.step)))
    return kind in _NUMBERS
