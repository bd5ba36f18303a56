"""Differences of special functions in which all digits cancel, as approximations of their own.

Each is a factor of simple form times a smooth function, of which Chebyshev's series is summed. By
those, slopes of erfcx, log_ndtr, dawsn, i0e and k0e have the digits that the functions have.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import numpy as np

from adjoint.primitives.elementwise.accuracy.approximation_tables import TABLES
from adjoint.primitives.elementwise.accuracy.formulas import Formula, choose, formula
from adjoint.primitives.elementwise.accuracy.slopes import EXP_MINUS_HALF_SQUARE, EXP_SQUARE
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.special.declaring import SPECIAL, call, near_zero, polynomial
from adjoint.primitives.typing_rules import resolve

_LINE: Final = (sample(draw(3)),)
_POSITIVE: Final = (sample(draw(4, low=0.5, high=4)),)
_ROOT_PI: Final = math.sqrt(math.pi)
_VAST: Final = 1e10  # so far out, the first term of an asymptotic series is all


@cache
def coefficients(name: str) -> tuple[float, ...]:
    """Those of a series."""
    return tuple(map(float, TABLES[name].split()))


def chebyshev(name: str, z: Any, low: float, high: float) -> Any:
    """A series on an interval (C. W. Clenshaw, A note on the summation of Chebyshev series, 1955).

    Outside it is that of the nearer end, which nobody uses.
    """
    twice = 2 * np.minimum(np.maximum((2 * z - (low + high)) / (high - low), -1.0), 1.0)
    first, *others = coefficients(name)
    above, below = 0.0 * twice, 0.0 * twice
    for coefficient in reversed(others):
        above, below = coefficient + twice * above - below, above
    return first + (0.5 * twice * above - below)


def _special(name: str, x: Any) -> Any:
    """A function of SciPy, of arrays."""
    return resolve(SPECIAL[name].ufunc)(x)


# --- exp(x^2) times integrals of erfc -------------------------------------------------------------
# E_n = exp(x^2) i^n erfc(x) has the derivative -2 (n + 1) E_{n+1}, and
# 2 n E_n = -2 x E_{n-1} + E_{n-2} (DLMF 7.18); E_0 is erfcx.


def _erfc_integral(order: int, x: Any) -> Any:
    size = np.absolute(x)
    near = chebyshev(f"erfcx {order} near", size, 0.0, 3.0)
    inverse = 1 / np.maximum(size, 3.0)
    far = chebyshev(f"erfcx {order} far", inverse * inverse, 0.0, 1 / 9)
    for _ in range(order + 1):
        near, far = near / (1 + size), far * inverse
    return choose(np.greater(size, 3), far, near)


def _erfc_integral_anywhere(order: int, x: Any) -> Any:
    """For negative x by E_0(x) = 2 exp(x^2) - E_0(-x) and the recurrence: nothing cancels there."""
    below = np.minimum(x, 0.0)
    zeroth = 2 * EXP_SQUARE.rule(below) - _erfc_integral(0, below)
    direct = 1 / _ROOT_PI - below * zeroth
    if order == 2:
        direct = 0.25 * zeroth - 0.5 * below * direct
    return choose(np.less(x, 0), direct, _erfc_integral(order, np.maximum(x, 0.0)))


ERFC_INTEGRAL_2 = formula(
    "erfc_integral_2",
    lambda x: _erfc_integral_anywhere(2, x),
    lambda x, y: 2 * x * y - ERFC_INTEGRAL_1(x),
    samples=_LINE,
    wide=True,
)
ERFC_INTEGRAL_1: Formula = formula(
    "erfc_integral_1",
    lambda x: _erfc_integral_anywhere(1, x),
    lambda x, y: -4 * ERFC_INTEGRAL_2(x),
    samples=_LINE,
    wide=True,
)

# --- the normal density over the distribution -----------------------------------------------------


def _hazard(x: Any) -> Any:
    """sqrt(2 / pi) / erfcx(-x / sqrt(2)), and for x > -1 as it is meant."""
    far = np.less(x, -_VAST)
    below = np.minimum(np.maximum(x, -_VAST), -1.0)
    left = math.sqrt(2 / math.pi) / _erfc_integral(0, below * -math.sqrt(0.5))
    above = np.maximum(x, -1.0)
    density = EXP_MINUS_HALF_SQUARE.rule(above) / math.sqrt(2 * math.pi)
    right = density / _special("ndtr", above)
    return choose(far, -x, choose(np.less(x, -1), left, right))


def _excess(x: Any) -> Any:
    """The same plus x: for negative x, sqrt(2) E_1(s) / E_0(s) with s = -x / sqrt(2)."""
    far = np.less(x, -_VAST)
    below = np.minimum(np.maximum(x, -_VAST), 0.0) * -math.sqrt(0.5)
    left = math.sqrt(2) * _erfc_integral(1, below) / _erfc_integral(0, below)
    above = np.maximum(x, 0.0)
    near = choose(np.less(x, 0), left, above + _hazard(above))
    return choose(far, -1 / choose(far, x, 1.0), near)


EXCESS = formula("hazard_excess", _excess, lambda x, y: 1 - HAZARD(x) * y, samples=_LINE, wide=True)
HAZARD: Formula = formula("hazard", _hazard, lambda x, y: -y * EXCESS(x), samples=_LINE, wide=True)

# --- Dawson's integral ----------------------------------------------------------------------------

# The zeros of its first derivative and of its second, and what their rounding lost.
_ZEROS: Final = (
    (0.9241388730045917, 2.3780739826467796e-17),
    (1.5019752682686116, -1.0856475166577358e-16),
)


def _dawson_slope(order: int, x: Any) -> Any:
    size = np.absolute(x)
    zero, lost = _ZEROS[order - 1]
    small = np.minimum(size, 3.0)
    near = chebyshev(f"dawsn {order} near", small, 0.0, 3.0)
    near = near * ((zero - small) + lost if order == 1 else ((small - zero) - lost) * small)
    inverse = 1 / np.maximum(size, 3.0)
    square = inverse * inverse
    middle = chebyshev(f"dawsn {order} middle", square, 1 / 36, 1 / 9)
    far = chebyshev(f"dawsn {order} far", square, 0.0, 1 / 36)
    far = choose(np.greater(size, 6), far, middle)
    for _ in range(order + 1):
        near, far = near / (1 + small), far * inverse
    if order == 2:
        far, near = np.copysign(far, x), near * np.sign(x)
    return choose(np.greater(size, 3), far, near)


DAWSON_SLOPE_2 = formula(
    "dawson_slope_2",
    lambda x: _dawson_slope(2, x),
    lambda x, y: -2 * x * y - 4 * DAWSON_SLOPE_1(x),
    samples=_LINE,
    wide=True,
)
DAWSON_SLOPE_1: Formula = formula(
    "dawson_slope_1",
    lambda x: _dawson_slope(1, x),
    lambda x, y: DAWSON_SLOPE_2(x),
    samples=_LINE,
    wide=True,
)

# --- scaled functions of Bessel -------------------------------------------------------------------


def _i0e_slope(order: int, x: Any) -> Any:
    """For x > 0 the slope -(i0e - i1e) of i0e, and its slope 2 (i0e - i1e) - i1e / x."""
    size = np.absolute(x)
    small = np.minimum(size, 8.0)
    near = chebyshev(f"i0e {order} near", small, 0.0, 8.0)
    inverse = 1 / np.maximum(size, 8.0)
    far = chebyshev(f"i0e {order} far", inverse, 0.0, 1 / 8) * np.sqrt(inverse)
    for _ in range(order):
        near, far = near / (1 + small), far * inverse
    slope = choose(np.greater(size, 8), far, near)
    return slope if order == 2 else slope * -np.sign(x)


def _bessel_over(order: int, square: Any) -> Any:
    """I_n(x) / x^n by x^2 / 4, for small x."""
    terms = (0.5**order / math.factorial(k) / math.factorial(k + order) for k in range(11))
    return polynomial(square, tuple(terms))


def _i0e_third(x: Any, y: Any) -> Any:
    """For x > 0, of 2 d - i1e / x with d' = -y and i1e' = d - i1e / x.

    Near 0, where quotients by x cancel, by series: I_0 - 2 I_1 / x is I_2.
    """
    size, small = np.absolute(x), near_zero(x)
    near, far = select(small, size, 0.0), select(small, 1.0, size)
    square = 0.25 * np.square(near)
    inside = np.exp(-near) * (near * _bessel_over(2, square) - _bessel_over(1, square))
    scaled = call("i1e", far) / far
    outside = (-I0E_SLOPE_1(far) - 2 * scaled) / far
    return -np.sign(x) * (2 * y + select(small, inside, outside))


I0E_SLOPE_2 = formula(
    "i0e_slope_2", lambda x: _i0e_slope(2, x), _i0e_third, samples=_POSITIVE, wide=True
)
I0E_SLOPE_1: Formula = formula(
    "i0e_slope_1",
    lambda x: _i0e_slope(1, x),
    lambda x, y: I0E_SLOPE_2(x),
    samples=_POSITIVE,
    wide=True,
)


def _k0e_slope(order: int, x: Any) -> Any:
    """The slope -(k1e - k0e) of k0e, and its slope k1e / x - 2 (k1e - k0e)."""
    small = np.minimum(x, 0.2)
    gap = _special("k1e", small) - _special("k0e", small)
    direct = gap if order == 1 else _special("k1e", small) / small - 2 * gap
    inverse = 1 / np.maximum(x, 0.2)
    near = chebyshev(f"k0e {order} near", inverse, 0.25, 5.0)
    far = chebyshev(f"k0e {order} far", inverse, 0.0, 0.25)
    slope = choose(np.greater(x, 4), far, near) * np.sqrt(inverse)
    for _ in range(order):
        slope = slope * inverse
    slope = choose(np.less(x, 0.2), direct, slope)
    return slope if order == 2 else -slope


def _k0e_third(x: Any, y: Any) -> Any:
    gap = -K0E_SLOPE_1(x)
    scaled = call("k1e", x) / x
    return (gap - 2 * scaled) / x + 2 * y


K0E_SLOPE_2 = formula(
    "k0e_slope_2", lambda x: _k0e_slope(2, x), _k0e_third, samples=_POSITIVE, wide=True
)
K0E_SLOPE_1: Formula = formula(
    "k0e_slope_1",
    lambda x: _k0e_slope(1, x),
    lambda x, y: K0E_SLOPE_2(x),
    samples=_POSITIVE,
    wide=True,
)


def i1e_slope(x: Any, over: Any) -> Any:
    """(i0e - i1e) - i1e / x for x > 0, given i1e / x; and even."""
    gap = I0E_SLOPE_1(x)  # 0 at 0, where i0e has a kink
    gap = select(np.equal(x, 0), 1.0, select(np.less(x, 0), gap, -gap))
    return gap - over
