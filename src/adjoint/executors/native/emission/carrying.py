"""What goes from one round of a loop to the next: in registers, in one place, or between two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.executors.native.machine.module import Block, Value, memory_type, scalar_type


@dataclass(frozen=True)
class BodyOperand:
    """What a body reads or writes: a number in registers, or an array in memory.

    tag: equal for memory that may overlap. fixed: whether nothing in the function writes it.
    within: the least and the greatest of its integers, if they are known.
    """

    type: ArrayType
    value: Value | None
    pointer: str = ""
    tag: int = 0
    fixed: bool = False
    within: tuple[int, int] | None = None

    @property
    def bytes(self) -> int:
        """How large it is."""
        return self.type.size * self.type.dtype.itemsize


def read_row(block: Block, row: BodyOperand) -> BodyOperand:
    """A row that is a number, read; others are where they are."""
    if row.type.ndim:
        return row
    tag = ", !invariant.load !0" if row.fixed else _tag(block, row)
    if row.within is not None:
        tag += f", !range {block.module.range_tag(memory_type(row.type.dtype), *row.within)}"
    return BodyOperand(row.type, read_number(block, row.pointer, row.type.dtype, tag))


def read_number(block: Block, pointer: str, dtype: np.dtype[Any], tag: str = "") -> Value:
    """The number at a pointer."""
    texts, scalar = [], memory_type(dtype)
    for part in range(2 if dtype.kind == "c" else 1):
        text = block.op(f"load {scalar}, ptr {_beside(block, pointer, scalar, part)}{tag}")
        if dtype.kind == "b":
            text = block.op(f"trunc i8 {text} to i1")
        texts.append(text)
    return Value(tuple(texts), dtype)


def write_row(block: Block, row: BodyOperand, value: Value) -> None:
    """Write a row that is a number."""
    scalar = memory_type(row.type.dtype)
    for part, text in enumerate(value.parts):
        if row.type.dtype.kind == "b":
            text = block.op(f"zext i1 {text} to i8")
        at = _beside(block, row.pointer, scalar, part)
        block.do(f"store {scalar} {text}, ptr {at}{_tag(block, row)}")


def _beside(block: Block, pointer: str, scalar: str, part: int) -> str:
    if not part:
        return pointer
    return block.op(f"getelementptr {scalar}, ptr {pointer}, i64 {part}")


def _tag(block: Block, row: BodyOperand) -> str:
    return f", !tbaa {block.module.alias_tag(row.tag)}"


class Carried(Protocol):
    """A value that goes from round to round."""

    def current(self) -> BodyOperand:
        """What the next round reads."""

    def target(self) -> BodyOperand | None:
        """Where the next round writes; None for numbers."""

    def advance(self, value: Value | None) -> None:
        """A round is over; value: the number that it gave."""

    def finish(self) -> Value | None:
        """After the loop: the number; an array is in its place then."""


def copy(block: Block, to: str, origin: str, size: int) -> None:
    """Copy bytes."""
    name = block.module.declare(
        "llvm.memcpy.p0.p0.i64", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    )
    block.do(f"call void {name}(ptr {to}, ptr {origin}, i64 {size}, i1 false)")


def clear(block: Block, start: str, size: str) -> None:
    """So many zero bytes."""
    name = block.module.declare(
        "llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    )
    block.do(f"call void {name}(ptr {start}, i8 0, i64 {size}, i1 false)")


class CarriedNumber:
    """A number, in slots on the stack that LLVM turns into registers."""

    def __init__(self, block: Block, type_: ArrayType, initial: Value | None) -> None:
        self.block = block
        self.type = type_
        self.scalar = scalar_type(type_.dtype)
        parts = 2 if type_.dtype.kind == "c" else 1
        self.slots = [block.stack(self.scalar, 16) for _ in range(parts)]
        self.advance(initial)

    def current(self) -> BodyOperand:
        """The number."""
        texts = (self.block.op(f"load {self.scalar}, ptr {slot}") for slot in self.slots)
        return BodyOperand(self.type, Value(tuple(texts), self.type.dtype))

    def target(self) -> None:
        """Numbers are returned."""

    def advance(self, value: Value | None) -> None:
        """Keep the number."""
        assert value is not None
        for slot, part in zip(self.slots, value.parts, strict=True):
            self.block.do(f"store {self.scalar} {part}, ptr {slot}")

    def finish(self) -> Value | None:
        """The last number."""
        return self.current().value


class InPlace:
    """An array that each round writes over. on_stack: whether it is held there meanwhile."""

    def __init__(self, block: Block, result: BodyOperand, on_stack: bool) -> None:
        self.block = block
        self.result = result
        self.held = result
        if on_stack:
            self.held = replace(result, pointer=block.stack(f"[{result.bytes} x i8]"))
            copy(block, self.held.pointer, result.pointer, result.bytes)

    def current(self) -> BodyOperand:
        """The array."""
        return self.held

    def target(self) -> BodyOperand:
        """The array."""
        return self.held

    def advance(self, value: Value | None) -> None:
        """It is where it should be."""

    def finish(self) -> None:
        """Back to its place, if it was elsewhere."""
        if self.held is not self.result:
            copy(self.block, self.result.pointer, self.held.pointer, self.result.bytes)


class Copied:
    """A small array that is written beside the old one, and then copied over it."""

    def __init__(self, block: Block, operand: BodyOperand, result: BodyOperand) -> None:
        self.block = block
        self.result = result
        self.old, self.new = (
            replace(result, pointer=block.stack(f"[{result.bytes} x i8]")) for _ in range(2)
        )
        copy(block, self.old.pointer, operand.pointer, result.bytes)

    def current(self) -> BodyOperand:
        """The old array."""
        return self.old

    def target(self) -> BodyOperand:
        """The new one."""
        return self.new

    def advance(self, value: Value | None) -> None:
        """The new one is old."""
        copy(self.block, self.old.pointer, self.new.pointer, self.result.bytes)

    def finish(self) -> None:
        """To its place."""
        copy(self.block, self.result.pointer, self.old.pointer, self.result.bytes)


class Alternating:
    """An array that lies in its place in one round and in a spare one in the next.

    odd: whether the number of rounds is odd, if that is known, so that the last is in its place.
    """

    def __init__(
        self, block: Block, operand: BodyOperand, result: BodyOperand, spare: str, odd: str
    ) -> None:
        self.block = block
        self.result = result
        self.now, self.next, self.after = (block.stack("ptr", 8) for _ in range(3))
        first, second = result.pointer, spare
        if odd:
            pair = (f"ptr {first}, ptr {second}", f"ptr {second}, ptr {first}")
            first, second = (block.op(f"select i1 {odd}, {choice}") for choice in pair)
        for slot, pointer in zip(
            (self.now, self.next, self.after), (operand.pointer, first, second), strict=True
        ):
            block.do(f"store ptr {pointer}, ptr {slot}")

    def _at(self, slot: str) -> BodyOperand:
        return replace(self.result, pointer=self.block.op(f"load ptr, ptr {slot}"))

    def current(self) -> BodyOperand:
        """Where the last round wrote; before the first, the operand itself."""
        return self._at(self.now)

    def target(self) -> BodyOperand:
        """The other place."""
        return self._at(self.next)

    def advance(self, value: Value | None) -> None:
        """The places change their parts."""
        written, other = self._at(self.next).pointer, self._at(self.after).pointer
        for slot, pointer in ((self.now, written), (self.next, other), (self.after, written)):
            self.block.do(f"store ptr {pointer}, ptr {slot}")

    def finish(self) -> None:
        """To its place, if it is elsewhere."""
        block = self.block
        now = self._at(self.now).pointer
        elsewhere = block.op(f"icmp ne ptr {now}, {self.result.pointer}")
        move, there = block.new_label("move"), block.new_label("there")
        block.do(f"br i1 {elsewhere}, label %{move}, label %{there}")
        block.place(move)
        copy(block, self.result.pointer, now, self.result.bytes)
        block.do(f"br label %{there}")
        block.place(there)
