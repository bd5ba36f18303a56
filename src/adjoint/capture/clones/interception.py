"""The code of a clone: what Python looks up through an object is looked up by us.

Names are rebound by the clone's globals, but methods are found through classes and functions
through containers. So in a clone's code each `x.name` asks `Attribute("name")`, and what is called
asks `CALLEE`; where classes of the user's overload operators, those ask too. Objects, classes and
their functions stay as they are: only the clone's code differs. Code that cannot be changed (of a
Python that is not known) runs as it is, and errors say the rest.
"""

from __future__ import annotations

import builtins
import dis
import sys
import types
from operator import is_, is_not
from typing import Any

import numpy as np

from adjoint.base.process.interpreter import knows_bytecode
from adjoint.capture.bytecode.assembly import Instruction, depths, put_together, taken_apart
from adjoint.capture.bytecode.code import CALLED, note_original
from adjoint.capture.bytecode.writing import Writing
from adjoint.capture.clones.adopting import NAMED, WRITTEN_CELL, WRITTEN_ITEM
from adjoint.capture.clones.callee import CALLEE
from adjoint.capture.clones.entering.foreign import is_foreign, is_of_values
from adjoint.capture.clones.entering.users import file_of, is_users_file
from adjoint.capture.clones.overloads import OPERATORS, PRODUCTS, families_of
from adjoint.capture.clones.reaching import (
    Above,
    Attribute,
    BodyName,
    CalledAttribute,
    ClassOf,
    DeletedName,
    StoredName,
    WrittenAttribute,
    WrittenName,
)
from adjoint.capture.clones.stand_ins.attempts import note_attempts
from adjoint.capture.clones.stand_ins.classes import PATTERN
from adjoint.capture.clones.stand_ins.showing import JOINED, PERCENT, Formatted
from adjoint.capture.clones.wrapping.given_functions import calls_functions
from adjoint.capture.facts.purity import effect_of

_NULL_LAST = sys.version_info >= (3, 13)  # PUSH_NULL comes after what is called
_METHOD_FLAG = sys.version_info >= (3, 12)  # of LOAD_ATTR, where 3.11 has LOAD_METHOD
_OPCODES: Any = dis.opmap
_MATRIX_PRODUCT = 4  # the argument of BINARY_OP for @
_REMAINDER = 6  # and for %
_TEXTS = frozenset(
    {"FORMAT_VALUE", "BUILD_STRING", "CONVERT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"}
)
_AS_TRUTH = 16  # of COMPARE_OP, from 3.13 on: what is asked for is the truth of the result
_DEPTH = 3  # how much more of the stack the instructions use that are put in


class _Constants:
    """The constants of code, to which others are added."""

    def __init__(self, code: types.CodeType) -> None:
        self.values = list(code.co_consts)
        self.added: dict[int, int] = {}

    def place(self, value: Any) -> int:
        """Where a constant stands."""
        if id(value) not in self.added:
            self.added[id(value)] = len(self.values)
            self.values.append(value)
        return self.added[id(value)]


class _InterceptedCode:
    """One code object being rewritten.

    plain: names whose attributes, and which when called, need no asking, with what they are bound
    to: modules and builtins. families: which operators are asked for.
    """

    def __init__(
        self, code: types.CodeType, plain: dict[str, Any], families: frozenset[str]
    ) -> None:
        self.code = code
        self.plain = plain
        self.families = families
        self.constants = _Constants(code)
        self.names = list(code.co_names)  # and those of what is called
        self.instructions = taken_apart(code)
        heights = depths(self.instructions, code)
        self.depths: list[int] = [] if heights is None else heights
        self.last: dict[int, Instruction] = {}  # what was put last at each height of the stack
        self.looked_up: dict[Instruction, Any] = {}  # those that look up what is in a module
        self.members: set[Instruction] = set()  # and those that look up a function there
        self.writing = Writing(code, self.instructions, self.depths)
        self.places = {instruction: number for number, instruction in enumerate(self.instructions)}
        self.landings = _landings(self.instructions)
        self.groups: list[list[Instruction]] = []  # what stands in the place of each instruction

    def build(self) -> types.CodeType | None:
        """The new code; None where it cannot be made."""
        if not self.depths:
            return None
        for number, constant in enumerate(self.constants.values):
            if isinstance(constant, types.CodeType):
                inner = _InterceptedCode(constant, self.plain, self.families).build()
                if inner is None:
                    return None
                self.constants.values[number] = inner
        for number in range(len(self.instructions)):
            self.groups.append(self._group(number))
        places = [instruction.place for instruction in self.instructions]
        values = tuple(self.constants.values)
        code = put_together(self.code, places, self.groups, values, _DEPTH)
        code = code.replace(co_names=tuple(self.names))
        note_attempts(code)
        note_original(code, self.code)
        return code

    def _added(self, instruction: Instruction, name: str, argument: int = 0) -> Instruction:
        return Instruction(_OPCODES[name], argument, instruction.positions)

    def _asked(self, instruction: Instruction, asker: Any) -> list[Instruction]:
        """What replaces the top of the stack by `asker @ top`."""
        return [
            self._added(instruction, "LOAD_CONST", self.constants.place(asker)),
            self._added(instruction, "SWAP", 2),
            self._added(instruction, "BINARY_OP", _MATRIX_PRODUCT),
        ]

    def _null(self, instruction: Instruction) -> list[Instruction]:
        """What marks the top of the stack as something to be called."""
        null = [self._added(instruction, "PUSH_NULL")]
        return null if _NULL_LAST else [*null, self._added(instruction, "SWAP", 2)]

    def _group(self, number: int) -> list[Instruction]:
        instruction, depth = self.instructions[number], self.depths[number]
        if depth < 0:
            return [instruction]  # never reached
        name = instruction.name
        if name == "LOAD_METHOD" or name == "LOAD_ATTR":
            group = self._attribute(number)
        elif name == "LOAD_SUPER_ATTR":
            group = self._super(instruction)
        elif name == "LOAD_GLOBAL":
            group = self._global(number)
        elif name == "PUSH_NULL" and _NULL_LAST and self._marks_callee(number):
            before = self.instructions[number - 1]
            group = [*self._callee(instruction, before, number), instruction]
        elif name in ("PRECALL", "CALL") and self._is_decorator(number, depth):
            swap = self._added(instruction, "SWAP", 2)
            group = [swap, *self._asked(instruction, CALLEE), swap, instruction]
        elif not _NULL_LAST and name in _CALLS:
            group = self._call(number, depth)
        elif name == "LOAD_NAME":
            asker = BodyName.of(self.code.co_names[instruction.argument])
            nothing = self._added(instruction, "LOAD_CONST", self.constants.place(None))
            group = [nothing, *self._asked(instruction, asker)]
        elif name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            group = self._global_bound(instruction)
        elif name in _TEXTS:
            group = self._text(instruction)
        elif name == "LOAD_DEREF" and self.writing.into(number):
            cell = self._added(instruction, "LOAD_FAST", instruction.argument)  # the cell itself
            end = self._added(instruction, "POP_TOP")
            group = [cell, *self._asked(instruction, WRITTEN_CELL), end, instruction]
        elif name in OPERATORS:
            group = [*self._item(number), *self._operator(number)]
        elif name == "MATCH_CLASS":
            group = self._class_pattern(instruction)
        elif name.startswith("STORE_"):
            group = self._store(instruction)
        else:
            group = [instruction]
        self._note(instruction, number)
        return group

    def _note(self, instruction: Instruction, number: int) -> None:
        """Keep what is put on the stack, from which a call tells that it is one of a function."""
        if "JUMP" in instruction.name:  # which puts nothing
            return
        if number + 1 < len(self.depths) and self.depths[number + 1] > 0:
            top = self.depths[number + 1] - 1
            self.last[top] = instruction
            if instruction.name == "LOAD_GLOBAL" and instruction.argument & 1:
                self.last[top - 1] = instruction

    def _attribute(self, number: int) -> list[Instruction]:
        instruction = self.instructions[number]
        method, place = instruction.name == "LOAD_METHOD", instruction.argument
        if _METHOD_FLAG:
            method, place = bool(place & 1), place >> 1
        owner, name = self.instructions[number - 1], self.code.co_names[place]
        known = name != "__dict__" and self._is_plain(owner, number)
        if known:
            member = getattr(self._plain_value(owner), name, None)
            if not _is_plain_member(member):
                known = not (method or is_of_values(member))
            elif method or isinstance(member, types.ModuleType) or self._is_looked_into(number):
                self.looked_up[instruction] = member
            else:  # a function as a value, which is itself; unless it is called after all
                self.members.add(instruction)
                known = False
        if known:
            argument = place << 1 if _METHOD_FLAG else place
            group = [self._added(instruction, "LOAD_ATTR", argument)]
        else:
            kind = Attribute
            if method:
                kind = CalledAttribute
            elif self.writing.into(number):
                kind = WrittenAttribute
            kind = ClassOf if name == "__class__" else kind
            group = self._asked(instruction, kind.of(name))
        return [*group, *self._null(instruction)] if method else group

    def _is_looked_into(self, number: int) -> bool:
        """Whether what an instruction looks up is only asked for an attribute: `np.add.reduce`."""
        return self.instructions[number + 1].name in ("LOAD_ATTR", "LOAD_METHOD")

    def _is_plain(self, owner: Instruction, number: int) -> bool:
        """Whether an instruction looks up the name of a module or builtin, or what is in one.

        number: of the instruction that uses it. Where a jump leads past the look-up to that, as in
        `(f if x else np.sin)(y)`, it may be anything.
        """
        if self.landings[self.places[owner]] <= number:
            return False
        if owner in self.looked_up:
            return True
        if owner.name != "LOAD_GLOBAL":
            return False
        return self.code.co_names[owner.argument >> 1] in self.plain

    def _by_called_name(self, load: Instruction) -> Instruction:
        """A global that is looked up to be called."""
        name = self.code.co_names[load.argument >> 1] + CALLED
        if name not in self.names:
            self.names.append(name)
        argument = self.names.index(name) << 1 | load.argument & 1
        return self._added(load, "LOAD_GLOBAL", argument)

    def _plain_value(self, owner: Instruction) -> Any:
        """What such an instruction looks up."""
        if owner in self.looked_up:
            return self.looked_up[owner]
        return self.plain[self.code.co_names[owner.argument >> 1]]

    def _super(self, instruction: Instruction) -> list[Instruction]:
        """`super().name`, from 3.12 on one instruction."""
        method, name = instruction.argument & 1, self.code.co_names[instruction.argument >> 2]
        group = [self._added(instruction, "BUILD_TUPLE", 3)]
        group += self._asked(instruction, Above.of(name))
        return [*group, *self._null(instruction)] if method else group

    def _global(self, number: int) -> list[Instruction]:
        """A name that is looked up to be called, from 3.13 on, or to be written into."""
        instruction = self.instructions[number]
        called = instruction.argument & 1
        if not called and self.writing.into(number):
            name = self.code.co_names[instruction.argument >> 1]
            nothing = self._added(instruction, "LOAD_CONST", self.constants.place(None))
            asked = self._asked(instruction, WrittenName.of(name))
            return [nothing, *asked, self._added(instruction, "POP_TOP"), instruction]
        if not _NULL_LAST or not called:
            return [instruction]
        if self._is_plain(instruction, number):
            return [self._by_called_name(instruction)]
        load = self._added(instruction, "LOAD_GLOBAL", instruction.argument & ~1)
        return [load, *self._asked(instruction, CALLEE), *self._null(instruction)]

    def _call(self, number: int, depth: int) -> list[Instruction]:
        """A call, before 3.13: what is called lies below its arguments, above a mark."""
        instruction = self.instructions[number]
        if instruction.name == "CALL_FUNCTION_EX":
            above = 1 + (instruction.argument & 1)
        elif self.instructions[number - 1].name in ("PRECALL", "KW_NAMES"):
            return [instruction]  # asked there already
        else:
            counted = self.instructions[number + (instruction.name == "KW_NAMES")]
            above = counted.argument
        place = depth - above - 2
        mark, called = self.last.get(place), self.last.get(place + 1)
        if mark is None or called is None or not _is_mark(mark):
            return [instruction]
        asked = self._callee(instruction, called, number)
        swap = [self._added(instruction, "SWAP", above + 1)] if asked and above else []
        return [*swap, *asked, *swap, instruction]

    def _callee(self, call: Instruction, called: Instruction, number: int) -> list[Instruction]:
        """What asks for the top of the stack as it is to be called, which an instruction put there.

        Nothing where that is known: it looks up what is called at once, then.
        """
        member = called in self.members and self.landings[self.places[called]] > number
        if not member and not self._is_plain(called, number):
            return self._asked(call, CALLEE)
        if called not in self.looked_up:
            load = called if member else self._by_called_name(called)
            self.groups[self.places[called]][:] = [load]
        return []

    def _marks_callee(self, number: int) -> bool:
        """Whether what comes next on the stack is called, and no argument or place is left out."""
        return self.instructions[number + 1].name not in ("CALL_FUNCTION_EX", "FOR_ITER")

    def _is_decorator(self, number: int, depth: int) -> bool:
        """Whether a call is that of a decorator: without a mark, and of what was just made."""
        mark, maker = self.last.get(depth - 2), self.instructions[number - 1]
        if self.instructions[number].argument or mark is None or maker.name not in _MADE:
            return False
        return not _is_mark(mark) and mark.name not in _FUNCTIONS  # nor a generator expression

    def _store(self, instruction: Instruction) -> list[Instruction]:
        """What is bound to a name under which it is written into."""
        group = []
        for below in self.writing.names(instruction):
            swap = [self._added(instruction, "SWAP", 2)] if below else []
            group += [*swap, *self._asked(instruction, NAMED), *swap]
        return [*group, instruction]

    def _global_bound(self, instruction: Instruction) -> list[Instruction]:
        """A global that is assigned or deleted: that of the module, and at once."""
        name = self.code.co_names[instruction.argument]
        end = self._added(instruction, "POP_TOP")
        if instruction.name == "STORE_GLOBAL":
            return [*self._asked(instruction, StoredName.of(name)), end]
        nothing = self._added(instruction, "LOAD_CONST", self.constants.place(None))
        return [nothing, *self._asked(instruction, DeletedName.of(name)), end]

    def _text(self, instruction: Instruction) -> list[Instruction]:
        """Part of an f-string, or all of its parts together."""
        name, argument = instruction.name, instruction.argument
        if name == "BUILD_STRING":
            pack = self._added(instruction, "BUILD_TUPLE", argument)
            return [pack, *self._asked(instruction, JOINED)]
        if name != "FORMAT_VALUE":  # from 3.13 on there are three of them
            argument = {"FORMAT_SIMPLE": 0, "FORMAT_WITH_SPEC": 4}.get(name, argument)
        packing = [self._added(instruction, "BUILD_TUPLE", 2)] if argument & 4 else []
        return [*packing, *self._asked(instruction, Formatted(argument))]

    def _item(self, number: int) -> list[Instruction]:
        """What comes before `container[key]`, where that is written into."""
        instruction = self.instructions[number]
        if instruction.name != "BINARY_SUBSCR" or not self.writing.into(number):
            return []
        copies = [self._added(instruction, "COPY", 2)] * 2
        pair = self._added(instruction, "BUILD_TUPLE", 2)
        asked = self._asked(instruction, WRITTEN_ITEM)
        return [*copies, pair, *asked, self._added(instruction, "POP_TOP")]

    def _operator(self, number: int) -> list[Instruction]:
        instruction, before = self.instructions[number], self.instructions[number - 1]
        if instruction.name == "BINARY_OP" and instruction.argument == _REMAINDER:
            first = self.last.get(self.depths[number] - 2)
            text = first is not None and first.name == "LOAD_CONST"
            if first and text and isinstance(self.code.co_consts[first.argument], str):
                both = self._added(instruction, "BUILD_TUPLE", 2)
                return [both, *self._asked(instruction, PERCENT)]
        name = instruction.name
        family, count, asker = OPERATORS[name]
        if name == "BINARY_OP" and instruction.argument in PRODUCTS and "products" in self.families:
            family = "products"
        if family not in self.families or (family == "identity" and self._is_no_number(before)):
            return [instruction]
        pack = [self._added(instruction, "BUILD_TUPLE", count)] if count > 1 else []
        group = [*pack, *self._asked(instruction, asker(instruction.argument))]
        if instruction.name == "COMPARE_OP" and _NULL_LAST and instruction.argument & _AS_TRUTH:
            group.append(self._added(instruction, "TO_BOOL"))
        if instruction.name == "GET_ITER":
            group.append(instruction)  # from 3.15 on it puts a place beside the iterator
        return group

    def _is_no_number(self, before: Instruction) -> bool:
        """Whether an instruction loads a constant that no traced value is, as in `x is None`."""
        if before.name != "LOAD_CONST":
            return before.name == "LOAD_COMMON_CONSTANT"  # a class, or a builtin
        return not isinstance(self.code.co_consts[before.argument], int)

    def _class_pattern(self, instruction: Instruction) -> list[Instruction]:
        """`case kind(...)`: what is matched, the class and the names of attributes lie on top."""
        copies = [self._added(instruction, "COPY", 3)] * 2
        pair = self._added(instruction, "BUILD_TUPLE", 2)
        exchange = [self._added(instruction, "SWAP", 3), self._added(instruction, "POP_TOP")]
        return [*copies, pair, *self._asked(instruction, PATTERN), *exchange, instruction]


def _landings(instructions: list[Instruction]) -> list[int]:
    """For each instruction, the nearest one after it to which a jump from before it leads."""
    numbers = {instruction.place: number for number, instruction in enumerate(instructions)}
    landings = [len(instructions)] * len(instructions)
    for number, instruction in enumerate(instructions):
        end = -1 if instruction.target is None else numbers[instruction.target]
        for between in range(number + 1, end):
            landings[between] = min(landings[between], end)
    return landings


def _is_mark(instruction: Instruction) -> bool:
    """Whether an instruction marks what comes next as something to be called."""
    name = instruction.name
    return name == "PUSH_NULL" or (name == "LOAD_GLOBAL" and bool(instruction.argument & 1))


_FUNCTIONS = frozenset({"MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE"})
_MADE = _FUNCTIONS | {"CALL"}
_CALLS = frozenset({"CALL", "PRECALL", "KW_NAMES", "CALL_FUNCTION_EX"})
# What needs no asking: its attributes are not the user's, and by name it is rebound already.
_PLAIN = (
    *(types.ModuleType, types.FunctionType, types.BuiltinFunctionType),
    *(np.ufunc, type(np.sum)),
)


def rewritten(code: types.CodeType, names: dict[str, Any]) -> types.CodeType:
    """The code of a clone. names: the globals of the original."""
    if not knows_bytecode():
        return code
    bound = {
        name: names[name] if name in names else _BUILTINS.get(name) for name in _names_of(code)
    }
    plain = {name: bound[name] for name in bound if _is_plain(name, names)}
    clone_code = _InterceptedCode(code, plain, families_of(names)).build()
    return code if clone_code is None else clone_code


def _names_of(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_of(constant)
    return names


def _is_plain(name: str, names: dict[str, Any]) -> bool:
    if name not in names:
        return name != "type" and hasattr(builtins, name)
    value = names[name]
    if isinstance(value, types.ModuleType):
        file = file_of(value)  # a builtin module, such as math, has none
        return file is None or not is_users_file(file)
    return isinstance(value, _PLAIN)


def _is_plain_member(value: Any) -> bool:
    """Whether what is in a module or builtin class needs no asking when it is called.

    Classes do, and so do methods of an object, such as `np.random.shuffle`, and functions that are
    not known to be pure.
    """
    if calls_functions(value) or is_of_values(value) or value is is_ or value is is_not:
        return False
    if isinstance(value, types.BuiltinFunctionType):
        if is_foreign(value):
            return False
        owner = value.__self__
        return owner is None or isinstance(owner, (types.ModuleType, type))
    if isinstance(value, types.FunctionType):
        return effect_of(value) is None
    return isinstance(value, (*_PLAIN, types.MethodDescriptorType, types.WrapperDescriptorType))


_BUILTINS = vars(builtins)
