"""Matrices in scratch whose rows are whole vectors, and numbers that loops go on with."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.executors.native.elements.writer import part_dtype
from adjoint.executors.native.machine.module import Value, scalar_type, vector_type
from adjoint.executors.native.systems.arrays import ArrayWriter


class Slot:
    """A number on the stack, which LLVM makes a register of."""

    def __init__(self, writer: ArrayWriter, start: Value) -> None:
        self.writer = writer
        self.dtype = start.dtype
        self.places = [writer.block.stack(self._scalar, 8) for _ in start.parts]
        self.set(start)

    @property
    def _scalar(self) -> str:
        return scalar_type(part_dtype(self.dtype))

    def get(self) -> Value:
        """The number that it has now."""
        block = self.writer.block
        parts = tuple(block.op(f"load {self._scalar}, ptr {place}") for place in self.places)
        return Value(parts, self.dtype)

    def set(self, value: Value) -> None:
        """Give it another."""
        for place, text in zip(self.places, value.parts, strict=True):
            self.writer.block.do(f"store {self._scalar} {text}, ptr {place}")


class Panel:
    """A matrix in scratch: rows of vectors, real parts before imaginary ones.

    start: in bytes from the beginning of the scratch. lanes: of the vectors, 0 for numbers.
    """

    def __init__(
        self, writer: ArrayWriter, start: int, rows: int, columns: int, lanes: int
    ) -> None:
        self.writer = writer
        self.dtype = writer.numbers.dtype
        self.part: np.dtype[Any] = writer.numbers.part
        self.lanes = lanes
        step = max(lanes, 1)
        self.blocks = -(-columns // step)
        self.width = self.blocks * step
        self.parts = 2 if self.dtype.kind == "c" else 1
        self.bytes = -(-rows * self.width * self.parts * self.part.itemsize // 64) * 64
        self.base = writer.block.op(f"getelementptr i8, ptr %scratch, i64 {start}")

    def _row(self, row: str) -> str:
        return self.writer.at(self.base, self.part, self.writer.times(row, self.width * self.parts))

    def _pointers(self, row: str, column: int | str) -> list[str]:
        start = self.writer.at(self._row(row), self.part, column)
        return [self.writer.at(start, self.part, n * self.width) for n in range(self.parts)]

    def vector(self, row: str, block: int) -> Value:
        """The numbers of a row in one of its vectors."""
        wide = vector_type(scalar_type(self.part), self.lanes)
        size = self.part.itemsize
        texts = [
            self.writer.block.op(f"load {wide}, ptr {pointer}, align {size}")
            for pointer in self._pointers(row, block * max(self.lanes, 1))
        ]
        return Value(tuple(texts), self.dtype, self.lanes)

    def set_vector(self, row: str, block: int, value: Value) -> None:
        """Write one vector of a row."""
        value = self.writer.block.splat(value, self.lanes)
        wide = vector_type(scalar_type(self.part), self.lanes)
        pointers = self._pointers(row, block * max(self.lanes, 1))
        for pointer, text in zip(pointers, value.parts, strict=True):
            self.writer.block.do(f"store {wide} {text}, ptr {pointer}, align {self.part.itemsize}")

    def number(self, row: str, column: str) -> Value:
        """One number."""
        scalar = scalar_type(self.part)
        texts = [
            self.writer.block.op(f"load {scalar}, ptr {pointer}, align {self.part.itemsize}")
            for pointer in self._pointers(row, column)
        ]
        return Value(tuple(texts), self.dtype)

    def set_number(self, row: str, column: str, value: Value) -> None:
        """Write one number."""
        scalar = scalar_type(self.part)
        for pointer, text in zip(self._pointers(row, column), value.parts, strict=True):
            self.writer.block.do(
                f"store {scalar} {text}, ptr {pointer}, align {self.part.itemsize}"
            )

    def where(self, predicate: str, block: int, column: str) -> Value:
        """For each lane of a vector, whether its column compares so with another (`eq`, `sgt`)."""
        lanes = self.lanes
        wide = vector_type("i64", lanes)
        if not lanes:
            text = self.writer.block.op(f"icmp {predicate} i64 {block}, {column}")
            return Value((text,), np.dtype(bool))
        own = ", ".join(f"i64 {block * lanes + lane}" for lane in range(lanes))
        other = self.writer.block.splat(Value((column,), np.dtype(np.int64)), lanes)
        text = self.writer.block.op(f"icmp {predicate} {wide} <{own}>, {other.text}")
        return Value((text,), np.dtype(bool), lanes)
