"""Eigenvalues and singular values: which equations are those, and calls of NumPy's functions."""

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
from adjoint.primitives.linear_algebra.spectra.eigen import EIGH, EIGVALSH
from adjoint.primitives.linear_algebra.spectra.singular_values import SVD, SVDVALS
from adjoint.program import Atom, Equation, Variable, operation

ALL: Final = frozenset({EIGH, EIGVALSH, SVD, SVDVALS})
_STEPS: Final = 25.0  # additions for each number and each row, about


@dataclass(frozen=True)
class MatrixRoutine:
    """A function that is called for a stack of matrices; its results lie in the order of C.

    symbol: of the function. lengths: those that it is told. batch: the lengths of the other axes.
    operand: the strides of all axes, in bytes. dtypes, shapes: of the results, those of one stack.
    values: which result has the eigenvalues or singular values.
    """

    symbol: str
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
    return not atom.type.weak and _symbol(equation) is not None


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
    return _STEPS * prod(shape) * min(shape[-2:])


def _taken(equation: Equation) -> np.dtype[Any]:
    return np.dtype("D" if equation.inputs[0].type.dtype.kind == "c" else "d")


def _name(equation: Equation) -> str:
    """The name of NumPy's ufunc."""
    params = equation.params
    if equation.primitive is SVDVALS:
        return "svd"
    if equation.primitive is SVD:
        return "svd_f" if params["full"] else "svd_s"
    return f"{equation.primitive.name}_{'lo' if params['lower'] else 'up'}"


def _symbol(equation: Equation) -> str | None:
    return matrix_loop(_name(equation), _taken(equation).char)


# --- calls ----------------------------------------------------------------------------------------


def emit_matrices(module: Module, routine: MatrixRoutine) -> EmittedRows:
    """Add the function of a routine to the module: its results, its operand, no scratch."""
    name = module.fresh("matrices")
    writer = _Writer(module, routine)
    writer.body()
    writer.function(name, len(routine.shapes), 1)
    return EmittedRows(name, 0)


class _Writer(ArrayWriter):
    """Writes the calls for all matrices. places: where the present ones begin, the operand's first.

    All matrices along the last axis of the stack are handed over at once.
    """

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
        counts = self._listed([together, *routine.lengths])
        inner = [*routine.operand[-2:]]
        for shape, dtype in zip(routine.shapes, routine.dtypes, strict=True):
            inner += [dtype.itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape))]
        steps = self._listed([*(self.outer[-1] if self.outer else (0,) * count), *inner])
        pointers = self.block.stack(f"[{count} x ptr]", 16)
        symbol = routine.symbol
        self.module.declare(symbol, f"@{symbol} = external global [2 x ptr]")
        restore = all_flags_kept(self.block)
        with self._stack():
            for number, place in enumerate(self.places):
                at = self.block.op(f"getelementptr ptr, ptr {pointers}, i64 {number}")
                self.block.do(f"store ptr {place}, ptr {at}")
            function = self.block.op(f"load ptr, ptr @{symbol}")
            at = self.block.op(f"getelementptr i8, ptr @{symbol}, i64 8")
            data = self.block.op(f"load ptr, ptr {at}")
            arguments = ", ".join(f"ptr {x}" for x in (pointers, counts, steps, data))
            self.block.do(f"call void {function}({arguments})")
            self._look(together)
        restore()

    def _look(self, together: int) -> None:
        """A fault where a matrix has NaN as its first value: there LAPACK has failed."""
        (length,), dtype = self.routine.shapes[self.routine.values], np.dtype("d")
        values = self.places[1 + self.routine.values]
        with self.counting("0", together) as i:
            first = self.load(self.at(values, dtype, self.times(i, length)), dtype).text
            self.numbers.faults.append(self.truth(self.block.op(f"fcmp uno double {first}, 0.0")))
            self.flush()

    @contextmanager
    def _stack(self, axis: int = 0) -> Iterator[None]:
        """The body for each place along the axes of the stack, but for the last."""
        if axis >= len(self.routine.batch) - 1:
            yield
            return
        before = self.places
        with self.counting("0", self.routine.batch[axis]) as index:
            self.places = [
                self.at(place, np.dtype(np.int8), self.times(index, step))
                for place, step in zip(before, self.outer[axis], strict=True)
            ]
            with self._stack(axis + 1):
                yield
        self.places = before

    def _listed(self, numbers: list[int]) -> str:
        name, kind = self.module.fresh("steps"), f"[{len(numbers)} x i64]"
        items = ", ".join(f"i64 {number}" for number in numbers)
        text = f"@{name} = private unnamed_addr constant {kind} [{items}]"
        return self.module.declare(name, text)
