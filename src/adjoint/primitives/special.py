"""The common ufuncs of `scipy.special`; SciPy is imported when one of them is first met."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.declaration import FROM_DERIVATIVE, NONLINEAR, UFUNCS, Primitive
from adjoint.primitives.elementwise import batch_aligned, elementwise, sum_of_partials
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import Draw, draw, sample
from adjoint.primitives.selection import select
from adjoint.primitives.typing_rules import LateUfunc, broadcast_shape, promoted
from adjoint.program import Literal

MODULE = "scipy.special"
SPECIAL: dict[str, Primitive] = {}


def find_special(ufunc: Any) -> Primitive | None:
    """The primitive of a SciPy ufunc, if there is one; from then on `UFUNCS` knows it too."""
    primitive = SPECIAL.get(getattr(ufunc, "__name__", ""))
    module = sys.modules.get(MODULE)
    if primitive is None or getattr(module, ufunc.__name__, None) is not ufunc:
        return None
    UFUNCS[ufunc] = primitive
    return primitive


def call(name: str, *operands: Any) -> Any:
    """Apply a special function within a rule."""
    return bind(SPECIAL[name], *operands)


def _row(name: str, *partials: Callable[..., Any] | None, on: tuple[Draw, ...]) -> None:
    SPECIAL[name] = elementwise(LateUfunc(MODULE, name), *partials, samples=(sample(*on),))


_REAL = (draw(4),)
_POSITIVE = (draw(4, low=0.5, high=4),)
_UNIT = (draw(4, low=0.1, high=0.9),)
_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
_ROOT_HALF = math.sqrt(0.5)


def _normal_density(x: Any) -> Any:
    return np.exp(-0.5 * np.square(x)) / _ROOT_TWO_PI


_row("expit", lambda x, y: y * (1 - y), on=_REAL)
_row("logit", lambda x, y: 1 / (x * (1 - x)), on=_UNIT)
_row("log_expit", lambda x, y: call("expit", -x), on=_REAL)


def _near_zero(x: Any) -> Any:
    return np.less(x, 0.5) & np.greater(x, -0.5)  # |x| would be a kink of its own at 0


def _exprel_slope(x: Any, y: Any) -> Any:
    # (exp(x) - exprel(x)) / x; near 0 that cancels, and its series sum_k x^k / (k! (k + 2)) is
    # summed.
    small = _near_zero(x)
    series: Any = 0.0
    for k in range(18, -1, -1):  # enough for its derivatives too
        series = 1 / (math.factorial(k) * (k + 2)) + select(small, x, 0.0) * series
    return select(small, series, (np.exp(x) - y) / select(small, 1.0, x))


_row("exprel", _exprel_slope, on=_REAL)

_row("erf", lambda x, y: _TWO_OVER_ROOT_PI * np.exp(-np.square(x)), on=_REAL)
_row("erfc", lambda x, y: -_TWO_OVER_ROOT_PI * np.exp(-np.square(x)), on=_REAL)
_row("erfcx", lambda x, y: 2 * x * y - _TWO_OVER_ROOT_PI, on=_REAL)
_row("erfinv", lambda x, y: np.exp(np.square(y)) / _TWO_OVER_ROOT_PI, on=_UNIT)
_row("erfcinv", lambda x, y: -np.exp(np.square(y)) / _TWO_OVER_ROOT_PI, on=_UNIT)
_row("dawsn", lambda x, y: 1 - 2 * x * y, on=_REAL)
_row("ndtr", lambda x, y: _normal_density(x), on=_REAL)
# The density over the distribution, exp(-x^2 / 2 - y) / sqrt(2 pi), without the cancellation at
# large -x.
_row("log_ndtr", lambda x, y: _ROOT_TWO_OVER_PI / call("erfcx", x * -_ROOT_HALF), on=_REAL)
_row("ndtri", lambda x, y: _ROOT_TWO_PI * np.exp(0.5 * np.square(y)), on=_UNIT)

_row("gamma", lambda x, y: y * call("psi", x), on=_POSITIVE)
_row("gammaln", lambda x, y: call("psi", x), on=_POSITIVE)
_row("loggamma", lambda x, y: call("psi", x), on=_POSITIVE)
_row("rgamma", lambda x, y: -y * call("psi", x), on=_POSITIVE)
# psi' is the trigamma function, zeta(2, x); and d/dx zeta(s, x) = -s zeta(s + 1, x).
_row("psi", lambda x, y: call("zeta", 2.0, x), on=_POSITIVE)


def _zeta(s: Any, x: Any) -> Any:
    # In SciPy this one is a function around two ufuncs, not a ufunc.
    return import_module(MODULE).zeta(s, x)


def _zeta_type(s: ArrayType, x: ArrayType) -> ArrayType:
    example = _zeta(np.full(1, 2, promoted(s, x)), np.ones(1, promoted(s, x)))
    return array_type(broadcast_shape("zeta", s.shape, x.shape), example.dtype)


def _zeta_slope(s: Any, x: Any, y: Any) -> Any:
    if isinstance(s.atom, Literal):  # a Python number again, which does not widen x
        s = s.atom.value
    return -s * call("zeta", s + 1, x)


SPECIAL["zeta"] = Primitive(
    "zeta",
    infer=_zeta_type,
    evaluate=_zeta,
    linear=None,
    derivative=sum_of_partials("zeta", (None, _zeta_slope)),
    transpose=NONLINEAR,
    batch=batch_aligned("zeta"),
    taylor=FROM_DERIVATIVE,
    samples=(sample(draw(4, low=2, high=3), draw(4, low=0.5, high=2), constant=(0,)),),
)
_row(
    "beta",
    lambda a, b, y: y * (call("psi", a) - call("psi", a + b)),
    lambda a, b, y: y * (call("psi", b) - call("psi", a + b)),
    on=(draw(4, low=0.5, high=4), draw(4, low=0.5, high=4)),
)
_row(
    "betaln",
    lambda a, b, y: call("psi", a) - call("psi", a + b),
    lambda a, b, y: call("psi", b) - call("psi", a + b),
    on=(draw(4, low=0.5, high=4), draw(4, low=0.5, high=4)),
)

_PAIR = (draw(4, low=0.3, high=2), draw(4, low=0.3, high=2))


def _zero_where_first_is(x: Any, value: Any) -> Any:
    return select(np.equal(x, 0), 0.0, value)


_row(
    "xlogy",
    lambda x, y, result: np.log(y),
    lambda x, y, result: _zero_where_first_is(x, x / y),
    on=_PAIR,
)
_row(
    "xlog1py",
    lambda x, y, result: np.log1p(y),
    lambda x, y, result: _zero_where_first_is(x, x / (1 + y)),
    on=_PAIR,
)
_row("entr", lambda x, y: -np.log(x) - 1, on=_POSITIVE)
_row(
    "rel_entr",
    lambda x, y, result: np.log(x / y) + 1,
    lambda x, y, result: -x / y,
    on=_PAIR,
)
_row(
    "kl_div",
    lambda x, y, result: np.log(x / y),
    lambda x, y, result: 1 - x / y,
    on=_PAIR,
)
_row(
    "huber",
    # r^2 / 2 within delta of 0, and the line delta (|r| - delta / 2) beyond.
    lambda delta, r, y: np.maximum(np.absolute(r) - delta, 0.0),
    lambda delta, r, y: np.minimum(np.maximum(r, -delta), delta),
    on=(draw(4, low=1.2, high=1.4), draw(4, low=-2, high=2)),
)


def _over_x(sign: int, x: Any, y: Any) -> Any:
    """y / x where y is the Bessel function j1 (sign -1) or i1 (sign 1).

    Near 0, where derivatives of a quotient cancel, sum_k (sign x^2 / 4)^k / (2 k! (k + 1)!).
    """
    small = _near_zero(x)
    square = sign * 0.25 * np.square(select(small, x, 0.0))
    series: Any = 0.0
    for k in range(10, -1, -1):  # enough for its derivatives too
        series = 0.5 / (math.factorial(k) * math.factorial(k + 1)) + square * series
    return select(small, series, y / select(small, 1.0, x))


def _i1e_over_x(x: Any, y: Any) -> Any:
    small = _near_zero(x)
    near = np.exp(-np.absolute(x)) * _over_x(1, select(small, x, 0.0), 0.0)
    return select(small, near, y / select(small, 1.0, x))


_row("j0", lambda x, y: -call("j1", x), on=_POSITIVE)
_row("j1", lambda x, y: call("j0", x) - _over_x(-1, x, y), on=_POSITIVE)
_row("y0", lambda x, y: -call("y1", x), on=_POSITIVE)
_row("y1", lambda x, y: call("y0", x) - y / x, on=_POSITIVE)
_row("i0", lambda x, y: call("i1", x), on=_POSITIVE)
_row("i1", lambda x, y: call("i0", x) - _over_x(1, x, y), on=_POSITIVE)
_row("i0e", lambda x, y: call("i1e", x) - np.sign(x) * y, on=_POSITIVE)
_row(
    "i1e",
    lambda x, y: call("i0e", x) - y * np.sign(x) - _i1e_over_x(x, y),
    on=_POSITIVE,
)
_row("k0", lambda x, y: -call("k1", x), on=_POSITIVE)
_row("k1", lambda x, y: -call("k0", x) - y / x, on=_POSITIVE)
