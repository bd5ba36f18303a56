"""Compiled code taken apart into instructions, and put together again with others among them.

Jumps, the table of exception handlers and the table of source positions are computed anew, so that
tracebacks, debuggers and coverage see the lines and columns of the original. Written after the
formats in CPython's `Objects/locations.md` and `Objects/exception_handling_notes.txt` (3.11 to
3.15).
"""

from __future__ import annotations

import dis
import opcode
from collections.abc import Iterator
from types import CodeType
from typing import Any

_EXTENDED = dis.EXTENDED_ARG
_JUMPS = frozenset(dis.hasjrel)
_CACHES: Any = getattr(opcode, "_inline_cache_entries", {})
_COUNTED_BY_NAME = hasattr(_CACHES, "get")  # since 3.13, else by number
# Names of operations that do what an older one does. What is borrowed lives as long as the local.
_OLDER = {
    "LOAD_FAST_BORROW": "LOAD_FAST",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": "LOAD_FAST_LOAD_FAST",
}
_SUBSCRIPT = 26  # the argument of BINARY_OP for `x[key]`, from 3.14 on


class Instruction:
    """One instruction.

    operation: its number. argument: without that of a jump, which has a target instead. place:
    where it began in the original, in bytes; -1 for those that were added. positions: the line and
    columns of the source that it belongs to.
    """

    __slots__ = ("argument", "operation", "place", "positions", "target")

    def __init__(self, operation: int, argument: int, positions: Any, place: int = -1) -> None:
        self.operation = operation
        self.argument = argument
        self.positions = positions
        self.place = place
        self.target: int | None = None

    @property
    def name(self) -> str:
        """The name of its operation, in the words of 3.13."""
        name = dis.opname[self.operation]
        if name == "BINARY_OP" and self.argument == _SUBSCRIPT:
            return "BINARY_SUBSCR"
        return _OLDER.get(name, name)


def caches(operation: int) -> int:
    """How many units the interpreter keeps free after an operation for its own use."""
    if _COUNTED_BY_NAME:
        return int(_CACHES.get(dis.opname[operation], 0))
    return int(_CACHES[operation])


def taken_apart(code: CodeType) -> list[Instruction]:
    """The instructions of a code object, without its prefixes of long arguments."""
    instructions: list[Instruction] = []
    start: int | None = None
    for decoded in dis.get_instructions(code):
        start = decoded.offset if start is None else start
        if decoded.opcode == _EXTENDED:
            continue
        instruction = Instruction(decoded.opcode, decoded.arg or 0, decoded.positions, start)
        if decoded.opcode in _JUMPS:
            instruction.target = int(decoded.argval)
        instructions.append(instruction)
        start = None
    return instructions


def loaded_constant(instruction: Instruction, code: CodeType) -> Any:
    """The constant that an instruction loads; None where it loads none."""
    if instruction.name == "LOAD_CONST":
        return code.co_consts[instruction.argument]
    return instruction.argument if instruction.name == "LOAD_SMALL_INT" else None


def put_together(
    code: CodeType,
    places: list[int],
    groups: list[list[Instruction]],
    constants: tuple[Any, ...],
    depth: int,
) -> CodeType:
    """Code with other instructions.

    places: where the original instructions began. groups: for each of them what stands in its
    place. constants: all of the new code. depth: how much more of the stack is used.
    """
    return _Assembly(code, groups, places).build(constants, depth)


class _Assembly:
    """Code in the making. starts: where each group begins, in units of two bytes."""

    def __init__(self, code: CodeType, groups: list[list[Instruction]], places: list[int]) -> None:
        self.code = code
        self.groups = groups
        self.places = places
        self.sizes = {id(instruction): 1 for group in groups for instruction in group}
        self.starts: dict[int, int] = {}
        self._settle()

    def build(self, constants: tuple[Any, ...], depth: int) -> CodeType:
        """The new code object."""
        return self.code.replace(
            co_code=self._bytes(),
            co_consts=constants,
            co_stacksize=self.code.co_stacksize + depth,
            co_linetable=bytes(self._lines()),
            co_exceptiontable=bytes(self._handlers()),
        )

    def _settle(self) -> None:
        """Place all instructions; a jump that gets longer may move others, so until none does."""
        while True:
            at, ends = 0, {}
            for place, group in zip(self.places, self.groups, strict=True):
                self.starts[place] = at
                for instruction in group:
                    at += self.sizes[id(instruction)] + caches(instruction.operation)
                    ends[id(instruction)] = at
            self.starts[len(self.code.co_code)] = at
            grown = False
            for group in self.groups:
                for instruction in group:
                    if instruction.target is not None:
                        instruction.argument = abs(
                            self.starts[instruction.target] - ends[id(instruction)]
                        )
                    size = 1 + max(0, (instruction.argument.bit_length() - 1) // 8)
                    if size > self.sizes[id(instruction)]:
                        self.sizes[id(instruction)] = size
                        grown = True
            if not grown:
                return

    def _bytes(self) -> bytes:
        encoded = bytearray()
        for group in self.groups:
            for instruction in group:
                for shift in range(self.sizes[id(instruction)] - 1, 0, -1):
                    encoded += bytes((_EXTENDED, instruction.argument >> 8 * shift & 255))
                encoded += bytes((instruction.operation, instruction.argument & 255))
                encoded += bytes(2 * caches(instruction.operation))
        return bytes(encoded)

    def _lines(self) -> Iterator[int]:
        line = self.code.co_firstlineno
        for group in self.groups:
            for instruction in group:
                units = self.sizes[id(instruction)] + caches(instruction.operation)
                while units > 0:
                    length = min(units, 8)
                    units -= length
                    yield from _location(instruction.positions, line, length)
                    line = (
                        line
                        if instruction.positions.lineno is None
                        else instruction.positions.lineno
                    )

    def _handlers(self) -> Iterator[int]:
        parse: Any = dis._parse_exception_table  # type: ignore[attr-defined]
        for entry in parse(self.code):
            start, end = self.starts[entry.start], self.starts[entry.end]
            parts = (start, end - start, self.starts[entry.target], entry.depth << 1 | entry.lasti)
            for number, part in enumerate(parts):
                head, *rest = _big_endian(part)
                yield head | (0 if number else 128)
                yield from rest


def _location(positions: Any, line: int, length: int) -> Iterator[int]:
    """One entry of the table of positions."""
    if positions.lineno is None:
        yield 0x80 | 15 << 3 | length - 1
    elif positions.col_offset is None or positions.end_col_offset is None:
        yield 0x80 | 13 << 3 | length - 1
        yield from _signed(positions.lineno - line)
    else:
        yield 0x80 | 14 << 3 | length - 1
        yield from _signed(positions.lineno - line)
        yield from _little_endian((positions.end_lineno or positions.lineno) - positions.lineno)
        yield from _little_endian(positions.col_offset + 1)
        yield from _little_endian(positions.end_col_offset + 1)


def _signed(value: int) -> Iterator[int]:
    return _little_endian(-value << 1 | 1 if value < 0 else value << 1)


def _little_endian(value: int) -> Iterator[int]:
    while value >= 64:
        yield 64 | value & 63
        value >>= 6
    yield value


def _big_endian(value: int) -> list[int]:
    parts = [value & 63]
    while value := value >> 6:
        parts.append(64 | value & 63)
    return parts[::-1]


def depths(instructions: list[Instruction], code: CodeType) -> list[int] | None:
    """How high the stack is before each instruction; None where that cannot be told."""
    numbers = {instruction.place: number for number, instruction in enumerate(instructions)}
    parse: Any = dis._parse_exception_table  # type: ignore[attr-defined]
    heights = [-1] * len(instructions)
    waiting = [(0, 0)]
    waiting += [
        (numbers[handler.target], handler.depth + handler.lasti + 1) for handler in parse(code)
    ]
    while waiting:
        number, depth = waiting.pop()
        while number < len(instructions) and heights[number] < 0:
            heights[number] = depth
            instruction = instructions[number]
            argument = instruction.argument if instruction.operation >= dis.HAVE_ARGUMENT else None
            if instruction.target is not None:
                after = depth + dis.stack_effect(instruction.operation, argument, jump=True)
                waiting.append((numbers[instruction.target], after))
            if instruction.name in ENDS:
                break
            if instruction.name == "RETURN_GENERATOR":
                depth += 1  # what is sent to it first
            else:
                depth += dis.stack_effect(instruction.operation, argument, jump=False)
            if depth < 0:
                return None
            number += 1
    return heights


ENDS = frozenset(
    {
        *("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD"),
        *("JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"),
    }
)
