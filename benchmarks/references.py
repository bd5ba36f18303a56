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


def inside(form: Form, low: float, high: float) -> Form:
    """A form within an interval, its ends included if it is finite there."""

    def checked(x: Number) -> Number:
        if not low <= x <= high:
            raise ValueError
        return form(x)

    return checked


INFINITY = float("inf")


def positive(value: Form, *slopes: Form) -> Reference:
    return Reference(*(inside(each, 0, INFINITY) for each in (value, *slopes)))


def unit(value: Form, *slopes: Form, low: float = -1) -> Reference:
    return Reference(*(inside(each, low, 1) for each in (value, *slopes)))


def logistic(x: Number) -> Number:
    return 1 / (1 + mp.exp(-x))


def density(x: Number) -> Number:
    return logistic(x) * logistic(-x)


def softplus(x: Number) -> Number:
    return mp.log1p(mp.exp(x))


_SOFTPLUS = Reference(softplus, logistic, density)


def _sech(x: Number) -> Number:
    return mp.sech(x)


NUMPY: dict[str, Reference] = {
    "exp": Reference(mp.exp, mp.exp, mp.exp),
    "exp2": Reference(lambda x: 2**x, lambda x: mp.ln2 * 2**x, lambda x: mp.ln2**2 * 2**x),
    "expm1": Reference(mp.expm1, mp.exp, mp.exp),
    "log": positive(_log, lambda x: 1 / x, lambda x: -1 / x**2),
    "log2": positive(
        lambda x: mp.log(x) / mp.ln2, lambda x: 1 / (x * mp.ln2), lambda x: -1 / (x**2 * mp.ln2)
    ),
    "log10": positive(
        lambda x: mp.log(x) / mp.ln10, lambda x: 1 / (x * mp.ln10), lambda x: -1 / (x**2 * mp.ln10)
    ),
    "log1p": Reference(
        *(
            inside(form, -1, INFINITY)
            for form in (mp.log1p, lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2)
        )
    ),
    "sqrt": positive(mp.sqrt, lambda x: 1 / (2 * mp.sqrt(x)), lambda x: -1 / (4 * x * mp.sqrt(x))),
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
    "arcsin": unit(
        mp.asin, lambda x: 1 / mp.sqrt(1 - x * x), lambda x: x / mp.sqrt(1 - x * x) ** 3
    ),
    "arccos": unit(
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
            inside(form, 1, INFINITY)
            for form in (
                mp.acosh,
                lambda x: 1 / mp.sqrt(x * x - 1),
                lambda x: -x / mp.sqrt(x * x - 1) ** 3,
            )
        )
    ),
    "arctanh": unit(mp.atanh, lambda x: 1 / (1 - x * x), lambda x: 2 * x / (1 - x * x) ** 2),
    "sinc": Reference(inside(lambda x: mp.sinc(mp.pi * x), -1e6, 1e6)),
}


def _log_sum(other: float) -> Reference:
    return Reference(
        lambda x: mpf(other) + softplus(x - mpf(other)),
        lambda x: logistic(x - mpf(other)),
        lambda x: density(x - mpf(other)),
    )


def _hypotenuse(y: float) -> Reference:
    def radius(x: Number) -> Number:
        return mp.sqrt(x * x + mpf(y) ** 2)

    return Reference(radius, lambda x: x / radius(x), lambda x: mpf(y) ** 2 / radius(x) ** 3)


def _power(y: float) -> Reference:
    return positive(
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
    "xlogy(2.5, x)": positive(lambda x: 2.5 * mp.log(x), lambda x: 2.5 / x, lambda x: -2.5 / x**2),
    "xlog1py(2.5, x)": Reference(
        *(
            inside(form, -1, INFINITY)
            for form in (
                lambda x: 2.5 * mp.log1p(x),
                lambda x: 2.5 / (1 + x),
                lambda x: -2.5 / (1 + x) ** 2,
            )
        )
    ),
    "betaln(2.5, x)": positive(
        lambda x: mp.loggamma(x) + mp.loggamma(2.5) - mp.loggamma(x + 2.5),
        lambda x: mp.psi(0, x) - mp.psi(0, x + 2.5),
        lambda x: mp.psi(1, x) - mp.psi(1, x + 2.5),
    ),
}
