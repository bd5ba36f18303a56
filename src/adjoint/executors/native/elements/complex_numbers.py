"""Complex arithmetic, by NumPy's own formulas; products and sums are never fused.

Fused, z * conj(z) would have an imaginary part.
"""

from __future__ import annotations

import math

from adjoint.executors.native.elements.functions import hypotenuse
from adjoint.executors.native.elements.rules import rule
from adjoint.executors.native.elements.writer import (
    BOOLEAN,
    ElementWriter,
    complex_value,
    imaginary_part,
    real_part,
)
from adjoint.executors.native.machine.module import Value

LARGEST_EXPONENT = 99  # of integer powers that NumPy makes of products


def parts(x: Value) -> tuple[Value, Value]:
    """The real and the imaginary part."""
    return real_part(x), imaginary_part(x)


@rule("add", "c")
def _add(writer: ElementWriter, x: Value, y: Value) -> Value:
    (a, b), (c, d) = parts(x), parts(y)
    return complex_value(writer.add(a, c), writer.add(b, d))


@rule("subtract", "c")
def _subtract(writer: ElementWriter, x: Value, y: Value) -> Value:
    (a, b), (c, d) = parts(x), parts(y)
    return complex_value(writer.subtract(a, c), writer.subtract(b, d))


@rule("negative", "c")
def _negative(writer: ElementWriter, x: Value) -> Value:
    a, b = parts(x)
    return complex_value(writer.negative(a), writer.negative(b))


@rule("conjugate", "c")
def _conjugate(writer: ElementWriter, x: Value) -> Value:
    a, b = parts(x)
    return complex_value(a, writer.negative(b))


@rule("multiply scale", "c", exact=False)
def multiply(writer: ElementWriter, x: Value, y: Value) -> Value:
    """x y by its four products."""
    (a, b), (c, d) = parts(x), parts(y)
    real = writer.subtract(writer.multiply(a, c), writer.multiply(b, d))
    return complex_value(real, writer.add(writer.multiply(a, d), writer.multiply(b, c)))


@rule("square", "c", exact=False)
def _square(writer: ElementWriter, x: Value) -> Value:
    return multiply(writer, x, x)


@rule("divide", "c", exact=False)
def divide(writer: ElementWriter, x: Value, y: Value) -> Value:
    """x / y by Smith's formula: nothing overflows that need not."""
    (a, b), (c, d) = parts(x), parts(y)
    first = writer.compare("oge", writer.absolute(c), writer.absolute(d))
    large, small = writer.select(first, c, d), writer.select(first, d, c)
    # By zero NumPy divides otherwise; of zero and of NaN it warns.
    writer.fault(writer.compare("ueq", large, writer.constant(0, large)))
    writer.fault(writer.is_nan(small))
    ratio = writer.divide(small, large)
    unit = writer.constant(1, ratio)
    scale = writer.divide(unit, writer.add(large, writer.multiply(small, ratio)))
    p, q = writer.select(first, a, b), writer.select(first, b, a)
    real = writer.multiply(writer.add(p, writer.multiply(q, ratio)), scale)
    turned = writer.multiply(p, ratio)
    imaginary = writer.select(first, writer.subtract(q, turned), writer.subtract(turned, q))
    return complex_value(real, writer.multiply(imaginary, scale))


@rule("reciprocal", "c", exact=False)
def _reciprocal(writer: ElementWriter, x: Value) -> Value:
    a, b = parts(x)
    writer.fault(writer.compare("uno", a, b))  # NumPy warns of NaN here
    first = writer.compare("ole", writer.absolute(b), writer.absolute(a))
    large, small = writer.select(first, a, b), writer.select(first, b, a)
    ratio = writer.divide(small, large)
    total = writer.add(large, writer.multiply(small, ratio))
    unit = writer.constant(1, ratio)
    real = writer.divide(writer.select(first, unit, ratio), total)
    turned = writer.negative(writer.select(first, ratio, unit))
    return complex_value(real, writer.divide(turned, total))


@rule("absolute", "c", exact=False)
def absolute(writer: ElementWriter, x: Value) -> Value:
    """|x|, which overflows only where it must."""
    return hypotenuse(writer, *parts(x))


@rule("sign", "c", exact=False)
def _sign(writer: ElementWriter, x: Value) -> Value:
    # x / |x|; 0 at 0. Where an infinity is, NumPy chooses between the axes.
    size = absolute(writer, x)
    writer.fault(writer.equal_number(size, math.inf))
    safe = writer.select(writer.equal_number(size, 0), writer.constant(1, size), size)
    a, b = parts(x)
    quotients = (writer.divide(part, safe) for part in (a, b))
    unit = complex_value(*quotients)
    odd = writer.either(writer.is_nan(size), writer.equal_number(size, 0))
    flat = writer.multiply(size, writer.constant(1, size))
    return writer.select(odd, complex_value(flat, flat), unit)


def power_of_complex(writer: ElementWriter, x: Value, exponent: int) -> Value:
    """x to a constant integer power of at most 99 in size, by NumPy's own products."""
    one = writer.constant(1, x)
    if exponent == 0:
        return one
    power = x if exponent == 1 else _products(writer, x, abs(exponent))
    if exponent < 0:
        return divide(writer, one, power)
    a, b = parts(x)
    zero = writer.both(writer.equal_number(a, 0), writer.equal_number(b, 0))
    return writer.select(zero, writer.constant(0, x), power)


def _products(writer: ElementWriter, x: Value, exponent: int) -> Value:
    if exponent in (2, 3):
        square = multiply(writer, x, x)
        return square if exponent == 2 else multiply(writer, x, square)
    power, factor = writer.constant(1, x), x
    while exponent:
        if exponent & 1:
            power = multiply(writer, power, factor)
        exponent >>= 1
        if exponent:
            factor = multiply(writer, factor, factor)
    return power


def real_of(writer: ElementWriter, x: Value) -> Value:
    """The real part; real numbers themselves."""
    return real_part(x)


def imaginary_of(writer: ElementWriter, x: Value) -> Value:
    """The imaginary part; zero of real numbers."""
    if x.dtype.kind == "c":
        return imaginary_part(x)
    return writer.constant_of(False if x.dtype == BOOLEAN else 0, x.dtype, x.lanes)
