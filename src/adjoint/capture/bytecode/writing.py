"""Which values that code loads are written into: `self.buffer[i] = x`, `grid += 1`, `u.sort()`."""

from __future__ import annotations

import types

from adjoint.capture.bytecode.assembly import Instruction

_METHODS = frozenset({"fill", "itemset", "partition", "put", "resize", "sort"})
_IN_PLACE = 13  # the first argument of BINARY_OP that means an in-place operator
_REACH = 300  # how many instructions are looked through
_CALLS = {"PRECALL": 0, "CALL": 0, "CALL_KW": 1}  # and how much lies above the arguments
_STORES = {"STORE_SUBSCR": 3, "STORE_SLICE": 4}


class Writing:
    """The writes of one code object. heights: of the stack before each instruction."""

    def __init__(
        self, code: types.CodeType, instructions: list[Instruction], heights: list[int]
    ) -> None:
        self.code = code
        self.instructions = instructions
        self.heights = heights
        self._locals: set[int] = set()
        loads = {
            (number, local, below)
            for number, instruction in enumerate(instructions if heights else [])
            for local, below in loaded_locals(instruction)
        }
        while True:  # until no more are found under other names
            more = {local for number, local, below in loads if self._reaches(number, below)}
            if more <= self._locals:
                break
            self._locals |= more
        # What a comprehension puts back when it ends may be nothing at all, of which none can ask.
        self._kept = {
            instruction.argument
            for instruction in instructions
            if instruction.name == "LOAD_FAST_AND_CLEAR"
        }
        self._handed = {local for number, local, below in loads if self._is_argument(number, below)}

    def into(self, number: int) -> bool:
        """Whether what an instruction loads is written into, under the name of a local at times."""
        if self._reaches(number, 0):
            return True
        after = self.instructions[number + 1]
        if after.name == "STORE_FAST":
            return after.argument in self._locals
        return after.name == "STORE_FAST_LOAD_FAST" and after.argument >> 4 in self._locals

    def names(self, instruction: Instruction) -> list[int]:
        """How far below the top of the stack lies what is bound to a name that is written into.

        It may be by a function that is called with it, or by one inside of this one.
        """
        if instruction.name == "STORE_DEREF":
            return [0]
        asked = (self._locals | self._handed) - self._kept
        return [below for local, below in stored_locals(instruction) if local in asked]

    def _reaches(self, number: int, below: int) -> bool:
        """Whether a value on the stack, so many places below its top, is written into."""
        if number + 1 >= len(self.heights) or self.heights[number] < 0:
            return False
        slot = self.heights[number + 1] - 1 - below
        if not below and self._is_writing_method(self.instructions[number + 1]):
            return True
        for place in range(number + 1, min(number + _REACH, len(self.instructions))):
            instruction, height = self.instructions[place], self.heights[place]
            if height <= slot:
                return False
            taken = _STORES.get(instruction.name)
            if taken is not None and height - taken in (slot - 1, slot):
                return True
            if (
                instruction.name == "BINARY_OP"
                and instruction.argument >= _IN_PLACE
                and height - 2 == slot
            ):
                return True
            if self._output(place) == slot:
                return True
            for local, above in stored_locals(instruction):
                if height - 1 - above == slot and local in self._locals:
                    return True  # it, or a view of it
        return False

    def _output(self, place: int) -> int:
        """Where on the stack lies what is given as `out=`, at a call with names; -1 if nowhere."""
        instruction, height = self.instructions[place], self.heights[place]
        if instruction.name == "KW_NAMES":
            names = self.code.co_consts[instruction.argument]
        elif instruction.name == "CALL_KW" and self.instructions[place - 1].name == "LOAD_CONST":
            names, height = self.code.co_consts[self.instructions[place - 1].argument], height - 1
        else:
            return -1
        return height - len(names) + names.index("out") if "out" in names else -1

    def _is_argument(self, number: int, below: int) -> bool:
        """Whether a value on the stack, so many places below its top, is handed to a call."""
        if number + 1 >= len(self.heights) or self.heights[number] < 0:
            return False
        slot = self.heights[number + 1] - 1 - below
        for place in range(number + 1, min(number + _REACH, len(self.instructions))):
            instruction, height = self.instructions[place], self.heights[place]
            if height <= slot:
                return False
            if (
                instruction.name in _CALLS
                and slot >= height - instruction.argument - _CALLS[instruction.name]
            ):
                return True
            if instruction.name == "BINARY_OP" and slot >= height - 2:
                return False  # what is handed on is another array
        return False

    def _is_writing_method(self, instruction: Instruction) -> bool:
        for name, shift in (("LOAD_METHOD", 0), ("LOAD_ATTR", 1)):
            if instruction.name == name:
                place = instruction.argument >> shift
                names = self.code.co_names
                return place < len(names) and names[place] in _METHODS
        return False


def stored_locals(instruction: Instruction) -> list[tuple[int, int]]:
    """The locals that an instruction binds, and how far below the top of the stack the value is."""
    name, argument = instruction.name, instruction.argument
    if name == "STORE_FAST":
        return [(argument, 0)]
    if name == "STORE_FAST_LOAD_FAST":
        return [(argument >> 4, 0)]
    if name == "STORE_FAST_STORE_FAST":
        return [(argument >> 4, 0), (argument & 15, 1)]
    return []


def loaded_locals(instruction: Instruction) -> list[tuple[int, int]]:
    """The locals that an instruction loads, and how far below the top of the stack they lie."""
    name, argument = instruction.name, instruction.argument
    if name in ("LOAD_FAST", "LOAD_FAST_CHECK"):
        return [(argument, 0)]
    if name == "LOAD_FAST_LOAD_FAST":
        return [(argument >> 4, 1), (argument & 15, 0)]
    if name == "STORE_FAST_LOAD_FAST":
        return [(argument & 15, 0)]
    return []
