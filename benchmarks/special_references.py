"""References of functions of `scipy.special`: see `references.py`."""

from __future__ import annotations

from collections.abc import Callable

from mpmath import mp, mpf

from benchmarks.references import (
    INFINITY,
    Form,
    Number,
    Reference,
    density,
    inside,
    logistic,
    positive,
    softplus,
    unit,
)


def _degrees(value: Form, first: Form, second: Form) -> Reference:
    """Functions of an angle, of degrees."""
    return Reference(
        lambda x: value(x * mp.pi / 180),
        lambda x: first(x * mp.pi / 180) * mp.pi / 180,
        lambda x: second(x * mp.pi / 180) * (mp.pi / 180) ** 2,
    )


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
    return inside(form, -1e6, 1e6)


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
    inside(lambda x: mp.bessely(0, x), 0, INFINITY),
    inside(lambda x: mp.bessely(1, x), 0, INFINITY),
    -1,
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

    return inside(form, 0, 1e6)


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


def _two_over_root_pi() -> Number:
    return 2 / mp.sqrt(mp.pi)


SPECIAL: dict[str, Reference] = {
    "expit": Reference(logistic, density, lambda x: -mp.tanh(x / 2) * density(x)),
    "log_expit": Reference(lambda x: -softplus(-x), lambda x: logistic(-x), lambda x: -density(x)),
    "logit": unit(
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
    "entr": positive(lambda x: -x * mp.log(x), lambda x: -mp.log(x) - 1, lambda x: -1 / x),
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
    "erfinv": unit(*_quantile(1)),
    "erfcinv": unit(*(inside(form, 1e-60, 1) for form in _quantile(-1)), low=0),
    "ndtr": Reference(mp.ncdf, _normal, lambda x: -x * _normal(x)),
    "log_ndtr": Reference(_log_normal, _hazard, lambda x: -_hazard(x) * (x + _hazard(x))),
    "gamma": Reference(
        *(
            inside(form, -50, 1e6)
            for form in (
                mp.gamma,
                lambda x: mp.gamma(x) * mp.psi(0, x),
                lambda x: mp.gamma(x) * (mp.psi(0, x) ** 2 + mp.psi(1, x)),
            )
        )
    ),
    "gammaln": positive(mp.loggamma, _polygamma(0), _polygamma(1)),
    "rgamma": Reference(
        *(
            inside(form, -50, 1e6)
            for form in (
                mp.rgamma,
                lambda x: -mp.psi(0, x) * mp.rgamma(x),
                lambda x: (mp.psi(0, x) ** 2 - mp.psi(1, x)) * mp.rgamma(x),
            )
        )
    ),
    "psi": Reference(*(inside(_polygamma(order), -50, INFINITY) for order in (0, 1, 2))),
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
    "ellipk": Reference(*(inside(form, -INFINITY, 1) for form in _elliptic(_first_kind))),
    "ellipkm1": Reference(*(inside(form, 1e-60, INFINITY) for form in _complement())),
    "ellipe": Reference(*(inside(form, -INFINITY, 1) for form in _elliptic(_second_kind))),
    "expi": Reference(mp.ei, lambda x: mp.exp(x) / x, lambda x: mp.exp(x) * (x - 1) / x**2),
    "exp1": positive(mp.e1, lambda x: -mp.exp(-x) / x, lambda x: mp.exp(-x) * (x + 1) / x**2),
    "spence": positive(
        lambda x: mp.polylog(2, 1 - x),
        lambda x: mp.log(x) / (1 - x),
        lambda x: 1 / (x * (1 - x)) + mp.log(x) / (1 - x) ** 2,
    ),
    "wrightomega": Reference(
        *(_moderate(form) for form in (_omega, lambda x: 1 - 1 / (1 + _omega(x)), _omega_second))
    ),
}
