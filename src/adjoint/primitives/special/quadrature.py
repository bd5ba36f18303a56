"""Integrals that close the derivatives of incomplete gamma, beta and elliptic functions.

SciPy has no function for them, and each family is closed under differentiation. They are summed
by rules for analytic integrands, to about 14 digits: by the trapezoidal rule after a doubly
exponential change of variables (H. Takahasi and M. Mori, Double exponential formulas for numerical
integration, 1974), or by Gauss's rule.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import MissingRuleError
from adjoint.primitives.declaration import Primitive
from adjoint.primitives.elementwise.declaring import weigh
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import Sample, draw, sample
from adjoint.primitives.special.declaring import MODULE, between, call
from adjoint.primitives.structure.moving import align_batch
from adjoint.primitives.typing_rules import broadcast_shape, promoted


def declare(name: str, evaluate: Any, slopes: Any, samples: tuple[Sample, ...]) -> Primitive:
    """A function of broadcast operands, with parameters; slopes: one for each operand."""

    def infer(*types: ArrayType, **params: Any) -> ArrayType:
        dtype = _inexact(promoted(*types))
        return array_type(broadcast_shape(name, *(type_.shape for type_ in types)), dtype)

    def computed(*operands: Any, **params: Any) -> Any:
        dtype = _inexact(np.result_type(*operands))
        wide = np.result_type(dtype, float) if dtype.kind != "c" else np.dtype(complex)
        wide = np.dtype(float) if wide == np.longdouble else wide
        with np.errstate(all="ignore"):
            values = evaluate(*(np.asarray(x, wide) for x in operands), **params)
        return np.asarray(values, dtype)[()]

    def derivative(tangents: Any, operands: Any, results: Any, **params: Any) -> Any:
        total = None
        for place, tangent in enumerate(tangents):
            if tangent is not None:
                slope = slopes(place, operands, results[0], **params)
                term = weigh(slope, tangent, results[0].type)
                total = term if total is None else total + term
        return (total,)

    def batch(operands: Any, batched: Any, size: int, **params: Any) -> Any:
        return bind(primitive, *align_batch(operands, batched), **params)

    primitive = Primitive(
        name,
        infer=infer,
        evaluate=computed,
        linear=None,
        derivative=derivative,
        batch=batch,
        samples=samples,
    )
    return primitive


def _inexact(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.kind in "fc" else np.dtype(float)


@lru_cache(maxsize=1)
def _exponential_rule() -> tuple[Any, Any]:
    """Points and weights for integrals over (0, inf) of what decays exponentially."""
    u = np.linspace(-4.5, 14.0, 300)
    points = np.exp(u - np.exp(-u))
    return points, points * (1 + np.exp(-u)) * (u[1] - u[0])


@lru_cache(maxsize=1)
def _algebraic_rule() -> tuple[Any, Any]:
    """Points and weights for integrals over (0, inf) of what decays algebraically."""
    u = np.linspace(-4.6, 4.6, 260)
    points = np.exp(np.pi / 2 * np.sinh(u))
    return points, points * (np.pi / 2) * np.cosh(u) * (u[1] - u[0])


@lru_cache(maxsize=1)
def _gauss_rule() -> tuple[Any, Any]:
    """Points and weights for integrals over (0, 1)."""
    points, weights = np.polynomial.legendre.leggauss(40)
    return (points + 1) / 2, weights / 2


# --- moments of log(t) under the gamma density ----------------------------------------------------


def _gamma_moment(a: Any, x: Any, power: int, upper: bool) -> Any:
    sign = 1 if upper else -1
    points, weights = _exponential_rule()
    a, x = np.broadcast_arrays(a, x)
    a, x = a[..., None], x[..., None]
    log_t = np.log(x) + sign * points  # t = x exp(+-s)
    log_density = a * log_t - np.exp(log_t) - import_module(MODULE).gammaln(a)
    terms = np.where(log_density > -800, weights * np.exp(log_density) * log_t**power, 0.0)
    return terms.sum(-1)


def _gamma_moment_slope(place: int, operands: Any, y: Any, power: int, upper: bool) -> Any:
    a, x = operands
    if place == 0:
        return gamma_moment(a, x, power + 1, upper) - call("psi", a) * y
    density = gamma_density(a, x) * np.log(x) ** power
    return -density if upper else density


_GAMMA_MOMENT = declare(
    "gamma_moment",
    _gamma_moment,
    _gamma_moment_slope,
    (
        sample(between(3.0, 4.0), between(1.0, 2.0), power=1, upper=False),
        sample(between(1.0, 2.0), between(3.0, 4.0), power=0, upper=True),
    ),
)


def gamma_moment(a: Any, x: Any, power: int, upper: bool) -> Any:
    """int log(t)^power t^(a-1) exp(-t) dt / Gamma(a) over (x, inf) for x > a, or (0, x) for x < a.

    On that side of a the integrand falls monotonically away from x.
    """
    return bind(_GAMMA_MOMENT, a, x, power=power, upper=upper)


def gamma_density(a: Any, x: Any) -> Any:
    """x^(a-1) exp(-x) / Gamma(a)."""
    return np.exp(call("xlogy", a - 1, x) - x - call("gammaln", a))


# --- moments of log(t) and log(1 - t) under the beta density --------------------------------------


def _beta_moment(a: Any, b: Any, x: Any, powers: tuple[int, int]) -> Any:
    points, weights = _exponential_rule()
    a, b, x = np.broadcast_arrays(a, b, x)
    a, b, x = a[..., None], b[..., None], x[..., None]
    log_t = np.log(x) - points  # t = x exp(-s)
    log_rest = np.log1p(-np.exp(log_t))
    log_density = a * log_t + (b - 1) * log_rest - import_module(MODULE).betaln(a, b)
    values = log_t ** powers[0] * log_rest ** powers[1]
    return np.where(log_density > -800, weights * np.exp(log_density) * values, 0.0).sum(-1)


def _beta_moment_slope(place: int, operands: Any, y: Any, powers: tuple[int, int]) -> Any:
    a, b, x = operands
    if place == 2:
        return beta_density(a, b, x) * np.log(x) ** powers[0] * np.log1p(-x) ** powers[1]
    j, k = powers
    raised = (j + 1, k) if place == 0 else (j, k + 1)
    drift = call("psi", operands[place]) - call("psi", a + b)
    return beta_moment(a, b, x, raised) - drift * y


_BETA_MOMENT = declare(
    "beta_moment",
    _beta_moment,
    _beta_moment_slope,
    (sample(between(2.0, 3.0), between(1.0, 2.0), between(0.1, 0.4), powers=(1, 0)),),
)


def beta_moment(a: Any, b: Any, x: Any, powers: tuple[int, int]) -> Any:
    """int_0^x log(t)^j log(1-t)^k t^(a-1) (1-t)^(b-1) dt / B(a, b), for x < a / (a + b)."""
    return bind(_BETA_MOMENT, a, b, x, powers=powers)


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a-1) (1-x)^(b-1) / B(a, b)."""
    powers = call("xlogy", a - 1, x) + call("xlog1py", b - 1, -x)
    return np.exp(powers - call("betaln", a, b))


# --- Legendre's elliptic integrals ----------------------------------------------------------------


def _legendre_integral(phi: Any, m: Any, powers: tuple[int, int]) -> Any:
    p, q = powers
    points, weights = _gauss_rule()
    phi, m = np.broadcast_arrays(phi, m)
    turns = np.rint(phi / np.pi)

    def up_to(angle: Any) -> Any:
        square = np.sin(angle[..., None] * points) ** 2
        values = square**p * (1 - m[..., None] * square) ** -(q + 0.5)
        return angle * (weights * values).sum(-1)

    return up_to(phi - np.pi * turns) + 2 * turns * up_to(np.full_like(phi, np.pi / 2))


def _legendre_slope(place: int, operands: Any, y: Any, powers: tuple[int, int]) -> Any:
    (phi, m), (p, q) = operands, powers
    if place == 1:
        return (q + 0.5) * legendre_integral(phi, m, (p + 1, q + 1))
    square = np.square(np.sin(phi))
    value = (1 - m * square) ** -(q + 0.5)
    for _ in range(p):
        value = value * square
    return value


_LEGENDRE = declare(
    "legendre_integral",
    _legendre_integral,
    _legendre_slope,
    (
        sample(between(0.2, 1.2), between(-0.5, 0.5), powers=(1, 0)),
        sample(between(2.0, 9.0), between(-0.5, 0.5), powers=(1, 1)),
    ),
)


def legendre_integral(phi: Any, m: Any, powers: tuple[int, int]) -> Any:
    """int_0^phi sin(t)^(2p) (1 - m sin(t)^2)^(-q - 1/2) dt, for m of at most about 0.9."""
    return bind(_LEGENDRE, phi, m, powers=powers)


# --- Carlson's elliptic integrals -----------------------------------------------------------------


def _carlson_integral(*z: Any, powers: tuple[float, ...], weight: int) -> Any:
    for argument, power in zip(z, powers, strict=True):
        if argument.dtype.kind == "f" and power == int(power) and np.any(argument < 0):
            raise MissingRuleError(
                "elliprj(x, y, z, p) with p < 0 is a principal value, of which no derivative is "
                "known here. Use p > 0 (DLMF 19.20.14 says how they are related)."
            )
    points, weights = _algebraic_rule()
    z = tuple(argument[..., None] for argument in np.broadcast_arrays(*z))
    scale = np.max(np.abs(np.concatenate(z, -1)), -1, keepdims=True)
    t = scale * points
    value = weights * scale * t**weight
    for argument, power in zip(z, powers, strict=True):
        value = value * (t + argument) ** -power
    return value.sum(-1)


def _carlson_slope(
    place: int, operands: Any, y: Any, powers: tuple[float, ...], weight: int
) -> Any:
    raised = tuple(power + (n == place) for n, power in enumerate(powers))
    return -powers[place] * carlson_integral(operands, raised, weight)


_CARLSON = declare(
    "carlson_integral",
    _carlson_integral,
    _carlson_slope,
    (
        sample(*[draw(2, low=0.5, high=2) for _ in range(2)], powers=(1.5, 1.0), weight=0),
        sample(*[draw(1, low=0.5, high=2) for _ in range(3)], powers=(1.5, 0.5, 0.5), weight=1),
    ),
)


def carlson_integral(z: Any, powers: tuple[float, ...], weight: int = 0) -> Any:
    """int_0^inf t^weight prod_i (t + z_i)^(-powers_i) dt; its slopes raise one of the powers.

    Source: B. C. Carlson, NIST Digital Library of Mathematical Functions, section 19.16.
    """
    return bind(_CARLSON, *z, powers=powers, weight=weight)
