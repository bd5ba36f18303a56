"""Eigenvalues, singular values, Q and R: which equations are those, and calls of NumPy's functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.executors.native.functions.inner_loops import all_flags_kept
from adjoint.executors.native.machine.matrices import lengths_of, matrix_loop
from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.rows.emission import EmittedRows
from adjoint.executors.native.systems.arrays import ArrayWriter
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.linear_algebra.orthogonal import QR
from adjoint.primitives.linear_algebra.spectra.eigen import EIGH, EIGVALSH
from adjoint.primitives.linear_algebra.spectra.singular_values import SVD, SVDVALS
from adjoint.program import Atom, Equation, Variable, operation

ALL: Final = frozenset({EIGH, EIGVALSH, QR, SVD, SVDVALS})
_ALIGNED: Final = 64
_WORK: Final = 25.0  # additions for each number and each row, about


@dataclass(frozen=True)
class MatrixRoutine:
    """A function that is called for a stack of matrices; its results lie in the order of C.

    symbol: of the function. factor: of the one that makes R, where that makes Q of what it leaves.
    lengths: those that it is told. batch: the lengths of the other axes.
    operand: the strides of all axes, in bytes. dtypes, shapes: of the results, those of one stack.
    values: which result has the eigenvalues or singular values, or is Q.
    """

    symbol: str
    factor: str | None
    lengths: tuple[int, ...]
    batch: tuple[int, ...]
    dtype: np.dtype[Any]
    operand: tuple[int, ...]
    dtypes: tuple[np.dtype[Any], ...]
    shapes: tuple[tuple[int, ...], ...]
    values: int


def is_callable(equation: Equation) -> bool:
    """Whether this process has the function."""
    (atom,) = equation.inputs
    symbols = _symbol(equation), _factor(equation)
    return not atom.type.weak and None not in symbols


def converted(equation: Equation) -> list[Equation]:
    """The equation between casts: NumPy computes in double precision."""
    (atom,) = equation.inputs
    before: list[Equation] = []
    after: list[Equation] = []
    taken = _taken(equation)
    if atom.type.dtype != taken:
        wide = Variable(array_type(atom.type.shape, taken))
        before = [Equation(operation(CAST, dtype=taken), (atom,), (wide,))]
        atom = wide
    own: list[Variable] = []
    for output in equation.outputs[:3]:
        dtype = np.dtype("D" if output.type.dtype.kind == "c" else "d")
        own.append(output)
        if output.type.dtype != dtype:
            own[-1] = Variable(array_type(output.type.shape, dtype))
            after.append(_cast(equation, own[-1], output))
    # The singular values with signs begin as those without.
    after += [_cast(equation, own[1], output) for output in equation.outputs[3:]]
    same = Equation(equation.operation, (atom,), own, equation.origin, equation.derived)
    return [*before, same, *after]


def _cast(equation: Equation, atom: Atom, output: Variable) -> Equation:
    cast = operation(CAST, dtype=output.type.dtype)
    return Equation(cast, (atom,), (output,), equation.origin, equation.derived)


def routine_of(equation: Equation, strides: Sequence[int]) -> MatrixRoutine:
    """The routine of a converted equation. strides: of its operand, for each axis."""
    type_ = equation.inputs[0].type
    results = [output.type for output in equation.outputs]
    return MatrixRoutine(
        symbol=_symbol(equation) or "",
        factor=_factor(equation) or None,
        lengths=lengths_of(_name(equation), *type_.shape[-2:]),
        batch=type_.shape[:-2],
        dtype=type_.dtype,
        operand=tuple(step * type_.dtype.itemsize for step in strides),
        dtypes=tuple(result.dtype for result in results),
        shapes=tuple(result.shape[type_.ndim - 2 :] for result in results),
        values=int(equation.primitive is SVD),
    )


def flops_of(equation: Equation) -> float:
    """About how many additions an equation takes as long as."""
    shape = equation.inputs[0].type.shape
    return _WORK * prod(shape) * min(shape[-2:])


def _taken(equation: Equation) -> np.dtype[Any]:
    return np.dtype("D" if equation.inputs[0].type.dtype.kind == "c" else "d")


def _name(equation: Equation) -> str:
    """The name of NumPy's ufunc."""
    params = equation.params
    if equation.primitive is SVDVALS:
        return "svd"
    if equation.primitive is SVD:
        return "svd_f" if params["full"] else "svd_s"
    if equation.primitive is QR:
        rows, columns = equation.inputs[0].type.shape[-2:]
        return "qr_complete" if params["complete"] and rows > columns else "qr_reduced"
    return f"{equation.primitive.name}_{'lo' if params['lower'] else 'up'}"


def _symbol(equation: Equation) -> str | None:
    return matrix_loop(_name(equation), _taken(equation).char)


def _factor(equation: Equation) -> str | None:
    """The symbol of what goes before; an empty one where nothing does."""
    return matrix_loop("qr_r_raw", _taken(equation).char) if equation.primitive is QR else ""


# --- calls ----------------------------------------------------------------------------------------


def emit_matrices(module: Module, routine: MatrixRoutine) -> EmittedRows:
    """Add the function of a routine to the module."""
    name = module.fresh("matrices")
    writer = _Writer(module, routine) if routine.factor is None else _Factors(module, routine)
    writer.body()
    writer.function(name, len(routine.shapes), 1)
    return EmittedRows(name, writer.scratch_bytes)


class _Writer(ArrayWriter):
    """Writes the calls for all matrices. places: where the present ones begin, the operand's first.

    All matrices along the last axis of the stack are handed over at once.
    """

    scratch_bytes = 0

    def __init__(self, module: Module, routine: MatrixRoutine) -> None:
        super().__init__(module, routine.dtype)
        self.routine = routine
        self.places = ["%o0", *(f"%r{number}" for number in range(len(routine.shapes)))]
        sizes = [
            prod(shape) * dtype.itemsize
            for shape, dtype in zip(routine.shapes, routine.dtypes, strict=True)
        ]
        rank = len(routine.batch)
        # For each axis of the stack, how far apart its matrices are, in bytes.
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

    def _look(self, together: int) -> None:
        """A fault where a matrix has NaN as its first value: there LAPACK has failed."""
        (length,), dtype = self.routine.shapes[self.routine.values], np.dtype("d")
        values = self.places[1 + self.routine.values]
        with self.counting("0", together) as i:
            first = self.load(self.at(values, dtype, self.times(i, length)), dtype).text
            self.numbers.faults.append(self.truth(self.block.op(f"fcmp uno double {first}, 0.0")))
            self.flush()

    @contextmanager
    def _stack(self, end: int, axis: int = 0) -> Iterator[None]:
        """The body for each place along the axes of the stack that come before this one."""
        if axis >= end:
            yield
            return
        before = self.places
        with self.counting("0", self.routine.batch[axis]) as index:
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


class _Factors(_Writer):
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
            made = (0, 0, 0, *own, *_steps(routine.shapes[0], dtype))
            self._call(routine.symbol, [*taken, self.places[1]], (1, *routine.lengths), made)
            self._triangle(*routine.shapes[1])
            first = self.load(self.places[1], dtype).parts[0]
            self.numbers.faults.append(self.truth(self.block.op(f"fcmp uno double {first}, 0.0")))
            self.flush()
        restore()

    def _copy(self, rows: int, columns: int) -> None:
        """The matrix, row by row."""
        dtype, steps = self.routine.dtype, self.routine.operand[-2:]
        with self.counting("0", rows) as i, self.counting("0", columns) as j:
            offset = self.plus(self.times(i, steps[0]), self.times(j, steps[1]))
            number = self.load(self.at(self.places[0], np.dtype(np.int8), offset), dtype)
            place = self.plus(self.times(i, columns), j)
            self.store(number, self.at("%scratch", dtype, place))

    def _triangle(self, rows: int, columns: int) -> None:
        """R, with zeros below its diagonal."""
        dtype, zero = self.routine.dtype, self.numbers.number(0.0)
        with self.counting("0", rows) as i, self.counting("0", columns) as j:
            place = self.plus(self.times(i, columns), j)
            number = self.load(self.at("%scratch", dtype, place), dtype)
            above = self.truth(self.block.op(f"icmp sge i64 {j}, {i}"))
            chosen = self.numbers.writer.select(above, number, zero)
            self.store(chosen, self.at(self.places[2], dtype, place))


def _steps(shape: Sequence[int], dtype: np.dtype[Any]) -> list[int]:
    """How far apart numbers are along each axis of an array in one piece, in bytes."""
    return [dtype.itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape))]
