"""Powers of vectors whose exponents turn out to be whole numbers, as those of tables of powers are.

Squares and products, with the rounding errors of all of them carried along (Dekker, 1971), are
nearer to the true power than a library's function, within 0.51 units in the last place, and take a
third of its time or less. They are computed where |y| (|k| + 1) <= 960 in all lanes, k the exponent
of x, so that nothing on the way overflows or loses digits; all else, zero, infinities and NaN too,
is left to the library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.executors.native.functions.lanes import Lanes, fuses
from adjoint.executors.native.machine.llvm import Machine
from adjoint.executors.native.machine.module import HOT, Block, Value, vector_type

LARGEST: Final = 960  # of the exponent times the binary digits of x before the point, or after it
_MAGIC: Final = 2.0**52  # what is added to it has its whole part in the last bits

Library = Callable[[Block, Value, Value], Value]


def is_written(on: Machine, dtype: np.dtype[Any], lanes: int) -> bool:
    """Whether there are such instructions for vectors of a type."""
    return dtype == np.float64 and lanes > 1 and fuses(on)


def call(block: Block, x: Value, y: Value, on: Machine, library: Library) -> Value:
    """The powers, by a function of the module. library: writes the powers of all other vectors."""
    kind = vector_type("double", x.lanes)
    name = f"power.whole.v{x.lanes}"
    module = block.module
    if name not in module.wrappers:
        module.wrappers.add(name)
        own = Block(module)
        _write(own, x.lanes, on, library)
        header = f"define internal {kind} @{name}({kind} %x, {kind} %y) nounwind {HOT}"
        module.functions.append(own.function(header))
    result = block.op(f"call {kind} @{name}({kind} {x.text}, {kind} {y.text})")
    return Value((result,), x.dtype, x.lanes)


def _write(block: Block, lanes: int, on: Machine, library: Library) -> None:
    lane = Lanes(block, np.dtype(float), lanes, on)
    kind, booleans = lane.type_text, vector_type("i1", lanes)
    size, whole = _size_of(lane)
    fitting = lane.on_bits("mul", size, _digits(lane))
    fits = block.op(f"icmp ule {lane.integers} {fitting}, {lane.pattern(LARGEST)}")
    both = block.op(f"and {booleans} {fits}, {whole}")
    all_fit = lane.call("i1", f"llvm.vector.reduce.and.v{lanes}i1", (booleans, both))
    block.do(f"br i1 {all_fit}, label %whole, label %other")
    block.place("other")
    operands = (Value((name,), np.dtype(float), lanes) for name in ("%x", "%y"))
    block.do(f"ret {kind} {library(block, *operands).text}")
    block.place("whole")
    power, error = _products(lane, size)
    sign = block.op(f"icmp slt {lane.integers} {lane.bits('%y')}, {lane.pattern(0)}")
    some = lane.call("i1", f"llvm.vector.reduce.or.v{lanes}i1", (booleans, sign))
    total = lane.binary("fadd", power, error)
    block.do(f"br i1 {some}, label %inverse, label %direct")
    block.place("direct")
    block.do(f"ret {kind} {total}")
    block.place("inverse")
    # With r = 1 / p rounded, 1 / (p + e) is r + r (1 - r p - r e), but for squares of errors.
    inverse = lane.binary("fdiv", lane.number(1.0), power)
    opposite = block.op(f"fneg {kind} {inverse}")
    rest = lane.multiply_add(opposite, power, lane.number(1.0))
    rest = lane.multiply_add(opposite, error, rest)
    inverse = lane.multiply_add(inverse, rest, inverse)
    block.do(f"ret {kind} {lane.select(sign, inverse, total)}")


def _size_of(lane: Lanes) -> tuple[str, str]:
    """|y| as an integer, and whether it is one of a moderate size; 0 where it is not."""
    block = lane.block
    size = lane.on_bits("and", lane.bits("%y"), lane.pattern((1 << 63) - 1))
    most = lane.pattern(lane.bits_of(float(LARGEST)))
    moderate = block.op(f"icmp ule {lane.integers} {size}, {most}")
    number = lane.select(moderate, lane.from_bits(size), lane.number(0.0))
    shifted = lane.binary("fadd", number, lane.number(_MAGIC))
    back = lane.binary("fsub", shifted, lane.number(_MAGIC))
    same = block.op(f"fcmp oeq {lane.type_text} {back}, {number}")
    whole = block.op(f"and {vector_type('i1', lane.lanes)} {same}, {moderate}")
    return lane.on_bits("and", lane.bits(shifted), lane.pattern((1 << 52) - 1)), whole


def _digits(lane: Lanes) -> str:
    """How many digits before the binary point x has, or zeros after it and one more, at most."""
    exponent = lane.on_bits("lshr", lane.bits("%x"), lane.pattern(52))
    exponent = lane.on_bits("and", exponent, lane.pattern(0x7FF))
    before = lane.on_bits("sub", exponent, lane.pattern(1022))
    after = lane.on_bits("sub", lane.pattern(1023), exponent)
    kind = lane.integers
    return lane.call(kind, f"llvm.smax.v{lane.lanes}i64", (kind, before), (kind, after))


def _products(lane: Lanes, size: str) -> tuple[str, str]:
    """x to the power `size` and what was rounded away, binary digit by digit of the size.

    A square (h + l)^2 is h^2 + 2 h l, and a product (p + e)(h + l) is p h + p l + e h, but for
    products of errors. A lane that needs no further square has 1 in its place.
    """
    block, kind, integers = lane.block, lane.type_text, lane.integers
    before = block.label
    used = block.op(f"icmp ne {integers} {size}, {lane.pattern(0)}")
    first = lane.select(used, "%x", lane.number(1.0))
    block.do("br label %digit")
    block.place("digit")
    one, zero = lane.number(1.0), lane.number(0.0)
    starts = {"n": (integers, size), "h": (kind, first), "l": (kind, zero)}
    starts |= {"p": (kind, one), "e": (kind, zero)}
    for name, (type_text, start) in starts.items():
        block.do(f"%{name} = phi {type_text} [ {start}, %{before} ], [ %{name}.next, %digit ]")
    odd = block.op(f"trunc {integers} %n to {vector_type('i1', lane.lanes)}")
    product = lane.binary("fmul", "%p", "%h")
    lost = lane.multiply_add("%p", "%h", block.op(f"fneg {kind} {product}"))
    lost = lane.multiply_add("%p", "%l", lost)
    lost = lane.multiply_add("%e", "%h", lost)
    booleans = vector_type("i1", lane.lanes)
    block.do(f"%p.next = select {booleans} {odd}, {kind} {product}, {kind} %p")
    block.do(f"%e.next = select {booleans} {odd}, {kind} {lost}, {kind} %e")
    block.do(f"%n.next = lshr {integers} %n, {lane.pattern(1)}")
    more = block.op(f"icmp ne {integers} %n.next, {lane.pattern(0)}")
    high, low = lane.select(more, "%h", one), lane.select(more, "%l", zero)
    block.do(f"%h.next = fmul {kind} {high}, {high}")
    lost = lane.multiply_add(high, high, block.op(f"fneg {kind} %h.next"))
    twice = lane.binary("fadd", high, high)
    name = f"llvm.fma.v{lane.lanes}f64"
    listed = f"{kind} {twice}, {kind} {low}, {kind} {lost}"
    block.do(f"%l.next = call {kind} @{name}({listed})")
    again = lane.call("i1", f"llvm.vector.reduce.or.v{lane.lanes}i1", (booleans, more))
    block.do(f"br i1 {again}, label %digit, label %multiplied")
    block.place("multiplied")
    return "%p.next", "%e.next"
