"""`scipy.special`: the functions of Bessel, Airy, Struve and Kelvin, and their integrals.

With respect to an order no closed form is known.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.primitives.elementwise.accuracy.approximations import (
    I0E_SLOPE_1,
    K0E_SLOPE_1,
    i1e_slope,
)
from adjoint.primitives.elementwise.accuracy.formulas import Formula, formula
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import Expression
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.special.declaring import (
    COMPLEX,
    ORDER,
    POSITIVE,
    SPECIAL,
    between,
    call,
    constant_number,
    near_zero,
    polynomial,
    require_real,
    row,
    several,
    shifted,
    whole_order,
)
from adjoint.primitives.typing_rules import resolve

# --- orders 0 and 1 -------------------------------------------------------------------------------


def _quotient(name: str, second: str, sign: float) -> Formula:
    """The quotient by x of a function of order 1, of which the slope is +-f_2(x) / x."""
    return formula(
        f"{name}_over",
        lambda x: resolve(SPECIAL[name].ufunc)(x) / x,
        lambda x, y: sign * call(second, 2.0, x) / x,
        samples=(sample(*POSITIVE),),
        wide=True,
    )


J1_OVER = _quotient("j1", "jv", -1.0)
I1_OVER = _quotient("i1", "iv", 1.0)


def _over_x(sign: int, x: Any, y: Any) -> Any:
    """y / x where y is the Bessel function j1 (sign -1) or i1 (sign 1).

    Near 0, where derivatives of a quotient cancel, sum_k (sign x^2 / 4)^k / (2 k! (k + 1)!).
    """
    small = near_zero(x)
    square = sign * 0.25 * np.square(select(small, x, 0.0))
    terms = tuple(0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(11))
    far = (I1_OVER if sign == 1 else J1_OVER)(select(small, 1.0, x))
    return select(small, polynomial(square, terms), far)


def _i1e_over_x(x: Any, y: Any) -> Any:
    small = near_zero(x)
    near = np.exp(-np.absolute(x)) * _over_x(1, select(small, x, 0.0), 0.0)
    return select(small, near, y / select(small, 1.0, x))


def _i1_slope(x: Any, y: Any) -> Any:
    """i0 - i1 / x, of which one is infinity soon."""
    return call("i0", x) - select(np.isinf(y), 0.0, _over_x(1, x, y))


row("j0", lambda x, y: -call("j1", x), on=POSITIVE)
row("j1", lambda x, y: call("j0", x) - _over_x(-1, x, y), on=POSITIVE)
row("y0", lambda x, y: -call("y1", x), on=POSITIVE)
row("y1", lambda x, y: call("y0", x) - y / x, on=POSITIVE)
row("i0", lambda x, y: call("i1", x), on=POSITIVE)
row("i1", lambda x, y: _i1_slope(x, y), on=POSITIVE)
row("i0e", lambda x, y: I0E_SLOPE_1(x), on=POSITIVE)
row("i1e", lambda x, y: i1e_slope(x, _i1e_over_x(x, y)), on=POSITIVE)
row("k0", lambda x, y: -call("k1", x), on=POSITIVE)
row("k1", lambda x, y: -call("k0", x) - y / x, on=POSITIVE)
row("k0e", lambda x, y: K0E_SLOPE_1(x), on=POSITIVE)
row("k1e", lambda x, y: -K0E_SLOPE_1(x) - y / x, on=POSITIVE)

# --- any order: neighbours ------------------------------------------------------------------------

_ON = (between(1.2, 2.7), between(0.6, 3.0))
_ON_ORDER_0 = (constant_number(0), between(0.6, 3.0))
_ON_COMPLEX = (between(1.2, 2.7), COMPLEX[0])


def _neighbours(name: str, before: float, after: float) -> Any:
    """The slope before f_{v-1} + after f_{v+1}."""

    def slope(v: Any, z: Any, y: Any) -> Any:
        return before * call(name, shifted(v, -1), z) + after * call(name, shifted(v, 1), z)

    return slope


def _whole_neighbours(name: str, before: float, after: float) -> Any:
    """As `_neighbours`, for functions of which SciPy cuts the order to an integer."""
    plain = _neighbours(name, before, after)
    return lambda v, z, y: plain(whole_order(v), z, y)


def _scaled(name: str, before: float, after: float, factor: complex) -> Any:
    """The slope of exp(factor z) f_v(z), given those of f."""
    plain = _neighbours(name, before, after)
    return lambda v, z, y: plain(v, z, y) + factor * y


def _scaled_real(name: str, before: float, after: float, scale: Any) -> Any:
    """The slope of a function scaled by exp(-|Re z|) or exp(-|Im z|)."""
    plain = _neighbours(name, before, after)

    def slope(v: Any, z: Any, y: Any) -> Any:
        require_real(name, z)
        return plain(v, z, y) if scale is None else plain(v, z, y) - np.sign(z) * y

    return slope


row("jv", ORDER, _neighbours("jv", 0.5, -0.5), on=_ON, also=(_ON_ORDER_0, _ON_COMPLEX))
row("yv", ORDER, _neighbours("yv", 0.5, -0.5), on=_ON, also=(_ON_COMPLEX,))
row("iv", ORDER, _neighbours("iv", 0.5, 0.5), on=_ON, also=(_ON_ORDER_0, _ON_COMPLEX))
row("kv", ORDER, _neighbours("kv", -0.5, -0.5), on=_ON, also=(_ON_COMPLEX,))
row("yn", ORDER, _whole_neighbours("yv", 0.5, -0.5), on=_ON_ORDER_0)
row("kn", ORDER, _whole_neighbours("kv", -0.5, -0.5), on=_ON_ORDER_0)
row("hankel1", ORDER, _neighbours("hankel1", 0.5, -0.5), on=_ON_COMPLEX)
row("hankel2", ORDER, _neighbours("hankel2", 0.5, -0.5), on=_ON_COMPLEX)
row("hankel1e", ORDER, _scaled("hankel1e", 0.5, -0.5, -1j), on=_ON_COMPLEX)
row("hankel2e", ORDER, _scaled("hankel2e", 0.5, -0.5, 1j), on=_ON_COMPLEX)
row("kve", ORDER, _scaled("kve", -0.5, -0.5, 1.0), on=_ON, also=(_ON_COMPLEX,))
row("jve", ORDER, _scaled_real("jve", 0.5, -0.5, None), on=_ON)
row("yve", ORDER, _scaled_real("yve", 0.5, -0.5, None), on=_ON)
row("ive", ORDER, _scaled_real("ive", 0.5, 0.5, np.sign), on=_ON)

# --- Struve ---------------------------------------------------------------------------------------


def _struve_slope(name: str, sign: int) -> Any:
    neighbours = _neighbours(name, 0.5, 0.5 * sign)

    def slope(v: Any, x: Any, y: Any) -> Any:
        # (x / 2)^v / Gamma(v + 3/2) by logarithms; both have signs, for x < 0 and for v < -3/2.
        raised: Any = shifted(v, 0) + 1.5
        negative, known = np.less(x, 0), not isinstance(raised, Expression)
        if not known:
            size = call("gammaln", raised)
            odd = np.less(raised, 0) & np.equal(np.mod(np.floor(raised), 2.0), 1.0)
            turned = negative & np.equal(np.mod(raised - 1.5, 2.0), 1.0)
        else:
            if raised <= 0 and raised == int(raised):
                return neighbours(v, x, y)
            size = math.lgamma(raised)
            odd = raised < 0 and math.floor(raised) % 2 == 1
            turned = negative & ((raised - 1.5) % 2 == 1)
        power = call("xlogy", v, 0.5 * select(negative, -x, x)) - size
        term = 0.5 / math.sqrt(math.pi) * np.exp(power)
        term = select(turned, -term, term)
        if known:
            return neighbours(v, x, y) + (-term if odd else term)
        return neighbours(v, x, y) + select(odd, -term, term)

    return slope


row("struve", ORDER, _struve_slope("struve", -1), on=(between(0.4, 2.7), between(1.0, 3.0)))
row("modstruve", ORDER, _struve_slope("modstruve", 1), on=(between(0.4, 2.7), between(1.0, 3.0)))
row("itstruve0", lambda x, y: call("struve", 0.0, x), on=POSITIVE)
row("itmodstruve0", lambda x, y: call("modstruve", 0.0, x), on=POSITIVE)


def _struve_over_x(x: Any) -> Any:
    zero = np.equal(x, 0)
    return select(zero, 2 / math.pi, call("struve", 0.0, x) / select(zero, 1.0, x))


row("it2struve0", lambda x, y: -_struve_over_x(x), on=POSITIVE)

# --- integrals of Bessel functions ----------------------------------------------------------------


def _less_one_over_x(sign: int, name: str, x: Any) -> Any:
    """(I_0(x) - 1) / x or (1 - J_0(x)) / x; near 0 by the series."""
    small = near_zero(x)
    near = select(small, x, 0.0)
    terms = tuple(0.25 * 0.25**k * sign**k / math.factorial(k + 1) ** 2 for k in range(10))
    far = sign * (call(name, x) - 1) / select(small, 1.0, x)
    return select(small, near * polynomial(np.square(near), terms), far)


def _of_argument(*functions: Any) -> Any:
    return lambda operands, results: tuple(function(operands[0]) for function in functions)


_LINE = (between(0.6, 3.0),)
_NEAR = ((between(0.1, 0.4),),)
several("itj0y0", _of_argument(lambda x: call("j0", x), lambda x: call("y0", x)), on=_LINE)
several("iti0k0", _of_argument(lambda x: call("i0", x), lambda x: call("k0", x)), on=_LINE)
several(
    "it2j0y0",
    _of_argument(lambda x: _less_one_over_x(-1, "j0", x), lambda x: -call("y0", x) / x),
    on=_LINE,
)
several(
    "it2i0k0",
    _of_argument(lambda x: _less_one_over_x(1, "i0", x), lambda x: -call("k0", x) / x),
    on=_LINE,
)


def _of_itairy(operands: Any, results: Any) -> tuple[Any, ...]:
    (x,) = operands
    (a, _, b, _), (c, _, d, _) = call("airy", x), call("airy", -x)
    return a, b, c, d


several("itairy", _of_itairy, on=(between(0.1, 0.25),))  # where SciPy has ten digits
row(
    "besselpoly",  # int_0^1 x^p J_v(2 a x) dx
    lambda a, p, v, y: (
        call("besselpoly", a, shifted(p, 1), shifted(v, -1))
        - call("besselpoly", a, shifted(p, 1), shifted(v, 1))
    ),
    ORDER,
    ORDER,
    on=(between(0.5, 1.5), constant_number(1.0), constant_number(5.0)),
)

# --- Airy -----------------------------------------------------------------------------------------


def _airy(operands: Any, results: Any) -> tuple[Any, ...]:
    (z,), (a, a_slope, b, b_slope) = operands, results
    return a_slope, z * a, b_slope, z * b


def _airye(operands: Any, results: Any) -> tuple[Any, ...]:
    """Scaled by exp(+-2/3 z^(3/2)); B by the real part, so that z must be real."""
    (z,), (a, a_slope, b, b_slope) = operands, results
    require_real("airye", z)
    root, positive = np.sqrt(z), np.sqrt(np.maximum(z, 0.0))
    return (
        a_slope + root * a,
        z * a + root * a_slope,
        b_slope - positive * b,
        z * b - positive * b_slope,
    )


several("airy", _airy, on=(between(-2.0, 2.0),), also=(COMPLEX,))
several("airye", _airye, on=_LINE)

# --- Kelvin ---------------------------------------------------------------------------------------
# be = ber + i bei and ke = ker + i kei solve f'' = i f - f' / x.


def _slope_over_x(part: int, x: Any, y: Any) -> Any:
    """ber'(x) / x (part 0) or bei'(x) / x (part 1); near 0 by the series in (x / 2)^4."""
    small = near_zero(x)
    half = 0.5 * select(small, x, 0.0)
    terms = tuple(
        (-1) ** (k + 1 - part)
        * (4 * (k + 1) - 2 * part)
        / 4
        / math.factorial(2 * (k + 1) - part) ** 2
        for k in range(5)
    )
    near = polynomial(np.square(np.square(half)), terms)
    near = near if part else np.square(half) * near
    return select(small, near, y / select(small, 1.0, x))


row("ber", lambda x, y: call("berp", x), on=POSITIVE)
row("bei", lambda x, y: call("beip", x), on=POSITIVE)
row("ker", lambda x, y: call("kerp", x), on=POSITIVE)
row("kei", lambda x, y: call("keip", x), on=POSITIVE)
row(
    "berp",
    lambda x, y: -call("bei", x) - _slope_over_x(0, x, y),
    on=_LINE,
    also=_NEAR,
)
row(
    "beip",
    lambda x, y: call("ber", x) - _slope_over_x(1, x, y),
    on=_LINE,
    also=_NEAR,
)
row("kerp", lambda x, y: -call("kei", x) - y / x, on=POSITIVE)
row("keip", lambda x, y: call("ker", x) - y / x, on=POSITIVE)


def _kelvin(operands: Any, results: Any) -> tuple[Any, ...]:
    (x,), (be, ke, be_slope, ke_slope) = operands, results
    return be_slope, ke_slope, 1j * be - be_slope / x, 1j * ke - ke_slope / x


several("kelvin", _kelvin, on=(draw(2, low=0.6, high=3.0),))
