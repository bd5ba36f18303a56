"""Comparisons, logic, and the choice between values: maximum, minimum, sign."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from adjoint.executors.native.elements.conversions import truth
from adjoint.executors.native.elements.rules import rule
from adjoint.executors.native.elements.writer import (
    BOOLEAN,
    ElementWriter,
    imaginary_part,
    real_part,
)
from adjoint.executors.native.machine.module import Value

_ORDERS: Final = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}
_SIGNED: Final = {"f": "o", "i": "s", "u": "u", "b": "u"}


def order(writer: ElementWriter, which: str, x: Value, y: Value) -> Value:
    """x < y and the like (`lt`, `le`, `gt`, `ge`) of numbers of one real dtype."""
    return writer.compare(_SIGNED[x.dtype.kind] + which, x, y)


def equal(writer: ElementWriter, x: Value, y: Value) -> Value:
    """x == y of numbers of one real dtype."""
    return writer.compare("oeq" if x.dtype.kind == "f" else "eq", x, y)


def order_complex(writer: ElementWriter, which: str, x: Value, y: Value) -> Value:
    """The order of complex numbers: by real parts, then by imaginary ones; as NumPy has it."""
    (a, b), (c, d) = (real_part(x), imaginary_part(x)), (real_part(y), imaginary_part(y))
    # Of NaN, NumPy's comparison warns (and that of real numbers does not).
    writer.fault(writer.either(writer.compare("uno", a, c), writer.compare("uno", b, d)))
    first = writer.both(writer.compare("o" + which[0] + "t", a, c), writer.compare("ord", b, d))
    tie = writer.both(writer.compare("oeq", a, c), writer.compare("o" + which, b, d))
    return writer.either(first, tie)


def _enter_order(name: str, which: str) -> None:
    @rule(name, "f i u b")
    def real(writer: ElementWriter, x: Value, y: Value) -> Value:
        return order(writer, which, x, y)

    @rule(name, "c")
    def complex_(writer: ElementWriter, x: Value, y: Value) -> Value:
        return order_complex(writer, which, x, y)

    @rule(name, "iu")
    def signed_first(writer: ElementWriter, x: Value, y: Value) -> Value:
        below = writer.compare("slt", x, writer.constant(0, x))
        unsigned = writer.compare("u" + which, x, y)
        if which[0] == "l":
            return writer.either(below, unsigned)
        return writer.both(writer.invert(below), unsigned)

    @rule(name, "ui")
    def signed_last(writer: ElementWriter, x: Value, y: Value) -> Value:
        below = writer.compare("slt", y, writer.constant(0, y))
        unsigned = writer.compare("u" + which, x, y)
        if which[0] == "g":
            return writer.either(below, unsigned)
        return writer.both(writer.invert(below), unsigned)


for _name, _which in _ORDERS.items():
    _enter_order(_name, _which)


@rule("equal", "f i u b")
def _equal(writer: ElementWriter, x: Value, y: Value) -> Value:
    return equal(writer, x, y)


@rule("equal", "c")
def _equal_complex(writer: ElementWriter, x: Value, y: Value) -> Value:
    first = equal(writer, real_part(x), real_part(y))
    return writer.both(first, equal(writer, imaginary_part(x), imaginary_part(y)))


@rule("equal", "iu")
def _equal_signed_first(writer: ElementWriter, x: Value, y: Value) -> Value:
    above = writer.compare("sge", x, writer.constant(0, x))
    return writer.both(above, writer.compare("eq", x, y))


@rule("equal", "ui")
def _equal_signed_last(writer: ElementWriter, x: Value, y: Value) -> Value:
    return _equal_signed_first(writer, y, x)


@rule("not_equal", "f i u b c iu ui")
def _not_equal(writer: ElementWriter, x: Value, y: Value) -> Value:
    if x.dtype.kind == "c":
        return writer.invert(_equal_complex(writer, x, y))
    if x.dtype.kind != y.dtype.kind:
        x, y = (x, y) if x.dtype.kind == "i" else (y, x)
        return writer.invert(_equal_signed_first(writer, x, y))
    return writer.invert(equal(writer, x, y))


def _enter_logic(name: str, operation: str) -> None:
    @rule(f"logical_{name}", "f i u b c")
    def emit(writer: ElementWriter, x: Value, y: Value) -> Value:
        return writer.binary(operation, truth(writer, x), truth(writer, y))


for _name in ("and", "or", "xor"):
    _enter_logic(_name, _name)


@rule("logical_not", "f i u b c")
def _logical_not(writer: ElementWriter, x: Value) -> Value:
    return writer.invert(truth(writer, x))


# --- which kind of number it is ------------------------------------------------------------------


def _enter_question(name: str, of_part: Callable[[ElementWriter, Value], Value], join: str) -> None:
    @rule(name, "f c")
    def emit(writer: ElementWriter, x: Value) -> Value:
        first = of_part(writer, real_part(x))
        if x.dtype.kind != "c":
            return first
        return writer.binary(join, first, of_part(writer, imaginary_part(x)))

    @rule(name, "i u b")
    def of_integer(writer: ElementWriter, x: Value) -> Value:
        return writer.constant_of(name == "isfinite", BOOLEAN, x.lanes)


def _is_infinite(writer: ElementWriter, x: Value) -> Value:
    return writer.equal_number(writer.absolute(x), float("inf"))


_enter_question("isnan", ElementWriter.is_nan, "or")
_enter_question("isinf", _is_infinite, "or")
_enter_question("isfinite", ElementWriter.is_finite, "and")


@rule("signbit", "f")
def _signbit(writer: ElementWriter, x: Value) -> Value:
    return writer.sign_bit(x)


# --- maximum, minimum ----------------------------------------------------------------------------


def _enter_choice(names: tuple[str, str], which: str) -> None:
    """names: of the choice that keeps NaN, and of that which drops it; which: `g` or `l`."""

    @rule(names[0], "f")
    def keeping(writer: ElementWriter, x: Value, y: Value) -> Value:
        beats = f"u{which}t"  # of equal zeros the second is taken, as by NumPy's vector loops
        if not x.text.startswith("%"):  # of a constant LLVM knows whether it is NaN
            x, y, beats = y, x, f"u{which}e"
        extreme = writer.select(writer.compare(beats, x, y), x, y)
        return writer.select(writer.is_nan(y), y, extreme)

    @rule(names[1], "f")
    def dropping(writer: ElementWriter, x: Value, y: Value) -> Value:
        first = "e" if _takes_first(names[1], x.dtype) else "t"
        extreme = writer.select(writer.compare(f"o{which}{first}", x, y), x, y)
        return writer.select(writer.is_nan(y), x, extreme)

    @rule(" ".join(names), "i u")
    def of_integers(writer: ElementWriter, x: Value, y: Value) -> Value:
        sign = "s" if x.dtype.kind == "i" else "u"
        return writer.intrinsic(sign + ("max" if which == "g" else "min"), x, y)

    @rule(" ".join(names), "b")
    def of_booleans(writer: ElementWriter, x: Value, y: Value) -> Value:
        return writer.binary("or" if which == "g" else "and", x, y)

    @rule(names[0], "c")
    def keeping_complex(writer: ElementWriter, x: Value, y: Value) -> Value:
        first = writer.either(_any_nan(writer, x), order_complex(writer, f"{which}e", x, y))
        return writer.select(first, x, y)

    @rule(names[1], "c")
    def dropping_complex(writer: ElementWriter, x: Value, y: Value) -> Value:
        first = writer.either(_any_nan(writer, y), order_complex(writer, f"{which}e", x, y))
        return writer.select(first, x, y)


@cache
def _takes_first(name: str, dtype: np.dtype[Any]) -> bool:
    """Whether NumPy takes the first of two equal numbers; in arrays it depends on their places."""
    zero = dtype.type(0)
    return not bool(np.signbit(getattr(np, name)(zero, -zero)))


def _any_nan(writer: ElementWriter, x: Value) -> Value:
    return writer.compare("uno", real_part(x), imaginary_part(x))


_enter_choice(("maximum", "fmax"), "g")
_enter_choice(("minimum", "fmin"), "l")
