"""A function along one axis of an array becomes a function of a module, which calls NumPy's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from adjoint.executors.native.functions.inner_loops import noted_flags
from adjoint.executors.native.machine.module import (
    Module,
    Value,
    constant,
    memory_type,
    scalar_type,
)
from adjoint.executors.native.rows.plan import RowRoutine, Side
from adjoint.executors.native.systems.arrays import ArrayWriter

_ALIGNED: Final = 64
_INDEX: Final = np.dtype(np.int64)


@dataclass(frozen=True)
class EmittedRows:
    """A function `i1 @name(ptr result, ptr operand, ptr scratch)` of a module.

    It says whether NumPy has to compute instead. scratch_bytes: what the last argument must have,
    64-byte aligned.
    """

    name: str
    scratch_bytes: int


def emit_rows(module: Module, routine: RowRoutine) -> EmittedRows:
    """Add the function of a routine to the module."""
    name = module.fresh("rows")
    kind = _Sorting if routine.operation == "argsort" else _Transform
    writer = kind(module, routine)
    writer.body()
    writer.function(name, 1, 1)
    return EmittedRows(name, writer.scratch_bytes)


class _RowWriter(ArrayWriter):
    """Writes the calls for all rows. source, target: where the present row begins."""

    def __init__(self, module: Module, routine: RowRoutine) -> None:
        super().__init__(module, routine.operand.dtype)
        self.routine = routine
        self.source, self.target = "%o0", "%r0"
        self.scratch_bytes = 0

    def body(self) -> None:
        """Write all of it."""
        raise NotImplementedError

    def scratch(self, side: Side) -> str:
        """Memory for a row."""
        place = self.block.op(f"getelementptr i8, ptr %scratch, i64 {self.scratch_bytes}")
        self.scratch_bytes += -(-side.length * side.dtype.itemsize // _ALIGNED) * _ALIGNED
        return place

    @contextmanager
    def rows(self, left_out: int | None = None, axis: int = 0) -> Iterator[None]:
        """The body for each row; without a loop over the axis of the batch that is left out."""
        batch = self.routine.batch
        if axis == len(batch):
            yield
            return
        if axis == left_out:
            with self.rows(left_out, axis + 1):
                yield
            return
        before = self.source, self.target
        with self.counting("0", batch[axis]) as index:
            operand, result = self.routine.operand, self.routine.result
            self.source = self.at(before[0], operand.dtype, self.times(index, operand.batch[axis]))
            self.target = self.at(before[1], result.dtype, self.times(index, result.batch[axis]))
            with self.rows(left_out, axis + 1):
                yield
        self.source, self.target = before

    def number(self, place: str, side: Side, index: str, step: int | None = None) -> str:
        """Where a number of a row is. step: between numbers, if not that of the side."""
        return self.at(place, side.dtype, self.times(index, side.step if step is None else step))

    def read(self, place: str, dtype: np.dtype[Any]) -> list[str]:
        """The parts of a number in memory, as they are: booleans as bytes."""
        kind, size = memory_type(dtype), dtype.itemsize
        if dtype.kind != "c":
            return [self.block.op(f"load {kind}, ptr {place}, align {size}")]
        return list(self.load(place, dtype).parts)

    def write(self, parts: list[str], place: str, dtype: np.dtype[Any]) -> None:
        """Write them."""
        if dtype.kind != "c":
            kind, size = memory_type(dtype), dtype.itemsize
            self.block.do(f"store {kind} {parts[0]}, ptr {place}, align {size}")
            return
        self.store(Value(tuple(parts), dtype), place)

    def at(self, pointer: str, dtype: np.dtype[Any], offset: int | str) -> str:
        """The pointer to a number further on; of booleans, which are bytes, too."""
        return super().at(pointer, np.dtype(np.int8) if dtype.kind == "b" else dtype, offset)


class _Sorting(_RowWriter):
    """The places of the numbers of each row in their order."""

    def body(self) -> None:
        """Copy what is not in one piece, and sort places; comparisons leave no flags."""
        operand, result = self.routine.operand, self.routine.result
        numbers = None if operand.step == 1 else self.scratch(operand)
        places = None if result.step == 1 else self.scratch(result)
        restore = noted_flags(self.block)
        symbol = self.routine.symbol
        function = self.module.declare(symbol, f"declare i32 @{symbol}(ptr, ptr, i64, ptr)")
        with self.rows():
            given, ordered = self.source if numbers is None else numbers, places or self.target
            with self.counting("0", operand.length) as i:
                self.write([i], self.number(ordered, result, i, 1), result.dtype)
                if numbers is not None:
                    parts = self.read(self.number(self.source, operand, i), operand.dtype)
                    self.write(parts, self.number(numbers, operand, i, 1), operand.dtype)
            told = self.block.op(
                f"call i32 {function}(ptr {given}, ptr {ordered}, i64 {operand.length}, ptr null)"
            )
            self.numbers.faults.append(self.truth(self.block.op(f"icmp slt i32 {told}, 0")))
            self.flush()
            if places is not None:
                with self.counting("0", result.length) as i:
                    parts = self.read(self.number(places, result, i, 1), result.dtype)
                    self.write(parts, self.number(self.target, result, i), result.dtype)
        restore()


class _Transform(_RowWriter):
    """Fourier transforms, of which the loops walk along rows by themselves."""

    def body(self) -> None:
        """Hand all rows of the longest axis over at once; one where coefficients are weighted."""
        routine = self.routine
        weighted, batch = routine.inner != 1.0, routine.batch
        together = max(range(len(batch)), key=batch.__getitem__) if batch and not weighted else None
        copied = weighted and routine.operation == "irfft"
        numbers = self.scratch(routine.operand) if copied else None
        real = np.zeros(0, routine.result.dtype).real.dtype
        factor = self.block.stack(scalar_type(real))
        (text,) = constant(routine.factor, real).parts
        self.block.do(f"store {scalar_type(real)} {text}, ptr {factor}")
        counts = self._listed([1 if together is None else batch[together], *self._lengths()])
        steps = self._listed(self._steps(together, copied))
        pointers = self.block.stack("[3 x ptr]", 16)
        symbol = routine.symbol
        self.module.declare(symbol, f"@{symbol} = external global [2 x ptr]")
        with self.rows(together):
            if numbers is not None:
                self._copy(numbers)
            for place, pointer in enumerate((numbers or self.source, factor, self.target)):
                at = self.block.op(f"getelementptr ptr, ptr {pointers}, i64 {place}")
                self.block.do(f"store ptr {pointer}, ptr {at}")
            function = self.block.op(f"load ptr, ptr @{symbol}")
            at = self.block.op(f"getelementptr i8, ptr @{symbol}, i64 8")
            data = self.block.op(f"load ptr, ptr {at}")
            arguments = ", ".join(f"ptr {x}" for x in (pointers, counts, steps, data))
            self.block.do(f"call void {function}({arguments})")
            if weighted and numbers is None:
                self._weigh(self.target, routine.result, routine.operand.length)

    def _lengths(self) -> tuple[int, int]:
        return self.routine.operand.length, self.routine.result.length

    def _steps(self, together: int | None, copied: bool) -> list[int]:
        """In bytes: between rows, of the factor none, and between the numbers of a row."""
        sides = self.routine.operand, self.routine.result
        sizes = [side.dtype.itemsize for side in sides]
        outer = [0 if together is None else side.batch[together] for side in sides]
        inner = [1 if copied else sides[0].step, sides[1].step]
        first, then = ([n * size for n, size in zip(x, sizes, strict=True)] for x in (outer, inner))
        return [first[0], 0, first[1], *then]

    def _listed(self, numbers: list[int]) -> str:
        name, kind = self.module.fresh("steps"), f"[{len(numbers)} x i64]"
        items = ", ".join(f"i64 {number}" for number in numbers)
        text = f"@{name} = private unnamed_addr constant {kind} [{items}]"
        return self.module.declare(name, text)

    def _copy(self, numbers: str) -> None:
        """The coefficients of a row, weighted, in one piece."""
        side = self.routine.operand
        with self.counting("0", side.length) as i:
            parts = self.read(self.number(self.source, side, i), side.dtype)
            self.write(parts, self.number(numbers, side, i, 1), side.dtype)
        self._weigh(numbers, side, self.routine.result.length, 1)

    def _weigh(self, place: str, side: Side, length: int, step: int | None = None) -> None:
        """Multiply the coefficients that stand for two, those of a signal of this length."""
        real = np.zeros(0, side.dtype).real.dtype
        (weight,), kind = constant(self.routine.inner, real).parts, scalar_type(real)
        with self.counting("1", (length + 1) // 2) as i:
            at = self.number(place, side, i, step)
            parts = self.read(at, side.dtype)
            products = [self.block.op(f"fmul {kind} {part}, {weight}") for part in parts]
            self.write(products, at, side.dtype)
