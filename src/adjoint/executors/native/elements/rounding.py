"""Rounding, remainders and signs of real numbers."""

from __future__ import annotations

from adjoint.executors.native.elements.rules import rule
from adjoint.executors.native.elements.writer import ElementWriter
from adjoint.executors.native.machine.module import Value


def _enter_rounding(name: str) -> None:
    @rule(name, "f")
    def emit(writer: ElementWriter, x: Value) -> Value:
        return writer.intrinsic(name, x)


for _name in ("floor", "ceil", "trunc", "rint"):
    _enter_rounding(_name)


@rule("absolute fabs", "f")
def _absolute(writer: ElementWriter, x: Value) -> Value:
    return writer.absolute(x)


@rule("copysign", "f")
def _copysign(writer: ElementWriter, x: Value, y: Value) -> Value:
    return writer.intrinsic("copysign", x, y)


@rule("sign", "f")
def _sign(writer: ElementWriter, x: Value) -> Value:
    zero = writer.constant(0, x)
    unit = writer.intrinsic("copysign", writer.constant(1, x), x)
    # NaN stays NaN, and -0 + 0 is 0.
    rest = writer.either(writer.is_nan(x), writer.equal_number(x, 0))
    return writer.select(rest, writer.add(x, zero), unit)


@rule("heaviside", "f")
def _heaviside(writer: ElementWriter, x: Value, y: Value) -> Value:
    zero, one = writer.constant(0, x), writer.constant(1, x)
    step = writer.select(writer.sign_bit(x), zero, one)
    height = writer.select(writer.equal_number(x, 0), y, step)
    return writer.select(writer.is_nan(x), x, height)


@rule("fmod", "f")
def _fmod(writer: ElementWriter, x: Value, y: Value) -> Value:
    return writer.binary("frem", x, y)


def _leaves_the_wrong_sign(writer: ElementWriter, rest: Value, y: Value) -> Value:
    opposite = writer.binary("xor", writer.sign_bit(y), writer.sign_bit(rest))
    return writer.both(opposite, writer.compare("une", rest, writer.constant(0, rest)))


@rule("remainder", "f")
def _remainder(writer: ElementWriter, x: Value, y: Value) -> Value:
    rest = _fmod(writer, x, y)
    moved = _leaves_the_wrong_sign(writer, rest, y)
    remainder = writer.select(moved, writer.add(rest, y), rest)
    signed = writer.intrinsic("copysign", writer.constant(0, x), y)
    remainder = writer.select(writer.equal_number(rest, 0), signed, remainder)
    return writer.select(writer.equal_number(y, 0), rest, remainder)


@rule("floor_divide", "f")
def _floor_divide(writer: ElementWriter, x: Value, y: Value) -> Value:
    rest = _fmod(writer, x, y)
    zero, one = writer.constant(0, x), writer.constant(1, x)
    quotient = writer.divide(writer.subtract(x, rest), y)
    moved = _leaves_the_wrong_sign(writer, rest, y)
    quotient = writer.select(moved, writer.subtract(quotient, one), quotient)
    floor = writer.intrinsic("floor", quotient)
    above = writer.compare("ogt", writer.subtract(quotient, floor), writer.constant(0.5, x))
    rounded = writer.select(above, writer.add(floor, one), floor)
    plain = writer.divide(x, y)
    signed = writer.intrinsic("copysign", zero, plain)
    rounded = writer.select(writer.equal_number(quotient, 0), signed, rounded)
    return writer.select(writer.equal_number(y, 0), plain, rounded)
