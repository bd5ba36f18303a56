"""`scipy.special`: distribution functions and their inverses.

The slope of a distribution function is its density, and an inverse's follows from the implicit
function theorem.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.primitives.declaration import EmptySlot
from adjoint.primitives.elementwise.declaring import scale
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.hardness import hard
from adjoint.primitives.special.declaring import (
    COUNT,
    between,
    call,
    constant_number,
    row,
    shifted,
)
from adjoint.primitives.special.elementary import boxcox_slope
from adjoint.primitives.special.errors import ROOT_TWO_PI
from adjoint.primitives.special.gamma import betainc_in, gammainc_in_a
from adjoint.primitives.special.quadrature import beta_density, gamma_density

_DEGREES = EmptySlot("with respect to degrees of freedom no closed form is known")
_NONCENTRAL = EmptySlot("no closed form is known for this noncentral distribution")
# Samples of order 2: the formulas of higher derivatives grow fast.
_INVERSE = EmptySlot("the function that it inverts has no closed derivative in what is found")
_STEPS = EmptySlot("no closed form in functions of SciPy is known")

_SOLVED = 1e-6  # how far a probability may be from the one whose place was asked for

_SHAPE = between(1.5, 3.0)
_SHAPES = between(2.0, 4.0)
_PART = between(0.2, 0.8)
_LINE = between(0.6, 2.5)

# --- gamma: P(b, a x) -----------------------------------------------------------------------------


def _gamma_in_factor(a: Any, b: Any, x: Any) -> Any:
    """The slope x density(a x) in a; the one in x, with a and x in turn.

    At x = 0 it is 0 whatever the density is, since nothing depends on a there.
    """
    return scale(hard(x), gamma_density(b, a * x))


for _name, _sign in (("gdtr", 1), ("gdtrc", -1)):
    row(
        _name,
        lambda a, b, x, y, sign=_sign: sign * _gamma_in_factor(a, b, x),
        lambda a, b, x, y, sign=_sign: sign * gammainc_in_a(b, a * x),
        lambda a, b, x, y, sign=_sign: sign * _gamma_in_factor(x, b, a),
        on=(between(0.8, 1.5), _SHAPE, _LINE),
    )


def _rate(p: Any, b: Any, x: Any, a: Any) -> Any:
    return 1 / (x * gamma_density(b, a * x))


row(
    "gdtria",
    _rate,
    lambda p, b, x, a: -gammainc_in_a(b, a * x) * _rate(p, b, x, a),
    lambda p, b, x, a: -a / x,
    on=(_PART, _SHAPE, _LINE),
)
row(
    "gdtrib",
    lambda a, p, x, b: -x * gamma_density(b, a * x) / gammainc_in_a(b, a * x),
    lambda a, p, x, b: 1 / gammainc_in_a(b, a * x),
    lambda a, p, x, b: -a * gamma_density(b, a * x) / gammainc_in_a(b, a * x),
    on=(between(0.8, 1.5), _PART, _LINE),
    order=2,
)
row(
    "gdtrix",
    lambda a, b, p, x: -x / a,
    lambda a, b, p, x: -gammainc_in_a(b, a * x) / (a * gamma_density(b, a * x)),
    lambda a, b, p, x: 1 / (a * gamma_density(b, a * x)),
    on=(between(0.8, 1.5), _SHAPE, _PART),
)

# --- chi-square: P(v / 2, x / 2) ------------------------------------------------------------------


def _chi_density(v: Any, x: Any) -> Any:
    return 0.5 * gamma_density(0.5 * v, 0.5 * x)


def _chi_in_v(v: Any, x: Any) -> Any:
    return 0.5 * gammainc_in_a(0.5 * v, 0.5 * x)


for _name, _sign in (("chdtr", 1), ("chdtrc", -1)):
    row(
        _name,
        lambda v, x, y, sign=_sign: sign * _chi_in_v(v, x),
        lambda v, x, y, sign=_sign: sign * _chi_density(v, x),
        on=(_SHAPES, between(1.0, 5.0)),
    )
row(
    "chdtri",
    lambda v, q, x: -_chi_in_v(v, x) / _chi_density(v, x),
    lambda v, q, x: -1 / _chi_density(v, x),
    on=(_SHAPES, _PART),
)
row(
    "chdtriv",
    lambda p, x, v: 1 / _chi_in_v(v, x),
    lambda p, x, v: -_chi_density(v, x) / _chi_in_v(v, x),
    on=(_PART, between(1.0, 5.0)),
    order=2,
)


def _noncentral_chi(df: Any, by: int, nc: Any, x: Any) -> Any:
    """The derivative of the distribution function; of df + by degrees of freedom.

    exp(-(x + nc) / 2) (x / nc)^(k / 4 - 1 / 2) I_{k/2-1}(sqrt(nc x)) / 2, written as the
    hypergeometric function that it is, so that nc may be 0.
    """
    half = 0.5 * shifted(df, by)
    power = call("xlogy", half - 1, 0.5 * x) - 0.5 * (x + nc) - call("gammaln", half)
    return 0.5 * np.exp(power) * call("hyp0f1", half, 0.25 * nc * x)


row(
    "chndtr",
    lambda x, df, nc, y: _noncentral_chi(df, 0, nc, x),
    _DEGREES,
    lambda x, df, nc, y: -_noncentral_chi(df, 2, nc, x),
    on=(between(1.0, 5.0), _SHAPES, between(0.5, 2.0)),
)
row(
    "chndtrix",
    lambda p, df, nc, x: 1 / _noncentral_chi(df, 0, nc, x),
    _DEGREES,
    lambda p, df, nc, x: _noncentral_chi(df, 2, nc, x) / _noncentral_chi(df, 0, nc, x),
    on=(_PART, _SHAPES, between(0.5, 2.0)),
)
row("chndtridf", _INVERSE, _INVERSE, _INVERSE, on=(between(1.0, 5.0), _PART, _SHAPES))


def _solved(slope: Any, reached: Any, wanted: Any, otherwise: float = 0.0) -> Any:
    """The slope of a solution; zero where SciPy has none, and gives an end of the range."""
    return select(np.less(np.absolute(reached - wanted), _SOLVED), slope, otherwise)


def _solved_by_nc(slope: Any, x: Any, df: Any, p: Any, nc: Any) -> Any:
    """There SciPy gives a tiny number, which is no end of anything, and has no slope."""
    return _solved(slope, call("chndtr", x, df, nc), p, np.nan)


row(
    "chndtrinc",
    lambda x, df, p, nc: _solved_by_nc(
        _noncentral_chi(df, 0, nc, x) / _noncentral_chi(df, 2, nc, x), x, df, p, nc
    ),
    _DEGREES,
    lambda x, df, p, nc: _solved_by_nc(-1 / _noncentral_chi(df, 2, nc, x), x, df, p, nc),
    on=(between(4.0, 5.0), _SHAPE, between(0.3, 0.5)),
)

# --- Poisson: Q(k + 1, m), with k rounded down ----------------------------------------------------


def _poisson(k: Any, m: Any) -> Any:
    return gamma_density(np.floor(shifted(k, 0) + 1.0), m)


_K = constant_number(2.0)
row("pdtr", COUNT, lambda k, m, y: -_poisson(k, m), on=(_K, _LINE))
row("pdtrc", COUNT, lambda k, m, y: _poisson(k, m), on=(_K, _LINE))
row("pdtri", COUNT, lambda k, y, m: -1 / _poisson(k, m), on=(constant_number(2), _PART))


row(
    "pdtrik",
    lambda p, m, k: _solved(-1 / gammainc_in_a(k + 1, m), call("gammaincc", k + 1, m), p),
    lambda p, m, k: _solved(
        -gamma_density(k + 1, m) / gammainc_in_a(k + 1, m), call("gammaincc", k + 1, m), p
    ),
    on=(between(0.4, 0.8), between(2.0, 5.0)),
)

# --- binomial: I_{1-p}(n - k, k + 1); negative binomial: I_p(n, k + 1) ----------------------------


def _binomial(k: Any, n: Any, p: Any) -> Any:
    whole = np.floor(shifted(k, 0) + 1.0)
    return beta_density(np.floor(shifted(n, 1) + 0.0) - whole, whole, 1 - p)


def _negative_binomial(k: Any, n: Any, p: Any) -> Any:
    return beta_density(np.floor(shifted(n, 0) + 0.0), np.floor(shifted(k, 0) + 1.0), p)


_N = constant_number(5)
row("bdtr", COUNT, COUNT, lambda k, n, p, y: -_binomial(k, n, p), on=(_K, _N, _PART))
row("bdtrc", COUNT, COUNT, lambda k, n, p, y: _binomial(k, n, p), on=(_K, _N, _PART))
row("bdtri", COUNT, COUNT, lambda k, n, y, p: -1 / _binomial(k, n, p), on=(_K, _N, _PART))
row("nbdtr", COUNT, COUNT, lambda k, n, p, y: _negative_binomial(k, n, p), on=(_K, _N, _PART))
row("nbdtrc", COUNT, COUNT, lambda k, n, p, y: -_negative_binomial(k, n, p), on=(_K, _N, _PART))
row("nbdtri", COUNT, COUNT, lambda k, n, y, p: 1 / _negative_binomial(k, n, p), on=(_K, _N, _PART))
for _name in ("bdtrik", "bdtrin", "nbdtrik", "nbdtrin"):
    row(_name, COUNT, COUNT, COUNT, on=(constant_number(0.4), _N, constant_number(0.5)))

# --- beta -----------------------------------------------------------------------------------------

row(
    "btdtria",
    lambda p, b, x, a: 1 / betainc_in(0, a, b, x),
    lambda p, b, x, a: -betainc_in(1, a, b, x) / betainc_in(0, a, b, x),
    lambda p, b, x, a: -beta_density(a, b, x) / betainc_in(0, a, b, x),
    on=(_PART, _SHAPE, between(0.3, 0.7)),
    order=2,
)
row(
    "btdtrib",
    lambda a, p, x, b: -betainc_in(0, a, b, x) / betainc_in(1, a, b, x),
    lambda a, p, x, b: 1 / betainc_in(1, a, b, x),
    lambda a, p, x, b: -beta_density(a, b, x) / betainc_in(1, a, b, x),
    on=(_SHAPE, _PART, between(0.3, 0.7)),
    order=2,
)

# --- F: I_w(m / 2, n / 2) with w = m x / (m x + n) ------------------------------------------------


def _f_parts(m: Any, n: Any, x: Any) -> tuple[Any, Any, Any]:
    """The slopes in m, n and x; at x = 0 it is 0 for all m and n, though the density may end."""
    still = np.equal(x, 0)

    def slopes(x: Any) -> tuple[Any, Any, Any]:
        total = m * x + n
        w = m * x / total
        density = beta_density(0.5 * m, 0.5 * n, w) / np.square(total)
        return (
            0.5 * betainc_in(0, 0.5 * m, 0.5 * n, w) + density * n * x,
            0.5 * betainc_in(1, 0.5 * m, 0.5 * n, w) - density * m * x,
            density * m * n,
        )

    in_m, in_n, _ = slopes(select(still, 1.0, x))
    return select(still, 0.0, in_m), select(still, 0.0, in_n), slopes(x)[2]


_F = (_SHAPES, _SHAPES)
for _name, _sign in (("fdtr", 1), ("fdtrc", -1)):
    row(
        _name,
        lambda m, n, x, y, sign=_sign: sign * _f_parts(m, n, x)[0],
        lambda m, n, x, y, sign=_sign: sign * _f_parts(m, n, x)[1],
        lambda m, n, x, y, sign=_sign: sign * _f_parts(m, n, x)[2],
        on=(*_F, _LINE),
        order=2,
    )


def _over_last(parts: tuple[Any, Any, Any], place: int) -> Any:
    return -parts[place] / parts[2]


row(
    "fdtri",
    lambda m, n, p, x: _over_last(_f_parts(m, n, x), 0),
    lambda m, n, p, x: _over_last(_f_parts(m, n, x), 1),
    lambda m, n, p, x: 1 / _f_parts(m, n, x)[2],
    on=(*_F, _PART),
    order=2,
)
row("fdtridfd", _INVERSE, _INVERSE, _INVERSE, on=(_SHAPES, _PART, _LINE))

# --- Student: 1 - I_w(v / 2, 1 / 2) / 2 with w = v / (v + t^2), for t > 0 -------------------------


def _student_density(v: Any, t: Any) -> Any:
    power = -0.5 * (v + 1) * np.log1p(np.square(t) / v)
    return np.exp(power - call("betaln", 0.5 * v, 0.5)) / np.sqrt(v)


def _student_in_v(v: Any, t: Any) -> Any:
    """In w it would meet 0 / 0 at t = 0, and so in 1 - w, by the symmetry of I.

    Far out 1 - w rounds to 1, and there it is the tail's, in w.
    """
    far = np.greater(np.square(t), 1e3 * v)
    near = select(far, 1.0, t)
    total = v + np.square(near)
    rest = np.square(near) / total
    direct = betainc_in(1, 0.5 + 0.0 * v, 0.5 * v, rest)
    inner = 0.25 * np.sign(near) * direct - 0.5 * near / v * _student_density(v, near)
    out = select(far, t, np.sign(t) * np.sqrt(2e3 * v))
    w = v / (v + np.square(out))
    tail = betainc_in(0, 0.5 * v, 0.5 + 0.0 * v, w)
    outer = -0.25 * np.sign(out) * tail - 0.5 * out / v * _student_density(v, out)
    return select(far, outer, inner)


row(
    "stdtr",
    lambda v, t, y: _student_in_v(v, t),
    lambda v, t, y: _student_density(v, t),
    on=(_SHAPES, _LINE),
    also=((_SHAPES, between(-2.0, -0.6)),),
    order=2,
)
row(
    "stdtrit",
    lambda v, p, t: -_student_in_v(v, t) / _student_density(v, t),
    lambda v, p, t: 1 / _student_density(v, t),
    on=(_SHAPES, between(0.6, 0.9)),
    order=2,
)
row(
    "stdtridf",
    lambda p, t, v: _solved(1 / _student_in_v(v, t), call("stdtr", v, t), p),
    lambda p, t, v: _solved(-_student_density(v, t) / _student_in_v(v, t), call("stdtr", v, t), p),
    on=(between(0.81, 0.83), between(1.05, 1.15)),
    order=2,
)

# --- normal, and others ---------------------------------------------------------------------------

row(
    "nrdtrimn",  # x - std ndtri(p)
    lambda p, std, x, y: -std * ROOT_TWO_PI * np.exp(0.5 * np.square((x - y) / std)),
    lambda p, std, x, y: -call("ndtri", p),
    lambda p, std, x, y: 1,
    on=(_PART, _LINE, _LINE),
)
row(
    "nrdtrisd",  # (x - mean) / ndtri(p)
    lambda mean, p, x, std: -1 / call("ndtri", p),
    lambda mean, p, x, std: (
        -std / call("ndtri", p) * ROOT_TWO_PI * np.exp(0.5 * np.square(call("ndtri", p)))
    ),
    lambda mean, p, x, std: 1 / call("ndtri", p),
    on=(between(0.0, 0.5), between(0.6, 0.8), between(1.0, 2.0)),
)


def _tukey_density(x: Any, shape: Any, p: Any) -> Any:
    """Of x = (p^s - (1 - p)^s) / s; 0 beyond its support."""
    outside = np.equal(p, 0) | np.equal(p, 1)
    inner = select(outside, 0.5, p)
    density = 1 / (inner ** (shape - 1) + (1 - inner) ** (shape - 1))
    return select(outside, 0.0, density)


def _tukey_in_shape(x: Any, shape: Any, p: Any) -> Any:
    outside = np.equal(p, 0) | np.equal(p, 1)
    inner = select(outside, 0.5, p)
    quantile = boxcox_slope(np.log(inner), shape) - boxcox_slope(np.log1p(-inner), shape)
    return -quantile * _tukey_density(x, shape, p)


row(
    "tklmbda",
    _tukey_density,
    _tukey_in_shape,
    on=(between(-0.8, 0.8), between(0.3, 0.8)),
    order=2,
)
row("smirnov", COUNT, _STEPS, on=(constant_number(5), _PART))
row("smirnovi", COUNT, _STEPS, on=(constant_number(5), _PART))
for _name in ("ncfdtr", "ncfdtri", "ncfdtridfd", "ncfdtridfn", "ncfdtrinc"):
    _last = _LINE if _name == "ncfdtr" else _PART
    row(_name, *(_NONCENTRAL,) * 4, on=(_SHAPES, _SHAPES, between(0.5, 1.0), _last))
for _name in ("nctdtr", "nctdtridf", "nctdtrinc", "nctdtrit"):
    row(_name, *(_NONCENTRAL,) * 3, on=(_SHAPES, between(0.3, 0.6), between(0.4, 0.8)))
