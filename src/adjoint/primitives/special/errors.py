"""`scipy.special`: error functions, Fresnel, exponential and trigonometric integrals."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from adjoint.primitives.elementwise.accuracy.approximations import (
    DAWSON_SLOPE_1,
    ERFC_INTEGRAL_1,
    HAZARD,
)
from adjoint.primitives.elementwise.accuracy.slopes import (
    EXP_HALF_SQUARE,
    EXP_MINUS_HALF_SQUARE,
    EXP_MINUS_SQUARE,
    EXP_SQUARE,
    is_complex,
)
from adjoint.primitives.elementwise.conversion import IMAG, cast, real
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import draw
from adjoint.primitives.special.declaring import (
    COMPLEX,
    ORDER,
    POSITIVE,
    REAL,
    UNIT,
    between,
    call,
    constant_number,
    polynomial,
    row,
    several,
    shifted,
    whole_order,
)

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
ROOT_TWO_PI = math.sqrt(2 * math.pi)
_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_ROOT_HALF = math.sqrt(0.5)


def normal_density(x: Any) -> Any:
    """The density of the standard normal distribution."""
    bell = np.exp(-0.5 * np.square(x)) if is_complex(x) else EXP_MINUS_HALF_SQUARE(x)
    return bell / ROOT_TWO_PI


def _bell(x: Any) -> Any:
    return np.exp(-np.square(x)) if is_complex(x) else EXP_MINUS_SQUARE(x)


def _bowl(x: Any) -> Any:
    return np.exp(np.square(x)) if is_complex(x) else EXP_SQUARE(x)


row("erf", lambda x, y: _TWO_OVER_ROOT_PI * _bell(x), on=REAL, also=(COMPLEX,))
row("erfc", lambda x, y: -_TWO_OVER_ROOT_PI * _bell(x), on=REAL, also=(COMPLEX,))
row("erfi", lambda x, y: _TWO_OVER_ROOT_PI * _bowl(x), on=REAL, also=(COMPLEX,))
row(
    "erfcx",
    lambda x, y: 2 * x * y - _TWO_OVER_ROOT_PI if is_complex(x) else -2 * ERFC_INTEGRAL_1(x),
    on=REAL,
    also=(COMPLEX,),
)
row("erfinv", lambda x, y: EXP_SQUARE(y) / _TWO_OVER_ROOT_PI, on=UNIT)
row("erfcinv", lambda x, y: -EXP_SQUARE(y) / _TWO_OVER_ROOT_PI, on=UNIT)
row(
    "dawsn",
    lambda x, y: 1 - 2 * x * y if is_complex(x) else DAWSON_SLOPE_1(x),
    on=REAL,
    also=(COMPLEX,),
)
row("wofz", lambda z, w: 1j * _TWO_OVER_ROOT_PI - 2 * z * w, on=COMPLEX)
row("ndtr", lambda x, y: normal_density(x), on=REAL, also=(COMPLEX,))


def _log_ndtr_slope(x: Any) -> Any:
    """The density over the distribution, without the cancellation at large -x."""
    return _ROOT_TWO_OVER_PI / call("erfcx", x * -_ROOT_HALF) if is_complex(x) else HAZARD(x)


row("log_ndtr", lambda x, y: _log_ndtr_slope(x), on=REAL, also=(COMPLEX,))
row("ndtri", lambda x, y: ROOT_TWO_PI * EXP_HALF_SQUARE(y), on=UNIT)
row(
    "ndtri_exp",  # the inverse of log_ndtr
    lambda x, y: call("erfcx", y * -_ROOT_HALF) / _ROOT_TWO_OVER_PI,
    on=(between(-3.0, -0.3),),
)


def _owens_t_in_h(h: Any, a: Any, y: Any) -> Any:
    return -0.5 * normal_density(h) * call("erf", a * h * _ROOT_HALF)


def _owens_t_in_a(h: Any, a: Any, y: Any) -> Any:
    square = 1 + np.square(a)
    return np.exp(-0.5 * np.square(h) * square) / (2 * math.pi * square)


row("owens_t", _owens_t_in_h, _owens_t_in_a, on=(between(0.2, 1.5), between(0.2, 0.8)))


# --- the profile of Voigt: Re w(z) / (sigma sqrt(2 pi)), z = (x + i gamma) / (sigma sqrt(2)) ------


def _voigt(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any]:
    """z and w'(z) / (2 sigma^2 sqrt(pi)) = w'(z) / (sigma sqrt(2 pi)) / (sigma sqrt(2))."""
    z = (x + 1j * gamma) / (sigma * math.sqrt(2))
    slope = 1j * _TWO_OVER_ROOT_PI - 2 * z * call("wofz", z)
    return z, slope / (2 * math.sqrt(math.pi) * np.square(sigma))


def _narrow(x: Any, sigma: Any, gamma: Any) -> Any:
    """Where all digits cancel, as sigma is small, or 0."""
    return np.less(1e4 * np.square(sigma), np.square(x) + np.square(gamma))


def _voigt_slope(x: Any, sigma: Any, gamma: Any) -> Any:
    """f', where the profile is Re f(x + i gamma); narrow ones by the series in sigma."""
    narrow = _narrow(x, sigma, gamma)
    direct = _voigt(x, select(narrow, 1.0, sigma), gamma)[1]
    u = 1 / (select(narrow, x, 1.0) + 1j * gamma)
    square, r = np.square(u), np.square(select(narrow, sigma, 0.0) * u)
    series = -1j / math.pi * square * polynomial(r, (1.0, 3.0, 15.0, 105.0))
    return select(narrow, series, direct)


def _voigt_in_sigma(x: Any, sigma: Any, gamma: Any, y: Any) -> Any:
    narrow = _narrow(x, sigma, gamma)
    wide = select(narrow, 1.0, sigma)
    z, slope = _voigt(x, wide, gamma)
    u = 1 / (select(narrow, x, 1.0) + 1j * gamma)
    thin = select(narrow, sigma, 0.0)
    series = 1j / math.pi * thin * u**3 * polynomial(np.square(thin * u), (2.0, 12.0, 90.0))
    return select(narrow, real(series), -y / wide - math.sqrt(2) * real(slope * z))


row(
    "voigt_profile",
    lambda x, sigma, gamma, y: real(_voigt_slope(x, sigma, gamma)),
    _voigt_in_sigma,
    lambda x, sigma, gamma, y: -bind(IMAG, _voigt_slope(x, sigma, gamma)),
    on=(between(-1.0, 1.0), between(0.8, 1.2), between(0.5, 1.0)),
    order=2,  # formulas grow fast
)

# --- Fresnel --------------------------------------------------------------------------------------


def _fresnel(operands: Any, results: Any) -> tuple[Any, ...]:
    angle = 0.5 * math.pi * np.square(operands[0])
    return np.sin(angle), np.cos(angle)


several("fresnel", _fresnel, on=(between(0.2, 1.5),), also=(COMPLEX,))


def _modified_fresnel(sign: int) -> Any:
    """F(x) = int_x^inf exp(s i t^2) dt, and K = exp(-s i (x^2 + pi / 4)) / sqrt(pi) F."""
    turn = cmath.exp(-sign * 0.25j * math.pi) / math.sqrt(math.pi)

    def slopes(operands: Any, results: Any) -> tuple[Any, ...]:
        (x,), (_, k) = operands, results
        return -np.exp(sign * 1j * np.square(x)), -2j * sign * x * k - turn

    return slopes


several("modfresnelp", _modified_fresnel(1), on=(between(0.2, 1.5),))
several("modfresnelm", _modified_fresnel(-1), on=(between(0.2, 1.5),))

# --- exponential, sine and cosine integrals -------------------------------------------------------

row("expi", lambda x, y: np.exp(x) / x, on=POSITIVE, also=(COMPLEX,))
row("exp1", lambda x, y: -np.exp(-x) / x, on=POSITIVE, also=(COMPLEX,))


def _expn_slope(n: Any, x: Any, y: Any) -> Any:
    """-E_{n-1}; for n = 0 by the recurrence, since SciPy has no negative orders."""
    before = shifted(whole_order(n), -1)
    if isinstance(before, (int, float)):
        if before >= 0:
            return -call("expn", before, x)
        return -(np.exp(-x) - before * y) / x
    lowest = np.less(before, 0)
    recurred = (np.exp(-x) - cast(before, x.dtype) * y) / x
    return -select(lowest, recurred, call("expn", np.maximum(before, 0), x))


row(
    "expn",
    ORDER,
    _expn_slope,
    on=(constant_number(3), between(0.5, 2.0)),
    also=((constant_number(0), between(0.5, 2.0)),),
)


def _small(x: Any) -> Any:
    if x.dtype.kind == "c":
        return np.less(np.absolute(x), 0.5)
    return np.less(np.square(x), 0.25)


def _over(function: Any, sign: int, x: Any) -> Any:
    """sin(x) / x or sinh(x) / x; near 0 as 0F1(3/2, -+x^2 / 4)."""
    small = _small(x)
    near = call("hyp0f1", 1.5, sign * 0.25 * np.square(select(small, x, 0.0)))
    return select(small, near, function(x) / select(small, 1.0, x))


def sine_over(x: Any) -> Any:
    """sin(x) / x."""
    return _over(np.sin, -1, x)


several(
    "sici",
    lambda operands, results: (sine_over(operands[0]), np.cos(operands[0]) / operands[0]),
    on=(between(0.1, 3.0, 4),),
    also=(COMPLEX,),
)
several(
    "shichi",
    lambda operands, results: (
        _over(np.sinh, 1, operands[0]),
        np.cosh(operands[0]) / operands[0],
    ),
    on=(between(0.1, 3.0, 4),),
    also=(COMPLEX,),
)


def _spence_slope(x: Any, y: Any) -> Any:
    """log(x) / (1 - x), which near 1 is -2F1(1, 1; 2; 1 - x)."""
    rest = 1 - x
    small = _small(rest)
    near = call("hyp2f1", 1.0, 1.0, 2.0, select(small, rest, 0.0))
    return select(small, -near, np.log(select(small, 2.0, x)) / select(small, 1.0, rest))


row("spence", _spence_slope, on=(between(0.3, 3.0, 4),), also=((draw(2, low=1.2, dtype=complex),),))


# --- the limit distribution of Kolmogorov, by its two series --------------------------------------


def _kolmogorov_slope(x: Any, y: Any) -> Any:
    """Of 2 sum_k (-1)^(k-1) exp(-2 k^2 x^2), which is a theta function: near 0 by its inversion."""
    small = np.less(x, 1.0)
    far = select(small, 1.0, x)
    outer: Any = 0.0
    for k in range(1, 6):
        outer = outer + (-1) ** k * 8 * k * k * far * np.exp(-2 * k * k * np.square(far))
    near = select(small, x, 1.0)
    inner: Any = 0.0
    for k in range(1, 5):
        rate = (2 * k - 1) ** 2 * math.pi**2 / 8
        square = np.square(near)
        inner = inner + np.exp(-rate / square) * (1 - 2 * rate / square) / square
    return select(small, select(np.greater(x, 0), ROOT_TWO_PI * inner, 0.0), outer)


row("kolmogorov", _kolmogorov_slope, on=(between(0.4, 2.0, 4),))
row("kolmogi", lambda p, x: 1 / _kolmogorov_slope(x, p), on=(between(0.1, 0.9),))
