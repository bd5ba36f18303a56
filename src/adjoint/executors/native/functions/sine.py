"""The sine and the cosine of vectors, both from one reduction, as instructions in the loop.

A sine is differentiated into the cosine of the same number, and two calls share nothing. Here the
second of the two costs a choice and a sign.

From the argument a multiple n of pi / 2 is taken away, in three parts (Cody and Waite, "Software
Manual for the Elementary Functions", 1980, chapter 8). With fused operations the first difference
is exact, and the others are rounded once: the parts have so many digits that all of the rest r is
right, even where the argument is the double next to a multiple of pi / 2. The last two bits of n
say which of sin(r) and cos(r) is meant, and its sign.

Measured against long double: both are within 1.5 units in the last place, 0.3 in the mean, where
the vector functions of glibc are within 3.5, and 0.75 in the mean. No flag is raised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from adjoint.executors.native.functions.lanes import Lanes, fuses
from adjoint.executors.native.machine.llvm import Machine
from adjoint.executors.native.machine.module import Block, vector_type

LARGEST: Final = 2.0**40  # of arguments; those beyond, infinities and NaN are left to a library

# pi / 2 is the sum of these, each rounded down: so they are positive, and -0 stays what it is.
HALF_PI: Final = ("0x1.921fb54442d18p+0", "0x1.1a62633145c06p-54", "0x1.c1cd129024e08p-107")

# sin(r) is r + r^3 s(r^2), and cos(r) is 1 - r^2 / 2 + r^4 c(r^2). These are the coefficients of s
# and c, lowest first: both are equal to what they stand for at the Chebyshev points of the interval
# from 0 to (pi / 4)^2, each coefficient then rounded. test_sine.py derives them again.
SINE: Final = (
    *("-0x1.5555555555555p-3", "0x1.1111111110bb2p-7", "-0x1.a01a019e83aaep-13"),
    *("0x1.71de37968a100p-19", "-0x1.ae600b02b6262p-26", "0x1.5e0b19f8b1451p-33"),
)
COSINE: Final = (
    *("0x1.5555555555555p-5", "-0x1.6c16c16c16967p-10", "0x1.a01a019f4eb01p-16"),
    *("-0x1.27e4fa17da09ep-22", "0x1.1eeb68e93b64cp-29", "-0x1.907da367a37cbp-37"),
)

_MAGIC: Final = 1.5 * 2.0**52  # what is added to it is rounded to a whole number, in its last bits


@dataclass(frozen=True, slots=True)
class SineAndCosine:
    """Both of a vector, and the lanes (a vector of i1) of which neither is known."""

    sine: str
    cosine: str
    beyond: str


def is_written(on: Machine, dtype: np.dtype[Any], called: bool, both: bool) -> bool:
    """Whether these instructions are better than calls.

    called: whether there are functions of vectors to call. both: whether both are wanted.

    Per number, in a loop with a sum (Zen 5; libmvec in parentheses): with AVX-512 both take 0.65 ns
    (1.0), one takes 0.56 (0.57); with AVX2 both take 1.3 (1.5), one 1.1 (0.74). The library has
    vectors of single precision for half of that, and a second function of them for little more.
    """
    return dtype.itemsize == 8 and fuses(on) and (both or not called)


def write(block: Block, x: str, dtype: np.dtype[Any], lanes: int, on: Machine) -> SineAndCosine:
    """The sine and the cosine of a vector."""
    lane = Lanes(block, dtype, lanes, on)
    size = lane.on_bits("and", lane.bits(x), lane.pattern((1 << 63) - 1))
    beyond = block.op(f"icmp ugt {lane.integers} {size}, {lane.pattern(lane.bits_of(LARGEST))}")
    x = lane.select(beyond, lane.number(0.0), x)
    summed = lane.multiply_add(x, lane.number(2 / math.pi), lane.number(_MAGIC))
    multiple = lane.binary("fsub", summed, lane.number(_MAGIC))
    rest = x
    for part in map(float.fromhex, HALF_PI):
        rest = lane.multiply_add(multiple, lane.number(-part), rest)
    sine, cosine = _near_zero(lane, rest)
    odd = block.op(f"trunc {lane.integers} {lane.bits(summed)} to {vector_type('i1', lanes)}")
    quarters = lane.bits(summed)
    following = lane.on_bits("add", quarters, lane.pattern(1))
    return SineAndCosine(
        _turned(lane, lane.select(odd, cosine, sine), quarters),
        _turned(lane, lane.select(odd, sine, cosine), following),
        beyond,
    )


def _near_zero(lane: Lanes, rest: str) -> tuple[str, str]:
    """The sine and the cosine of a number of a size up to pi / 4."""
    square = lane.binary("fmul", rest, rest)
    series = lane.polynomial(square, [*map(float.fromhex, SINE)])
    sine = lane.multiply_add(lane.binary("fmul", rest, square), series, rest)
    # That of -0 has come out as 0.
    sine = lane.with_sign(lane.bits(sine), lane.sign(rest))
    return sine, lane.polynomial(square, [1.0, -0.5, *map(float.fromhex, COSINE)])


def _turned(lane: Lanes, x: str, quarters: str) -> str:
    """x, or -x after two or three quarters of a turn."""
    second = lane.on_bits("shl", quarters, lane.pattern(62))
    sign = lane.on_bits("and", second, lane.pattern(-(1 << 63)))
    return lane.from_bits(lane.on_bits("xor", lane.bits(x), sign))
