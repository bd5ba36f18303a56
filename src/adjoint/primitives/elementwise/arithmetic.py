"""Arithmetic: sums, products, quotients, powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type, real_dtype
from adjoint.base.errors import ArgumentError
from adjoint.primitives.declaration import (
    Each,
    EmptySlot,
    Joint,
    Primitive,
)
from adjoint.primitives.elementwise.accuracy.slopes import KNOWN, RECIPROCAL_IF
from adjoint.primitives.elementwise.conversion import cast, conjugate
from adjoint.primitives.elementwise.declaring import batch_aligned, elementwise, scale, weigh
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.hardness import hard
from adjoint.primitives.identities import same_as
from adjoint.primitives.samples import draw, python_float, sample
from adjoint.primitives.series import TruncatedSeries, convolve, difference
from adjoint.primitives.structure.moving import sum_to
from adjoint.primitives.typing_rules import broadcast_shape, ufunc_types
from adjoint.program import Literal


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
    pulled: list[Expression | None] = []
    for operand, factor in zip(operands, operands[::-1], strict=True):
        if isinstance(factor, Expression):
            product = weigh(conjugate(factor), cotangent, cotangent.type)
            pulled.append(_to_operand(product, operand))
        else:
            pulled.append(None)
    return tuple(pulled)


def _divide_transpose(cotangents: Any, operands: Any) -> Any:
    (cotangent,), (x, y) = cotangents, operands
    return _to_operand(weigh(conjugate(1 / y), cotangent, cotangent.type), x), None


def product_taylor(
    x: TruncatedSeries, y: TruncatedSeries, z: ArrayType, k: int, first: int = 0
) -> Any:
    """Coefficient k of the product of two series, a z, without the terms before x_first."""
    return convolve(lambda left, right: weigh(left, right, z), x, y, k, first, k)


def quotient_taylor(x: TruncatedSeries, y: TruncatedSeries, result: TruncatedSeries, k: int) -> Any:
    """Coefficient k of z = x / y: from y z = x, y_0 z_k = x_k - sum_{j=1..k} y_j z_{k-j}."""
    rest = x[k] if x[k] is None else cast(x[k], result.type.dtype)
    rest = difference(rest, product_taylor(y, result, result.type, k, first=1))
    return None if rest is None else weigh(1 / y[0], rest, result.type)


def _reciprocal_taylor(operands: Any, results: Any, k: int) -> Any:
    (x,), (result,) = operands, results
    rest = product_taylor(x, result, result.type, k, first=1)
    return (None if rest is None else weigh(-result[0], rest, result.type),)


def square_taylor(x: TruncatedSeries, z: ArrayType, k: int, first: int = 0) -> Any:
    """Coefficient k of x^2, a z, without the terms before x_first: by symmetry, half the products.

    2 sum_{j<k/2} x_j x_{k-j}, and x_{k/2}^2 for even k.
    """

    def product(left: Any, right: Any) -> Expression:
        return weigh(left, right, z)

    pairs = convolve(product, x, x, k, first, (k - 1) // 2)
    total = None if pairs is None else pairs * 2
    if k % 2 == 0 and k >= 2 * first and x[k // 2] is not None:
        middle = product(x[k // 2], x[k // 2])
        total = middle if total is None else total + middle
    return total


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
    lambda x, y, result: (-result, 1 / y),  # 1 / y^2 underflows long before 1 / y
    linear=Each(frozenset({0})),
    transpose=_divide_transpose,
    taylor=lambda operands, results, k: (quotient_taylor(operands[0], operands[1], results[0], k),),
    name="divide",
    samples=(
        sample(draw(3), draw(3, low=0.5)),
        sample(draw(2, 3), draw(3, low=-2, high=-0.5)),
        sample(draw(2, dtype=complex), draw(2, low=0.5, dtype=complex)),
        sample(draw(3, dtype=np.float32), python_float(low=0.5)),
    ),
)
elementwise(
    np.reciprocal,
    lambda x, result: (-result, result),
    taylor=_reciprocal_taylor,
    samples=(sample(draw(3, low=0.5)),),
)
SQUARE = elementwise(
    np.square,
    lambda x, result: 2 * x,
    taylor=lambda operands, results, k: (square_taylor(operands[0], results[0].type, k),),
    samples=(sample(draw(3)), sample(draw(2, dtype=complex))),
)

# --- powers --------------------------------------------------------------------------------------


def _integer_power_derivative(
    tangents: Any, operands: Any, results: Any, exponent: int
) -> tuple[Any]:
    """n x^(n-1) dx; by n x^n and 1 / x for n < 0, of which the product underflows long before."""
    (x,), (tangent,), (result,) = operands, tangents, results
    slopes: tuple[Any, ...] = (exponent,)
    if exponent < 0:
        slopes = (exponent * result, 1 / x)
    elif exponent > 1:
        slopes = (exponent * integer_power(x, exponent - 1),)
    for slope in slopes:
        tangent = weigh(slope, tangent, result.type)
    return (tangent,)


def _integer_power_type(x: ArrayType, exponent: int) -> ArrayType:
    if exponent < 0 and not x.inexact:
        raise ArgumentError("Integers to negative integer powers are not allowed.")
    return ufunc_types(np.power, x, array_type((), np.dtype(int), True))[0]


def _integer_power_taylor(operands: Any, results: Any, k: int, exponent: int) -> Any:
    """By squaring, which is right at 0 too; for negative powers from x y' = n x' y.

    There k x_0 y_k = sum_{j=1..k} (n j - (k - j)) x_j y_{k-j}.
    """
    (x,), (result,) = operands, results
    if exponent == 0:
        return (None,)
    if exponent == 1:
        return (x[k],)
    if exponent > 0:
        rest = _power_of(x, exponent // 2 if exponent % 2 == 0 else exponent - 1)
        if exponent % 2 == 0:
            return (square_taylor(rest, result.type, k),)
        return (product_taylor(x, rest, result.type, k),)
    total = None
    for j in range(1, k + 1):
        if x[j] is not None and result[k - j] is not None:
            term = weigh(x[j], result[k - j], result.type) * (exponent * j - (k - j))
            total = term if total is None else total + term
    return (None if total is None else weigh(1 / x[0], total / k, result.type),)


def _power_of(x: TruncatedSeries, exponent: int) -> TruncatedSeries:
    if exponent == 1:
        return x
    if exponent == 2:
        return x.apply(SQUARE)
    return x.apply(INTEGER_POWER, exponent=exponent)


INTEGER_POWER = Primitive(
    "integer_power",
    infer=_integer_power_type,
    evaluate=lambda x, exponent: np.power(x, exponent),
    linear=None,
    derivative=_integer_power_derivative,
    batch=lambda operands, batched, size, exponent: integer_power(operands[0], exponent),
    taylor=_integer_power_taylor,
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


def power_by_base(x: Any, y: Any, result: Any) -> Any:
    """y x^(y-1), and exactly 0 where y = 0, also at x = 0; its derivative in y is there too.

    In two factors, y x^y and 1 / x for y < 0: their product underflows long before either.
    """
    y, lower, rest = _lowered(x, y, result)
    return _slope_of_power(x, y, lower, result), rest


def _lowered(x: Any, y: Any, result: Any) -> tuple[Any, Any, Any]:
    """Of x^y, with the slope y x^lower rest: y, as wide as the result, `lower` and `rest`."""
    if y.dtype.kind == "c":
        y = cast(y, result.dtype)
        return y, y - 1, 1
    y, x = cast(y, real_dtype(result.dtype)), cast(x, result.dtype)  # `y - 1` might widen x
    negative = np.less(y, 0)
    rest = select(negative, 1 / x, 1.0) if x.dtype.kind == "c" else RECIPROCAL_IF(x, y)
    return y, select(negative, y, y - 1), rest


def slope_of_root(x: Any, y: Any, result: Any) -> Any:
    """y x^(y-1) in one factor, of exponents that are known to be positive."""
    y = cast(y, real_dtype(result.dtype))
    return _slope_of_power(x, y, y - 1, result)


def _slope_of_power(x: Any, y: Any, lower: Any, result: Any) -> Any:
    """y x^lower; of roots that of the data, and not known of what has overflowed."""
    exponent: Any = y.atom.value if isinstance(y.atom, Literal) else None
    slope = scale(hard(y), steep_power(x, lower, result.dtype))
    if not x.dtype.kind == slope.dtype.kind == "f" or not (exponent is None or 0 < exponent < 1):
        return slope
    known = KNOWN(slope, cast(x, slope.dtype))
    root = np.logical_and(np.greater(y, 0), np.less(y, 1))
    return known if exponent is not None else select(root, known, slope)


def steep_power(x: Any, y: Any, dtype: Any) -> Any:
    """x^y, within a rule: at x = y = 0, where 0^y jumps, its derivative in y is the limit in x."""
    power = cast(np.power(x, y), dtype)
    return same_as(power, bind(POWER_LOG, cast(x, dtype), y, power, degree=0, flat=False))


def power_by_exponent(x: Any, y: Any, result: Any) -> Any:
    """x^y log x. 0^y is constant for y > 0, and at y = 0, where it jumps, flat as steps are."""
    return bind(POWER_LOG, cast(x, result.dtype), y, result, degree=1, flat=True)


def _power_log_evaluate(x: Any, y: Any, power: Any, degree: int, flat: bool) -> Any:
    if not degree:
        return np.array(power)[()]
    with np.errstate(all="ignore"):
        value = power * np.log(x) ** degree
    nothing = np.equal(power, 0)
    if flat:
        nothing = nothing | (np.equal(x, 0) & np.equal(power, 1))
    return np.where(nothing, np.zeros((), value.dtype), value)[()]


def _power_log_derivative(
    tangents: Any, operands: Any, results: Any, degree: int, flat: bool
) -> Any:
    """With those of x and y alone: the power is theirs."""
    (dx, dy, _), (x, y, power), (result,) = tangents, operands, results
    total = None
    if dy is not None:
        further = bind(POWER_LOG, x, y, power, degree=degree + 1, flat=False)
        total = weigh(further, dy, result.type)
    if dx is not None:
        y, lower, rest = _lowered(x, y, result)
        below = np.power(x, lower)
        slope: Any = scale(hard(y), bind(POWER_LOG, x, lower, below, degree=degree, flat=False))
        if degree:
            slope = slope + degree * bind(POWER_LOG, x, lower, below, degree=degree - 1, flat=False)
        term = weigh(rest, weigh(slope, dx, result.type), result.type)
        total = term if total is None else total + term
    return (total,)


# x^y log(x)^degree, of x, y and x^y: 0 where the power is. The family is closed under derivatives,
# which products of a power and a logarithm are not where x is 0.
POWER_LOG: Primitive = Primitive(
    "power_log",
    infer=lambda x, y, power, degree, flat: array_type(
        broadcast_shape("power_log", x.shape, power.shape), power.dtype
    ),
    evaluate=_power_log_evaluate,
    linear=None,
    derivative=_power_log_derivative,
    batch=batch_aligned("power_log"),
    samples=EmptySlot("its last operand is the power of the first two; those of `power` try it"),
)

POWER = elementwise(
    np.power,
    power_by_base,
    power_by_exponent,
    samples=(
        sample(draw(3, low=0.5), draw(3)),
        sample(draw(2, 3, low=0.5), draw(3)),
        sample(draw(2, low=0.5, dtype=complex), draw(2, low=0.5)),
        sample(draw(3, low=0.5, dtype=np.float32), python_float()),
    ),
)
