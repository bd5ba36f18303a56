"""The text of modules: numbers by their bits, and instructions that are written once."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from adjoint.executors.native.machine.module import Block, Module, number_text

RNG = np.random.default_rng(5)
NUMBERS = [
    *(
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1e300,
        3.4028235e38,
        3.4028236e38,
        5e-324,
        7e-46,
        65520.0,
    ),
    *(np.float32(0.1), np.float16(0.1), np.longdouble("0.1"), np.array(2.5), 3, True, 2**70),
    *struct.unpack("<2000d", RNG.bytes(16_000)),
    *(RNG.standard_normal(500) * 10.0 ** RNG.integers(-50, 45, 500)).tolist(),
]


@pytest.mark.parametrize("name", ["f2", "f4", "f8"])
def test_numbers_are_rounded_as_numpy_does(name: str) -> None:
    dtype = np.dtype(name)
    for number in NUMBERS:
        with np.errstate(all="ignore"):
            bits = int(np.float64(dtype.type(number)).view(np.uint64))
        assert number_text(number, dtype) == (f"0x{bits:016X}",)


def test_an_instruction_is_written_once_in_a_basic_block() -> None:
    block = Block(Module())
    first = block.once("fneg double %x")
    assert block.once("fneg double %x") == first
    assert block.once("fneg double %y") != first
    block.place("elsewhere")  # which control may reach by another way
    assert block.once("fneg double %x") != first
    assert len(block.lines) == 4
