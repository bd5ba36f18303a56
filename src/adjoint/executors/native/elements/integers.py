"""What is of integers and booleans alone, and the integer forms of division and powers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adjoint.executors.native.elements.rules import rule
from adjoint.executors.native.elements.writer import BOOLEAN, ElementWriter
from adjoint.executors.native.machine.module import Value, scalar_type
from adjoint.primitives.elementwise.arithmetic import ADD, MULTIPLY, SUBTRACT
from adjoint.primitives.elementwise.declaring import SCALE

# Of these on single integers, NumPy warns when they overflow, and in Python they do not.
WRAPPING: Final = {ADD: "add", SUBTRACT: "sub", MULTIPLY: "mul", SCALE: "mul"}


def fault_of_overflow(writer: ElementWriter, operation: str, operands: Sequence[Value]) -> None:
    """Leave it to NumPy when the result does not fit."""
    x, y = operands
    sign, scalar = "s" if x.dtype.kind == "i" else "u", scalar_type(x.dtype)
    name = f"llvm.{sign}{operation}.with.overflow.{scalar}"
    pair = f"{{{scalar}, i1}}"
    writer.block.module.declare(name, f"declare {pair} @{name}({scalar}, {scalar})")
    both = writer.block.op(f"call {pair} @{name}({scalar} {x.text}, {scalar} {y.text})")
    writer.fault(Value((writer.block.op(f"extractvalue {pair} {both}, 1"),), BOOLEAN))


@rule("add logical_or", "b")
def _or(writer: ElementWriter, x: Value, y: Value) -> Value:
    return writer.either(x, y)


@rule("multiply scale", "b")
def _and(writer: ElementWriter, x: Value, y: Value) -> Value:
    return writer.both(x, y)


def _enter_bitwise(name: str) -> None:
    @rule(f"bitwise_{name}", "i u b")
    def emit(writer: ElementWriter, x: Value, y: Value) -> Value:
        return writer.binary(name, x, y)


for _name in ("and", "or", "xor"):
    _enter_bitwise(_name)


@rule("invert", "i u b")
def _invert(writer: ElementWriter, x: Value) -> Value:
    return writer.invert(x)


@rule("conjugate floor ceil trunc rint", "i u b")
def _itself(writer: ElementWriter, x: Value) -> Value:
    return x


@rule("conjugate", "f")
def _itself_real(writer: ElementWriter, x: Value) -> Value:
    return x


@rule("absolute", "u b")
def _absolute_unsigned(writer: ElementWriter, x: Value) -> Value:
    return x


@rule("absolute", "i")
def _absolute(writer: ElementWriter, x: Value) -> Value:
    return writer.intrinsic("abs", x, flag="false")  # the least one stays itself


@rule("sign", "i")
def _sign(writer: ElementWriter, x: Value) -> Value:
    one = writer.constant(1, x)
    return writer.intrinsic("smax", writer.intrinsic("smin", x, one), writer.constant(-1, x))


@rule("sign", "u")
def _sign_unsigned(writer: ElementWriter, x: Value) -> Value:
    return writer.intrinsic("umin", x, writer.constant(1, x))


# --- shifts ---------------------------------------------------------------------------------------


def _shifted(writer: ElementWriter, operation: str, x: Value, y: Value) -> Value:
    """x shifted by y bits; all of them are gone where y is as many as there are, or more."""
    zero = writer.constant(0, x)
    inside = writer.compare("ult", y, writer.constant(8 * x.dtype.itemsize, y))
    moved = writer.binary(operation, x, writer.select(inside, y, zero))
    return writer.select(inside, moved, zero)


@rule("left_shift", "i u")
def _left_shift(writer: ElementWriter, x: Value, y: Value) -> Value:
    return _shifted(writer, "shl", x, y)


@rule("right_shift", "u")
def _right_shift_unsigned(writer: ElementWriter, x: Value, y: Value) -> Value:
    return _shifted(writer, "lshr", x, y)


@rule("right_shift", "i")
def _right_shift(writer: ElementWriter, x: Value, y: Value) -> Value:
    bits = 8 * x.dtype.itemsize
    inside = writer.compare("ult", y, writer.constant(bits, y))
    return writer.binary("ashr", x, writer.select(inside, y, writer.constant(bits - 1, y)))


# --- division -------------------------------------------------------------------------------------


def _divisor(writer: ElementWriter, y: Value, odd: Value) -> Value:
    """y, and 1 where the processor would stop the program."""
    return writer.select(odd, writer.constant(1, y), y)


@rule("floor_divide", "u")
def _floor_divide_unsigned(writer: ElementWriter, x: Value, y: Value) -> Value:
    zero = writer.equal_number(y, 0)
    writer.fault(zero)
    return writer.binary("udiv", x, _divisor(writer, y, zero))


@rule("remainder fmod", "u")
def _remainder_unsigned(writer: ElementWriter, x: Value, y: Value) -> Value:
    zero = writer.equal_number(y, 0)
    writer.fault(zero)
    return writer.binary("urem", x, _divisor(writer, y, zero))


@rule("floor_divide", "i")
def _floor_divide(writer: ElementWriter, x: Value, y: Value) -> Value:
    least = -(1 << (8 * x.dtype.itemsize - 1))
    wrapping = writer.both(writer.equal_number(x, least), writer.equal_number(y, -1))
    odd = writer.either(writer.equal_number(y, 0), wrapping)
    writer.fault(odd)
    safe = _divisor(writer, y, odd)
    quotient = writer.binary("sdiv", x, safe)
    rest = writer.subtract(x, writer.multiply(quotient, safe))
    zero = writer.constant(0, x)
    opposite = writer.compare("slt", writer.binary("xor", x, safe), zero)
    down = writer.both(opposite, writer.compare("ne", rest, zero))
    return writer.select(down, writer.subtract(quotient, writer.constant(1, x)), quotient)


def _signed_rest(writer: ElementWriter, x: Value, y: Value) -> Value:
    zero = writer.equal_number(y, 0)
    writer.fault(zero)
    # By -1 nothing is left, as by 1; the processor would stop at the least integer.
    odd = writer.either(zero, writer.equal_number(y, -1))
    return writer.binary("srem", x, _divisor(writer, y, odd))


@rule("fmod", "i")
def _fmod(writer: ElementWriter, x: Value, y: Value) -> Value:
    return _signed_rest(writer, x, y)


@rule("remainder", "i")
def _remainder(writer: ElementWriter, x: Value, y: Value) -> Value:
    rest, zero = _signed_rest(writer, x, y), writer.constant(0, x)
    opposite = writer.compare("slt", writer.binary("xor", rest, y), zero)
    moved = writer.both(opposite, writer.compare("ne", rest, zero))
    return writer.select(moved, writer.add(rest, y), rest)


@rule("reciprocal", "i u")
def _reciprocal(writer: ElementWriter, x: Value) -> Value:
    writer.fault(writer.equal_number(x, 0))
    unit = writer.equal_number(x, 1)
    if x.dtype.kind == "i":
        unit = writer.either(unit, writer.equal_number(x, -1))
    return writer.select(unit, x, writer.constant(0, x))


# --- what takes a loop: a function of single numbers in the module --------------------------------

_POWER: Final = """\
define internal {t} @{name}({t} %base, {t} %exponent) nounwind {{
entry:
  br label %loop
loop:
  %left = phi {t} [ %exponent, %entry ], [ %halved, %loop ]
  %factor = phi {t} [ %base, %entry ], [ %squared, %loop ]
  %found = phi {t} [ 1, %entry ], [ %next, %loop ]
  %odd = trunc {t} %left to i1
  %product = mul {t} %found, %factor
  %next = select i1 %odd, {t} %product, {t} %found
  %squared = mul {t} %factor, %factor
  %halved = lshr {t} %left, 1
  %done = icmp eq {t} %halved, 0
  br i1 %done, label %end, label %loop
end:
  ret {t} %next
}}"""

_COMMON_DIVISOR: Final = """\
define internal {t} @{name}({t} %first, {t} %second) nounwind {{
entry:
  br label %loop
loop:
  %x = phi {t} [ %first, %entry ], [ %y, %step ]
  %y = phi {t} [ %second, %entry ], [ %rest, %step ]
  %done = icmp eq {t} %y, 0
  br i1 %done, label %end, label %step
step:
  %rest = urem {t} %x, %y
  br label %loop
end:
  ret {t} %x
}}"""


def _by_function(writer: ElementWriter, stem: str, template: str, x: Value, y: Value) -> Value:
    kind = scalar_type(x.dtype)
    name = f"elements.{stem}.{kind}"
    writer.block.module.declare(name, template.format(t=kind, name=name))

    def one(first: str, second: str) -> str:
        return writer.block.op(f"call {kind} @{name}({kind} {first}, {kind} {second})")

    return writer.by_lane(one, x, y)


@rule("power", "i u")
def _power(writer: ElementWriter, x: Value, y: Value) -> Value:
    if y.dtype.kind == "i":
        writer.fault(writer.compare("slt", y, writer.constant(0, y)))
    return _by_function(writer, "power", _POWER, x, y)


@rule("gcd", "i u")
def common_divisor(writer: ElementWriter, x: Value, y: Value) -> Value:
    """The greatest common divisor of |x| and |y|."""
    if x.dtype.kind == "i":
        x, y = _absolute(writer, x), _absolute(writer, y)
    return _by_function(writer, "gcd", _COMMON_DIVISOR, x, y)


@rule("lcm", "i u")
def _common_multiple(writer: ElementWriter, x: Value, y: Value) -> Value:
    if x.dtype.kind == "i":
        x, y = _absolute(writer, x), _absolute(writer, y)
    divisor = _by_function(writer, "gcd", _COMMON_DIVISOR, x, y)
    safe = _divisor(writer, divisor, writer.equal_number(divisor, 0))
    return writer.multiply(writer.binary("udiv", x, safe), y)
