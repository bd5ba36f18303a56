"""Conversions between dtypes, as `ndarray.astype` makes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.executors.native.elements.writer import (
    BOOLEAN,
    DOUBLE,
    SINGLE,
    ElementWriter,
    Fault,
    complex_value,
    imaginary_part,
    known_number,
    part_dtype,
    real_part,
)
from adjoint.executors.native.machine.module import Block, Value, register_type


def convert(
    block: Block, faults: list[Fault], value: Value, dtype: np.dtype[Any], weak: bool = False
) -> Value:
    """The value in another dtype; complex to real takes the real part, to a boolean both.

    weak: whether the value is a Python number, which must fit the dtype when it is an integer.
    """
    if value.dtype == dtype:
        return value
    writer = ElementWriter(block, faults)
    if dtype == BOOLEAN:
        return truth(writer, value)
    if dtype.kind == "c":
        part = part_dtype(dtype)
        real = _convert_real(writer, real_part(value), part, weak)
        if value.dtype.kind != "c":
            return complex_value(real, writer.constant(0, real))
        return complex_value(real, _convert_real(writer, imaginary_part(value), part, weak))
    return _convert_real(writer, real_part(value), dtype, weak)


def _convert_real(writer: ElementWriter, x: Value, dtype: np.dtype[Any], weak: bool) -> Value:
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "f" and dtype.kind != "f":
        return _float_to_integer(writer, x, dtype)
    if dtype.kind == "f":
        known = known_number(x)
        if known is not None:
            return _convert_known(writer, x, known, dtype, weak)
        if weak and x.dtype.kind != "f" and dtype == SINGLE:  # as Python makes a float of it first
            x = _convert_real(writer, x, DOUBLE, False)
        if x.dtype == BOOLEAN:
            return _of_mask(writer, x, dtype)
        if x.dtype.kind == "f":
            wider = dtype.itemsize > x.dtype.itemsize
            return writer.change("fpext" if wider else "fptrunc", x, dtype)
        return writer.change("sitofp" if x.dtype.kind == "i" else "uitofp", x, dtype)
    return _integer_to_integer(writer, x, dtype, weak)


def _of_mask(writer: ElementWriter, x: Value, dtype: np.dtype[Any]) -> Value:
    """1 and 0: a mask selects them by one instruction, where conversion of its bits takes four.

    LLVM must not see what they are: it would select x or 0 * x for a product with x, and so raise
    a flag where x is infinite and the mask holds.
    """
    one, zero = (writer.constant_of(number, dtype, x.lanes) for number in (1, 0))
    return writer.intrinsic("arithmetic.fence", writer.select(x, one, zero))


def _convert_known(
    writer: ElementWriter, x: Value, number: Any, dtype: np.dtype[Any], weak: bool
) -> Value:
    """A constant, which others then know too: that they divide by 2, for instance."""
    with np.errstate(all="ignore"):
        converted = dtype.type(float(number) if weak else number)
        if np.isinf(converted) and not np.isinf(number):
            writer.fault(Value(("true",), BOOLEAN))  # NumPy warns, and constants raise no flags
    return writer.constant_of(converted, dtype, x.lanes)


def truth(writer: ElementWriter, x: Value) -> Value:
    """Whether a number, of any dtype, is not zero; NaN is not."""
    if x.dtype == BOOLEAN:
        return x
    if x.dtype.kind == "c":
        return writer.either(truth(writer, real_part(x)), truth(writer, imaginary_part(x)))
    return writer.compare("une" if x.dtype.kind == "f" else "ne", x, writer.constant(0, x))


def _float_to_integer(writer: ElementWriter, x: Value, dtype: np.dtype[Any]) -> Value:
    bits = 8 * dtype.itemsize
    if dtype.kind == "i":
        inside = writer.compare("olt", writer.absolute(x), writer.constant(2.0 ** (bits - 1), x))
    else:
        above = writer.compare("ogt", x, writer.constant(-1.0, x))
        below = writer.compare("olt", x, writer.constant(2.0**bits, x))
        inside = writer.both(above, below)
    writer.fault(writer.invert(inside))
    integer = writer.change("fptosi" if dtype.kind == "i" else "fptoui", x, dtype)
    # Of what does not fit, some number: it may be an index before the fault is looked at.
    return writer.value(f"freeze {register_type(integer)} {integer.text}", dtype, integer.lanes)


def _integer_to_integer(writer: ElementWriter, x: Value, dtype: np.dtype[Any], weak: bool) -> Value:
    if weak:
        _check_range(writer, x, dtype)
    before = 1 if x.dtype == BOOLEAN else x.dtype.itemsize * 8
    after = dtype.itemsize * 8
    if before == after:
        return Value(x.parts, dtype, x.lanes)
    if after < before:
        return writer.change("trunc", x, dtype)
    return writer.change("sext" if x.dtype.kind == "i" else "zext", x, dtype)


def _check_range(writer: ElementWriter, x: Value, dtype: np.dtype[Any]) -> None:
    limits, own = np.iinfo(dtype), np.iinfo(x.dtype)
    if limits.min > own.min:
        writer.fault(writer.compare("slt", x, writer.constant(limits.min, x)))
    if limits.max < own.max:
        writer.fault(writer.compare("sgt", x, writer.constant(limits.max, x)))
