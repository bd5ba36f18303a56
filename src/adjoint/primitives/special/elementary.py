"""`scipy.special`: logistic functions, exponentials and powers, degrees, convex functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.primitives.elementwise.accuracy.slopes import (
    CBRT_SLOPE,
    ENTROPY_SLOPE,
    EXPREL_SLOPE,
    LOGISTIC,
    LOGISTIC_DENSITY,
    LOGIT_SLOPE,
    fading,
)
from adjoint.primitives.elementwise.arithmetic import power_by_base, power_by_exponent, steep_power
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import scale
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.hardness import hard
from adjoint.primitives.identities import same_as
from adjoint.primitives.samples import draw
from adjoint.primitives.special.declaring import (
    COMPLEX,
    POSITIVE,
    REAL,
    UNIT,
    between,
    call,
    constant_number,
    row,
)

_PAIR = (draw(4, low=0.3, high=2), draw(4, low=0.3, high=2))
_DEGREE = math.pi / 180

row("expit", lambda x, y: LOGISTIC_DENSITY(x), on=REAL)
row("logit", lambda x, y: LOGIT_SLOPE(x), on=UNIT)
row("log_expit", lambda x, y: LOGISTIC(-x), on=REAL)
row("exprel", lambda x, y: EXPREL_SLOPE(x, y), on=REAL)
row("exp2", lambda x, y: math.log(2) * y, on=REAL, program_name="special_exp2")
row("exp10", lambda x, y: math.log(10) * y, on=REAL)
row("expm1", lambda x, y: np.exp(x), on=REAL, also=(COMPLEX,), program_name="special_expm1")
row(
    "log1p",
    lambda x, y: fading(1 / (1 + x), x),
    on=UNIT,
    also=(COMPLEX,),
    program_name="special_log1p",
)
row("cbrt", lambda x, y: CBRT_SLOPE(x, y), on=POSITIVE, program_name="special_cbrt")
row("cosm1", lambda x, y: -np.sin(x), on=REAL)
row("round", lambda x, y: 0, on=REAL)
row(
    "powm1",
    lambda x, y, r: power_by_base(x, y, r),
    lambda x, y, r: power_by_exponent(x, y, cast(np.power(x, y), r.dtype)),
    on=_PAIR,
)
row("sindg", lambda x, y: _DEGREE * call("cosdg", x), on=REAL)
row("cosdg", lambda x, y: -_DEGREE * call("sindg", x), on=REAL)
row("tandg", lambda x, y: _DEGREE * (1 + np.square(y)), on=REAL)
row("cotdg", lambda x, y: -_DEGREE * (1 + np.square(y)), on=(between(20.0, 60.0),))
row(
    "radian",
    lambda d, m, s, y: _DEGREE,
    lambda d, m, s, y: _DEGREE / 60,
    lambda d, m, s, y: _DEGREE / 3600,
    on=(between(0.0, 0.01), between(0.0, 0.5), between(1.0, 9.0)),
)


# --- the transformation of Box and Cox: (x^p - 1) / p = log(x) exprel(p log(x)) -------------------


def boxcox_slope(log_x: Any, p: Any) -> Any:
    """Its derivative with respect to p, where exprel' is 1F1(2; 3; x) / 2.

    SciPy's never ends at infinity; it is infinite long before.
    """
    exponent = np.minimum(p * log_x, 1e4)
    return 0.5 * np.square(log_x) * call("hyp1f1", 2.0, 3.0, exponent)


def _boxcox_in_x(x: Any, p: Any, y: Any) -> Any:
    """x^(p - 1). For p < 0 the function is bounded, and for p < 1 else its slope fades."""
    slope = steep_power(x, p - 1, y.dtype)
    fades = np.less(p, 1) & np.greater_equal(p, 0)
    return select(fades, fading(slope, cast(x, slope.dtype)), slope)


def _boxcox_in_power(x: Any, p: Any) -> Any:
    """At x = 0, where the logarithm is infinite, as (p x^p log(x) - x^p + 1) / p^2."""
    zero = np.equal(x, 0) & np.greater(p, 0)
    inner = boxcox_slope(np.log(select(zero, 1.0, x)), p)
    p = select(zero, p, 1.0)
    power = np.power(x, p)
    outer = (p * power_by_exponent(x, p, power) - power + 1) / np.square(p)
    return select(zero, outer, inner)


row(
    "boxcox",
    lambda x, p, y: _boxcox_in_x(x, p, y),
    lambda x, p, y: _boxcox_in_power(x, p),
    on=_PAIR,
    also=((between(0.5, 2.0), between(-0.1, 0.1)),),
)
row(
    "boxcox1p",
    lambda x, p, y: _boxcox_in_x(1 + x, p, y),
    lambda x, p, y: boxcox_slope(np.log1p(x), p),
    on=_PAIR,
)
row(
    "inv_boxcox",
    lambda y, p, x: x ** (1 - p),
    lambda y, p, x: -(x ** (1 - p)) * boxcox_slope(np.log(x), p),
    on=_PAIR,
)
row(
    "inv_boxcox1p",
    lambda y, p, x: (1 + x) ** (1 - p),
    lambda y, p, x: -((1 + x) ** (1 - p)) * boxcox_slope(np.log1p(x), p),
    on=_PAIR,
)

# --- entropies and losses -------------------------------------------------------------------------


def _inverse(divisor: Any, y: Any, result: Any) -> Any:
    """The slope of a logarithm in y."""
    return fading(cast(1 / divisor, result.dtype), cast(y, result.dtype))


_COMPLEX_PAIR = (COMPLEX[0], COMPLEX[0])
row(
    "xlogy",
    lambda x, y, result: np.log(y),
    lambda x, y, result: scale(hard(x), _inverse(y, y, result)),
    on=_PAIR,
    also=(_COMPLEX_PAIR,),
)
row(
    "xlog1py",
    lambda x, y, result: np.log1p(y),
    lambda x, y, result: scale(hard(x), _inverse(1 + y, y, result)),
    on=_PAIR,
    also=(_COMPLEX_PAIR,),
)


def _log_ratio(x: Any, y: Any) -> Any:
    """log(x / y), whose derivatives do not go through the quotient, which may be 0."""
    return same_as(np.log(x / y), np.log(x) - np.log(y))


row("entr", lambda x, y: ENTROPY_SLOPE(x), on=POSITIVE)
row(
    "rel_entr",
    lambda x, y, result: _log_ratio(x, y) + 1,
    lambda x, y, result: fading(-x / y, cast(y, result.dtype)),
    on=_PAIR,
)
row(
    "kl_div",
    lambda x, y, result: _log_ratio(x, y),
    lambda x, y, result: 1 - x / y,
    on=_PAIR,
)


def _huber_slope(delta: Any, r: Any, y: Any) -> Any:
    """r, or beyond delta its sign times delta; a tie is shared as in the derivative in delta."""
    size = np.absolute(r)
    return select(np.less(size, delta), r, np.sign(r) * np.minimum(size, delta))


row(
    "huber",
    # r^2 / 2 within delta of 0, and the line delta (|r| - delta / 2) beyond.
    lambda delta, r, y: np.maximum(np.absolute(r) - delta, 0.0),
    _huber_slope,
    on=(draw(4, low=1.2, high=1.4), draw(4, low=-2, high=2)),
)


def _pseudo_huber_root(delta: Any, r: Any) -> Any:
    return np.sqrt(1 + np.square(r / delta))


def _pseudo_huber_in_delta(delta: Any, r: Any, y: Any) -> Any:
    root = _pseudo_huber_root(delta, r)
    return delta * np.square(root - 1) / root


row(
    "pseudo_huber",  # delta^2 (sqrt(1 + (r / delta)^2) - 1)
    _pseudo_huber_in_delta,
    lambda delta, r, y: r / _pseudo_huber_root(delta, r),
    on=(between(1.2, 1.4), between(-2.0, 2.0)),
    also=((constant_number(1.5), constant_number(0.25)),),
)
