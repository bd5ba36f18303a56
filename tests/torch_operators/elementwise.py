"""Torch's elementwise operators, as they would be written in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from tests.torch_operators.counterpart import Counterpart


def _clamp(x, min=None, max=None):
    if min is not None:
        x = np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


def _divide(x, other, rounding_mode=None):
    if rounding_mode == "floor":
        return np.floor_divide(x, other)
    quotient = np.true_divide(x, other)
    return np.trunc(quotient) if rounding_mode == "trunc" else quotient


def _sign(x):
    if np.iscomplexobj(x):
        size = np.abs(x)
        return np.where(size == 0, 0, x / np.where(size == 0, 1, size))
    return np.sign(x)


def _log_sum(x, y):
    if not np.iscomplexobj(x):
        return np.logaddexp(x, y)
    first = np.real(x) >= np.real(y)
    larger, smaller = np.where(first, x, y), np.where(first, y, x)
    return larger + np.log(1 + np.exp(smaller - larger))


def _logit(x, eps=None):
    return special.logit(x if eps is None else np.clip(x, eps, 1 - eps))


def _sigmoid(x):
    return 1 / (1 + np.exp(-x)) if np.iscomplexobj(x) else special.expit(x)


def _log_sigmoid(x):
    return special.log_expit(x)


def _softplus(x, beta=1, threshold=20):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def _gelu(x, *, approximate="none"):
    if approximate == "tanh":
        return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


def _elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _celu(x, alpha=1.0):
    return np.maximum(0, x) + np.minimum(0, alpha * np.expm1(x / alpha))


def _selu(x):
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _prelu(x, weight):
    if x.ndim < 2:
        weight = weight.reshape(())
    elif weight.ndim == 1:
        weight = weight.reshape(1, -1, *[1] * (x.ndim - 2))
    return np.where(x > 0, x, weight * x)


def _softshrink(x, lambd=0.5):
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, 0.0 * x))


def _glu(x, dim=-1):
    first, second = np.split(x, 2, axis=dim)
    return first * special.expit(second)


# Functions of one array, whose names or arguments are the same in both.
_SAME: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "angle": np.angle,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "conj": np.conj,
    "conj_physical": np.conjugate,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "deg2rad": np.deg2rad,
    "digamma": special.digamma,
    "erf": special.erf,
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "float_power": np.float_power,
    "floor": np.floor,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "frexp": np.frexp,
    "hypot": np.hypot,
    "i0": np.i0,
    "lgamma": special.gammaln,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logaddexp2": np.logaddexp2,
    "max|binary": np.maximum,
    "maximum": np.maximum,
    "min|binary": np.minimum,
    "minimum": np.minimum,
    "mul": np.multiply,
    "neg": np.negative,
    "nextafter": np.nextafter,
    "nn.functional.logsigmoid": _log_sigmoid,
    "nn.functional.softplus": _softplus,
    "positive": np.positive,
    "pow": np.power,
    "rad2deg": np.rad2deg,
    "real": np.real,
    "reciprocal": np.reciprocal,
    "remainder": np.remainder,
    "round": np.round,
    "round|decimals_0": np.round,
    "round|decimals_3": np.round,
    "round|decimals_neg_3": np.round,
    "sgn": _sign,
    "sigmoid": _sigmoid,
    "sign": np.sign,
    "sin": np.sin,
    "sinc": np.sinc,
    "sinh": np.sinh,
    "special.entr": special.entr,
    "special.erfcx": special.erfcx,
    "special.i0e": special.i0e,
    "special.i1": special.i1,
    "special.i1e": special.i1e,
    "special.log_ndtr": special.log_ndtr,
    "special.ndtr": special.ndtr,
    "special.ndtri": special.ndtri,
    "special.xlog1py": special.xlog1py,
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
    "true_divide": np.true_divide,
    "trunc": np.trunc,
    "xlogy": special.xlogy,
}

_WRITTEN: dict[str, Callable[..., Any] | Counterpart] = {
    "add": lambda x, other, alpha=1: x + alpha * other,
    "addcdiv": lambda x, a, b, value=1: x + value * (a / b),
    "addcmul": lambda x, a, b, value=1: x + value * a * b,
    "clamp": _clamp,
    "clamp_max": lambda x, bound: np.minimum(x, bound),
    "clamp_min": lambda x, bound: np.maximum(x, bound),
    "complex": lambda re, im: re + 1j * im,
    "div|floor_rounding": _divide,
    "div|no_rounding_mode": _divide,
    "div|trunc_rounding": _divide,
    "frac": lambda x: x - np.trunc(x),
    "imag": np.imag,
    "ldexp": lambda x, other: x * np.power(2.0, other),
    "lerp": lambda x, end, weight: x + weight * (end - x),
    "logaddexp": _log_sum,
    "logit": _logit,
    "mvlgamma|mvlgamma_p_1": lambda x, p: special.multigammaln(x, p),
    "mvlgamma|mvlgamma_p_3": lambda x, p: _mvlgamma(x, p),
    "mvlgamma|mvlgamma_p_5": lambda x, p: _mvlgamma(x, p),
    "nan_to_num": lambda x, nan=0.0, posinf=None, neginf=None: np.nan_to_num(
        x, nan=nan, posinf=posinf, neginf=neginf
    ),
    "nn.functional.celu": _celu,
    "nn.functional.elu": _elu,
    "nn.functional.gelu": _gelu,
    "nn.functional.glu": _glu,
    "nn.functional.hardshrink": lambda x, lambd=0.5: np.where(np.abs(x) > lambd, x, 0.0),
    # Torch's own derivative has 1/6 in single precision.
    "nn.functional.hardsigmoid": Counterpart(lambda x: np.clip(x + 3, 0, 6) / 6, tolerance=1e-7),
    "nn.functional.hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "nn.functional.hardtanh": lambda x, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val),
    "nn.functional.leaky_relu": lambda x, negative_slope=0.01: np.where(
        x > 0, x, negative_slope * x
    ),
    "nn.functional.mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "nn.functional.prelu": _prelu,
    "nn.functional.relu": lambda x: np.maximum(x, 0),
    "nn.functional.relu6": lambda x: np.minimum(np.maximum(x, 0), 6),
    "nn.functional.selu": _selu,
    "nn.functional.silu": lambda x: x * special.expit(x),
    "nn.functional.softshrink": _softshrink,
    "nn.functional.softsign": lambda x: x / (1 + np.abs(x)),
    "nn.functional.tanhshrink": lambda x: x - np.tanh(x),
    "nn.functional.threshold": lambda x, threshold, value: np.where(x <= threshold, value, x),
    "polar": lambda size, angle: size * np.exp(1j * angle),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rsub": lambda x, other, alpha=1: other - alpha * x,
    "sub": lambda x, other, alpha=1: x - alpha * other,
    "where": lambda x, condition, other: np.where(condition, x, other),
    "__radd__": lambda x, other: other + x,
    "__rdiv__": lambda x, other: other / x,
    "__rmatmul__": lambda x, other: other @ x,
    "__rmod__": lambda x, other: other % x,
    "__rmul__": lambda x, other: other * x,
    "__rpow__": lambda x, other: other**x,
    "__rsub__": lambda x, other: other - x,
}


def _mvlgamma(x, p):
    terms = [special.gammaln(x - i / 2) for i in range(p)]
    return p * (p - 1) / 4 * np.log(np.pi) + sum(terms)


_POLYGAMMA = {
    name: lambda x, n: special.polygamma(n, x)
    for name in (
        *(f"polygamma|polygamma_n_{n}" for n in range(5)),
        "special.polygamma|special_polygamma_n_0",
    )
}

ELEMENTWISE: dict[str, Callable[..., Any] | Counterpart] = {**_SAME, **_WRITTEN, **_POLYGAMMA}
