"""The functions of `scipy.special` that are no ufuncs: made of those that are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.reducing.calculus import log_softmax, log_sum_exp, softmax
from adjoint.capture.numpy.table import perform, strong
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.table import implements_scipy, is_traced
from adjoint.primitives.special.declaring import SPECIAL


def _apply(name: str, *operands: Any) -> Any:
    return perform(SPECIAL[name], *operands)


def _fixed(name: str, **arguments: Any) -> None:
    """Orders, degrees and counts: no derivative is taken in them."""
    for argument, value in arguments.items():
        if is_traced(value):
            raise UnsupportedFunctionError(
                f"scipy.special.{name} has no derivative in its argument {argument!r}, and takes a "
                "plain number there. Hold it fixed (int(n), ad.stop_gradient)."
            )


implements_scipy("special", "logsumexp")(log_sum_exp)
implements_scipy("special", "softmax")(softmax)
implements_scipy("special", "log_softmax")(log_softmax)


@implements_scipy("special")
def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return np.logaddexp(0.0, x)


@implements_scipy("special")
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x)."""
    return np.sinc(x)


@implements_scipy("special")
def zeta(x: Any, q: Any = None) -> Any:
    """sum_k (q + k)^-x, differentiable in q; without q the function of Riemann, of any x."""
    if q is None:  # another function of SciPy's, which continues the sum to x below 1
        return _apply("_riemann_zeta", x)
    if np.iscomplexobj(x):
        raise UnsupportedFunctionError(
            "scipy.special.zeta of complex traced arrays has no derivative here. Hold x fixed, or "
            "cut its derivative off with ad.stop_gradient."
        )
    return _apply("zeta", x, q)


@implements_scipy("special")
def polygamma(n: Any, x: Any) -> Any:
    """Derivative n of digamma: (-1)^(n+1) n! zeta(n + 1, x)."""
    _fixed("polygamma", n=n)
    order = np.asarray(n)
    if order.ndim:
        raise UnsupportedFunctionError(
            "scipy.special.polygamma of traced arrays takes one order n at a time."
        )
    if int(order) == 0:
        return _apply("psi", x)
    factor = np.float64((-1.0) ** (int(order) + 1) * math.factorial(int(order)))
    return factor * _apply("zeta", np.float64(int(order) + 1.0), x)


@implements_scipy("special")
def multigammaln(a: Any, d: Any) -> Any:
    """The logarithm of the multivariate gamma function."""
    _fixed("multigammaln", d=d)
    count = int(concrete(d))
    total: Any = count * (count - 1) * 0.25 * math.log(math.pi)
    for j in range(count):
        total = total + _apply("gammaln", a - 0.5 * j)
    return total


@implements_scipy("special")
def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> Any:
    """The w with w exp(w) = z, on branch k."""
    _fixed("lambertw", k=k)
    return _apply("_lambertw", z, np.asarray(k, int), tol)


@implements_scipy("special")
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Binomial coefficients, as a smooth function of N and k."""
    if exact:
        raise UnsupportedFunctionError(
            "scipy.special.comb(exact=True) counts in integers, and has no derivative."
        )
    if repetition:
        return comb(N + k - 1, k)
    inside = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(
        inside, _apply("binom", np.where(inside, N, 1.0), np.where(inside, k, 0.0)), 0.0
    )


@implements_scipy("special")
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """N! / (N - k)!."""
    if exact:
        raise UnsupportedFunctionError(
            "scipy.special.perm(exact=True) counts in integers, and has no derivative."
        )
    inside = (k <= N) & (N >= 0) & (k >= 0)
    return np.where(inside, _apply("poch", np.where(inside, N - k + 1, 1.0), k), 0.0)


@implements_scipy("special")
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """Gamma(n + 1); 0 for negative n."""
    if exact or extend != "zero":
        raise UnsupportedFunctionError(
            "scipy.special.factorial of traced arrays takes exact=False and extend='zero'."
        )
    inside = n >= 0
    return np.where(inside, _apply("gamma", np.where(inside, n, 0.0) + 1), 0.0)


def _bessel_derivatives(name: str, base: str, sign: int, phase: int) -> None:
    """jvp(v, z, n) and the like, DLMF 10.6.7 and 10.29.5."""

    def function(v: Any, z: Any, n: int = 1) -> Any:
        _fixed(name, v=v, n=n)
        total: Any = 0.0
        for k in range(n + 1):
            weight = math.comb(n, k) * sign**k
            total = total + weight * _apply(base, np.float64(v - n + 2 * k), z)
        return phase**n * total / 2.0**n

    function.__name__ = name
    implements_scipy("special", name)(function)


for _name, _base, _sign, _phase in (
    ("jvp", "jv", -1, 1),
    ("yvp", "yv", -1, 1),
    ("h1vp", "hankel1", -1, 1),
    ("h2vp", "hankel2", -1, 1),
    ("ivp", "iv", 1, 1),
    ("kvp", "kv", 1, -1),
):
    _bessel_derivatives(_name, _base, _sign, _phase)


# --- spherical Bessel functions: sqrt(pi / (2 z)) J_{n+1/2}(z) ------------------------------------


def _spherical_value(n: int, z: Any, base: str) -> Any:
    """Its value; j_n and i_n by hypergeometric functions, which are smooth at 0.

    A root of a negative z would be NaN: all but k_n are even or odd there.
    """
    if z.dtype.kind == "c" or base == "kv":
        return _spherical_right(n, z, base)
    turned = -1.0 if n % 2 == (base != "yv") else 1.0
    backwards = z < 0
    value = _spherical_right(n, np.where(backwards, -z, z), base)
    return np.where(backwards, turned * value, value)


def _spherical_right(n: int, z: Any, base: str) -> Any:
    if base in ("jv", "iv"):
        sign = -0.25 if base == "jv" else 0.25
        factor = math.sqrt(math.pi) / 2 ** (n + 1) / math.gamma(n + 1.5)
        small = np.abs(z) < 1
        inner = np.where(small, z, 0.0)
        near = factor * inner**n * _apply("hyp0f1", n + 1.5, sign * inner**2)
        outer = np.where(small, 1.0, z)
        far = np.sqrt(math.pi / (2 * outer)) * _apply(base, n + 0.5, outer)
        return np.where(small, near, far)
    return np.sqrt(math.pi / (2 * z)) * _apply(base, n + 0.5, z)


def _spherical(name: str, base: str, before: int, after: int) -> None:
    def function(n: Any, z: Any, derivative: bool = False) -> Any:
        _fixed(name, n=n)
        if np.ndim(n):
            raise UnsupportedFunctionError(
                f"scipy.special.{name} of traced arrays takes one order n at a time."
            )
        order, z = int(concrete(n)), strong(z) * np.float64(1.0)  # in double precision, as SciPy
        if not derivative:
            return _spherical_value(order, z, base)
        if order == 0:
            return after * _spherical_value(1, z, base)
        lower, upper = (_spherical_value(order + shift, z, base) for shift in (-1, 1))
        return (before * order * lower + after * (order + 1) * upper) / (2 * order + 1)

    function.__name__ = name
    implements_scipy("special", name)(function)


_spherical("spherical_jn", "jv", 1, -1)
_spherical("spherical_yn", "yv", 1, -1)
_spherical("spherical_in", "iv", 1, 1)
_spherical("spherical_kn", "kv", -1, -1)
