"""Functions of matrices become functions of a module, which call NumPy's.

Where LAPACK fails NumPy's functions give NaN, and so these say that NumPy has to compute instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, Final

import numpy as np

from adjoint.executors.native.functions.inner_loops import all_flags_kept
from adjoint.executors.native.machine.module import Module, Value, constant
from adjoint.executors.native.rows.emission import EmittedRows
from adjoint.executors.native.rows.plan import LeastSquaresRoutine, MatrixRoutine
from adjoint.executors.native.systems.arrays import ArrayWriter

_ALIGNED: Final = 64


def emit_matrices(module: Module, routine: MatrixRoutine | LeastSquaresRoutine) -> EmittedRows:
    """Add the function of a routine to the module."""
    name = module.fresh("matrices")
    if isinstance(routine, LeastSquaresRoutine):
        solutions = _LeastSquaresCalls(module, routine)
        solutions.body()
        solutions.function(name, 1, 2)
        return EmittedRows(name, solutions.scratch_bytes)
    writer = _kind_of(routine)(module, routine)
    writer.body()
    writer.function(name, len(routine.shapes), 1)
    return EmittedRows(name, writer.scratch_bytes)


def _kind_of(routine: MatrixRoutine) -> type[_Decompositions]:
    if routine.finite:
        return _FiniteDecompositions
    return _Decompositions if routine.factor is None else _QRFactors


class _LibraryCaller(ArrayWriter):
    """Writes calls of NumPy's functions for a stack.

    places: where the present operands and results begin. batch: the lengths of the stack's axes;
    outer: for each, how far apart operands and results are, in bytes.
    """

    places: list[str]
    batch: tuple[int, ...]
    outer: list[tuple[int, ...]]
    scratch_bytes = 0

    def _call(
        self, symbol: str, places: Sequence[str], counts: Sequence[int], steps: Sequence[int]
    ) -> None:
        """Call one of NumPy's functions."""
        pointers = self.block.stack(f"[{len(places)} x ptr]", 16)
        self.module.declare(symbol, f"@{symbol} = external global [2 x ptr]")
        for number, place in enumerate(places):
            at = self.block.op(f"getelementptr ptr, ptr {pointers}, i64 {number}")
            self.block.do(f"store ptr {place}, ptr {at}")
        function = self.block.op(f"load ptr, ptr @{symbol}")
        at = self.block.op(f"getelementptr i8, ptr @{symbol}, i64 8")
        data = self.block.op(f"load ptr, ptr {at}")
        lists = self._listed(counts), self._listed(steps)
        arguments = ", ".join(f"ptr {x}" for x in (pointers, *lists, data))
        self.block.do(f"call void {function}({arguments})")

    @contextmanager
    def _stack(self, end: int, axis: int = 0) -> Iterator[None]:
        """The body for each place along the axes of the stack that come before this one."""
        if axis >= end:
            yield
            return
        before = self.places
        with self.counting("0", self.batch[axis]) as index:
            self.places = [
                self.at(place, np.dtype(np.int8), self.times(index, step))
                for place, step in zip(before, self.outer[axis], strict=True)
            ]
            with self._stack(end, axis + 1):
                yield
        self.places = before

    def _listed(self, numbers: Sequence[int]) -> str:
        name, kind = self.module.fresh("steps"), f"[{len(numbers)} x i64]"
        items = ", ".join(f"i64 {number}" for number in numbers)
        text = f"@{name} = private unnamed_addr constant {kind} [{items}]"
        return self.module.declare(name, text)


class _Decompositions(_LibraryCaller):
    """Writes the calls for all matrices, the places of whose operand come first.

    All matrices along the last axis of the stack are handed over at once.
    """

    def __init__(self, module: Module, routine: MatrixRoutine) -> None:
        super().__init__(module, routine.dtype)
        self.routine = routine
        self.batch = routine.batch
        self.places = ["%o0", *(f"%r{number}" for number in range(len(routine.shapes)))]
        sizes = [
            prod(shape) * dtype.itemsize
            for shape, dtype in zip(routine.shapes, routine.dtypes, strict=True)
        ]
        rank = len(routine.batch)
        self.outer = [
            (routine.operand[axis], *(size * prod(routine.batch[axis + 1 :]) for size in sizes))
            for axis in range(rank)
        ]

    def body(self) -> None:
        """Write all of it: what NumPy's function leaves of the flags is not looked at."""
        routine, count = self.routine, len(self.places)
        together = routine.batch[-1] if routine.batch else 1
        inner = [*routine.operand[-2:]]
        for shape, dtype in zip(routine.shapes, routine.dtypes, strict=True):
            inner += _steps(shape, dtype)
        outer = self.outer[-1] if self.outer else (0,) * count
        restore = all_flags_kept(self.block)
        with self._stack(len(routine.batch) - 1):
            self._call(routine.symbol, self.places, (together, *routine.lengths), (*outer, *inner))
            self._look(together)
        restore()

    def _look(self, together: int) -> None:
        """A fault where a matrix has NaN as its first value: there LAPACK has failed."""
        place = self.routine.values
        (length,), dtype = self.routine.shapes[place], self.routine.dtypes[place]
        values = self.places[1 + place]
        with self.counting("0", together) as i:
            first = self.load(self.at(values, dtype, self.times(i, length)), dtype).parts[0]
            self.numbers.faults.append(self.truth(self.block.op(f"fcmp uno double {first}, 0.0")))
            self.flush()


class _CopiedDecompositions(_Decompositions):
    """Writes the calls for one matrix after the other, which each has a copy that is written to."""

    def _copy(self, rows: int, columns: int) -> None:
        """The matrix, row by row."""
        dtype, steps = self.routine.dtype, self.routine.operand[-2:]
        with self.counting("0", rows) as i, self.counting("0", columns) as j:
            offset = self.plus(self.times(i, steps[0]), self.times(j, steps[1]))
            number = self.load(self.at(self.places[0], np.dtype(np.int8), offset), dtype)
            place = self.plus(self.times(i, columns), j)
            self.store(self._copied(number), self.at("%scratch", dtype, place))

    def _copied(self, number: Value) -> Value:
        return number


class _FiniteDecompositions(_CopiedDecompositions):
    """Writes the calls for matrices in which NumPy wants all numbers finite.

    Of others LAPACK might never make an end: it is given zeros, and NumPy raises its error.
    """

    def body(self) -> None:
        """Each call is given the copy of a matrix."""
        routine, dtype = self.routine, self.routine.dtype
        (rows,) = routine.lengths
        self.scratch_bytes = rows * rows * dtype.itemsize
        inner = _steps((rows, rows), dtype)
        for shape, result in zip(routine.shapes, routine.dtypes, strict=True):
            inner += _steps(shape, result)
        restore = all_flags_kept(self.block)
        with self._stack(len(routine.batch)):
            self._copy(rows, rows)
            places = ["%scratch", *self.places[1:]]
            self._call(routine.symbol, places, (1, rows), (*[0] * len(places), *inner))
            self._look(1)
        restore()

    def _copied(self, number: Value) -> Value:
        """A number, or zero and a fault: only of a finite one, the difference to itself is zero."""
        parts = []
        for part in number.parts:
            difference = self.block.op(f"fsub double {part}, {part}")
            finite = self.block.op(f"fcmp oeq double {difference}, 0.0")
            parts.append(self.block.op(f"select i1 {finite}, double {part}, double 0.0"))
            self.numbers.faults.append(self.truth(self.block.op(f"xor i1 {finite}, true")))
        self.flush()
        return Value(tuple(parts), number.dtype, number.lanes)


class _QRFactors(_CopiedDecompositions):
    """Writes the calls for Q and R, one matrix after the other."""

    def body(self) -> None:
        """R and the reflections stand in a copy of the matrix, of which Q is made then."""
        routine, dtype = self.routine, self.routine.dtype
        rows, columns = routine.lengths[:2]
        count, size = min(rows, columns), dtype.itemsize
        numbers = -(-rows * columns * size // _ALIGNED) * _ALIGNED
        self.scratch_bytes = numbers + count * size
        scales = self.block.op(f"getelementptr i8, ptr %scratch, i64 {numbers}")
        own = (*_steps((rows, columns), dtype), size)
        restore = all_flags_kept(self.block)
        with self._stack(len(routine.batch)):
            self._copy(rows, columns)
            taken = ["%scratch", scales]
            self._call(routine.factor or "", taken, (1, rows, columns, count), (0, 0, *own))
            steps = (0, 0, 0, *own, *_steps(routine.shapes[0], dtype))
            self._call(routine.symbol, [*taken, self.places[1]], (1, *routine.lengths), steps)
            self._triangle(*routine.shapes[1])
            first = self.load(self.places[1], dtype).parts[0]
            self.numbers.faults.append(self.truth(self.block.op(f"fcmp uno double {first}, 0.0")))
            self.flush()
        restore()

    def _triangle(self, rows: int, columns: int) -> None:
        """R, with zeros below its diagonal."""
        dtype, zero = self.routine.dtype, self.numbers.number(0.0)
        with self.counting("0", rows) as i, self.counting("0", columns) as j:
            place = self.plus(self.times(i, columns), j)
            number = self.load(self.at("%scratch", dtype, place), dtype)
            above = self.truth(self.block.op(f"icmp sge i64 {j}, {i}"))
            chosen = self.numbers.writer.select(above, number, zero)
            self.store(chosen, self.at(self.places[2], dtype, place))


class _LeastSquaresCalls(_LibraryCaller):
    """Writes the calls for solutions by least squares, one after the other."""

    def __init__(self, module: Module, routine: LeastSquaresRoutine) -> None:
        super().__init__(module, routine.dtype)
        self.routine = routine
        self.batch = routine.batch
        self.places = ["%o0", "%o1", "%r0"]
        _, columns, sides, _ = routine.lengths
        size = columns * sides * routine.dtype.itemsize
        self.outer = [
            (one[axis], other[axis], size * prod(routine.batch[axis + 1 :]))
            for one, other in (routine.operands,)
            for axis in range(len(routine.batch))
        ]

    def body(self) -> None:
        """Residues, ranks and singular values, for which nobody asks, are written aside."""
        routine, dtype = self.routine, self.routine.dtype
        _, columns, sides, count = routine.lengths
        residues, rank = (-(-8 * length // _ALIGNED) * _ALIGNED for length in (sides, 1))
        self.scratch_bytes = residues + rank + 8 * count
        aside = [
            self.block.op(f"getelementptr i8, ptr %scratch, i64 {start}")
            for start in (0, residues, residues + rank)
        ]
        cutoff = self.block.stack("double", 8)
        (text,) = constant(routine.cutoff, np.dtype("d")).parts
        self.block.do(f"store double {text}, ptr {cutoff}")
        one, other = routine.operands
        inner = (*one[-2:], *other[-2:], *_steps((columns, sides), dtype), 8, 8)
        restore = all_flags_kept(self.block)
        with self._stack(len(routine.batch)):
            places = [*self.places[:2], cutoff, self.places[2], *aside]
            self._call(routine.symbol, places, (1, *routine.lengths), (*[0] * 7, *inner))
            first = self.load(self.places[2], dtype).parts[0]
            self.numbers.faults.append(self.truth(self.block.op(f"fcmp uno double {first}, 0.0")))
            self.flush()
        restore()


def _steps(shape: Sequence[int], dtype: np.dtype[Any]) -> list[int]:
    """How far apart numbers are along each axis of an array in one piece, in bytes."""
    return [dtype.itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape))]
