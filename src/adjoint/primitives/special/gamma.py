"""`scipy.special`: the gamma function and what is made of it, complete and incomplete."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.declaration import EmptySlot, Primitive
from adjoint.primitives.elementwise.accuracy.formulas import choose, formula
from adjoint.primitives.elementwise.accuracy.slopes import fading
from adjoint.primitives.elementwise.declaring import batch_aligned, sum_of_partials
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import bind
from adjoint.primitives.hardness import hard
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.special.declaring import (
    COMPLEX,
    MODULE,
    POSITIVE,
    REAL,
    SPECIAL,
    between,
    call,
    row,
)
from adjoint.primitives.special.quadrature import (
    beta_density,
    beta_moment,
    declare,
    gamma_density,
    gamma_moment,
)
from adjoint.primitives.typing_rules import broadcast_shape, promoted, resolve
from adjoint.program import Literal

_ORDER_OF_ZETA = EmptySlot("with respect to the exponent of zeta no closed form is known")


def _psi_slope(x: Any, y: Any) -> Any:
    # psi' is the trigamma function, zeta(2, x).
    if x.dtype.kind == "c":
        return bind(_COMPLEX_ZETA, x, s=2)
    return fading(call("zeta", 2.0, x), x)


def _complex_zeta(x: Any, s: int) -> Any:
    """sum_k (x + k)^-s by the formula of Euler and Maclaurin; SciPy has it for real x alone."""
    count = 16 + max(0, int(np.ceil(-np.min(x.real, initial=0.0))))
    total = sum((x + k) ** -s for k in range(count))
    last = x + count
    total = total + last ** (1 - s) / (s - 1) + 0.5 * last**-s
    factor = 1.0
    for j, number in enumerate(_BERNOULLI, 1):  # B_2j / (2 j)! s (s + 1) ... (s + 2 j - 2)
        factor *= (s + 2 * j - 3) * (s + 2 * j - 2) if j > 1 else s
        total = total + number / math.factorial(2 * j) * factor * last ** (1 - s - 2 * j)
    return total


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_COMPLEX_ZETA: Primitive = declare(
    "complex_zeta",
    _complex_zeta,
    lambda place, operands, y, s: -s * bind(_COMPLEX_ZETA, *operands, s=s + 1),
    (sample(*COMPLEX, s=2),),
)


def _rgamma_slope(x: Any, y: Any) -> Any:
    """-psi(x) / Gamma(x), for small x by the reflection formula: finite at the poles of Gamma."""
    if x.dtype.kind == "c":
        return -y * call("psi", x)
    small = np.less(x, 0.5)
    far = 1 - select(small, x, 0.0)
    angle = math.pi * x
    reflected = call("gamma", far) * (np.cos(angle) - call("psi", far) * np.sin(angle) / math.pi)
    return select(small, reflected, -y * call("psi", select(small, 1.0, x)))


def _digamma(x: Any) -> Any:
    """psi; for negative x reflected, with the distance from the pole as it is."""
    psi, below = resolve(SPECIAL["psi"].ufunc), np.less(x, 0)
    turned = psi(1 - choose(below, x, 0.0))
    distance = x - np.rint(x)
    return choose(below, turned - math.pi / np.tan(math.pi * distance), psi(choose(below, 1.0, x)))


DIGAMMA = formula(
    "digamma_reflected", _digamma, _psi_slope, samples=(sample(*POSITIVE),), wide=True
)


def _gamma_slope(x: Any, y: Any) -> Any:
    return y * (call("psi", x) if x.dtype.kind == "c" else DIGAMMA(x))


row("gamma", _gamma_slope, on=POSITIVE, also=(COMPLEX,))
row("gammaln", lambda x, y: call("psi", x), on=POSITIVE)
row("loggamma", lambda x, y: call("psi", x), on=POSITIVE, also=(COMPLEX,))
row("rgamma", _rgamma_slope, on=POSITIVE, also=((between(-2.3, -1.7),), COMPLEX))
row("psi", _psi_slope, on=POSITIVE, also=(COMPLEX,))
row("gammasgn", lambda x, y: 0, on=REAL)
row("zetac", _ORDER_OF_ZETA, on=(between(2.0, 3.0),))
row(
    "_riemann_zeta",  # in SciPy, `zeta` of one argument is a function around it
    _ORDER_OF_ZETA,
    on=(between(-2.5, 3.0),),
    also=(COMPLEX,),
    module=f"{MODULE}._ufuncs",
)


def _zeta(s: Any, x: Any) -> Any:
    # In SciPy this one is a function around two ufuncs, not a ufunc.
    return import_module(MODULE).zeta(s, x)


def _zeta_type(s: ArrayType, x: ArrayType) -> ArrayType:
    example = _zeta(np.full(1, 2, promoted(s, x)), np.ones(1, promoted(s, x)))
    return array_type(broadcast_shape("zeta", s.shape, x.shape), example.dtype)


def _zeta_slope(s: Any, x: Any, y: Any) -> Any:
    # d/dx zeta(s, x) = -s zeta(s + 1, x)
    if isinstance(s.atom, Literal):  # a Python number again, which does not widen x
        s = s.atom.value
    return -s * call("zeta", s + 1, x)


SPECIAL["zeta"] = Primitive(
    "zeta",
    infer=_zeta_type,
    evaluate=_zeta,
    linear=None,
    derivative=sum_of_partials("zeta", (_ORDER_OF_ZETA, _zeta_slope)),
    batch=batch_aligned("zeta"),
    samples=(sample(draw(4, low=2, high=3), draw(4, low=0.5, high=2), constant=(0,)),),
)

_TWO = (draw(4, low=0.5, high=4), draw(4, low=0.5, high=4))
row(
    "beta",
    lambda a, b, y: y * (call("psi", a) - call("psi", a + b)),
    lambda a, b, y: y * (call("psi", b) - call("psi", a + b)),
    on=_TWO,
)
row(
    "betaln",
    lambda a, b, y: call("psi", a) - call("psi", a + b),
    lambda a, b, y: call("psi", b) - call("psi", a + b),
    on=_TWO,
)


def _is_pole(x: Any) -> Any:
    return np.less_equal(x, 0) & np.equal(x, np.floor(x))


def _binom_slope(n: Any, k: Any, y: Any, place: int) -> Any:
    """Of Gamma(n + 1) / (Gamma(k + 1) Gamma(n - k + 1)); psi is infinite where it is 0."""
    factors = (k + 1, n - k + 1)
    zero = _is_pole(factors[0]) | _is_pole(factors[1])
    one, other = (select(zero, 1.0, x) for x in factors)
    first = n + 1 if place == 0 else other
    usual = y * (call("psi", first) - call("psi", other if place == 0 else one))
    one, other = (select(zero, x, 1.0) for x in factors)
    ones, others = call("rgamma", one), call("rgamma", other)
    turned, top = ones * _rgamma_slope(other, others), select(zero, n + 1, 1.0)
    if place == 0:  # with a term that is 0, and whose derivative is not
        return select(zero, call("gamma", top) * turned + y * call("psi", top), usual)
    turned = _rgamma_slope(one, ones) * others - turned
    return select(zero, call("gamma", top) * turned, usual)


def _poch_slope(z: Any, m: Any, y: Any) -> Any:
    """Of Gamma(z + m) / Gamma(z); at poles of both, for whole m, by reflection."""
    zero = _is_pole(z)
    both = zero & _is_pole(z + m)
    only = zero & ~both
    safe = select(zero, 1.0, z)
    usual = call("psi", select(zero, 1.0, z + m)) - call("psi", safe)
    mirror = select(both, 1 - z, 1.0)
    reflected = call("psi", select(both, 1 - z - m, 1.0)) - call("psi", mirror)
    pole = select(only, z, 1.0)
    top = select(only, z + m, 1.0)
    turned = call("gamma", top) * _rgamma_slope(pole, call("rgamma", pole)) + y * call("psi", top)
    return select(only, turned, y * select(both, reflected, usual))


row(
    "binom",
    lambda n, k, y: _binom_slope(n, k, y, 0),
    lambda n, k, y: _binom_slope(n, k, y, 1),
    on=(between(3.0, 4.0), between(0.6, 2.0)),
    order=2,
)
row(
    "poch",
    _poch_slope,
    lambda z, m, y: y * call("psi", z + m),
    on=(between(0.6, 4.0), between(0.6, 2.0)),
    order=2,
)

# --- incomplete gamma functions P and Q -----------------------------------------------------------


# The slope of P(a, x) in a at a = 0, where P is 1; its own slope there has no closed form.
_AT_ZERO = formula(
    "gammainc_slope_at_zero",
    lambda a, x: -resolve(SPECIAL["exp1"].ufunc)(x) + 0 * a,
    lambda a, x, y: np.nan,
    lambda a, x, y: np.exp(-x) / x,
    samples=EmptySlot("at a = 0 alone; tests/primitives/test_special_points.py goes there"),
    like=np.hypot,
    wide=True,
)


def gammainc_in_a(a: Any, x: Any) -> Any:
    """The derivative of P(a, x) with respect to a, from the side where nothing cancels."""
    zero = np.equal(a, 0)
    inner = _gammainc_in_a(select(zero, 1.0, a), x)
    return select(zero, _AT_ZERO(select(zero, a, 0.0), x), inner)


def _gammainc_in_a(a: Any, x: Any) -> Any:
    lower, mean = np.less(x, a), call("psi", a)
    sides = []
    for upper in (False, True):
        first, none = (gamma_moment(a, x, power, upper) for power in (1, 0))
        sides.append(first - mean * none)
    return select(lower, sides[0], -sides[1])


row(
    "gammainc",
    lambda a, x, y: gammainc_in_a(a, x),
    lambda a, x, y: gamma_density(a, x),
    on=(between(1.0, 3.0), between(0.5, 4.0)),
)
row(
    "gammaincc",
    lambda a, x, y: -gammainc_in_a(a, x),
    lambda a, x, y: -gamma_density(a, x),
    on=(between(1.0, 3.0), between(0.5, 4.0)),
)


def over_density(slope: Any, density: Any) -> Any:
    """-slope / density; 0 at the ends, where the quantile stays and both are 0."""
    return -(hard(slope) / density)


row(
    "gammaincinv",
    lambda a, p, x: over_density(gammainc_in_a(a, x), gamma_density(a, x)),
    lambda a, p, x: 1 / gamma_density(a, x),
    on=(between(1.0, 3.0), between(0.2, 0.8)),
)
row(
    "gammainccinv",
    lambda a, q, x: over_density(gammainc_in_a(a, x), gamma_density(a, x)),
    lambda a, q, x: -1 / gamma_density(a, x),
    on=(between(1.0, 3.0), between(0.2, 0.8)),
)

# --- the incomplete beta function I ---------------------------------------------------------------


def betainc_in(place: int, a: Any, b: Any, x: Any) -> Any:
    """The derivative of I_x(a, b) with respect to a (place 0) or b (place 1).

    Beyond the mean by I_x(a, b) = 1 - I_{1-x}(b, a).
    """
    lower = np.less(x * (a + b), a)
    drift = call("psi", (a, b)[place]) - call("psi", a + b)
    near = select(lower, x, 0.5)
    far = select(lower, 0.5, 1 - x)
    raised = (1, 0) if place == 0 else (0, 1)
    one = beta_moment(a, b, near, raised) - drift * beta_moment(a, b, near, (0, 0))
    other = beta_moment(b, a, far, raised[::-1]) - drift * beta_moment(b, a, far, (0, 0))
    return select(lower, one, -other)


_BETA = (between(1.0, 3.0), between(1.0, 3.0), between(0.15, 0.85))
row(
    "betainc",
    lambda a, b, x, y: betainc_in(0, a, b, x),
    lambda a, b, x, y: betainc_in(1, a, b, x),
    lambda a, b, x, y: beta_density(a, b, x),
    on=_BETA,
)
row(
    "betaincc",
    lambda a, b, x, y: -betainc_in(0, a, b, x),
    lambda a, b, x, y: -betainc_in(1, a, b, x),
    lambda a, b, x, y: -beta_density(a, b, x),
    on=_BETA,
)
for _name, _sign in (("betaincinv", 1), ("betainccinv", -1)):
    row(
        _name,
        lambda a, b, p, x: over_density(betainc_in(0, a, b, x), beta_density(a, b, x)),
        lambda a, b, p, x: over_density(betainc_in(1, a, b, x), beta_density(a, b, x)),
        lambda a, b, p, x, sign=_sign: sign / beta_density(a, b, x),
        on=_BETA,
    )
