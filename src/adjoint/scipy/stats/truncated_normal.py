"""Formulas of `scipy.stats` that ask for values in SciPy, and here take one path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.capture.numpy.table import perform, unwrap_all, wrap_list
from adjoint.capture.recording.tracing.traced import value_of
from adjoint.capture.recording.values.valued import any_slot
from adjoint.capture.scipy.table import replaces
from adjoint.primitives.special.declaring import SPECIAL
from adjoint.scipy.stats.distribution_methods import applied, apply_where, only

_HOME = "scipy.stats._continuous_distns"


def _log_cdf(x: Any) -> Any:
    """The logarithm of the normal distribution function."""
    return perform(SPECIAL["log_ndtr"], x)


def _cdf(x: Any) -> Any:
    return perform(SPECIAL["ndtr"], x)


def _log_difference(larger: Any, smaller: Any) -> Any:
    """log(exp(larger) - exp(smaller))."""
    return larger + np.log1p(-np.exp(smaller - larger))


def where_traced(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a formula; where nothing is traced, SciPy's own runs."""

    def declare(formula: Callable[..., Any]) -> Callable[..., Any]:
        def run(original: Callable[..., Any], *args: Any) -> Any:
            if any_slot(args):
                return formula(*args)
            return wrap_list(original(*map(unwrap_all, args)))

        replaces(_HOME, name)(run)
        return formula

    return declare


@where_traced("_log_gauss_mass")
def log_mass(a: Any, b: Any) -> Any:
    """The logarithm of the probability between a and b, in the tail that has the digits."""
    left, right = b <= 0, a > 0

    def in_left(a: Any, b: Any) -> Any:
        return _log_difference(_log_cdf(b), _log_cdf(a))

    def in_the_middle(a: Any, b: Any) -> Any:
        return np.log1p(-_cdf(a) - _cdf(-b))

    middle = applied(in_the_middle, ~(left | right), a, b)
    outer = apply_where(left, (a, b), in_left, lambda a, b: in_left(-b, -a))
    return np.where(left | right, outer, middle)


def _near_one(value: Any, other: Any) -> Any:
    """A logarithm of a probability, by that of the other event where the probability is near 1."""
    near = value > -0.1
    return np.where(near, np.log1p(-np.exp(only(near, other))), value)


@where_traced("truncnorm_gen._logcdf")
def log_cdf(self: Any, x: Any, a: Any, b: Any) -> Any:
    """The logarithm of the distribution function."""
    whole = log_mass(a, b)
    return _near_one(log_mass(a, x) - whole, log_mass(x, b) - whole)


@where_traced("truncnorm_gen._logsf")
def log_sf(self: Any, x: Any, a: Any, b: Any) -> Any:
    """The logarithm of the rest."""
    whole = log_mass(a, b)
    return _near_one(log_mass(x, b) - whole, log_mass(a, x) - whole)


def _quantile(name: str, is_left: Callable[[Any, Any], Any], upwards: bool) -> None:
    """A quantile, through the logarithm of the normal distribution function at it."""

    def of_left(q: Any, a: Any, b: Any) -> Any:
        return _inverse(at(a if upwards else b, np.log(q), a, b))

    def of_right(q: Any, a: Any, b: Any) -> Any:
        return -_inverse(at(-b if upwards else -a, np.log1p(-q), a, b))

    def at(end: Any, log_q: Any, a: Any, b: Any) -> Any:
        part = log_q + log_mass(a, b)
        if upwards:
            return np.logaddexp(_log_cdf(end), part)
        return _log_difference(_log_cdf(end), part)

    @where_traced(f"truncnorm_gen.{name}")
    def evaluate(self: Any, q: Any, a: Any, b: Any) -> Any:
        return apply_where(is_left(a, b), (q, a, b), of_left, of_right)


def _inverse(log_probability: Any) -> Any:
    return perform(SPECIAL["ndtri_exp"], log_probability)


_quantile("_ppf", lambda a, b: a < 0, upwards=True)
_quantile("_isf", lambda a, b: b < 0, upwards=False)


@replaces(_HOME, "erlang_gen._argcheck")
def erlang_shape(original: Callable[..., Any], self: Any, a: Any) -> Any:
    """SciPy warns of a shape that is no integer; so it does here, where the value is known."""
    known = value_of(a) if any_slot(a) else unwrap_all(a)
    if known is not None:
        original(self, unwrap_all(known))
    return a > 0
