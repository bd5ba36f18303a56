"""`scipy.special`: the ufuncs behind `scipy.stats` that have no public name.

They are densities, distribution functions and quantiles of single distributions, which SciPy's
distributions call where a formula of its public functions would lose digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.primitives.declaration import EmptySlot
from adjoint.primitives.special.declaring import COUNT, Partial, between, call, constant_number
from adjoint.primitives.special.declaring import row as public_row
from adjoint.primitives.special.gamma import betainc_in
from adjoint.primitives.special.quadrature import beta_density

_DEGREES = EmptySlot("with respect to degrees of freedom no closed form is known")
_UNKNOWN = EmptySlot("no closed form in functions of SciPy is known")

_SHAPE = between(1.5, 3.0)
_PART = between(0.2, 0.8)
_LINE = between(0.6, 2.5)
_PLACE = between(-0.3, 0.3)


def row(name: str, *partials: Partial, on: Any, order: int = 2) -> None:
    """Declare one of them."""
    public_row(
        name, *partials, on=on, order=order, module="scipy.special._ufuncs", double_only=True
    )


# --- beta, Cauchy, cosine ---------------------------------------------------------------------


def _beta_in(place: int, a: Any, b: Any, x: Any) -> Any:
    """The slope of the logarithm of the density in a or b."""
    own, log_x = ((a, np.log(x)), (b, np.log1p(-x)))[place]
    return log_x - call("psi", own) + call("psi", a + b)


row(
    "_beta_pdf",
    lambda x, a, b, y: y * ((a - 1) / x - (b - 1) / (1 - x)),
    lambda x, a, b, y: y * _beta_in(0, a, b, x),
    lambda x, a, b, y: y * _beta_in(1, a, b, x),
    on=(_PART, _SHAPE, _SHAPE),
)
row(
    "_beta_ppf",
    lambda p, a, b, x: 1 / beta_density(a, b, x),
    lambda p, a, b, x: -betainc_in(0, a, b, x) / beta_density(a, b, x),
    lambda p, a, b, x: -betainc_in(1, a, b, x) / beta_density(a, b, x),
    on=(_PART, _SHAPE, _SHAPE),
)
row(
    "_cauchy_ppf",
    lambda p, loc, scale, x: math.pi * (np.square(scale) + np.square(x - loc)) / scale,
    lambda p, loc, scale, x: 1,
    lambda p, loc, scale, x: (x - loc) / scale,
    on=(_PART, _PLACE, _LINE),
)
_TURN = 2 * math.pi
row("_cosine_cdf", lambda x, y: _cosine_density(x), on=(between(-2.0, 2.0),))
row("_cosine_invcdf", lambda p, x: _TURN / (1 + np.cos(x)), on=(_PART,))
row("_log1mexp", lambda x, y: -np.exp(x - y), on=(between(-2.0, -0.5),))


def _cosine_density(x: Any) -> Any:
    """Of the cosine distribution, on (-pi, pi)."""
    return np.less(np.abs(x), math.pi) * (1 + np.cos(x)) / _TURN


# --- skewed normal, inverse Gaussian ----------------------------------------------------------


def _skewed_density(x: Any, loc: Any, scale: Any, shape: Any) -> Any:
    z = (x - loc) / scale
    normal = np.exp(-0.5 * np.square(z)) / math.sqrt(_TURN)
    return 2 * normal * call("ndtr", shape * z) / scale


def _skewed_in_shape(x: Any, loc: Any, scale: Any, shape: Any) -> Any:
    """Of the distribution function, which is Phi(z) - 2 T(z, shape) with Owen's T."""
    z, total = (x - loc) / scale, 1 + np.square(shape)
    return -np.exp(-0.5 * np.square(z) * total) / (math.pi * total)


_SKEWED = (_LINE, _PLACE, _SHAPE, _SHAPE)
row(
    "_skewnorm_cdf",
    lambda x, loc, scale, a, y: _skewed_density(x, loc, scale, a),
    lambda x, loc, scale, a, y: -_skewed_density(x, loc, scale, a),
    lambda x, loc, scale, a, y: -(x - loc) / scale * _skewed_density(x, loc, scale, a),
    lambda x, loc, scale, a, y: _skewed_in_shape(x, loc, scale, a),
    on=_SKEWED,
)
for _name, _sign in (("_skewnorm_ppf", 1), ("_skewnorm_isf", -1)):
    row(
        _name,
        lambda p, loc, scale, a, x, sign=_sign: sign / _skewed_density(x, loc, scale, a),
        lambda p, loc, scale, a, x: 1,
        lambda p, loc, scale, a, x: (x - loc) / scale,
        lambda p, loc, scale, a, x: (
            -_skewed_in_shape(x, loc, scale, a) / _skewed_density(x, loc, scale, a)
        ),
        on=(_PART, *_SKEWED[1:]),
    )


def _gaussian_density(x: Any, mean: Any, rate: Any) -> Any:
    """Of the inverse Gaussian distribution."""
    exponent = -0.5 * rate * np.square(x - mean) / (np.square(mean) * x)
    return np.sqrt(rate / (_TURN * x * np.square(x))) * np.exp(exponent)


def _reflected(x: Any, mean: Any, rate: Any) -> Any:
    """The second term of the distribution function."""
    tail = call("log_ndtr", -np.sqrt(rate / x) * (x / mean + 1))
    return np.exp(2 * rate / mean + tail)


def _gaussian_in_mean(x: Any, mean: Any, rate: Any) -> Any:
    return -2 * rate / np.square(mean) * _reflected(x, mean, rate)


def _gaussian_in_rate(x: Any, mean: Any, rate: Any) -> Any:
    return 2 / mean * _reflected(x, mean, rate) - x / rate * _gaussian_density(x, mean, rate)


for _name, _sign in (("_invgauss_ppf", 1), ("_invgauss_isf", -1)):
    row(
        _name,
        lambda p, mean, rate, x, sign=_sign: sign / _gaussian_density(x, mean, rate),
        lambda p, mean, rate, x: (
            -_gaussian_in_mean(x, mean, rate) / _gaussian_density(x, mean, rate)
        ),
        lambda p, mean, rate, x: (
            -_gaussian_in_rate(x, mean, rate) / _gaussian_density(x, mean, rate)
        ),
        on=(_PART, _LINE, _SHAPE),
    )

# --- distributions whose density has no slope that is known: no order has, then ---------------

_landau = (_LINE, _PLACE, _SHAPE)
for _name in ("_landau_pdf", "_landau_cdf", "_landau_sf"):
    row(_name, _UNKNOWN, _UNKNOWN, _UNKNOWN, on=_landau)
for _name in ("_landau_ppf", "_landau_isf"):
    row(_name, _UNKNOWN, _UNKNOWN, _UNKNOWN, on=(_PART, *_landau[1:]))
row("_kolmogp", _UNKNOWN, on=(_LINE,))
for _name in ("_kolmogc", "_kolmogci"):
    row(_name, _UNKNOWN, on=(_PART,))
for _name in ("_smirnovp", "_smirnovc", "_smirnovci"):
    row(_name, COUNT, _UNKNOWN, on=(constant_number(5), _PART))

# --- noncentral distributions -----------------------------------------------------------------


def _noncentral(x: Any, df: Any, nc: Any) -> Any:
    return call("_ncx2_pdf", x, df, nc)


row(
    "_ncx2_pdf",
    lambda x, df, nc, y: y * ((0.5 * df - 1) / x - 0.5) + 0.5 * nc / x * _noncentral(x, df + 2, nc),
    _DEGREES,
    lambda x, df, nc, y: 0.5 * (_noncentral(x, df + 2, nc) - y),
    on=(_LINE, _SHAPE, _LINE),
)
row(
    "_ncx2_sf",
    lambda x, df, nc, y: -_noncentral(x, df, nc),
    _DEGREES,
    lambda x, df, nc, y: _noncentral(x, df + 2, nc),
    on=(_LINE, _SHAPE, _LINE),
)
row(
    "_ncx2_isf",
    lambda p, df, nc, x: -1 / _noncentral(x, df, nc),
    _DEGREES,
    lambda p, df, nc, x: _noncentral(x, df + 2, nc) / _noncentral(x, df, nc),
    on=(_PART, _SHAPE, _LINE),
)
_nct = (_LINE, _SHAPE, _LINE)
row("_nct_pdf", _UNKNOWN, _DEGREES, _UNKNOWN, on=_nct)
row("_nct_sf", _UNKNOWN, _DEGREES, _UNKNOWN, on=_nct)
_ncf = (_LINE, _SHAPE, _SHAPE, _LINE)
row("_ncf_pdf", _UNKNOWN, _DEGREES, _DEGREES, _UNKNOWN, on=_ncf)
row("_ncf_sf", _UNKNOWN, _DEGREES, _DEGREES, _UNKNOWN, on=_ncf)

# --- counts -----------------------------------------------------------------------------------

_K, _N = constant_number(2), constant_number(5)
row(
    "_binom_pmf",
    *(COUNT, COUNT, lambda k, n, p, y: y * (k / p - (n - k) / (1 - p))),
    on=(_K, _N, _PART),
)
for _name, _sign in (("_binom_cdf", -1), ("_binom_sf", 1)):
    row(
        _name,
        *(COUNT, COUNT),
        lambda k, n, p, y, sign=_sign: sign * n * call("_binom_pmf", k, n - 1, p),
        on=(_K, _N, _PART),
    )
row(
    "_nbinom_pmf",
    COUNT,
    lambda k, n, p, y: y * (call("psi", k + n) - call("psi", n) + np.log(p)),
    lambda k, n, p, y: y * (n / p - k / (1 - p)),
    on=(_K, _SHAPE, _PART),
)
for _name, _sign in (("_nbinom_cdf", 1), ("_nbinom_sf", -1)):
    row(
        _name,
        COUNT,
        lambda k, n, p, y, sign=_sign: sign * betainc_in(0, n, k + 1, p),
        lambda k, n, p, y, sign=_sign: sign * beta_density(n, k + 1, p),
        on=(_K, _SHAPE, _PART),
    )

# What counts: a derivative that is asked for in it is an error, not 0.
public_row("positive", COUNT, on=(_LINE,), program_name="count", module="numpy")
