"""Which local names code uses as numbers alone: for arithmetic, comparisons and results.

In the place of such a number another object can stand that does arithmetic as numbers do. Python's
numbers do more elsewhere: they are indices, keys of dictionaries, text, lengths of lists.
"""

from __future__ import annotations

import opcode
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType
from typing import Any, Final, NamedTuple

from adjoint.capture.bytecode.assembly import Instruction, depths, loaded_constant, taken_apart
from adjoint.capture.bytecode.writing import loaded_locals, stored_locals

_OPCODE: Final[Any] = opcode
_OPERATORS: Final[list[str]] = [symbol for _, symbol in _OPCODE._nb_ops]
_TESTS: Final = ("POP_JUMP_IF", "POP_JUMP_FORWARD_IF", "POP_JUMP_BACKWARD_IF", "TO_BOOL")
_OF_FLOATS: Final = frozenset({"+", "-", "*", "/"})
_COUNTS: Final = frozenset({"+", "-"})
_DIVIDES: Final = frozenset({"%", "//"})
# Whole numbers below that, added as often as one can wait for, stay far from the end of int64.
GREATEST_COUNT: Final = 1 << 31
_TAKES_ONE: Final = frozenset({"STORE_FAST", "STORE_GLOBAL", "STORE_DEREF", "POP_TOP"})


class NumericNames(NamedTuple):
    """Local names. floats, ints: that are used as such numbers alone, if they are bound to one."""

    floats: frozenset[str]
    ints: frozenset[str]


@lru_cache(maxsize=1024)
def numeric_names(code: CodeType) -> NumericNames:
    """The local names that code uses as numbers alone, of those that no nested function shares."""
    instructions = taken_apart(code)
    heights = depths(instructions, code)
    shared = {*code.co_cellvars, *code.co_freevars}
    names = frozenset(code.co_varnames) - shared
    if heights is None:
        return NumericNames(frozenset(), frozenset())
    floats = _closed(_NumberUses(code, instructions, heights, names, _OF_FLOATS))
    return NumericNames(floats, _closed(_NumberUses(code, instructions, heights, names, _COUNTS)))


def _closed(uses: _NumberUses) -> frozenset[str]:
    """The names all of whose uses are those of numbers; what is stored in them goes on as one."""
    while True:
        kept = uses.names - uses.refused()
        if kept == uses.names:
            return kept
        uses.names = kept


class _NumberUses:
    """What becomes of numbers that code loads from names.

    names: that are taken to be numbers, as long as nothing speaks against it. operators: that may
    be applied to them; those of whole numbers, to another constant one.
    """

    def __init__(
        self,
        code: CodeType,
        instructions: list[Instruction],
        heights: list[int],
        names: frozenset[str],
        operators: frozenset[str],
    ) -> None:
        self.code = code
        self.instructions = instructions
        self.heights = heights
        self.names = names
        self.operators = operators
        self.counts = operators is _COUNTS

    def refused(self) -> set[str]:
        """The names that are used as something else as well."""
        names = self.code.co_varnames
        return {
            names[local]
            for number, instruction in enumerate(self.instructions)
            for local, below in loaded_locals(instruction)
            if local < len(names) and not self._is_number(number, below)
        }

    def _is_number(self, number: int, below: int = 0) -> bool:
        """Whether what an instruction has put on the stack is used as a number."""
        if self.heights[number] < 0:
            return True  # never run
        consumer = self._consumer(number, self.heights[number + 1] - 1 - below)
        if consumer is None:
            return False
        place, slot = consumer
        instruction = self.instructions[place]
        if instruction.name == "BINARY_OP":
            return self._is_arithmetic(number, place, slot == self.heights[place] - 2)
        if instruction.name == "UNARY_NEGATIVE":
            return self._is_number(place)
        if stored := stored_locals(instruction):
            top = self.heights[place] - 1
            return self._are_numbers(local for local, under in stored if top - under == slot)
        if instruction.name == "BUILD_TUPLE":
            first = self.heights[place] - instruction.argument
            following = self.instructions[place + 1]
            if following.name == "UNPACK_SEQUENCE":
                return self._are_numbers(self._unpacked(place + 2)[slot - first :][:1])
            instruction = following
        neutral = ("COMPARE_OP", "RETURN_VALUE")
        return instruction.name in neutral or instruction.name.startswith(_TESTS)

    def _are_numbers(self, locals_: Iterable[int]) -> bool:
        names = [self.code.co_varnames[local] for local in locals_]
        return bool(names) and self.names.issuperset(names)

    def _unpacked(self, place: int) -> list[int]:
        """The locals that are bound from an instruction on, in their order."""
        bound: list[int] = []
        while stored := stored_locals(self.instructions[place]):
            bound += [local for local, _ in stored]
            place += 1
        return bound

    def _is_arithmetic(self, number: int, place: int, is_left: bool) -> bool:
        operator = self._operator(place)
        other = self.instructions[place - 1 if is_left else number - 1]
        constant = loaded_constant(other, self.code)
        if not self.counts:
            # Beside anything but a number, what comes of it is no number of Python's.
            plain = type(constant) in (int, float)
            return operator in self.operators and (not plain or self._is_number(place))
        if operator == "/":
            return True
        if type(constant) is not int:
            return False
        if abs(constant) >= GREATEST_COUNT:
            return False
        divides = operator in _DIVIDES and is_left and constant != 0
        return (operator in self.operators or divides) and self._is_number(place)

    def _operator(self, place: int) -> str:
        return _OPERATORS[self.instructions[place].argument].rstrip("=")

    def _consumer(self, number: int, slot: int) -> tuple[int, int] | None:
        """Which instruction takes the value, and from which slot; None if that is not known."""
        for place in range(number + 1, len(self.instructions) - 1):
            instruction, height = self.instructions[place], self.heights[place]
            after = self.heights[place + 1]
            if height < 0 or instruction.name == "COPY":
                return None
            if instruction.name == "SWAP":
                ends = height - 1, height - instruction.argument
                slot = sum(ends) - slot if slot in ends else slot
            elif height == slot + 1:
                if after <= height or instruction.target is not None:
                    return place, slot
            elif after <= slot + (instruction.name not in _TAKES_ONE):
                return place, slot
            elif instruction.target is not None:
                return None
        return None
