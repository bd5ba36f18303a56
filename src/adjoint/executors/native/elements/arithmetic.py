"""Sums, products, quotients and powers of real numbers and integers."""

from __future__ import annotations

import math
from collections.abc import Callable

from adjoint.executors.native.elements.rules import rule
from adjoint.executors.native.elements.writer import DOUBLE, SINGLE, ElementWriter, known_number
from adjoint.executors.native.machine.module import Value

PLAIN_EXPONENTS = range(-3, 5)  # of powers that products give to two units in the last place
LARGEST_EXPONENT = 64  # of powers that are products; beyond, they are those of `power`


def _fused(operation: str) -> Callable[..., Value]:
    def emit(writer: ElementWriter, x: Value, y: Value) -> Value:
        flag = " contract" if writer.contract else ""
        return writer.binary(f"f{operation}{flag}", x, y)

    return emit


add = rule("add", "f")(_fused("add"))
subtract = rule("subtract", "f")(_fused("sub"))
multiply = rule("multiply scale", "f")(_fused("mul"))


@rule("add", "i u")
def _add_integers(writer: ElementWriter, x: Value, y: Value) -> Value:
    return writer.add(x, y)


@rule("subtract", "i u")
def _subtract_integers(writer: ElementWriter, x: Value, y: Value) -> Value:
    return writer.subtract(x, y)


@rule("multiply scale", "i u")
def _multiply_integers(writer: ElementWriter, x: Value, y: Value) -> Value:
    return writer.multiply(x, y)


@rule("divide", "f")
def _divide(writer: ElementWriter, x: Value, y: Value) -> Value:
    divisor = known_number(y)
    if divisor is None or abs(math.frexp(divisor)[0]) != 0.5 or not 1e-30 < abs(divisor) < 1e30:
        return writer.divide(x, y)
    return writer.multiply(x, writer.constant(1 / divisor, y))  # by a power of two: exact


@rule("negative", "f i u")
def _negative(writer: ElementWriter, x: Value) -> Value:
    return writer.negative(x)


@rule("square", "f i u")
def _square(writer: ElementWriter, x: Value) -> Value:
    return multiply(writer, x, x) if x.dtype.kind == "f" else writer.multiply(x, x)


@rule("reciprocal", "f")
def _reciprocal(writer: ElementWriter, x: Value) -> Value:
    return writer.divide(writer.constant(1, x), x)


@rule("deg2rad radians", "f")
def _radians(writer: ElementWriter, x: Value) -> Value:
    pi = x.dtype.type(3.141592653589793)
    return multiply(writer, x, writer.constant(pi / x.dtype.type(180), x))


@rule("rad2deg degrees", "f")
def _degrees(writer: ElementWriter, x: Value) -> Value:
    pi = x.dtype.type(3.141592653589793)
    return multiply(writer, x, writer.constant(x.dtype.type(180) / pi, x))


# --- a constant integer power ---------------------------------------------------------------------


def power_of_float(writer: ElementWriter, x: Value, exponent: int) -> Value:
    """x to a constant integer power of at most 64 in size, to two units in the last place."""
    if exponent == 0:
        return writer.constant(1, x)
    size = abs(exponent)
    if exponent in PLAIN_EXPONENTS:
        power = power_of_integer(writer, x, size)
    elif x.dtype == SINGLE:
        wide = power_of_integer(writer, writer.change("fpext", x, DOUBLE), size)
        if exponent < 0:
            wide = writer.divide(writer.constant(1, wide), wide)
        return writer.change("fptrunc", wide, SINGLE)
    else:
        power = _compensated_power(writer, x, size)
    return writer.divide(writer.constant(1, power), power) if exponent < 0 else power


def power_of_integer(writer: ElementWriter, x: Value, exponent: int) -> Value:
    """x to a constant power, by squares and products; at least 0."""
    if exponent == 0:
        return writer.constant(1, x)
    power = x
    for digit in f"{exponent:b}"[1:]:
        power = writer.multiply(power, power)
        if digit == "1":
            power = writer.multiply(power, x)
    return power


def _compensated_power(writer: ElementWriter, x: Value, exponent: int) -> Value:
    """The same of doubles, with the rounding error of every product carried along."""
    power, error = x, writer.constant(0, x)
    for digit in f"{exponent:b}"[1:]:
        twice = writer.multiply(power, writer.constant(2, x))
        square = writer.multiply(power, power)
        lost = writer.intrinsic("fma", power, power, writer.negative(square))
        error = writer.intrinsic("fma", twice, error, lost)
        power = square
        if digit == "1":
            product = writer.multiply(power, x)
            lost = writer.intrinsic("fma", power, x, writer.negative(product))
            error = writer.intrinsic("fma", error, x, lost)
            power = product
    # Of a product that is not finite the error is NaN, and there is nothing to add.
    whole = writer.is_finite(power)
    total = writer.add(power, writer.select(whole, error, writer.constant(0, x)))
    return writer.intrinsic("copysign", total, power)  # also of zero
