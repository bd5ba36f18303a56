"""Formulas of `scipy.stats` that have a kink in SciPy where the distribution has none.

SciPy writes them in |x|, whose slope at 0 is a choice that later slopes do not know of: the
logistic density would have the second derivative 0 at its mode. Here they are those of one side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.capture.numpy.table import perform
from adjoint.primitives.special.declaring import SPECIAL
from adjoint.scipy.stats.distribution_methods import apply_where
from adjoint.scipy.stats.truncated_normal import where_traced


def _size(x: Any) -> Any:
    """|x|, which at 0 is x."""
    return np.where(x < 0, -x, x)


@where_traced("logistic_gen._logpdf")
def logistic_log_density(self: Any, x: Any) -> Any:
    """The logarithm of the logistic density."""
    y = -_size(x)
    return y - 2.0 * np.log1p(np.exp(y))


@where_traced("genlogistic_gen._logpdf")
def general_logistic_log_density(self: Any, x: Any, c: Any) -> Any:
    """The same with a shape."""
    size = _size(x)
    slope = -(c - 1) * (x < 0) - 1
    return np.log(c) + slope * size - (c + 1) * np.log1p(np.exp(-size))


@where_traced("cauchy_gen._logpdf")
def cauchy_log_density(self: Any, x: Any) -> Any:
    """The logarithm of Cauchy's density; the square of what is large would overflow."""

    def near(size: Any) -> Any:
        return -np.log(np.pi) - np.log1p(size**2)

    def far(size: Any) -> Any:
        return -np.log(np.pi) - (2 * np.log(size) + np.log1p((1 / size) ** 2))

    size = _size(x)
    return apply_where(size < 1, (size,), near, far)


@where_traced("gennorm_gen._logpdf")
def general_normal_log_density(self: Any, x: Any, beta: Any) -> Any:
    """The generalised normal density, whose kink for shapes up to 1 is its own."""
    size = np.where(beta > 1, _size(x), np.abs(x))
    return np.log(0.5 * beta) - perform(SPECIAL["gammaln"], 1.0 / beta) - size**beta


@where_traced("gennorm_gen._cdf")
def general_normal_distribution(self: Any, x: Any, beta: Any) -> Any:
    """Its distribution function."""
    side = np.where(x < 0, -0.5, 0.5)
    return (0.5 + side) - side * perform(SPECIAL["gammaincc"], 1.0 / beta, _size(x) ** beta)


def _half_weibull(x: Any, c: Any) -> Any:
    return 0.5 * np.exp(-np.power(np.where(x > 0, x, -x), c))


@where_traced("dweibull_gen._cdf")
def double_weibull_distribution(self: Any, x: Any, c: Any) -> Any:
    """Weibull's distribution on both sides."""
    tail = _half_weibull(x, c)
    return np.where(x > 0, 1 - tail, tail)


@where_traced("dweibull_gen._sf")
def double_weibull_survival(self: Any, x: Any, c: Any) -> Any:
    """What is left of it."""
    tail = _half_weibull(x, c)
    return np.where(x > 0, tail, 1 - tail)


def _bessel(z: Any) -> Any:
    """exp(-z) I_0(z) of z >= 0, whose slope at 0 is that to the right: `i0e` has a kink there."""
    smooth = np.exp(-z) * perform(SPECIAL["i0"], z)
    return np.where(z == 0, smooth, perform(SPECIAL["i0e"], z))


@where_traced("rice_gen._pdf")
def rice_density(self: Any, x: Any, b: Any) -> Any:
    """The density of Rice's distribution."""
    return x * np.exp(-(x - b) * (x - b) / 2.0) * _bessel(x * b)


@where_traced("vonmises_gen._pdf")
def von_mises_density(self: Any, x: Any, kappa: Any) -> Any:
    """The density of von Mises' distribution."""
    return np.exp(kappa * perform(SPECIAL["cosm1"], x)) / (2 * np.pi * _bessel(kappa))


@where_traced("vonmises_gen._logpdf")
def von_mises_log_density(self: Any, x: Any, kappa: Any) -> Any:
    """Its logarithm."""
    cosine = perform(SPECIAL["cosm1"], x)
    return kappa * cosine - np.log(2 * np.pi) - np.log(_bessel(kappa))
