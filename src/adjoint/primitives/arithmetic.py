"""Arithmetic: sums, products, quotients, powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, real_dtype
from adjoint.base.errors import ArgumentError
from adjoint.primitives.conversion import cast, conjugate, real
from adjoint.primitives.declaration import NONLINEAR, TAYLOR_LATER, Each, Joint, Primitive
from adjoint.primitives.elementwise import elementwise, weigh
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import draw, python_float, sample
from adjoint.primitives.selection import select
from adjoint.primitives.structure import sum_to
from adjoint.primitives.typing_rules import ufunc_types


def _to_operand(cotangent: Expression, operand: Any) -> Expression:
    """A cotangent brought to the shape and dtype of an operand that was broadcast and promoted."""
    return cast(sum_to(cotangent, operand.shape), operand.dtype)


PAIRS = (
    sample(draw(3), draw(3)),
    sample(draw(2, 3), draw(3)),
    sample(draw(2, 1), draw(3, dtype=np.float32)),
    sample(draw(2, dtype=complex), draw(2)),
    sample(python_float(), draw(3, dtype=np.float32)),
    sample(draw(0), draw(2, 1)),
)

ADD = elementwise(
    np.add,
    lambda x, y, result: 1,
    lambda x, y, result: 1,
    linear=Joint(),
    transpose=lambda cotangents, operands: tuple(
        _to_operand(cotangents[0], operand) for operand in operands
    ),
    samples=PAIRS,
)
SUBTRACT = elementwise(
    np.subtract,
    lambda x, y, result: 1,
    lambda x, y, result: -1,
    linear=Joint(),
    transpose=lambda cotangents, operands: (
        _to_operand(cotangents[0], operands[0]),
        _to_operand(-cotangents[0], operands[1]),
    ),
    samples=PAIRS,
)
NEGATIVE = elementwise(
    np.negative,
    lambda x, result: -1,
    linear=Joint(),
    transpose=lambda cotangents, operands: (-cotangents[0],),
    samples=(sample(draw(3)), sample(draw(2, dtype=complex))),
)


def _multiply_transpose(cotangents: Any, operands: Any) -> Any:
    """A user's own product, where one factor is held fixed (`linear_transpose`)."""
    (cotangent,) = cotangents
    found: list[Expression | None] = []
    for operand, factor in zip(operands, operands[::-1], strict=True):
        if isinstance(factor, Expression):
            product = weigh(conjugate(factor), cotangent, cotangent.type)
            found.append(_to_operand(product, operand))
        else:
            found.append(None)
    return tuple(found)


def _divide_transpose(cotangents: Any, operands: Any) -> Any:
    (cotangent,), (x, y) = cotangents, operands
    return _to_operand(weigh(conjugate(1 / y), cotangent, cotangent.type), x), None


MULTIPLY = elementwise(
    np.multiply,
    lambda x, y, result: y,
    lambda x, y, result: x,
    linear=Each(),
    transpose=_multiply_transpose,
    samples=PAIRS,
)
DIVIDE = elementwise(
    np.true_divide,
    lambda x, y, result: 1 / y,
    lambda x, y, result: -result / y,
    linear=Each(frozenset({0})),
    transpose=_divide_transpose,
    name="divide",
    samples=(
        sample(draw(3), draw(3, low=0.5)),
        sample(draw(2, 3), draw(3, low=-2, high=-0.5)),
        sample(draw(2, dtype=complex), draw(2, low=0.5, dtype=complex)),
        sample(draw(3, dtype=np.float32), python_float(low=0.5)),
    ),
)
RECIPROCAL = elementwise(
    np.reciprocal,
    lambda x, result: -result * result,
    samples=(sample(draw(3, low=0.5)),),
)
SQUARE = elementwise(
    np.square, lambda x, result: 2 * x, samples=(sample(draw(3)), sample(draw(2, dtype=complex)))
)

# --- powers --------------------------------------------------------------------------------------


def _integer_power_partial(x: Any, exponent: int) -> Any:
    if exponent == 0:
        return 0
    if exponent == 1:
        return 1
    return exponent * integer_power(x, exponent - 1)


def _integer_power_type(x: ArrayType, exponent: int) -> ArrayType:
    if exponent < 0 and not x.inexact:
        raise ArgumentError("Integers to negative integer powers are not allowed.")
    return ufunc_types(np.power, x, array_type((), np.dtype(int), True))[0]


INTEGER_POWER = Primitive(
    "integer_power",
    infer=_integer_power_type,
    evaluate=lambda x, exponent: np.power(x, exponent),
    linear=None,
    derivative=lambda tangents, operands, results, exponent: (
        weigh(_integer_power_partial(operands[0], exponent), tangents[0], results[0].type),
    ),
    transpose=NONLINEAR,
    batch=lambda operands, batched, size, exponent: integer_power(operands[0], exponent),
    taylor=TAYLOR_LATER,
    samples=(
        sample(draw(3), exponent=3),
        sample(draw(3, low=0.5), exponent=-2),
        sample(draw(2, dtype=complex), exponent=2),
        sample(draw(2), exponent=0),
        sample(draw(2), exponent=1),
    ),
)


def integer_power(x: Expression, exponent: int) -> Expression:
    """x to an integer power that is part of the program, so that x ** 2 is not an exponential."""
    if exponent == 1:
        return x
    if exponent == 2:
        return bind(SQUARE, x)  # type: ignore[no-any-return]
    return bind(INTEGER_POWER, x, exponent=exponent)  # type: ignore[no-any-return]


def _power_by_base(x: Any, y: Any, result: Any) -> Any:
    # y x^(y-1), and exactly 0 where y = 0, also at x = 0.
    if y.type.weak:  # else `y - 1`, which is not weak, would widen x
        y = cast(y, real_dtype(result.dtype) if y.dtype.kind != "c" else result.dtype)
    flat: Any = np.equal(y, 0)
    exponent: Any = select(flat, 1.0, y - 1)
    return select(flat, 0.0, y * np.power(x, exponent))


def _power_by_exponent(x: Any, y: Any, result: Any) -> Any:
    # x^y log x, whose limit at x = 0 is 0 for y > 0: 0^y is constant there.
    flat: Any = np.equal(x, 0) & (real(y) >= 0)
    base: Any = select(flat, 1.0, x)
    return result * np.log(base)


POWER = elementwise(
    np.power,
    _power_by_base,
    _power_by_exponent,
    samples=(
        sample(draw(3, low=0.5), draw(3)),
        sample(draw(2, 3, low=0.5), draw(3)),
        sample(draw(2, low=0.5, dtype=complex), draw(2, low=0.5)),
        sample(draw(3, low=0.5, dtype=np.float32), python_float()),
    ),
)
