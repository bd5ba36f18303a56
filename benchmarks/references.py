"""Functions to many digits: what derivatives of single and double precision are measured against.

A reference is the function in mpmath, and its first two derivatives where they have a form of their
own; others are divided differences. Either is computed with more and more digits until two in a row
agree, so that nothing needs to be known of where digits cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import mpmath
from mpmath import mp, mpf

Number: TypeAlias = Any  # an mpf; mpmath has no types
Form = Callable[[Number], Number]

_START, _LIMIT = 40, 400  # decimal digits
_AGREEMENT = 22
_NOTHING = -1600  # an exponent of two; what is smaller is zero in any precision that is measured


@dataclass(frozen=True)
class Reference:
    """A function in mpmath, and its derivatives where they have a form of their own."""

    value: Form
    first: Form | None = None
    second: Form | None = None

    def __call__(self, x: float, order: int) -> Number | None:
        """The function or a derivative at a point; None where it is not real, or not to be had."""
        form = (self.value, self.first, self.second)[order]
        if form is not None:
            return settled(form, x, x == 0)
        return settled(lambda point: difference(self.value, point, order), x, x == 0)


def settled(form: Form, x: float, trusted: bool) -> Number | None:
    """The value of a form to some 22 digits at least; trusted: whether it may be zero."""
    before, digits = None, _START
    while digits <= _LIMIT:
        with mp.workdps(digits):
            try:
                found = form(mpf(x))
            except (ZeroDivisionError, ValueError, OverflowError, mp.NoConvergence):
                return None
            if isinstance(found, mpmath.mpc):
                if found.imag != 0:
                    return None
                found = found.real
            if not mp.isfinite(found):
                return None
            if before is not None and _agree(before, found, trusted):
                return +found
        before, digits = found, int(digits * 1.8)
    return None


def _agree(x: Number, y: Number, trusted: bool) -> bool:
    if x == y == 0 and not trusted:  # all digits may have cancelled
        return False
    if x == y:
        return True
    if all(number == 0 or mp.mag(number) < _NOTHING for number in (x, y)):
        return True
    return bool(abs(x - y) <= abs(y) * mpf(10) ** -_AGREEMENT)


def difference(form: Form, x: Number, order: int) -> Number:
    """The first or second derivative by differences, with a step that a third of the digits is."""
    step = mpf(10) ** (-mp.dps // 3)
    step = abs(x) * step if x else step
    with mp.extradps(mp.dps):
        low, high = form(x - step), form(x + step)
        if order == 1:
            return (high - low) / (2 * step)
        return (high - 2 * form(x) + low) / step**2


def _log(x: Number) -> Number:
    if x < 0:
        raise ValueError
    return mp.log(x)


def _inside(form: Form, low: float, high: float) -> Form:
    """A form within an interval, its ends included if it is finite there."""

    def checked(x: Number) -> Number:
        if not low <= x <= high:
            raise ValueError
        return form(x)

    return checked


_INF = float("inf")


def _positive(value: Form, *slopes: Form) -> Reference:
    return Reference(*(_inside(each, 0, _INF) for each in (value, *slopes)))


def _unit(value: Form, *slopes: Form, low: float = -1) -> Reference:
    return Reference(*(_inside(each, low, 1) for each in (value, *slopes)))


def _logistic(x: Number) -> Number:
    return 1 / (1 + mp.exp(-x))


def _density(x: Number) -> Number:
    return _logistic(x) * _logistic(-x)


def _softplus(x: Number) -> Number:
    return mp.log1p(mp.exp(x))


_SOFTPLUS = Reference(_softplus, _logistic, _density)


def _degrees(value: Form, first: Form, second: Form) -> Reference:
    """Functions of an angle, of degrees."""
    return Reference(
        lambda x: value(x * mp.pi / 180),
        lambda x: first(x * mp.pi / 180) * mp.pi / 180,
        lambda x: second(x * mp.pi / 180) * (mp.pi / 180) ** 2,
    )


def _sech(x: Number) -> Number:
    return mp.sech(x)


def _normal(x: Number) -> Number:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _asymptotic(x: Number, sign: int) -> Number:
    """sum_k sign^k (2 k - 1)!! / (2 x^2)^k, to the smallest term."""
    total, term, k = mpf(1), mpf(1), 0
    while True:
        k += 1
        following = term * sign * (2 * k - 1) / (2 * x * x)
        if abs(following) >= abs(term) or abs(following) < mp.eps:
            return total
        term = following
        total += term


def _erfcx(x: Number) -> Number:
    if x > 30:
        return _asymptotic(x, -1) / (x * mp.sqrt(mp.pi))
    return mp.exp(x * x) * mp.erfc(x)


def _hazard(x: Number) -> Number:
    """The density of the normal distribution over the distribution."""
    if x < 0:
        return mp.sqrt(2 / mp.pi) / _erfcx(-x / mp.sqrt(2))
    return _normal(x) / mp.ncdf(x)


def _log_normal(x: Number) -> Number:
    """The logarithm of the distribution."""
    if x < -30:
        return mp.log(_erfcx(-x / mp.sqrt(2)) / 2) - x * x / 2
    return mp.log1p(-mp.ncdf(-x)) if x > 0 else mp.log(mp.ncdf(x))


def _dawson(x: Number) -> Number:
    if abs(x) > 30:
        return _asymptotic(x, 1) / (2 * x)
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _moderate(form: Form) -> Form:
    """A form at points that are not so large that it would take thousands of digits."""
    return _inside(form, -1e6, 1e6)


def _cylinder(f: Form, g: Form, sign: int) -> tuple[Reference, Reference]:
    """Functions of Bessel of orders 0 and 1, where f' = sign g and g' = f - g / x."""

    def slope(x: Number) -> Number:
        return f(x) - g(x) / x

    def second(x: Number) -> Number:
        return sign * g(x) - slope(x) / x + g(x) / x**2

    zeroth = (f, lambda x: sign * g(x), lambda x: sign * slope(x))
    return Reference(*map(_moderate, zeroth)), Reference(*map(_moderate, (g, slope, second)))


_J = _cylinder(lambda x: mp.besselj(0, x), lambda x: mp.besselj(1, x), -1)
_Y = _cylinder(
    _inside(lambda x: mp.bessely(0, x), 0, _INF), _inside(lambda x: mp.bessely(1, x), 0, _INF), -1
)
_I = _cylinder(lambda x: mp.besseli(0, x), lambda x: mp.besseli(1, x), 1)


def _scaled_i(combine: Callable[[Number, Number, Number], Number], parity: int) -> Form:
    """A combination of |x| and of exp(-|x|) times I_0 and I_1 there."""

    def form(x: Number) -> Number:
        size = abs(x)
        zeroth, first = (mp.exp(-size) * mp.besseli(order, size) for order in (0, 1))
        found = combine(size, zeroth, first)
        return found * mp.sign(x) if parity else found

    return _moderate(form)


def _of_k(combine: Callable[[Number, Number, Number], Number], scaled: bool) -> Form:
    """A combination of x and of K_0 and K_1 there, times exp(x) if scaled."""

    def form(x: Number) -> Number:
        factor = mp.exp(x) if scaled else mpf(1)
        return combine(x, factor * mp.besselk(0, x), factor * mp.besselk(1, x))

    return _inside(form, 0, 1e6)


def _polygamma(order: int) -> Form:
    return lambda x: mp.psi(order, x)


def _quantile(sign: int) -> tuple[Form, Form, Form]:
    """The inverse of erf or of erfc."""

    def value(x: Number) -> Number:
        return mp.erfinv(x if sign > 0 else 1 - x)

    def slope(y: Number) -> Number:
        return sign * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)

    return value, lambda x: slope(value(x)), lambda x: 2 * value(x) * slope(value(x)) ** 2


def _first_kind(m: Number) -> tuple[Number, Number, Number]:
    """K(m) and its derivatives."""
    value = mp.ellipk(m)
    first = (mp.ellipe(m) - (1 - m) * value) / (2 * m * (1 - m))
    return value, first, (value / 4 - (1 - 2 * m) * first) / (m * (1 - m))


def _second_kind(m: Number) -> tuple[Number, Number, Number]:
    """E(m) and its derivatives."""
    value, (other, slope, _) = mp.ellipe(m), _first_kind(m)
    first = (value - other) / (2 * m)
    return value, first, (first - slope) / (2 * m) - (value - other) / (2 * m * m)


def _elliptic(kind: Callable[[Number], tuple[Number, Number, Number]]) -> tuple[Form, Form, Form]:
    return lambda m: kind(m)[0], lambda m: kind(m)[1], lambda m: kind(m)[2]


def _complement() -> tuple[Form, Form, Form]:
    value, first, second = _elliptic(_first_kind)
    return lambda p: value(1 - p), lambda p: -first(1 - p), lambda p: second(1 - p)


def _omega(x: Number) -> Number:
    return mp.lambertw(mp.exp(x))


def _omega_second(x: Number) -> Number:
    return _omega(x) / (1 + _omega(x)) ** 3


NUMPY: dict[str, Reference] = {
    "exp": Reference(mp.exp, mp.exp, mp.exp),
    "exp2": Reference(lambda x: 2**x, lambda x: mp.ln2 * 2**x, lambda x: mp.ln2**2 * 2**x),
    "expm1": Reference(mp.expm1, mp.exp, mp.exp),
    "log": _positive(_log, lambda x: 1 / x, lambda x: -1 / x**2),
    "log2": _positive(
        lambda x: mp.log(x) / mp.ln2, lambda x: 1 / (x * mp.ln2), lambda x: -1 / (x**2 * mp.ln2)
    ),
    "log10": _positive(
        lambda x: mp.log(x) / mp.ln10, lambda x: 1 / (x * mp.ln10), lambda x: -1 / (x**2 * mp.ln10)
    ),
    "log1p": Reference(
        *(
            _inside(form, -1, _INF)
            for form in (mp.log1p, lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2)
        )
    ),
    "sqrt": _positive(mp.sqrt, lambda x: 1 / (2 * mp.sqrt(x)), lambda x: -1 / (4 * x * mp.sqrt(x))),
    "cbrt": Reference(
        lambda x: mp.sign(x) * mp.cbrt(abs(x)),
        lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2),
        lambda x: -2 / (9 * x * mp.cbrt(abs(x)) ** 2),
    ),
    "square": Reference(lambda x: x * x, lambda x: 2 * x, lambda x: mpf(2)),
    "reciprocal": Reference(lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3),
    "sin": Reference(mp.sin, mp.cos, lambda x: -mp.sin(x)),
    "cos": Reference(mp.cos, lambda x: -mp.sin(x), lambda x: -mp.cos(x)),
    "tan": Reference(mp.tan, lambda x: mp.sec(x) ** 2, lambda x: 2 * mp.tan(x) * mp.sec(x) ** 2),
    "arcsin": _unit(
        mp.asin, lambda x: 1 / mp.sqrt(1 - x * x), lambda x: x / mp.sqrt(1 - x * x) ** 3
    ),
    "arccos": _unit(
        mp.acos, lambda x: -1 / mp.sqrt(1 - x * x), lambda x: -x / mp.sqrt(1 - x * x) ** 3
    ),
    "arctan": Reference(mp.atan, lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2),
    "sinh": Reference(mp.sinh, mp.cosh, mp.sinh),
    "cosh": Reference(mp.cosh, mp.sinh, mp.cosh),
    "tanh": Reference(mp.tanh, lambda x: _sech(x) ** 2, lambda x: -2 * mp.tanh(x) * _sech(x) ** 2),
    "arcsinh": Reference(
        mp.asinh, lambda x: 1 / mp.sqrt(1 + x * x), lambda x: -x / mp.sqrt(1 + x * x) ** 3
    ),
    "arccosh": Reference(
        *(
            _inside(form, 1, _INF)
            for form in (
                mp.acosh,
                lambda x: 1 / mp.sqrt(x * x - 1),
                lambda x: -x / mp.sqrt(x * x - 1) ** 3,
            )
        )
    ),
    "arctanh": _unit(mp.atanh, lambda x: 1 / (1 - x * x), lambda x: 2 * x / (1 - x * x) ** 2),
    "sinc": Reference(_inside(lambda x: mp.sinc(mp.pi * x), -1e6, 1e6)),
}


def _two_over_root_pi() -> Number:
    return 2 / mp.sqrt(mp.pi)


SPECIAL: dict[str, Reference] = {
    "expit": Reference(_logistic, _density, lambda x: -mp.tanh(x / 2) * _density(x)),
    "log_expit": Reference(
        lambda x: -_softplus(-x), lambda x: _logistic(-x), lambda x: -_density(x)
    ),
    "logit": _unit(
        lambda x: mp.log(x / (1 - x)),
        lambda x: 1 / (x * (1 - x)),
        lambda x: (2 * x - 1) / (x * (1 - x)) ** 2,
        low=0,
    ),
    "exprel": Reference(
        lambda x: mp.expm1(x) / x if x else mpf(1),
        lambda x: mp.hyp1f1(2, 3, x) / 2,
        lambda x: mp.hyp1f1(3, 4, x) / 3,
    ),
    "exp10": Reference(
        lambda x: mpf(10) ** x,
        lambda x: mp.ln10 * mpf(10) ** x,
        lambda x: mp.ln10**2 * mpf(10) ** x,
    ),
    "cosm1": Reference(
        lambda x: -2 * mp.sin(x / 2) ** 2, lambda x: -mp.sin(x), lambda x: -mp.cos(x)
    ),
    "sindg": _degrees(mp.sin, mp.cos, lambda x: -mp.sin(x)),
    "cosdg": _degrees(mp.cos, lambda x: -mp.sin(x), lambda x: -mp.cos(x)),
    "tandg": _degrees(mp.tan, lambda x: mp.sec(x) ** 2, lambda x: 2 * mp.tan(x) * mp.sec(x) ** 2),
    "cotdg": _degrees(
        mp.cot, lambda x: -(mp.csc(x) ** 2), lambda x: 2 * mp.cot(x) * mp.csc(x) ** 2
    ),
    "entr": _positive(lambda x: -x * mp.log(x), lambda x: -mp.log(x) - 1, lambda x: -1 / x),
    "erf": Reference(
        mp.erf,
        lambda x: _two_over_root_pi() * mp.exp(-x * x),
        lambda x: -2 * x * _two_over_root_pi() * mp.exp(-x * x),
    ),
    "erfc": Reference(
        mp.erfc,
        lambda x: -_two_over_root_pi() * mp.exp(-x * x),
        lambda x: 2 * x * _two_over_root_pi() * mp.exp(-x * x),
    ),
    "erfi": Reference(
        mp.erfi,
        lambda x: _two_over_root_pi() * mp.exp(x * x),
        lambda x: 2 * x * _two_over_root_pi() * mp.exp(x * x),
    ),
    "erfcx": Reference(
        _erfcx,
        lambda x: 2 * x * _erfcx(x) - _two_over_root_pi(),
        lambda x: (2 + 4 * x * x) * _erfcx(x) - 2 * x * _two_over_root_pi(),
    ),
    "dawsn": Reference(
        _dawson,
        lambda x: 1 - 2 * x * _dawson(x),
        lambda x: (4 * x * x - 2) * _dawson(x) - 2 * x,
    ),
    "erfinv": _unit(*_quantile(1)),
    "erfcinv": _unit(*(_inside(form, 1e-60, 1) for form in _quantile(-1)), low=0),
    "ndtr": Reference(mp.ncdf, _normal, lambda x: -x * _normal(x)),
    "log_ndtr": Reference(_log_normal, _hazard, lambda x: -_hazard(x) * (x + _hazard(x))),
    "gamma": Reference(
        *(
            _inside(form, -50, 1e6)
            for form in (
                mp.gamma,
                lambda x: mp.gamma(x) * mp.psi(0, x),
                lambda x: mp.gamma(x) * (mp.psi(0, x) ** 2 + mp.psi(1, x)),
            )
        )
    ),
    "gammaln": _positive(mp.loggamma, _polygamma(0), _polygamma(1)),
    "rgamma": Reference(
        *(
            _inside(form, -50, 1e6)
            for form in (
                mp.rgamma,
                lambda x: -mp.psi(0, x) * mp.rgamma(x),
                lambda x: (mp.psi(0, x) ** 2 - mp.psi(1, x)) * mp.rgamma(x),
            )
        )
    ),
    "psi": Reference(*(_inside(_polygamma(order), -50, _INF) for order in (0, 1, 2))),
    "j0": _J[0],
    "j1": _J[1],
    "y0": _Y[0],
    "y1": _Y[1],
    "i0": _I[0],
    "i1": _I[1],
    "i0e": Reference(
        _scaled_i(lambda x, f, g: f, 0),
        _scaled_i(lambda x, f, g: g - f, 1),
        _scaled_i(lambda x, f, g: 2 * f - 2 * g - g / x, 0),
    ),
    "i1e": Reference(
        _scaled_i(lambda x, f, g: g, 1),
        _scaled_i(lambda x, f, g: f - g - g / x, 0),
        _scaled_i(lambda x, f, g: (2 + 2 / x + 2 / x**2) * g - (2 + 1 / x) * f, 1),
    ),
    "k0": Reference(
        _of_k(lambda x, f, g: f, False),
        _of_k(lambda x, f, g: -g, False),
        _of_k(lambda x, f, g: f + g / x, False),
    ),
    "k1": Reference(
        _of_k(lambda x, f, g: g, False),
        _of_k(lambda x, f, g: -f - g / x, False),
        _of_k(lambda x, f, g: g * (1 + 2 / x**2) + f / x, False),
    ),
    "k0e": Reference(
        _of_k(lambda x, f, g: f, True),
        _of_k(lambda x, f, g: f - g, True),
        _of_k(lambda x, f, g: 2 * f - 2 * g + g / x, True),
    ),
    "k1e": Reference(
        _of_k(lambda x, f, g: g, True),
        _of_k(lambda x, f, g: g - f - g / x, True),
        _of_k(lambda x, f, g: (2 + 2 / x**2 - 2 / x) * g + (1 / x - 2) * f, True),
    ),
    "ellipk": Reference(*(_inside(form, -_INF, 1) for form in _elliptic(_first_kind))),
    "ellipkm1": Reference(*(_inside(form, 1e-60, _INF) for form in _complement())),
    "ellipe": Reference(*(_inside(form, -_INF, 1) for form in _elliptic(_second_kind))),
    "expi": Reference(mp.ei, lambda x: mp.exp(x) / x, lambda x: mp.exp(x) * (x - 1) / x**2),
    "exp1": _positive(mp.e1, lambda x: -mp.exp(-x) / x, lambda x: mp.exp(-x) * (x + 1) / x**2),
    "spence": _positive(
        lambda x: mp.polylog(2, 1 - x),
        lambda x: mp.log(x) / (1 - x),
        lambda x: 1 / (x * (1 - x)) + mp.log(x) / (1 - x) ** 2,
    ),
    "wrightomega": Reference(
        *(_moderate(form) for form in (_omega, lambda x: 1 - 1 / (1 + _omega(x)), _omega_second))
    ),
}


def _log_sum(other: float) -> Reference:
    return Reference(
        lambda x: mpf(other) + _softplus(x - mpf(other)),
        lambda x: _logistic(x - mpf(other)),
        lambda x: _density(x - mpf(other)),
    )


def _hypotenuse(y: float) -> Reference:
    def radius(x: Number) -> Number:
        return mp.sqrt(x * x + mpf(y) ** 2)

    return Reference(radius, lambda x: x / radius(x), lambda x: mpf(y) ** 2 / radius(x) ** 3)


def _power(y: float) -> Reference:
    return _positive(
        lambda x: x ** mpf(y),
        lambda x: y * x ** (mpf(y) - 1),
        lambda x: mpf(y) * (mpf(y) - 1) * x ** (mpf(y) - 2),
    )


# Of several arguments, with all but one held fixed; and what is made of several functions.
COMPOSED: dict[str, Reference] = {
    "log(1 + exp(x))": _SOFTPLUS,
    "log1p(exp(x))": _SOFTPLUS,
    "softplus(x)": _SOFTPLUS,
    "log(cosh(x))": Reference(lambda x: mp.log(mp.cosh(x)), mp.tanh, lambda x: _sech(x) ** 2),
    "logaddexp(x, 1.5)": _log_sum(1.5),
    "logaddexp(1.5, x)": _log_sum(1.5),
    "hypot(x, 1)": _hypotenuse(1.0),
    "hypot(1e-9, x)": _hypotenuse(1e-9),
    "arctan2(x, 1.5)": Reference(
        lambda x: mp.atan2(x, 1.5),
        lambda x: 1.5 / (2.25 + x * x),
        lambda x: -3 * x / (2.25 + x * x) ** 2,
    ),
    "arctan2(1.5, x)": Reference(
        lambda x: mp.atan2(1.5, x),
        lambda x: -1.5 / (2.25 + x * x),
        lambda x: 3 * x / (2.25 + x * x) ** 2,
    ),
    "power(x, 2.5)": _power(2.5),
    "power(x, -0.5)": _power(-0.5),
    "power(2.5, x)": Reference(
        lambda x: mpf(2.5) ** x,
        lambda x: mp.log(2.5) * mpf(2.5) ** x,
        lambda x: mp.log(2.5) ** 2 * mpf(2.5) ** x,
    ),
    "xlogy(2.5, x)": _positive(lambda x: 2.5 * mp.log(x), lambda x: 2.5 / x, lambda x: -2.5 / x**2),
    "xlog1py(2.5, x)": Reference(
        *(
            _inside(form, -1, _INF)
            for form in (
                lambda x: 2.5 * mp.log1p(x),
                lambda x: 2.5 / (1 + x),
                lambda x: -2.5 / (1 + x) ** 2,
            )
        )
    ),
    "betaln(2.5, x)": _positive(
        lambda x: mp.loggamma(x) + mp.loggamma(2.5) - mp.loggamma(x + 2.5),
        lambda x: mp.psi(0, x) - mp.psi(0, x + 2.5),
        lambda x: mp.psi(1, x) - mp.psi(1, x + 2.5),
    ),
}
