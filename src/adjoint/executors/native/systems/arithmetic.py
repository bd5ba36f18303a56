"""Numbers in registers, real or complex, single or in lanes, and what factorisations do to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.executors.native.elements import RULES, ElementWriter
from adjoint.executors.native.elements.writer import complex_value, part_dtype, real_part
from adjoint.executors.native.machine.module import Block, Value, constant


class Arithmetic:
    """Writes arithmetic of one dtype into a block; operands get the lanes of the widest."""

    def __init__(self, block: Block, dtype: np.dtype[Any]) -> None:
        self.block = block
        self.dtype = dtype
        self.part = part_dtype(dtype)
        # Of columns that are equal, the second is zero where products are rounded, as in LAPACK.
        self.writer = ElementWriter(block, [], contract=False)
        self.faults: list[Value] = []

    def number(self, value: float, lanes: int = 0) -> Value:
        """A constant."""
        return self.block.splat(constant(value, self.dtype), lanes)

    def _apply(self, name: str, *operands: Value) -> Value:
        wide = self.level(*operands)
        return RULES[name, wide[0].dtype.kind].emit(self.writer, *wide)

    def level(self, *operands: Value) -> list[Value]:
        """The operands with the same lanes."""
        lanes = max(operand.lanes for operand in operands)
        return [self.block.splat(operand, lanes) for operand in operands]

    def add(self, x: Value, y: Value) -> Value:
        """x + y."""
        return self._apply("add", x, y)

    def subtract(self, x: Value, y: Value) -> Value:
        """x - y."""
        return self._apply("subtract", x, y)

    def multiply(self, x: Value, y: Value) -> Value:
        """x y."""
        return self._apply("multiply", x, y)

    def negative(self, x: Value) -> Value:
        """-x."""
        return self._apply("negative", x)

    def conjugate(self, x: Value) -> Value:
        """The conjugate; x itself where it is real."""
        return self._apply("conjugate", x) if x.dtype.kind == "c" else x

    def reciprocal(self, x: Value) -> Value:
        """1 / x, and 1 where x is zero."""
        one = self.block.splat(constant(1, x.dtype), x.lanes)
        return self._apply("divide", one, self.writer.select(self.is_zero(x), one, x))

    def logarithm(self, x: Value) -> Value:
        """log x of real numbers."""
        return self._apply("log", x)

    def modulus(self, x: Value) -> Value:
        """|x|."""
        return self._apply("absolute", x) if x.dtype.kind == "c" else self.writer.absolute(x)

    def size(self, x: Value) -> Value:
        """|x|, and |Re x| + |Im x| of complex numbers, by which LAPACK chooses pivots."""
        parts = [self.writer.absolute(Value((p,), self.part, x.lanes)) for p in x.parts]
        return parts[0] if len(parts) == 1 else self.writer.add(*parts)

    def real(self, x: Value) -> Value:
        """The real part, as a real number."""
        return real_part(x)

    def lifted(self, x: Value) -> Value:
        """A real number as one of the dtype."""
        if self.dtype.kind != "c":
            return x
        return complex_value(x, self.block.splat(constant(0.0, self.part), x.lanes))

    def root(self, x: Value) -> Value:
        """The square root of a real number; a fault where it is not positive."""
        zero = self.writer.constant(0.0, x)
        positive = self.writer.compare("ogt", x, zero)
        self.faults.append(self.writer.invert(positive))
        safe = self.writer.select(positive, x, self.writer.constant(1.0, x))
        return self.writer.mindful("sqrt", safe)

    def is_zero(self, x: Value) -> Value:
        """Whether a number is zero."""
        zeros = [self.writer.equal_number(Value((p,), self.part, x.lanes), 0.0) for p in x.parts]
        return zeros[0] if len(zeros) == 1 else self.writer.both(*zeros)

    def select(self, mask: Value, x: Value, y: Value) -> Value:
        """x where the mask holds, else y."""
        mask, x, y = self.level(mask, x, y)
        return self.writer.select(mask, x, y)

    # --- faults ----------------------------------------------------------------------------------

    def require_regular(self, pivots: Sequence[Value]) -> None:
        """A fault where a pivot is zero or not finite."""
        self.faults += [self.is_zero(pivot) for pivot in pivots]
        self.require_finite(pivots)

    def require_significant(self, pivot: Value, above: Value, count: int) -> None:
        """A fault where a pivot may be zero but for rounding, beside the largest number above it.

        Whether a matrix is singular is decided by LAPACK, whose order of operations is another.
        """
        limit = 16 * count * float(np.finfo(self.part).eps)
        least = self.writer.multiply(above, self.writer.constant(limit, above))
        self.faults.append(self.writer.compare("olt", self.size(pivot), least))

    def require_finite(self, values: Sequence[Value]) -> None:
        """A fault where a number is infinite or NaN."""
        for value in values:
            for part in value.parts:
                finite = self.writer.is_finite(Value((part,), self.part, value.lanes))
                self.faults.append(self.writer.invert(finite))
