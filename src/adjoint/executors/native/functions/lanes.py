"""Instructions on vectors of floats and on their bits, for functions that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.executors.native.machine.llvm import Machine
from adjoint.executors.native.machine.module import Block, constant, scalar_type, vector_type


def fuses(on: Machine) -> bool:
    """Whether the machine has fused multiply-add; all but x86 that LLVM has vectors for do."""
    return on.has("fma") or not on.is_x86


class Lanes:
    """Writes instructions on vectors of one dtype, and on integers of the same width."""

    def __init__(self, block: Block, dtype: np.dtype[Any], lanes: int, on: Machine) -> None:
        self.block = block
        self.dtype = dtype
        self.lanes = lanes
        self._on = on
        self._fuses = fuses(on)
        self._size = 8 * dtype.itemsize
        self.integer = np.dtype(f"i{dtype.itemsize}")
        self.type_text = vector_type(scalar_type(dtype), lanes)
        self.integers = vector_type(scalar_type(self.integer), lanes)

    def with_lanes(self, lanes: int) -> Lanes:
        """The same for another number of lanes."""
        return self if lanes == self.lanes else Lanes(self.block, self.dtype, lanes, self._on)

    def shuffled(self, kind: str, x: str, places: list[int]) -> str:
        """The lanes of a vector of a type at these places; itself, where that is all of it."""
        count = int(kind[1:].split(" ", 1)[0])
        if places == list(range(count)):
            return x
        mask = ", ".join(f"i32 {place}" for place in places)
        return self.block.op(
            f"shufflevector {kind} {x}, {kind} poison, <{len(places)} x i32> <{mask}>"
        )

    def number(self, number: float) -> str:
        """A number in all lanes."""
        return self.block.splat(constant(number, self.dtype), self.lanes).text

    def pattern(self, number: int) -> str:
        """An integer in all lanes."""
        return self.block.splat(constant(number, self.integer), self.lanes).text

    def listed(self, numbers: list[float]) -> str:
        """A vector of these numbers."""
        scalar = scalar_type(self.dtype)
        texts = [f"{scalar} {constant(number, self.dtype).text}" for number in numbers]
        return f"<{', '.join(texts)}>"

    def binary(self, operation: str, x: str, y: str) -> str:
        """An instruction on floats."""
        return self.block.op(f"{operation} {self.type_text} {x}, {y}")

    def on_bits(self, operation: str, x: str, y: str) -> str:
        """An instruction on integers."""
        return self.block.op(f"{operation} {self.integers} {x}, {y}")

    def multiply_add(self, x: str, y: str, z: str) -> str:
        """x * y + z, rounded once where the machine can."""
        if not self._fuses:
            return self.binary("fadd", self.binary("fmul", x, y), z)
        kind, name = self.type_text, f"llvm.fma.v{self.lanes}f{self._size}"
        return self.call(kind, name, *((kind, part) for part in (x, y, z)))

    def call(self, result: str, name: str, *arguments: tuple[str, str]) -> str:
        """A function of LLVM: of operands with their types."""
        types = ", ".join(kind for kind, _ in arguments)
        self.block.module.declare(name, f"declare {result} @{name}({types})")
        listing = ", ".join(f"{kind} {text}" for kind, text in arguments)
        return self.block.op(f"call {result} @{name}({listing})")

    def bits(self, x: str) -> str:
        """The integers of the same bits."""
        return self.block.op(f"bitcast {self.type_text} {x} to {self.integers}")

    def from_bits(self, x: str) -> str:
        """The floats of the same bits."""
        return self.block.op(f"bitcast {self.integers} {x} to {self.type_text}")

    def select(self, mask: str, x: str, y: str) -> str:
        """x where the mask holds, y elsewhere."""
        kind, booleans = self.type_text, vector_type("i1", self.lanes)
        return self.block.op(f"select {booleans} {mask}, {kind} {x}, {kind} {y}")

    def polynomial(self, x: str, coefficients: list[float]) -> str:
        """By Horner's rule, lowest coefficient first: the fewest instructions and registers."""
        total = self.number(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            total = self.multiply_add(total, x, self.number(coefficient))
        return total

    def sign(self, x: str) -> str:
        """The sign of x and no other bit, as an integer."""
        return self.on_bits("and", self.bits(x), self.pattern(-(1 << (self._size - 1))))

    def bounded_size(self, x: str, limit: float) -> str:
        """|x| if it is smaller than a limit, else the limit, as an integer.

        By the bits, since the minimum of floats raises a flag for NaN (x86).
        """
        mask = self.pattern((1 << (self._size - 1)) - 1)
        absolute = self.on_bits("and", self.bits(x), mask)
        kind, most = self.integers, self.pattern(self.bits_of(limit))
        return self.call(
            kind, f"llvm.smin.v{self.lanes}i{self._size}", (kind, absolute), (kind, most)
        )

    def with_sign(self, size: str, sign: str) -> str:
        """The float of these two, as integers."""
        return self.from_bits(self.on_bits("or", size, sign))

    def bits_of(self, number: float) -> int:
        """The bits of one number, as an integer."""
        return int(np.array(number, self.dtype).view(self.integer))
