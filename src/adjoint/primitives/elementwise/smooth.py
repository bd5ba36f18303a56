"""Smooth elementwise functions of NumPy: each with its derivative in NumPy's own terms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.primitives.declaration import Primitive
from adjoint.primitives.elementwise.accuracy.slopes import (
    ARCCOSH_SLOPE,
    ARCSIN_SLOPE,
    ARCSINH_SLOPE,
    ARCTAN_SLOPE,
    ARCTANH_SLOPE,
    BINARY_SHARE,
    CBRT_SLOPE,
    COSINE,
    OVER_SQUARE,
    SECH_SQUARED,
    SHARE,
    fading,
    is_complex,
)
from adjoint.primitives.elementwise.arithmetic import (
    POWER,
    power_by_exponent,
    slope_of_root,
    square_taylor,
)
from adjoint.primitives.elementwise.conversion import REAL
from adjoint.primitives.elementwise.declaring import (
    batch_aligned,
    elementwise,
    sum_of_partials,
    weigh,
)
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import bind
from adjoint.primitives.hardness import tame
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.series import difference

_LINE = (sample(draw(3)), sample(draw(2, 2, dtype=np.float32)))
_COMPLEX = sample(draw(2, low=0.3, high=1.2, dtype=complex))
_POSITIVE = (sample(draw(3, low=0.5)), _COMPLEX)
_INSIDE = (sample(draw(3, low=-0.8, high=0.8)), _COMPLEX)

elementwise(np.exp, lambda x, result: result, samples=(*_LINE, _COMPLEX))
elementwise(np.exp2, lambda x, result: result * math.log(2), samples=_LINE)
elementwise(np.expm1, lambda x, result: np.exp(x), samples=_LINE)
elementwise(np.log, lambda x, result: fading(1 / x, x), samples=_POSITIVE)
elementwise(np.log2, lambda x, result: fading(1 / x / math.log(2), x), samples=_POSITIVE)
elementwise(np.log10, lambda x, result: fading(0.25 / x * (4 / math.log(10)), x), samples=_POSITIVE)
elementwise(np.log1p, lambda x, result: fading(1 / (1 + x), x), samples=_INSIDE)


def _sqrt_slope(x: Any, result: Any) -> Any:
    return fading(0.5 / result, result)


def _sqrt_taylor(operands: Any, results: Any, k: int) -> Any:
    """From y^2 = x, 2 y_0 y_k = x_k - sum_{0<j<k} y_j y_{k-j}."""
    (x,), (result,) = operands, results
    rest = difference(x[k], square_taylor(result, result.type, k, first=1))
    return (None if rest is None else weigh(_sqrt_slope(x[0], result[0]), rest, result.type),)


SQRT = elementwise(np.sqrt, _sqrt_slope, samples=_POSITIVE, taylor=_sqrt_taylor)


def _half_over(norm: Any) -> Any:
    """1 / (2 r), which is NaN at 0: there a norm has a slope, and no second derivative."""
    return 0.5 / select(np.equal(norm, 0), np.nan, norm)


def _root_taylor(operands: Any, results: Any, k: int) -> Any:
    (x,), (result,) = operands, results
    if k == 1:
        slope = tame(_sqrt_slope(x[0], result[0]), x[0])
        return (None if x[1] is None else weigh(slope, x[1], result.type),)
    rest = difference(x[k], square_taylor(result, result.type, k, first=1))
    return (None if rest is None else weigh(_half_over(result[0]), rest, result.type),)


# The square root of a sum of squares, which stands in programs from where they are differentiated
# until they are run; see `transforms/recognition/norms.py`.
ROOT_OF_SQUARES = Primitive(
    "root_of_squares",
    infer=SQRT.infer,
    evaluate=np.sqrt,
    linear=None,
    derivative=sum_of_partials(
        "root_of_squares", (lambda x, result: tame(_sqrt_slope(x, result), x),)
    ),
    batch=batch_aligned("root_of_squares"),
    taylor=_root_taylor,
    samples=_POSITIVE[:1],
)
# The same of a sum of powers of sizes, to one divided by their exponent, as in a norm of any order.
ROOT_OF_POWERS = Primitive(
    "root_of_powers",
    infer=POWER.infer,
    evaluate=np.power,
    linear=None,
    derivative=sum_of_partials(
        "root_of_powers",
        (lambda x, y, result: tame(slope_of_root(x, y, result), x), power_by_exponent),
    ),
    batch=batch_aligned("root_of_powers"),
    samples=(sample(draw(3, low=0.5), draw(3)),),
)
elementwise(np.cbrt, lambda x, result: CBRT_SLOPE(x, result), samples=(sample(draw(3, low=0.5)),))

elementwise(np.sin, lambda x, result: np.cos(x), samples=(*_LINE, _COMPLEX), companion="cos")
elementwise(np.cos, lambda x, result: -np.sin(x), samples=(*_LINE, _COMPLEX), companion="sin")
elementwise(np.tan, lambda x, result: 1 + np.square(result), samples=_INSIDE)


def _one_minus_square(x: Any) -> Any:
    # As -(x^2 - 1), which keeps the sign of a zero imaginary part: it says on which side of the
    # branch cut x lies. 1 - x^2 subtracts it from +0, and loses it.
    return -(np.square(x) - 1)


def _arcsin_slope(x: Any) -> Any:
    # Two roots, since the square overflows; 1 - x as -(x - 1) for the sake of the sign of zero.
    return 1 / (np.sqrt(-(x - 1)) * np.sqrt(-(-x - 1))) if is_complex(x) else ARCSIN_SLOPE(x)


def _arctan_slope(x: Any) -> Any:
    return 1 / (1 + np.square(x)) if is_complex(x) else ARCTAN_SLOPE(x)


def _arcsinh_slope(x: Any) -> Any:
    if not is_complex(x):
        return fading(ARCSINH_SLOPE(x), x)
    right = np.copysign(1.0, bind(REAL, x)) * x  # where the root of the product is that of both
    return 1 / (np.sqrt(right - 1j) * np.sqrt(right + 1j))


def _arccosh_slope(x: Any) -> Any:
    return 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)) if is_complex(x) else fading(ARCCOSH_SLOPE(x), x)


def _arctanh_slope(x: Any) -> Any:
    return 1 / _one_minus_square(x) if is_complex(x) else ARCTANH_SLOPE(x)


def _tanh_slope(x: Any, result: Any) -> Any:
    return 1 - np.square(result) if is_complex(x) else SECH_SQUARED(x)


elementwise(np.arcsin, lambda x, result: _arcsin_slope(x), samples=_INSIDE)
elementwise(np.arccos, lambda x, result: -_arcsin_slope(x), samples=_INSIDE)
elementwise(np.arctan, lambda x, result: _arctan_slope(x), samples=(*_LINE, _COMPLEX))
elementwise(np.sinh, lambda x, result: np.cosh(x), samples=(*_LINE, _COMPLEX))
elementwise(np.cosh, lambda x, result: np.sinh(x), samples=(*_LINE, _COMPLEX))
elementwise(np.tanh, _tanh_slope, samples=(*_LINE, _COMPLEX))
elementwise(np.arcsinh, lambda x, result: _arcsinh_slope(x), samples=(*_LINE, _COMPLEX))
elementwise(
    np.arccosh,
    # Two roots, not one of the product: the branch cut stays where NumPy has it.
    lambda x, result: _arccosh_slope(x),
    samples=(sample(draw(3, low=1.5, high=3)),),
)
elementwise(np.arctanh, lambda x, result: _arctanh_slope(x), samples=_INSIDE)

_PAIR = (sample(draw(3), draw(3)), sample(draw(2, 3, low=0.5), draw(3, low=0.5)))

elementwise(
    np.arctan2,
    lambda y, x, result: OVER_SQUARE(x, y),
    lambda y, x, result: -OVER_SQUARE(y, x),
    samples=_PAIR,
)


_HYPOT_PARTIALS = (
    # 0 at the origin, as the gradient of a norm is.
    lambda x, y, result: COSINE(x, y),
    lambda x, y, result: COSINE(y, x),
)


def _hypot_taylor(operands: Any, results: Any, k: int) -> Any:
    """From r^2 = x^2 + y^2, 2 r_0 r_k = coefficient k of x^2 + y^2 - sum_{0<j<k} r_j r_{k-j}.

    The first is by the derivative, which there is at the origin too.
    """
    (result,) = results
    if k == 1:
        first = sum_of_partials("hypot", _HYPOT_PARTIALS)
        return first([x[1] for x in operands], [x[0] for x in operands], results)
    squares = (square_taylor(x, result.type, k) for x in operands)
    present = [square for square in squares if square is not None]
    total = sum(present[1:], present[0]) if present else None
    rest = difference(total, square_taylor(result, result.type, k, first=1))
    return (None if rest is None else weigh(_half_over(result[0]), rest, result.type),)


elementwise(np.hypot, *_HYPOT_PARTIALS, samples=_PAIR, taylor=_hypot_taylor)
elementwise(
    np.logaddexp,
    lambda x, y, result: SHARE(x, y),
    lambda x, y, result: SHARE(y, x),
    samples=_PAIR,
)
elementwise(
    np.logaddexp2,
    lambda x, y, result: BINARY_SHARE(x, y),
    lambda x, y, result: BINARY_SHARE(y, x),
    samples=_PAIR,
)
elementwise(np.deg2rad, lambda x, result: math.pi / 180, samples=_LINE)
elementwise(np.rad2deg, lambda x, result: 180 / math.pi, samples=_LINE)
elementwise(np.radians, lambda x, result: math.pi / 180, samples=_LINE)
elementwise(np.degrees, lambda x, result: 180 / math.pi, samples=_LINE)
