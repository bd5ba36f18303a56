"""Strided arrays, loops and faults of one function on matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.executors.native.elements.writer import part_dtype
from adjoint.executors.native.machine.module import (
    Block,
    Module,
    Value,
    register_type,
    scalar_type,
    vector_type,
)
from adjoint.executors.native.systems.arithmetic import Arithmetic


class ArrayWriter:
    """Writes the instructions of one function on arrays of one dtype, and their pivots.

    The function is `i1 @name(ptr %r0, ..., ptr %o0, ..., ptr %scratch)`: results, operands, and
    memory of its own; it tells whether NumPy has to compute instead.
    """

    def __init__(self, module: Module, dtype: np.dtype[Any]) -> None:
        self.module = module
        self.block = Block(module)
        self.numbers = Arithmetic(self.block, dtype)
        self.scalar = scalar_type(part_dtype(dtype))
        self.slot = self.block.stack("i8", 1)
        self.block.opening.append(f"  store i8 0, ptr {self.slot}")

    # --- memory ----------------------------------------------------------------------------------

    def at(self, pointer: str, dtype: np.dtype[Any], offset: int | str) -> str:
        """The pointer to a number further on."""
        if offset in (0, "0"):
            return pointer
        parts = 2 if dtype.kind == "c" else 1
        if isinstance(offset, str):
            offset = offset if parts == 1 else self.block.op(f"mul nsw i64 {offset}, {parts}")
        else:
            offset *= parts
        scalar = scalar_type(part_dtype(dtype))
        return self.block.op(f"getelementptr {scalar}, ptr {pointer}, i64 {offset}")

    def times(self, index: str, factor: int) -> str:
        """A multiple of an index."""
        if index == "0" or not factor:
            return "0"
        return index if factor == 1 else self.block.op(f"mul nsw i64 {index}, {factor}")

    def plus(self, one: str, other: int | str) -> str:
        """The sum of two indices."""
        return one if other in (0, "0") else self.block.op(f"add nsw i64 {one}, {other}")

    def load(self, pointer: str, dtype: np.dtype[Any], lanes: int = 0, step: int = 0) -> Value:
        """The numbers of all lanes; one for all of them where the step from lane to lane is 0."""
        lanes = lanes if step else 0
        parts = 2 if dtype.kind == "c" else 1
        part = part_dtype(dtype)
        scalar, block = scalar_type(part), self.block
        texts = []
        for number in range(parts):
            if not lanes or (step == 1 and parts == 1):
                at = self._beside(pointer, scalar, number)
                wide = vector_type(scalar, lanes)
                texts.append(block.op(f"load {wide}, ptr {at}, align {part.itemsize}"))
                continue
            vector = "poison"
            for lane in range(lanes):
                at = self._beside(pointer, scalar, lane * step * parts + number)
                one = block.op(f"load {scalar}, ptr {at}, align {part.itemsize}")
                wide = vector_type(scalar, lanes)
                vector = block.op(f"insertelement {wide} {vector}, {scalar} {one}, i32 {lane}")
            texts.append(vector)
        return Value(tuple(texts), dtype, lanes)

    def store(self, value: Value, pointer: str, lanes: int = 0, step: int = 0) -> None:
        """Write the numbers of all lanes."""
        value = self.block.splat(value, lanes)
        part = part_dtype(value.dtype)
        scalar, block = scalar_type(part), self.block
        wide = register_type(value)
        for number, text in enumerate(value.parts):
            if not lanes or (step == 1 and len(value.parts) == 1):
                at = self._beside(pointer, scalar, number)
                block.do(f"store {wide} {text}, ptr {at}, align {part.itemsize}")
                continue
            for lane in range(lanes):
                one = block.op(f"extractelement {wide} {text}, i32 {lane}")
                at = self._beside(pointer, scalar, lane * step * len(value.parts) + number)
                block.do(f"store {scalar} {one}, ptr {at}, align {part.itemsize}")

    def _beside(self, pointer: str, scalar: str, steps: int) -> str:
        if not steps:
            return pointer
        return self.block.op(f"getelementptr {scalar}, ptr {pointer}, i64 {steps}")

    # --- loops -----------------------------------------------------------------------------------

    @contextmanager
    def counting(self, start: str, end: str | int, step: int = 1) -> Iterator[str]:
        """A loop from start to below end, which may not be run at all; yields its counter."""
        block = self.block
        head, body, after = (block.new_label(stem) for stem in ("head", "body", "done"))
        counter, following = f"%{head}.i", f"%{head}.next"
        before = block.new_label("before")
        block.do(f"br label %{before}")
        block.place(before)
        block.do(f"br label %{head}")
        block.place(head)
        here = len(block.lines)
        block.lines.append("")
        more = block.op(f"icmp slt i64 {counter}, {end}")
        block.do(f"br i1 {more}, label %{body}, label %{after}")
        block.place(body)
        yield counter
        block.do(f"{following} = add nuw nsw i64 {counter}, {step}")
        block.lines[here] = (
            f"  {counter} = phi i64 [{start}, %{before}], [{following}, %{block.label}]"
        )
        block.do(f"br label %{head}")
        block.place(after)

    @contextmanager
    def pieces(self, length: int, lanes: int) -> Iterator[str]:
        """A loop over pieces of as many as there are lanes; the last may overlap the one before."""
        step = max(lanes, 1)
        if length == step:
            yield "0"
            return
        with self.counting("0", length, step) as counter:
            yield self.least(counter, length - step) if length % step else counter

    def least(self, one: str, other: int | str) -> str:
        """The smaller of two indices."""
        name = self.module.declare("llvm.smin.i64", "declare i64 @llvm.smin.i64(i64, i64)")
        return self.block.op(f"call i64 {name}(i64 {one}, i64 {other})")

    @staticmethod
    def truth(text: str) -> Value:
        """A condition as a value."""
        return Value((text,), np.dtype(bool))

    # --- faults ----------------------------------------------------------------------------------

    def flush(self) -> None:
        """Note the faults so far."""
        any_fault = ""
        for lanes in sorted({fault.lanes for fault in self.numbers.faults}):
            wide, text = vector_type("i1", lanes), ""
            for fault in self.numbers.faults:
                if fault.lanes == lanes:
                    text = self.block.op(f"or {wide} {text}, {fault.text}") if text else fault.text
            if lanes:
                name = f"llvm.vector.reduce.or.v{lanes}i1"
                self.module.declare(name, f"declare i1 @{name}(<{lanes} x i1>)")
                text = self.block.op(f"call i1 @{name}(<{lanes} x i1> {text})")
            any_fault = self.block.op(f"or i1 {any_fault}, {text}") if any_fault else text
        self.numbers.faults.clear()
        if any_fault:
            before = self.block.op(f"load i8, ptr {self.slot}")
            byte = self.block.op(f"zext i1 {any_fault} to i8")
            self.block.do(f"store i8 {self.block.op(f'or i8 {before}, {byte}')}, ptr {self.slot}")

    def function(self, name: str, results: int, operands: int) -> None:
        """End the function, and put it into the module."""
        self.flush()
        noted = self.block.op(f"load i8, ptr {self.slot}")
        self.block.do(f"ret i1 {self.block.op(f'icmp ne i8 {noted}, 0')}")
        parameters = [f"ptr noalias %r{number}" for number in range(results)]
        parameters += [f"ptr readonly %o{number}" for number in range(operands)]
        header = (
            f"define internal i1 @{name}({', '.join(parameters)}, ptr noalias %scratch) nounwind"
        )
        self.module.functions.append(self.block.function(header))
