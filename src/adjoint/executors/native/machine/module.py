"""The text of an LLVM module under construction: functions, declarations, values.

Text is built, and not `llvmlite.ir` objects, since LLVM parses ten thousand lines of it in the time
in which Python makes one thousand of those objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.errors import ProgramError


class Value(NamedTuple):
    """A number, or a vector of them, in registers.

    parts: LLVM operands (`%12`, or a constant); two of them for complex numbers, real and
        imaginary. dtype: of the number; booleans are i1. lanes: how many numbers the vector has, 0
        for a single number.
    """

    parts: tuple[str, ...]
    dtype: np.dtype[Any]
    lanes: int = 0

    @property
    def text(self) -> str:
        """The operand of a real, integer or boolean value."""
        (part,) = self.parts
        return part


# What functions that run programs return: 0 if all is well, MISSED where NumPy has to run the
# program again, RAISED where a handler of signals has raised, OVERFLOW where a loop has more rounds
# than its tape has rows, whose number is in the state then.
MISSED: Final = 1
RAISED: Final = 2
OVERFLOW: Final = 3

_FIRST_RANGE: Final = 1 << 20  # the number of the first range among metadata
_RARE: Final = _FIRST_RANGE - 1  # and that of the weights of branches
# The attribute of functions that are written as they should be: simplifying them finds nothing.
PLAIN: Final = '"plain"'
# That of functions where time is spent: they are compiled well, however long the rest of a module
# is. They refer to nothing of the module but other such functions.
HOT: Final = '"hot"'
# The attributes of functions of numbers that live in a library. Nothing but their result matters:
# errors are read from the floating-point flags at the end. They are not `speculatable`: a call
# stays where the branches have led to it. LLVM's own knowledge of C functions is not wanted, since
# it would call others instead.
FUNCTION_ATTRIBUTES: Final = "nobuiltin nounwind willreturn memory(none)"
_DOUBLE: Final = Struct("<d")
_SINGLE: Final = Struct("<f")
_BITS: Final = Struct("<Q")
_SCALARS = {"f": {4: "float", 8: "double"}, "c": {8: "float", 16: "double"}}


def scalar_type(dtype: np.dtype[Any]) -> str:
    """The LLVM type of one part of a number in registers: `double`, `i32`, `i1`."""
    if dtype.kind in _SCALARS:
        return _SCALARS[dtype.kind][dtype.itemsize]
    return "i1" if dtype.kind == "b" else f"i{8 * dtype.itemsize}"


def memory_type(dtype: np.dtype[Any]) -> str:
    """The LLVM type of one part of a number in memory, where booleans are bytes."""
    return "i8" if dtype.kind == "b" else scalar_type(dtype)


def vector_type(scalar: str, lanes: int) -> str:
    """`<8 x double>`, or the scalar type itself when there are no lanes."""
    return f"<{lanes} x {scalar}>" if lanes else scalar


def register_type(value: Value) -> str:
    """The LLVM type of each part of a value."""
    return vector_type(scalar_type(value.dtype), value.lanes)


@dataclass
class Module:
    """Functions and declarations; the text of the whole when asked.

    last_tag: the greatest number that stands for memory so far. stack_bytes: what bodies of loops
    have of the stack so far. wrappers: the names of functions that are added once. branches:
    whether some are hardly ever taken.
    """

    declarations: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    count: int = 0
    tags: dict[int, str] = field(default_factory=dict)
    ranges: dict[tuple[str, int, int], str] = field(default_factory=dict)
    last_tag: int = 0
    stack_bytes: int = 0
    wrappers: set[str] = field(default_factory=set)
    branches: bool = False

    def declare(self, name: str, text: str) -> str:
        """Declare an external function or a global once; returns `@name`."""
        if self.declarations.setdefault(name, text) != text:  # LLVM would take the second amiss
            raise ProgramError(f"{name!r} is declared in two ways: {text}")
        return f"@{name}"

    def fresh(self, stem: str) -> str:
        """A name that no other function or global of the module has."""
        self.count += 1
        return f"{stem}.{self.count}"

    def alias_tag(self, number: int) -> str:
        """Metadata for memory that overlaps no memory of another number."""
        if not self.tags:
            self.attributes += ["!0 = !{}", '!1 = !{!"arrays"}']
        tag = self.tags.get(number)
        if tag is None:
            place = 2 + 2 * len(self.tags)
            tag = self.tags[number] = f"!{place}"
            self.attributes.append(f'!{place + 1} = !{{!"array {number}", !1, i64 0}}')
            self.attributes.append(f"{tag} = !{{!{place + 1}, !{place + 1}, i64 0}}")
        return tag

    def range_tag(self, type_text: str, least: int, most: int) -> str:
        """Metadata for what is read and is an integer from `least` to `most`."""
        key = type_text, least, most
        tag = self.ranges.get(key)
        if tag is None:
            tag = self.ranges[key] = f"!{_FIRST_RANGE + len(self.ranges)}"
            self.attributes.append(f"{tag} = !{{{type_text} {least}, {type_text} {most + 1}}}")
        return tag

    def rare_tag(self) -> str:
        """Metadata for a branch that is hardly ever taken to its first label."""
        tag = f"!{_RARE}"
        if not self.branches:
            self.branches = True
            self.attributes.append(f'{tag} = !{{!"branch_weights", i32 1, i32 100000}}')
        return tag

    def text(self) -> str:
        """All of it, without a target."""
        return "\n".join((*self.declarations.values(), *self.functions, *self.attributes, ""))


class Block:
    """Writes the instructions of one function, in order.

    label: the basic block that is being written. known: what has been written in it, by what it is
    made of; of use for what depends on nothing else and changes nothing. comparisons: what single
    floats were compared, by the name of the result: the predicate and both numbers. ending: what
    stands after all else.
    """

    __slots__ = ("_number", "comparisons", "ending", "known", "label", "lines", "module", "opening")

    def __init__(self, module: Module) -> None:
        self.module = module
        self.opening: list[str] = []  # stack memory, which belongs in the entry block
        self.lines: list[str] = []
        self.ending: list[str] = []
        self.label = "entry"
        self.known: dict[Any, Any] = {}
        self.comparisons: dict[str, tuple[str, Value, Value]] = {}
        self._number = 0

    def op(self, text: str) -> str:
        """An instruction with a result; returns its name."""
        self._number += 1
        name = f"%v{self._number}"
        self.lines.append(f"  {name} = {text}")
        return name

    def once(self, text: str) -> str:
        """An instruction whose result depends on its operands alone, once in a basic block."""
        name: str | None = self.known.get(text)
        if name is None:
            name = self.known[text] = self.op(text)
        return name

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append("  " + text)

    def prefetch(self, pointer: str, level: int, written: bool = False) -> None:
        """Ask for the cache line of an address, be it of an array or not; level: 3 is the first."""
        name = "llvm.prefetch.p0"
        self.module.declare(name, f"declare void @{name}(ptr, i32, i32, i32)")
        self.do(f"call void @{name}(ptr {pointer}, i32 {int(written)}, i32 {level}, i32 1)")

    def stack(self, type_text: str, align: int = 64) -> str:
        """Stack memory, reserved once for the whole function."""
        self._number += 1
        name = f"%s{self._number}"
        self.opening.append(f"  {name} = alloca {type_text}, align {align}")
        return name

    def new_label(self, stem: str) -> str:
        """A fresh label name, without `%`."""
        self._number += 1
        return f"{stem}{self._number}"

    def place(self, label: str) -> None:
        """Begin the basic block of this label; the one before must have been left by a branch."""
        self.lines.append(f"{label}:")
        self.label = label
        self.known = {}

    def rarely(self, condition: str, label: str, after: str) -> None:
        """Go to a label where an i1 holds, which is foreseen not to be so, and on to another."""
        tag = self.module.rare_tag()
        self.do(f"br i1 {condition}, label %{label}, label %{after}, !prof {tag}")
        self.place(after)

    def missed(self) -> str:
        """The label of what ends a function that runs programs: NumPy has to run it."""
        if not self.ending:
            self.ending += ["missed:", f"  ret i32 {MISSED}"]
        return "missed"

    def splat(self, value: Value, lanes: int) -> Value:
        """The value in every lane; itself when it has lanes already or none are wanted."""
        if not lanes or value.lanes == lanes:
            return value
        scalar = scalar_type(value.dtype)
        wide = vector_type(scalar, lanes)
        parts = []
        for part in value.parts:
            if not part.startswith("%"):
                parts.append("<" + ", ".join([f"{scalar} {part}"] * lanes) + ">")
                continue
            first = self.op(f"insertelement {wide} poison, {scalar} {part}, i32 0")
            parts.append(
                self.op(
                    f"shufflevector {wide} {first}, {wide} poison, <{lanes} x i32> zeroinitializer"
                )
            )
        return Value(tuple(parts), value.dtype, lanes)

    def merged(self, ends: Sequence[str], values: Sequence[Value]) -> Value:
        """The value that comes from the block, of those that end in this one, which was left.

        It has to stand before all else in its block.
        """
        kind = register_type(values[0])
        parts = []
        for texts in zip(*[value.parts for value in values], strict=True):
            ways = [f"[{text}, %{end}]" for text, end in zip(texts, ends, strict=True)]
            parts.append(self.op(f"phi {kind} {', '.join(ways)}"))
        return Value(tuple(parts), values[0].dtype, values[0].lanes)

    def function(self, header: str) -> str:
        """The text of the function: `define ... {`, its stack memory, its instructions."""
        return "\n".join((f"{header} {{", "entry:", *self.opening, *self.lines, *self.ending, "}"))


def number_text(value: Any, dtype: np.dtype[Any]) -> tuple[str, ...]:
    """A constant as LLVM operands: floats by their bits, so that nothing is rounded."""
    if dtype.kind == "c":
        number = complex(value)
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return (*number_text(number.real, part), *number_text(number.imag, part))
    if dtype.kind == "f":
        # LLVM writes floats as the bits of the double of the same value.
        (bits,) = _BITS.unpack(_DOUBLE.pack(_rounded(value, dtype)))
        return (f"0x{bits:016X}",)
    if dtype.kind == "b":
        return ("true" if value else "false",)
    return (str(int(value)),)


def _rounded(value: Any, dtype: np.dtype[Any]) -> float:
    """A number as a float of a dtype has it; by Python's means as a rule, since they are faster."""
    if isinstance(value, float):
        if dtype.itemsize == 8:
            return value
        if dtype.itemsize == 4 and -1e38 < value < 1e38:
            (single,) = _SINGLE.unpack(_SINGLE.pack(value))
            return float(single)
    with np.errstate(all="ignore"):
        return float(dtype.type(value))


def constant(value: Any, dtype: np.dtype[Any]) -> Value:
    """A number written into the code."""
    return Value(number_text(value, dtype), dtype)
