"""Logarithms of sums with exponentials, found in a program: step by step their slopes cancel."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.primitives.elementwise.accuracy.slopes import LOG_COSH, LOG_OFFSET_EXP
from adjoint.primitives.elementwise.arithmetic import ADD, SUBTRACT
from adjoint.primitives.elementwise.conversion import PYTHON_NUMBER
from adjoint.primitives.expression import Expression
from adjoint.program import Atom, Equation
from adjoint.transforms.recognition.rewriting import Makers

# The offset of log1p(exp(x)), and a hyperbolic cosine, which needs none.
ONE, COSH = "one", "cosh"
LogOfSum = tuple[Any, Atom, int]  # the offset, x, and the sign of the offset


def logarithms(makers: Makers) -> dict[Equation, LogOfSum]:
    """For each log(exp(x) +- b), log1p(exp(x)) or log(cosh(x)) of real numbers: b and x."""
    sums: dict[Equation, LogOfSum] = {}
    for equation in makers.program.equations:
        if equation.primitive.ufunc not in (np.log, np.log1p):
            continue
        result = equation.outputs[0].type
        match = _matched(makers, equation)
        if match is not None and result.dtype.kind == "f" and result.dtype.itemsize > 2:
            sums[equation] = match
    return sums


def _matched(makers: Makers, equation: Equation) -> LogOfSum | None:
    inner = _maker(makers, equation.inputs[0])
    if inner is None:
        return None
    primitive = inner.primitive
    if equation.primitive.ufunc is np.log1p:
        return (ONE, inner.inputs[0], 1) if primitive.ufunc is np.exp and _is_real(inner) else None
    if primitive.ufunc is np.cosh:
        return (COSH, inner.inputs[0], 1) if _is_real(inner) else None
    if primitive not in (ADD, SUBTRACT):
        return None
    sign = 1 if primitive is ADD else -1
    orders = (inner.inputs[::-1], inner.inputs) if sign == 1 else (inner.inputs[::-1],)
    for offset, atom in orders:
        power = _maker(makers, atom)
        if power is not None and power.primitive.ufunc is np.exp and _is_real(power):
            real = offset.type.dtype.kind in "fib"
            return (offset, power.inputs[0], sign) if real else None
    return None


def _maker(makers: Makers, atom: Atom) -> Equation | None:
    """The equation that made a value, as a number of Python's or not."""
    maker, _ = makers.maker(atom)
    while maker is not None and maker.primitive is PYTHON_NUMBER:
        maker, _ = makers.maker(maker.inputs[0])
    return maker


def _is_real(equation: Equation) -> bool:
    return bool(equation.inputs[0].type.dtype.kind == "f")


def with_good_slopes(logarithm: LogOfSum, expression: Any) -> Expression:
    """The same function as one primitive. expression: of an atom."""
    offset, atom, sign = logarithm
    x = expression(atom)
    if offset is COSH:
        return LOG_COSH(x)  # type: ignore[no-any-return]
    b = 1.0 if offset is ONE else expression(offset)
    return LOG_OFFSET_EXP(b if sign == 1 else -b, x)  # type: ignore[no-any-return]
