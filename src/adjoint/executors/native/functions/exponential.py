"""The exponential of vectors and its like, as instructions that stand in the loop.

A call leaves a loop no registers: its sums, and the rounds that stand side by side in it, wait in
memory meanwhile, which costs as much again as the exponential. These instructions are interleaved
with what is around them.

The argument is reduced by multiples of ln(2), in two parts (Cody and Waite, "Software Manual for
the Elementary Functions", 1980, chapter 6), and the exponential of the rest is a polynomial. With
AVX-512 the multiples are of ln(2) / 16, and 2^(1/16), 2^(2/16), ... come from a table which two
registers hold (Tang, "Table-driven implementation of the exponential function", ACM TOMS 15, 1989).

Measured against long double, over all magnitudes: `exp` is within 1.3 units in the last place,
subnormal results included, `tanh` within 2.8, and its slope within 2.6. The flags are those that
NumPy's warnings are for: `exp` raises overflow, for finite arguments alone; the others raise none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from adjoint.executors.native.functions.lanes import Lanes, fuses
from adjoint.executors.native.machine.llvm import Machine
from adjoint.executors.native.machine.module import Block

SHARE: Final = 4  # with tables, multiples are of ln(2) / 2^SHARE
_TABLE_BYTES: Final = 64  # of the registers that hold tables, and of those that look them up

# exp(r) is 1 + r + r^2 q(r). These are the coefficients of q, lowest first: it is equal to what it
# stands for at the Chebyshev points of the interval that the reduction leaves (|r| up to ln(2) / 2,
# with tables ln(2) / 32), each coefficient then rounded to its dtype. The exponential is by that
# within 0.26 * 2^-53, or 0.26 * 2^-24, of its size; test_exponential.py derives them again.
WHOLE: Final = {
    8: (
        *("0x1.0000000000001p-1", "0x1.5555555555556p-3", "0x1.5555555553d68p-5"),
        *("0x1.11111111109b5p-7", "0x1.6c16c17889ef1p-10", "0x1.a01a01a7c2efep-13"),
        *("0x1.a019b9149a41cp-16", "0x1.71de0db2f6b19p-19", "0x1.28917c89a43a7p-22"),
        "0x1.af389ecfc4b9cp-26",
    ),
    4: ("0x1p-1", "0x1.5554dep-3", "0x1.55551ap-5", "0x1.120b62p-7", "0x1.6d10fcp-10"),
}
SHARED: Final = {
    8: (
        *("0x1p-1", "0x1.55555554dd44dp-3", "0x1.55555555194d2p-5"),
        *("0x1.11120af701debp-7", "0x1.6c17bb51f236dp-10"),
    ),
    4: ("0x1.000148p-1", "0x1.55565cp-3"),
}
# Where 1 is to be taken away, as `tanh` does, what is left is smaller, and needs one more.
SHARED_TANH: Final = {
    8: (
        *("0x1.0000000000001p-1", "0x1.5555555555556p-3", "0x1.55555554e9468p-5"),
        *("0x1.11111110e10a8p-7", "0x1.6c17ed4cc4834p-10", "0x1.a01b0c2edab7cp-13"),
    ),
    4: ("0x1p-1", "0x1.5556dep-3", "0x1.55565cp-5"),
}
_SECH_IS_ZERO: Final = {8: 384.0, 4: 56.0}  # of which the square is

# ln(2) as a number with so few digits that its multiples are exact, and the rest.
_LN2: Final = {
    8: ("0x1.62e42fefa3000p-1", "0x1.3de6af278ece6p-42"),
    4: ("0x1.62e4p-1", "0x1.7f7d1cp-20"),
}


@dataclass(frozen=True, slots=True)
class _Format:
    """What depends on the dtype.

    digits: of the mantissa. limit: the exponential of it overflows, that of -limit is zero. shift:
        the polynomial is multiplied by 2^shift, so that the exponent of a result has two halves
        that are exponents of normal numbers. bias: of exponents, less that shift.
    """

    digits: int
    limit: float
    shift: int
    bias: int


_FORMATS: Final = {8: _Format(52, 746.0, -600, 1623), 4: _Format(23, 104.0, -64, 191)}


def width(on: Machine, name: str, dtype: np.dtype[Any], called: bool) -> int | None:
    """In how many lanes at most a function is best written; 0 for any, None if it is to be called.

    called: whether there is a function of vectors to call; if not, it is one of single numbers.

    Per number, in a loop with two sums (Zen 5; libmvec in parentheses): with AVX-512, `exp` takes
    0.31 ns (0.69) and `tanh` 0.45 (1.04), of single precision 0.13 (0.34) and 0.18 (0.26);
    with AVX2 `exp` takes 1.10 (1.04), of single precision 0.36 (0.52). Without
    fused operations libmvec wins, and doubles lose to a call for each of them, too.
    """
    single = dtype.itemsize == 4
    if name in ("tanh", "sech_squared"):
        return _TABLE_BYTES // dtype.itemsize if _has_tables(on) else None
    if name != "exp":
        return None
    if _has_tables(on):
        return _TABLE_BYTES // dtype.itemsize
    worthwhile = single or not called if fuses(on) else single and not called
    return 0 if worthwhile else None


def write(block: Block, name: str, text: str, dtype: np.dtype[Any], lanes: int, on: Machine) -> str:
    """The function of a vector, in the lanes of which `width` speaks, or in fewer."""
    lane = Lanes(block, dtype, lanes, on)
    if name == "tanh":
        return _tanh(lane, text)
    if name == "sech_squared":
        return _sech_squared(lane, text)
    return _exp_by_tables(lane, text) if _has_tables(on) else _exp_by_exponents(lane, text)


def _has_tables(on: Machine) -> bool:
    return on.is_x86 and on.has("avx512f")


def _reduced(lane: Lanes, x: str, magic: float) -> tuple[str, str, str]:
    """The nearest multiple n of ln(2), or of a share of it, and the rest of x.

    magic: a number that rounds, when it is added, to the multiples that are wanted; n stands in the
        last bits of the sum, which is returned first, then n and the rest.
    """
    high, low = (float.fromhex(text) for text in _LN2[lane.dtype.itemsize])
    summed = lane.multiply_add(x, lane.number(1 / math.log(2)), lane.number(magic))
    multiple = lane.binary("fsub", summed, lane.number(magic))
    rest = lane.multiply_add(multiple, lane.number(-high), x)
    return summed, multiple, lane.multiply_add(multiple, lane.number(-low), rest)


def _bounded(lane: Lanes, x: str, limit: float) -> str:
    """x, of a size that the reduction is made for; beyond, the result is the same anyhow."""
    return lane.with_sign(lane.bounded_size(x, limit), lane.sign(x))


def _unusual(lane: Lanes, x: str) -> str:
    """Where x is infinity or NaN: it is its own exponential. Equality raises no flag."""
    return lane.block.op(f"fcmp ueq {lane.type_text} {x}, {lane.number(math.inf)}")


# --- by instructions that any machine has ---------------------------------------------------------


def _exp_by_exponents(lane: Lanes, x: str) -> str:
    """The product of the polynomial with two powers of two, of which only the last is rounded.

    A single power would have to be a subnormal number for small results, and twice the largest
    exponent for large ones.
    """
    how = _FORMATS[lane.dtype.itemsize]
    # The last bits of the sum are n + bias, so that shifts put exponents in their place.
    magic = 1.5 * 2.0**how.digits + how.bias
    summed, _, rest = _reduced(lane, _bounded(lane, x, how.limit), magic)
    coefficients = [1.0, 1.0, *map(float.fromhex, WHOLE[lane.dtype.itemsize])]
    scaled = lane.polynomial(rest, [number * 2.0**how.shift for number in coefficients])
    whole = lane.bits(summed)
    # Half of the exponent, rounded down, is that of a power of two; the other half is added to the
    # exponent of the polynomial.
    doubled = lane.on_bits("shl", whole, lane.pattern(how.digits - 1))
    half = lane.on_bits("and", doubled, lane.pattern(-(1 << how.digits)))
    other = lane.on_bits("sub", lane.on_bits("shl", whole, lane.pattern(how.digits)), half)
    scaled = lane.from_bits(lane.on_bits("add", lane.bits(scaled), other))
    # Infinity and NaN stay what they are in the product, and raise nothing.
    scaled = lane.select(_unusual(lane, x), x, scaled)
    return lane.binary("fmul", scaled, lane.from_bits(half))


# --- by the tables of AVX-512 ---------------------------------------------------------------------


@cache
def table(dtype: np.dtype[Any]) -> tuple[list[float], list[float]]:
    """2^(j / 16) for each j below 16, rounded, and what was lost by that.

    Of square roots of whole numbers, so that it is exact on every machine.
    """
    scale = 200
    rounded, lost = [], []
    for j in range(1 << SHARE):
        power = 1 << (j + (scale << SHARE))
        for _ in range(SHARE):
            power = math.isqrt(power)
        number = float(dtype.type(power / (1 << scale)))
        rounded.append(number)
        lost.append((power - int(math.ldexp(number, scale))) / (1 << scale))
    return rounded, lost


def _exp_by_tables(lane: Lanes, x: str) -> str:
    """The exponential in whole registers of AVX-512."""
    how = _FORMATS[lane.dtype.itemsize]
    magic = 1.5 * 2.0 ** (how.digits - SHARE)  # whose last bit is a share of one
    summed, multiple, rest = _reduced(lane, _bounded(lane, x, how.limit), magic)
    coefficients = [1.0, *map(float.fromhex, SHARED[lane.dtype.itemsize])]
    grown = lane.binary("fmul", lane.polynomial(rest, coefficients), rest)
    power = _looked_up(lane, table(lane.dtype)[0], lane.bits(summed))
    scaled = lane.multiply_add(power, grown, power)
    # A power of two to infinity is infinity, to NaN is NaN, and raises nothing.
    return _times_power_of_two(lane, scaled, lane.select(_unusual(lane, x), x, multiple))


@dataclass(frozen=True, slots=True)
class _Parts:
    """What `tanh` and its slope are made of, with e = exp(-2 |x|): 4 e, 1 - e and 1 + e.

    Four times, so that a slope that is subnormal has lost nothing before it is.
    """

    power: str
    below: str
    above: str


def _parts(lane: Lanes, x: str) -> _Parts:
    """The parts for x, which are written once where both functions are wanted."""
    key = (_Parts, lane.type_text, x)
    known: _Parts | None = lane.block.known.get(key)
    if known is None:
        known = lane.block.known[key] = _written_parts(lane, x)
    return known


def _written_parts(lane: Lanes, x: str) -> _Parts:
    """The parts for x.

    A small 1 - e has all its digits: 1 - 2^(j / 16) is exact, and to the rest belongs what the
    table lost.
    """
    itemsize = lane.dtype.itemsize
    size = lane.from_bits(lane.bounded_size(x, _SECH_IS_ZERO[itemsize]))
    magic = 1.5 * 2.0 ** (_FORMATS[itemsize].digits - SHARE)
    high, low = (float.fromhex(text) / 2 for text in _LN2[itemsize])
    # -2 |x| is a multiple of ln(2) / 16, and -2 times the rest.
    summed = lane.multiply_add(size, lane.number(-2 / math.log(2)), lane.number(magic))
    multiple = lane.binary("fsub", summed, lane.number(magic))
    rest = lane.multiply_add(multiple, lane.number(high), size)
    rest = lane.multiply_add(multiple, lane.number(low), rest)
    # (1 - exp(-2 rest)) / 2 is rest + rest^2 q.
    coefficients = [
        number * (-2.0) ** (degree + 1)
        for degree, number in enumerate(map(float.fromhex, SHARED_TANH[itemsize]))
    ]
    square = lane.binary("fmul", lane.polynomial(rest, coefficients), rest)
    grown = lane.multiply_add(square, rest, rest)
    rounded, missing = table(lane.dtype)
    places = lane.bits(summed)
    power = _looked_up(lane, [4 * root for root in rounded], places)
    power = _times_power_of_two(lane, power, multiple)
    shares = [lost / root / -2 for root, lost in zip(rounded, missing, strict=True)]
    grown = lane.binary("fadd", grown, _looked_up(lane, shares, places))
    small = lane.binary("fmul", power, grown)
    below = lane.multiply_add(power, lane.number(-0.25), lane.number(1.0))
    power = lane.multiply_add(small, lane.number(-2.0), power)
    return _Parts(
        power,
        lane.multiply_add(small, lane.number(0.5), below),
        lane.multiply_add(power, lane.number(0.25), lane.number(1.0)),
    )


def _tanh(lane: Lanes, x: str) -> str:
    """The hyperbolic tangent: (1 - e) / (1 + e), where e is exp(-2 |x|)."""
    parts = _parts(lane, x)
    quotient = lane.binary("fdiv", parts.below, parts.above)
    signed = lane.with_sign(lane.bits(quotient), lane.sign(x))
    nan = lane.block.op(f"fcmp uno {lane.type_text} {x}, {x}")
    return lane.select(nan, x, signed)


def _sech_squared(lane: Lanes, x: str) -> str:
    """The slope of `tanh`, 4 e / (1 + e)^2."""
    parts = _parts(lane, x)
    # (1 + e)^2 as 1 + e (2 + e), which is rounded once and not three times.
    more = lane.multiply_add(parts.power, lane.number(1 / 16), lane.number(0.5))
    squared = lane.multiply_add(parts.power, more, lane.number(1.0))
    slope = lane.binary("fdiv", parts.power, squared)
    nan = lane.block.op(f"fcmp uno {lane.type_text} {x}, {x}")
    return lane.select(nan, x, slope)


def _looked_up(lane: Lanes, numbers: list[float], places: str) -> str:
    """Those of 16 numbers at the places that the last four bits name."""
    whole, places = _whole(lane), _widened(lane, lane.integers, places)
    kind = whole.type_text
    if lane.dtype.itemsize == 4:
        name = "llvm.x86.avx512.permvar.sf.512"
        chosen = whole.call(kind, name, (kind, whole.listed(numbers)), (whole.integers, places))
    else:
        first, second = whole.listed(numbers[:8]), whole.listed(numbers[8:])
        name = "llvm.x86.avx512.vpermi2var.pd.512"
        chosen = whole.call(kind, name, (kind, first), (whole.integers, places), (kind, second))
    return _narrowed(lane, chosen)


def _times_power_of_two(lane: Lanes, x: str, exponent: str) -> str:
    """x times two to the exponent, which is rounded down first; the product is rounded once."""
    whole = _whole(lane)
    x, exponent = (_widened(lane, lane.type_text, operand) for operand in (x, exponent))
    kind = whole.type_text
    letter, mask = ("p" + "sd"[lane.dtype.itemsize == 8]), f"i{whole.lanes}"
    product = whole.call(
        kind,
        f"llvm.x86.avx512.mask.scalef.{letter}.512",
        *((kind, x), (kind, exponent), (kind, "zeroinitializer")),
        *((mask, "-1"), ("i32", "4")),  # all lanes, in the rounding mode of the processor
    )
    return _narrowed(lane, product)


# These two alone need whole registers. Where there are fewer lanes, all else is done in those: in
# lanes that nobody reads, LLVM replaces constants by zeros, and a division there raises flags.


def _whole(lane: Lanes) -> Lanes:
    return lane.with_lanes(_TABLE_BYTES // lane.dtype.itemsize)


def _widened(lane: Lanes, kind: str, text: str) -> str:
    """A vector in a whole register; the lanes too many repeat the others."""
    width = _whole(lane).lanes
    return lane.shuffled(kind, text, [place % lane.lanes for place in range(width)])


def _narrowed(lane: Lanes, text: str) -> str:
    """The first lanes of a whole register."""
    return lane.shuffled(_whole(lane).type_text, text, list(range(lane.lanes)))
