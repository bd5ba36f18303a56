"""Large products through BLAS.

Its functions have the Fortran interface: columns one after the other, and every argument by a
pointer.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from adjoint.executors.native.machine.module import Module, number_text
from adjoint.executors.native.machine.routines import Routine, arguments, routine
from adjoint.executors.native.products.plan import ONE, Groups, ProductAxis
from adjoint.executors.native.products.writer import ProductWriter

_LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}


def fewest_flops(vector_bytes: int) -> float:
    """How many operations a product must have for BLAS to be faster than tiles.

    Measured with OpenBLAS: with vectors of 64 bytes, tiles on one processor are as fast as two with
    its code for vectors of 32 bytes. Both use all processors, tiles with the same bits for any
    number of them.
    """
    return 4e9 if vector_bytes >= 64 else 1e8


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix in the order of Fortran, or the transpose of one; leading: from column to column."""

    transposed: bool
    leading: int


@dataclass(frozen=True)
class BlasCall:
    """A product as calls of one routine: C' = B' A', since C has its rows one after the other.

    With a vector in place of A, its step is `first`'s, and that of the result `result`.
    """

    routine: Routine
    swapped: bool
    batch: tuple[ProductAxis, ...]
    sizes: tuple[int, int, int]  # of C' and of the sum
    matrix: Matrix
    other: Matrix | None
    steps: tuple[int, int]

    @property
    def flops(self) -> int:
        """Of one call."""
        return 2 * prod(self.sizes)


def matrix_of(
    across: ProductAxis, along: ProductAxis, across_step: int, along_step: int
) -> Matrix | None:
    """The matrix with columns as long as `across`, of which there are as many as `along`."""
    if across_step == 1 and along_step >= across.size:
        return Matrix(False, along_step)
    if along_step == 1 and across_step >= along.size:
        return Matrix(True, across_step)
    return None


def called(groups: Groups, dtype: np.dtype[Any]) -> BlasCall | None:
    """The product as calls of BLAS; None when its strides or sizes do not suit."""
    for swapped in (False, True):
        call = _called(groups.swapped if swapped else groups, swapped, dtype)
        if call is not None:
            return call
    return None


def _called(groups: Groups, swapped: bool, dtype: np.dtype[Any]) -> BlasCall | None:
    if len(groups.summed) != 1 or not groups.columns:
        return None
    (summed,) = groups.summed
    # Of several axes, BLAS gets the largest ones, and the others are loops around it.
    columns = next((axis for axis in groups.columns if axis.c == 1), groups.columns[-1])
    rows = max(groups.rows, key=lambda axis: axis.size, default=ONE)
    outer = (
        *groups.batch,
        *(axis for axis in groups.columns if axis is not columns),
        *(axis for axis in groups.rows if axis is not rows),
    )
    matrix = matrix_of(columns, summed, columns.b, summed.b)
    letter = _LETTERS[dtype.str[1:]]
    sizes = (columns.size, rows.size, summed.size)
    if matrix is None or max(*sizes, matrix.leading) >= 2**31:
        return None
    if rows is ONE:
        if min(summed.a, columns.c) < 1 or max(summed.a, columns.c) >= 2**31:
            return None
        vector = routine(f"{letter}gemv")
        steps = (summed.a, columns.c)
        if vector is None:
            return None
        return BlasCall(vector, swapped, outer, sizes, matrix, None, steps)
    other = matrix_of(summed, rows, summed.a, rows.a)
    general = routine(f"{letter}gemm")
    if other is None or general is None or columns.c != 1 or rows.c < columns.size:
        return None
    if max(other.leading, rows.c) >= 2**31:
        return None
    return BlasCall(general, swapped, outer, sizes, matrix, other, (0, rows.c))


def emit_call(module: Module, name: str, dtype: np.dtype[Any], call: BlasCall) -> None:
    """Write the function of a product that calls BLAS."""
    writer = ProductWriter(module, dtype)
    integer = f"i{call.routine.integer_bits}"
    columns, rows, depth = call.sizes
    symbol = call.routine.symbol
    function = module.declare(symbol, f"@{symbol} = external global i8")

    def number(value: int) -> str:
        return _constant(module, f"blas.{integer}.{value}", integer, str(value))

    def letter(matrix: Matrix) -> str:
        text = "T" if matrix.transposed else "N"
        return _constant(module, f"blas.{text}", "i8", str(ord(text)))

    one, zero = (
        _constant(module, f"blas.{stem}.{writer.scalar}", writer.scalar, *number_text(value, dtype))
        for stem, value in (("one", 1.0), ("zero", 0.0))
    )

    def product(places: list[str]) -> None:
        a, b, c = places
        if call.other is None:
            matrix = call.matrix
            shape = (depth, columns) if matrix.transposed else (columns, depth)
            letters = [letter(matrix)]
            others = [*map(number, shape), one, b, number(matrix.leading)]
            others += [a, number(call.steps[0]), zero, c, number(call.steps[1])]
        else:
            letters = [letter(call.matrix), letter(call.other)]
            others = [*map(number, (columns, rows, depth)), one, b]
            others += [number(call.matrix.leading), a, number(call.other.leading)]
            others += [zero, c, number(call.steps[1])]
        writer.block.do(f"call void {function}({arguments(letters, others)})")

    operands = ("%b", "%a") if call.swapped else ("%a", "%b")
    writer.over(call.batch, (*operands, "%c"), product)
    writer.function(name)


def _constant(module: Module, name: str, type_: str, value: str) -> str:
    return module.declare(name, f"@{name} = private unnamed_addr constant {type_} {value}")
