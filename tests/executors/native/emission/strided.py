"""Random programs that read arrays some numbers apart, forwards and backwards, up to their ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.primitives.structure.slicing import take
from adjoint.program import Program
from tests.executors.native.loop_programs import program

DTYPES = ("f8", "f4", "c16", "c8", "i8", "i4", "u1", "?")


def random_strided(seed: int) -> tuple[Program, list[Any]]:
    """Products, or sums, of two or three parts of one array, which are as long as each other."""
    random = np.random.default_rng([seed, 9])
    dtype = np.dtype(DTYPES[seed % len(DTYPES)])
    count = int(random.integers(1, 150))
    steps = [int(step) for step in random.choice([-9, -8, -5, -3, -2, -1, 1, 2, 3, 4, 6, 8, 9], 3)]
    offsets = [int(offset) for offset in random.integers(0, 3, 3)]
    size = max(abs(step) * (count - 1) + 1 + o for step, o in zip(steps, offsets, strict=True))
    parts = []
    for step, offset in zip(steps, offsets, strict=True):
        length = abs(step) * (count - 1) + 1
        # Forwards to the last number, or backwards from it; or the same at the beginning.
        low = size - length if offset else 0
        high = low + length
        parts.append((low, high, step) if step > 0 else (high - 1, low - 1, step))

    def function(x: Any) -> Any:
        first, second, third = (take(x, (part,)) for part in parts)
        return first * second, third * first

    numbers = 9 * random.standard_normal(size) + 1j * random.standard_normal(size)
    given = numbers.astype(dtype) if dtype.kind == "c" else np.abs(numbers).astype(dtype)
    return program(function, array_type(given.shape, dtype)), [given]
