"""Slopes of elementary functions that keep all their digits, in saturation and far out too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.primitives.declaration import EmptySlot
from adjoint.primitives.elementwise.accuracy.formulas import (
    Formula,
    choose,
    formula,
    polynomial,
    squared,
    subtracted,
)
from adjoint.primitives.elementwise.conversion import IMAG, REAL
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import draw, sample

_LINE = (sample(draw(3)), sample(draw(2, 2, dtype=np.float32)))
_INSIDE = (sample(draw(3, low=-0.8, high=0.8)),)
_PAIR = (sample(draw(3), draw(3)), sample(draw(2, 3, low=0.5), draw(3, low=0.5)))
_FAR = 2.0**60  # beyond, 1 is nothing beside a square, which soon overflows


def is_complex(x: Any) -> bool:
    """Whether an operand is complex: formulas are of real numbers."""
    return bool(x.dtype.kind == "c")


# --- functions that saturate: what is left of 1 is an exponential ---------------------------------


def _sech_squared(x: Any) -> Any:
    """4 e / (1 + e)^2 with e = exp(-2 |x|), which is as exact as the exponential."""
    small = np.exp(-2 * np.absolute(x))
    total = 1 + small
    return 4 * (small / (total * total))


def _sech_squared_in_place(x: Any, out: Any, spare: Any) -> None:
    np.absolute(x, out=out)
    np.multiply(out, -2.0, out=out)
    np.exp(out, out=out)
    np.add(out, 1.0, out=spare)
    np.multiply(spare, spare, out=spare)
    np.divide(out, spare, out=out)
    np.multiply(out, 4.0, out=out)


SECH_SQUARED = formula(
    "sech_squared",
    _sech_squared,
    lambda x, y: -2 * np.tanh(x) * y,
    samples=_LINE,
    in_place=_sech_squared_in_place,
)


def _logistic_density(x: Any) -> Any:
    """e / (1 + e)^2 with e = exp(-|x|)."""
    small = np.exp(-np.absolute(x))
    total = 1 + small
    return small / (total * total)


LOGISTIC_DENSITY = formula(
    "logistic_density", _logistic_density, lambda x, y: -np.tanh(0.5 * x) * y, samples=_LINE
)


def _logistic(x: Any) -> Any:
    small = np.exp(-np.absolute(x))
    return choose(np.less(x, 0), small, 1.0) / (1 + small)


LOGISTIC = formula("logistic", _logistic, lambda x, y: LOGISTIC_DENSITY(x), samples=_LINE)


def _shares(base: float, name: str) -> tuple[Formula, Formula]:
    """1 / (1 + b^(y-x)) and its slope in x: the share of b^x in b^x + b^y.

    What the rounding of x - y loses is added to first order.
    """
    power, log = (np.exp, 1.0) if base == math.e else (np.exp2, math.log(2))

    def parts(x: Any, y: Any) -> tuple[Any, Any, Any]:
        gap, lost = subtracted(x, y)
        small = power(-np.absolute(gap))
        return gap, choose(np.isfinite(lost), lost, 0.0), small

    def share(x: Any, y: Any) -> Any:
        gap, lost, small = parts(x, y)
        below = np.less(gap, 0)
        fraction = choose(below, small, 1.0) / (1 + small)
        fraction = fraction + fraction * (log * lost * (choose(below, 1.0, small) / (1 + small)))
        return choose(np.equal(x, -np.inf), 0.0, fraction)  # also beside -inf

    def density(x: Any, y: Any) -> Any:
        gap, lost, small = parts(x, y)
        total = 1 + small
        leading = log * (small / (total * total))
        turn = choose(np.less(gap, 0), log * lost, -log * lost) * ((1 - small) / total)
        return choose(np.equal(x, -np.inf), 0.0, leading + leading * turn)

    turned = formula(
        f"{name}_density",
        density,
        lambda x, y, result: -log * np.tanh(0.5 * log * (x - y)) * result,
        lambda x, y, result: log * np.tanh(0.5 * log * (x - y)) * result,
        samples=_PAIR,
        like=np.logaddexp,
    )
    share_formula = formula(
        name,
        share,
        lambda x, y, result: turned(x, y),
        lambda x, y, result: -turned(x, y),
        samples=_PAIR,
        like=np.logaddexp,
    )
    return share_formula, turned


SHARE, _ = _shares(math.e, "share")
BINARY_SHARE, _ = _shares(2.0, "binary_share")

# --- the logarithms of sums of exponentials: values that only derivatives are taken of ------------


def _offset_parts(b: Any, x: Any) -> tuple[Any, Any, Any]:
    """Whether x < 0; e = exp(-|x|); b + exp(x), which is divided by exp(x) for positive x."""
    below, small = np.less(x, 0), np.exp(-np.absolute(x))
    return below, small, choose(below, b + small, 1 + b * small)


def _offset_share(b: Any, x: Any) -> Any:
    """exp(x) / (b + exp(x)): not known for an infinite b, which may be another exponential."""
    below, small, total = _offset_parts(b, x)
    return choose(np.isinf(b), np.nan, choose(below, small, 1.0) / total)


def _offset_inverse(b: Any, x: Any) -> Any:
    """1 / (b + exp(x))."""
    below, small, total = _offset_parts(b, x)
    return choose(below, 1.0, small) / total


def _offset_density(b: Any, x: Any) -> Any:
    """b exp(x) / (b + exp(x))^2."""
    _, small, total = _offset_parts(b, x)
    return b * (small / total / total)


_OFFSET = (sample(draw(3, low=0.5), draw(3)), sample(draw(), draw(2, 3, low=0.5)))


def _density_in_x(b: Any, x: Any, y: Any) -> Any:
    """Of s (1 - s): the difference of both shares, (b - exp(x)) / (b + exp(x)), times that."""
    return y * (b * OFFSET_INVERSE(b, x) - OFFSET_SHARE(b, x))


OFFSET_DENSITY = formula(
    "offset_density",
    _offset_density,
    lambda b, x, y: OFFSET_SHARE(b, x) * OFFSET_INVERSE(b, x) - 2 * OFFSET_INVERSE(b, x) * y,
    _density_in_x,
    samples=_OFFSET,
    like=np.logaddexp,
)
OFFSET_SHARE: Formula = formula(
    "offset_share",
    _offset_share,
    lambda b, x, y: -y * OFFSET_INVERSE(b, x),
    lambda b, x, y: OFFSET_DENSITY(b, x),
    samples=_OFFSET,
    like=np.logaddexp,
)
OFFSET_INVERSE: Formula = formula(
    "offset_inverse",
    _offset_inverse,
    lambda b, x, y: -np.square(y),
    lambda b, x, y: -y * OFFSET_SHARE(b, x),
    samples=_OFFSET,
    like=np.logaddexp,
)
LOG_OFFSET_EXP = formula(
    "log_offset_exp",
    lambda b, x: np.log(b + np.exp(x)),
    lambda b, x, y: OFFSET_INVERSE(b, x),
    lambda b, x, y: OFFSET_SHARE(b, x),
    samples=_OFFSET,
    like=np.logaddexp,
)
LOG_COSH = formula(
    "log_cosh",
    lambda x: np.logaddexp(x, -x) - math.log(2),
    lambda x, y: np.tanh(x),
    samples=_LINE,
)

# --- exponentials of squares ----------------------------------------------------------------------


def _exp_of_square(name: str, factor: float) -> Formula:
    """exp(factor x^2): what the rounding of x^2 loses is added to first order."""

    def rule(x: Any) -> Any:
        square, lost = squared(x)
        power = np.exp(factor * square)
        ended = np.equal(power, 0.0) if factor < 0 else np.isinf(power)  # the square may be, too
        return choose(ended, power, power + factor * lost * power)

    return formula(name, rule, lambda x, y: 2 * factor * x * y, samples=_LINE)


EXP_MINUS_SQUARE = _exp_of_square("exp_minus_square", -1.0)
EXP_SQUARE = _exp_of_square("exp_square", 1.0)
EXP_MINUS_HALF_SQUARE = _exp_of_square("exp_minus_half_square", -0.5)
EXP_HALF_SQUARE = _exp_of_square("exp_half_square", 0.5)

# --- inverse functions ----------------------------------------------------------------------------

ARCTANH_SLOPE = formula(
    "arctanh_slope",
    lambda x: 1 / ((1 - x) * (1 + x)),
    lambda x, y: 2 * x * np.square(y),
    samples=_INSIDE,
    like=np.arctanh,
)
ARCSIN_SLOPE = formula(
    "arcsin_slope",
    lambda x: 1 / np.sqrt((1 - x) * (1 + x)),
    lambda x, y: x * (y / ((1 - x) * (1 + x))),
    samples=_INSIDE,
    like=np.arcsin,
)
ARCCOSH_SLOPE = formula(
    "arccosh_slope",
    lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),
    lambda x, y: -(x / (x - 1)) * (y / (x + 1)),
    samples=(sample(draw(3, low=1.5, high=3)),),
    like=np.arccosh,
)


def _arctan_slope(x: Any) -> Any:
    """1 / (1 + x^2), and (1 / x)^2 far out."""
    far = np.greater(np.absolute(x), _FAR)
    inverse = 1 / choose(far, x, 1 + x * x)
    return choose(far, inverse * inverse, inverse)


ARCTAN_SLOPE = formula(
    "arctan_slope", _arctan_slope, lambda x, y: -2 * (x * y) * y, samples=_LINE, like=np.arctan
)


def _arcsinh_slope(x: Any) -> Any:
    size = np.absolute(x)
    far = np.greater(size, _FAR)
    near = choose(far, 1.0, x)
    return 1 / choose(far, size, np.sqrt(1 + near * near))


ARCSINH_SLOPE = formula(
    "arcsinh_slope",
    _arcsinh_slope,
    lambda x, y: -(x * y) * ARCTAN_SLOPE(x),
    samples=_LINE,
    like=np.arcsinh,
)


def _at_its_value(name: str, rule: Any, in_x: Any, why: str) -> Formula:
    """A slope of y = f(x), by x and y; its own slope in x is the whole one, along f."""
    samples = EmptySlot(
        f"its second operand is a function of the first; the samples of {why} try it"
    )
    return formula(name, rule, in_x, lambda x, y, slope: 0, samples=samples, like=np.hypot)


# A slope, and NaN where the second operand is infinite: x - x is 0 elsewhere. Roots and logarithms
# are flat at infinity, which is right for an infinity of the data, and for what has overflowed not
# known: sqrt(x * x) has the slope 1 where x * x overflows, too, and log(x * x) the slope 2 / x.
KNOWN = formula(
    "known",
    lambda slope, x: slope + (x - x),
    lambda slope, x, result: 1,
    lambda slope, x, result: 0,
    samples=_PAIR,
    like=np.hypot,
)


# The second factor of the slope of x^y: 1 / x for y < 0, else 1.
RECIPROCAL_IF = formula(
    "reciprocal_if",
    lambda x, y: choose(np.less(y, 0.0), 1 / x, 1.0),
    lambda x, y, result: (select(np.less(y, 0.0), -result, 0.0), result),
    lambda x, y, result: 0,
    samples=_PAIR,
    like=np.hypot,
)


def fading(slope: Any, x: Any) -> Any:
    """A slope that is 0 at infinite x, where the function itself is infinite: see `KNOWN`."""
    if is_complex(x):
        return KNOWN(1.0, bind(REAL, x) + bind(IMAG, x)) * slope
    return KNOWN(slope, x)


def _cbrt_slope(x: Any, y: Any) -> Any:
    """y / (3 x), which is 1 / (3 y^2) with fewer roundings; infinite at 0."""
    zero = np.equal(x, 0.0)
    return choose(zero, np.inf, y / choose(zero, 1.0, x) / 3)


CBRT_SLOPE = _at_its_value(
    "cbrt_slope", _cbrt_slope, lambda x, y, slope: slope / x * (-2 / 3), "cbrt"
)


def _logit_second(x: Any) -> Any:
    """(2 x - 1) / (x - x^2)^2, with a single rounding in x - x^2."""
    square, lost = squared(x)
    rest = (x - square) - lost
    return (2 * x - 1) / rest / rest


LOGIT_SECOND = formula(
    "logit_second",
    _logit_second,
    lambda x, y: 2 * np.square(LOGIT_SLOPE(x)) * (1 + (2 * x - 1) * (2 * x - 1) * LOGIT_SLOPE(x)),
    samples=(sample(draw(3, low=0.1, high=0.9)),),
)
LOGIT_SLOPE: Formula = formula(
    "logit_slope",
    lambda x: 1 / x / (1 - x),
    lambda x, y: LOGIT_SECOND(x),
    samples=(sample(draw(3, low=0.1, high=0.9)),),
)
OMEGA_SLOPE = _at_its_value(
    "omega_slope",
    lambda x, w: w / (1 + w),
    lambda x, w, y: y * (1 / (1 + w)) / (1 + w),
    "wrightomega",
)


def _entropy_slope(x: Any) -> Any:
    """-log(x) - 1, which is 0 at 1 / e: around it, by the distance from there."""
    gap = (x - 0.36787944117144233) + 1.2428753672788363e-17
    near = np.less(np.absolute(gap), 0.15)
    return -choose(near, np.log1p(math.e * choose(near, gap, 0.0)), np.log(x) + 1)


ENTROPY_SLOPE = formula(
    "entropy_slope",
    _entropy_slope,
    lambda x, y: -1 / x,
    samples=(sample(draw(3, low=0.1, high=0.9)),),
    wide=True,
)

# --- f(x) = (exp(x) - 1) / x ----------------------------------------------------------------------
# Within 2 it is exp(h) s(h), with h = x / 2 and s(h) = sinh(h) / h, of which all coefficients are
# positive. Beyond, x f' = exp(x) - f and x f'' = exp(x) - 2 f', where exp(x) = 1 + x f.


def _sinh_over(h: Any, order: int) -> Any:
    """sinh(h) / h or one of its first derivatives, for |h| < 1."""
    terms = [
        math.perm(2 * k, order) / math.factorial(2 * k + 1) for k in range((order + 1) // 2, 11)
    ]
    series = polynomial(h * h, tuple(terms))
    return h * series if order == 1 else series


def _exprel_parts(x: Any) -> tuple[Any, Any, Any]:
    near = np.less(np.absolute(x), 2.0)
    return near, 0.5 * choose(near, x, 0.0), choose(near, 1.0, x)


def _exprel_slope(x: Any, y: Any) -> Any:
    near, h, far = _exprel_parts(x)
    inner = 0.5 * np.exp(h) * (_sinh_over(h, 0) + _sinh_over(h, 1))
    above = y - choose(np.isinf(y), 0.0, y - 1) / far
    below = (np.exp(np.minimum(far, 1.0)) - y) / far
    return choose(near, inner, choose(np.less(x, 0), below, above))


def _exprel_second(x: Any, y: Any) -> Any:
    near, h, far = _exprel_parts(x)
    inner = _sinh_over(h, 0) + _sinh_over(h, 2) + 2 * _sinh_over(h, 1)
    slope = _exprel_slope(x, y)
    above = y - choose(np.isinf(slope), 0.0, 2 * slope - 1) / far
    below = (np.exp(np.minimum(far, 1.0)) - 2 * slope) / far
    return choose(near, 0.25 * np.exp(h) * inner, choose(np.less(x, 0), below, above))


def _exprel_third(x: Any, y: Any, second: Any) -> Any:
    """(exp(x) - 3 f'') / x; near 0, where that is 0 / 0, by the series."""
    small = np.less(x, 0.5) & np.greater(x, -0.5)
    near, far = select(small, x, 0.0), select(small, 1.0, x)
    series: Any = 0.0
    for k in range(18, -1, -1):
        series = 1 / (math.factorial(k) * (k + 4)) + near * series
    return select(small, series, (np.exp(far) - 3 * second) / far)


EXPREL_SECOND = _at_its_value("exprel_second", _exprel_second, _exprel_third, "exprel")
EXPREL_SLOPE = _at_its_value(
    "exprel_slope", _exprel_slope, lambda x, y, slope: EXPREL_SECOND(x, y), "exprel"
)

# --- directions in the plane ----------------------------------------------------------------------


def _scaled(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """s, s x and r^2 s^2, where s is a power of two by which squares stay in range."""
    near, power = (2.0**40, 2.0**100) if x.dtype == np.float32 else (2.0**400, 2.0**600)
    size = np.maximum(np.absolute(x), np.absolute(y))
    scale = choose(np.less(size, 1 / near), power, 1.0)
    scale = choose(np.greater(size, near), 1 / power, scale)
    x, y = x * scale, y * scale
    return scale, x, x * x + y * y


def _cosine(x: Any, y: Any) -> Any:
    """x / r, and 0 at the origin, as the gradient of a norm is."""
    _, scaled, square = _scaled(x, y)
    return scaled / choose(np.equal(square, 0.0), 1.0, np.sqrt(square))


def _cosine_in_x(x: Any, y: Any, result: Any) -> Any:
    """y^2 / r^3; at the origin there is none, as of a norm."""
    radius, sine = np.hypot(x, y), COSINE(y, x)
    origin = np.equal(radius, 0)
    return select(origin, np.nan, sine * (sine / select(origin, 1.0, radius)))


def _cosine_in_y(x: Any, y: Any, result: Any) -> Any:
    """-x y / r^3; at the origin there is none."""
    radius = np.hypot(x, y)
    origin = np.equal(radius, 0)
    return -result * (COSINE(y, x) / select(origin, np.nan, radius))


COSINE = formula(
    "cosine_between", _cosine, _cosine_in_x, _cosine_in_y, samples=_PAIR, like=np.hypot
)


def _over_square(x: Any, y: Any) -> Any:
    """x / r^2, and 0 at the origin: a point has no direction to turn in."""
    scale, scaled, square = _scaled(x, y)
    return scaled / choose(np.equal(square, 0.0), 1.0, square) * scale


def _over_square_in_x(x: Any, y: Any, result: Any) -> Any:
    """(y - x) (y + x) / r^4."""
    radius = np.hypot(x, y)
    radius = select(np.equal(radius, 0), np.inf, radius)
    return ((y - x) / radius / radius) * ((y + x) / radius / radius)


def _over_square_in_y(x: Any, y: Any, result: Any) -> Any:
    """-2 x y / r^4."""
    return -2 * result * OVER_SQUARE(y, x)


OVER_SQUARE: Formula = formula(
    "over_square",
    _over_square,
    _over_square_in_x,
    _over_square_in_y,
    samples=_PAIR,
    like=np.hypot,
)
