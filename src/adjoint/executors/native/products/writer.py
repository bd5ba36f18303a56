"""Loops over memory, and vectors in and out of it, as LLVM instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.executors.native.machine.module import (
    HOT,
    PLAIN,
    Block,
    Module,
    number_text,
    scalar_type,
    vector_type,
)
from adjoint.executors.native.products.plan import ProductAxis
from adjoint.executors.native.products.tiling import ColumnPiece

Turn = Callable[[str, list[str]], list[str]]


class ProductWriter:
    """Writes the instructions of one function on arrays of real numbers of one type."""

    def __init__(self, module: Module, dtype: np.dtype[Any]) -> None:
        self.block = Block(module)
        self.module = module
        self.scalar = scalar_type(dtype)
        self.itemsize = dtype.itemsize
        self.masks: dict[tuple[int, int], str] = {}
        (self.zero,) = number_text(0.0, dtype)
        (self.nan,) = number_text(np.nan, dtype)

    # --- loops -----------------------------------------------------------------------------------

    def loop(
        self, count: int | str, types: Sequence[str], start: Sequence[str], body: Turn
    ) -> list[str]:
        """Run the body `count` times, at least once, and pass values of the types on.

        body: from the number of the turn and the values to the next values.
        """
        block = self.block
        if count == 1:
            return body("0", list(start))
        before, head, latch, after = (block.new_label(stem) for stem in ("b", "h", "l", "e"))
        block.do(f"br label %{before}")
        block.place(before)
        block.do(f"br label %{head}")
        block.place(head)
        opening = len(block.lines)
        names = [block.op("phi") for _ in range(len(start) + 1)]
        turn, values = names[0], names[1:]
        following = body(turn, values)
        block.do(f"br label %{latch}")
        block.place(latch)
        next_turn = block.op(f"add nuw nsw i64 {turn}, 1")
        again = block.op(f"icmp ult i64 {next_turn}, {count}")
        block.do(f"br i1 {again}, label %{head}, label %{after}")
        block.place(after)
        rows = zip(names, ["i64", *types], ["0", *start], [next_turn, *following], strict=True)
        for index, (name, type_, first, then) in enumerate(rows):
            block.lines[opening + index] = (
                f"  {name} = phi {type_} [ {first}, %{before} ], [ {then}, %{latch} ]"
            )
        return following

    def over(
        self,
        axes: Sequence[ProductAxis],
        pointers: Sequence[str],
        body: Callable[[list[str]], None],
    ) -> None:
        """Run the body at every place of nested loops.

        pointers: into A, B and C, in this order.
        """
        if not axes:
            body(list(pointers))
            return
        axis = axes[0]

        def turn(_: str, inside: list[str]) -> list[str]:
            self.over(axes[1:], inside, body)
            return self.advanced(inside, (axis.a, axis.b, axis.c))

        self.loop(axis.size, ["ptr"] * len(pointers), pointers, turn)

    def advanced(self, pointers: Sequence[str], steps: Sequence[int]) -> list[str]:
        """Pointers moved by so many elements each."""
        return [self.at(pointer, step) for pointer, step in zip(pointers, steps, strict=True)]

    def at(self, pointer: str, offset: int | str) -> str:
        """The pointer to an element further on."""
        if offset in (0, "0"):
            return pointer
        return self.block.op(f"getelementptr inbounds {self.scalar}, ptr {pointer}, i64 {offset}")

    def times(self, index: str, factor: int) -> str:
        """A number of turns as a number of elements."""
        if index == "0" or factor == 0:
            return "0"
        return index if factor == 1 else self.block.op(f"mul nsw i64 {index}, {factor}")

    def plus(self, index: str, other: str) -> str:
        """The sum of two numbers of turns."""
        if "0" in (index, other):
            return other if index == "0" else index
        return self.block.op(f"add nuw nsw i64 {index}, {other}")

    def smaller(self, index: str, limit: int) -> str:
        """The smaller of an index and a constant."""
        if index == "0":
            return "0"
        below = self.block.op(f"icmp ult i64 {index}, {limit}")
        return self.block.op(f"select i1 {below}, i64 {index}, i64 {limit}")

    # --- vectors ---------------------------------------------------------------------------------

    def type_of(self, width: int) -> str:
        """The type of a vector; one number is not a vector."""
        return vector_type(self.scalar, 0 if width == 1 else width)

    def filled(self, number: str, width: int) -> str:
        """A constant in all lanes."""
        if width == 1:
            return number
        return "<" + ", ".join([f"{self.scalar} {number}"] * width) + ">"

    def splat(self, number: str, width: int) -> str:
        """A number in registers in all lanes."""
        if width == 1:
            return number
        wide = self.type_of(width)
        first = self.block.op(f"insertelement {wide} poison, {self.scalar} {number}, i32 0")
        return self.block.op(
            f"shufflevector {wide} {first}, {wide} poison, <{width} x i32> zeroinitializer"
        )

    def number(self, pointer: str) -> str:
        """The number at a pointer."""
        return self.block.op(f"load {self.scalar}, ptr {pointer}, align {self.itemsize}")

    def load(self, pointer: str, piece: ColumnPiece, stride: int, rest: str) -> str:
        """A vector of the piece's numbers, `rest` in the lanes that it does not use.

        The pointer is to the number in the first lane.
        """
        block, width = self.block, piece.width
        wide = self.type_of(width)
        if width == 1:
            return self.number(pointer)
        if stride == 0:
            return self.splat(self.number(pointer), width)
        if stride != 1:
            vector = self.filled(rest, width) if piece.count < width else "poison"
            for lane in range(piece.count):
                number = self.number(self.at(pointer, lane * stride))
                vector = block.op(
                    f"insertelement {wide} {vector}, {self.scalar} {number}, i32 {lane}"
                )
            return vector
        if piece.count == width:
            return block.op(f"load {wide}, ptr {pointer}, align {self.itemsize}")
        name = f"llvm.masked.load.v{width}f{8 * self.itemsize}.p0"
        self.module.declare(name, f"declare {wide} @{name}(ptr, i32, <{width} x i1>, {wide})")
        return block.op(
            f"call {wide} @{name}(ptr {pointer}, i32 {self.itemsize}, {_mask(piece)}, "
            f"{wide} {self.filled(rest, width)})"
        )

    def store(self, vector: str, pointer: str, piece: ColumnPiece, stride: int) -> None:
        """Write the used lanes of a vector; the pointer is to where the first lane goes."""
        block, width = self.block, piece.width
        wide = self.type_of(width)
        if width == 1 or (stride == 1 and piece.count == width):
            block.do(f"store {wide} {vector}, ptr {pointer}, align {self.itemsize}")
            return
        if stride != 1:
            for lane in range(piece.count):
                self.store_lane(vector, lane, width, self.at(pointer, lane * stride))
            return
        name = f"llvm.masked.store.v{width}f{8 * self.itemsize}.p0"
        self.module.declare(name, f"declare void @{name}({wide}, ptr, i32, <{width} x i1>)")
        block.do(
            f"call void @{name}({wide} {vector}, ptr {pointer}, i32 {self.itemsize}, "
            f"<{width} x i1> {self.hidden_mask(piece)})"
        )

    def hidden_mask(self, piece: ColumnPiece) -> str:
        """The lanes that a piece uses, as a mask of which LLVM does not know the bits.

        From a mask that it knows it concludes that the other lanes can be anything, and computes
        with zeros in them: zero times infinity would be a fault.
        """
        key = (piece.width, piece.count)
        if key not in self.masks:
            integer = f"i{max(piece.width, 8)}"
            number = f"%m{piece.width}.{piece.count}"
            bits = (1 << piece.count) - 1
            opening = self.block.opening
            opening.append(f'  {number} = call {integer} asm "", "=r,0"({integer} {bits})')
            if piece.width < 8:
                opening.append(f"  {number}.b = trunc {integer} {number} to i{piece.width}")
                number += ".b"
            mask = f"{number}.l"
            opening.append(f"  {mask} = bitcast i{piece.width} {number} to <{piece.width} x i1>")
            self.masks[key] = mask
        return self.masks[key]

    # --- arithmetic ------------------------------------------------------------------------------

    def multiply_add(self, x: str, y: str, total: str, width: int) -> str:
        """total + x y, rounded once where the processor can."""
        wide = self.type_of(width)
        name = f"llvm.fmuladd.{'' if width == 1 else f'v{width}'}f{8 * self.itemsize}"
        self.module.declare(name, f"declare {wide} @{name}({wide}, {wide}, {wide})")
        return self.block.op(f"call {wide} @{name}({wide} {x}, {wide} {y}, {wide} {total})")

    def add(self, x: str, y: str, width: int) -> str:
        """x + y."""
        return self.block.op(f"fadd {self.type_of(width)} {x}, {y}")

    def multiply(self, x: str, y: str, width: int) -> str:
        """x y, and nothing added: the sign of a zero is kept."""
        return self.block.op(f"fmul {self.type_of(width)} {x}, {y}")

    def totals(self, vectors: Sequence[str], width: int) -> str:
        """The sums of the lanes of vectors, as many as a power of two and at most `width`.

        Vectors are added in pairs, each half of the sum for one of them, so that the number of
        instructions is about that of one vector for each.
        """
        sums, held = list(vectors), 1  # every vector holds parts of so many sums
        size = width
        while size > held:
            part = size // held
            twice = len(sums) > 1
            halves = [
                [
                    vector * size + group * part + lane
                    for vector in range(2 if twice else 1)
                    for group in range(held)
                    for lane in range(start, start + part // 2)
                ]
                for start in (0, part // 2)
            ]
            following = []
            for index in range(0, len(sums), 2 if twice else 1):
                pair = sums[index], sums[index + 1] if twice else "poison"
                lower, upper = (self.chosen(*pair, size, lanes) for lanes in halves)
                following.append(self.add(lower, upper, len(halves[0])))
            sums = following
            held, size = (2 * held, size) if twice else (held, size // 2)
        (result,) = sums
        return result

    def chosen(self, x: str, y: str, width: int, lanes: Sequence[int]) -> str:
        """Lanes of two vectors, one after the other; those of y are counted from `width`."""
        wide = self.type_of(width)
        if len(lanes) == 1:
            return self.block.op(f"extractelement {wide} {x}, i32 {lanes[0]}")
        listed = ", ".join(f"i32 {lane}" for lane in lanes)
        return self.block.op(
            f"shufflevector {wide} {x}, {wide} {y}, <{len(lanes)} x i32> <{listed}>"
        )

    def store_lane(self, vector: str, lane: int, width: int, pointer: str) -> None:
        """Write one lane of a vector."""
        number = self.block.op(f"extractelement {self.type_of(width)} {vector}, i32 {lane}")
        self.block.do(f"store {self.scalar} {number}, ptr {pointer}, align {self.itemsize}")

    def function(self, name: str) -> None:
        """End the function, and put it into the module."""
        self.block.do("ret void")
        header = (
            f"define internal void @{name}(ptr noalias %c, ptr %a, ptr %b, ptr %scratch) "
            f"nounwind {PLAIN} {HOT}"
        )
        self.module.functions.append(self.block.function(header))


def _mask(piece: ColumnPiece) -> str:
    lanes = ", ".join(f"i1 {int(lane < piece.count)}" for lane in range(piece.width))
    return f"<{piece.width} x i1> <{lanes}>"
