"""Logarithms of sums with exponentials, found in a program: step by step their slopes cancel."""

from __future__ import annotations

from typing import Any

from adjoint.primitives.elementwise.slopes import LOG_COSH, LOG_OFFSET_EXP
from adjoint.primitives.expression import Expression
from adjoint.program import Atom, Equation
from adjoint.transforms.makers import Makers

# The offset of log1p(exp(x)), and a hyperbolic cosine, which needs none.
ONE, COSH = "one", "cosh"
Found = tuple[Any, Atom, int]  # the offset, x, and the sign of the offset


def logarithms(makers: Makers) -> dict[Equation, Found]:
    """For each log(exp(x) +- b), log1p(exp(x)) or log(cosh(x)) of real numbers: b and x."""
    found: dict[Equation, Found] = {}
    for equation in makers.program.equations:
        if equation.primitive.name not in ("log", "log1p"):
            continue
        result = equation.outputs[0].type
        match = _matched(makers, equation)
        if match is not None and result.dtype.kind == "f" and result.dtype.itemsize > 2:
            found[equation] = match
    return found


def _matched(makers: Makers, equation: Equation) -> Found | None:
    inner = _maker(makers, equation.inputs[0])
    if inner is None:
        return None
    name = inner.primitive.name
    if equation.primitive.name == "log1p":
        return (ONE, inner.inputs[0], 1) if name == "exp" and _is_real(inner) else None
    if name == "cosh":
        return (COSH, inner.inputs[0], 1) if _is_real(inner) else None
    if name not in ("add", "subtract"):
        return None
    sign = 1 if name == "add" else -1
    orders = (inner.inputs[::-1], inner.inputs) if sign == 1 else (inner.inputs[::-1],)
    for offset, atom in orders:
        power = _maker(makers, atom)
        if power is not None and power.primitive.name == "exp" and _is_real(power):
            real = offset.type.dtype.kind in "fib"
            return (offset, power.inputs[0], sign) if real else None
    return None


def _maker(makers: Makers, atom: Atom) -> Equation | None:
    """The equation that made a value, as a number of Python's or not."""
    found, _ = makers.maker(atom)
    while found is not None and found.primitive.name == "python_number":
        found, _ = makers.maker(found.inputs[0])
    return found


def _is_real(equation: Equation) -> bool:
    return bool(equation.inputs[0].type.dtype.kind == "f")


def with_good_slopes(found: Found, expression: Any) -> Expression:
    """The same function as one primitive. expression: of an atom."""
    offset, atom, sign = found
    x = expression(atom)
    if offset is COSH:
        return LOG_COSH(x)  # type: ignore[no-any-return]
    b = 1.0 if offset is ONE else expression(offset)
    return LOG_OFFSET_EXP(b if sign == 1 else -b, x)  # type: ignore[no-any-return]
