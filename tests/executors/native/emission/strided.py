"""Random programs that read arrays some numbers apart, forwards and backwards, up to their ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.interop.captured import captured_program
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


def random_columns(seed: int) -> tuple[Program, list[Any]]:
    """Columns of a matrix, forwards and backwards, that are read, and written where others are."""
    random = np.random.default_rng([seed, 5])
    dtype = np.dtype(DTYPES[seed % len(DTYPES)])
    count, width = int(random.integers(1, 70)), int(random.integers(2, 10))
    one, other = (int(column) for column in random.integers(0, width, 2))
    two = np.ones(1, dtype)[0] + np.ones(1, dtype)[0]

    def written(a: Any, b: Any) -> Any:
        a = a * two
        a[:, one] = b * a[:, other]
        a[::-1, other] = a[:, one] * two
        return a, np.concatenate([a[:, one], b, a[::-1, other]])

    def every_other(a: Any, b: Any) -> Any:
        flat = a.reshape(-1) * two
        even = len(flat) // 2 * 2
        flat[0:even:2] = flat[1:even:2] * two
        flat[1:even:2] = flat[0:even:2][::-1] * two
        return flat, a[:, ::-1].T * b

    def chosen(a: Any, b: Any) -> Any:
        padded = np.pad(a[:, one] * two, (3, 2))
        return np.where(a[:, one] == b, a[::-1, other], two), padded

    def parts(a: Any, b: Any) -> Any:
        return a[:, one].real * b.imag, a.imag[::-1], np.stack([b * two, a[:, other]], axis=1)

    function = (written, every_other, chosen, parts)[int(random.integers(0, 4))]

    def numbers(*shape: int) -> Any:
        drawn = random.integers(0, 9, shape)
        return (drawn + 1j * random.integers(0, 9, shape) if dtype.kind == "c" else drawn).astype(
            dtype
        )

    arguments = [numbers(count, width), numbers(count)]
    captured = captured_program(function, tuple(arguments))
    return captured.program, [*arguments, *captured.constants]
