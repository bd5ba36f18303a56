"""`scipy.special`: orthogonal polynomials and Legendre functions, differentiable in their argument.

The derivative of a classical polynomial is one of a lower degree, with higher parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.samples import Draw, Fixed, draw
from adjoint.primitives.special.declaring import (
    COUNT,
    ORDER,
    PARAMETER,
    between,
    call,
    constant_number,
    row,
    shifted,
)

_X = between(-0.8, 0.8)


def _degree_below(n: Any, value: Callable[[Any], Any]) -> Any:
    """value(n - 1), and 0 where n is 0: SciPy has no polynomials of degree -1."""
    below = shifted(n, -1)
    if isinstance(below, (int, float)):
        return 0 if below == -1 else value(below)
    constant = np.equal(below, -1)
    return select(constant, 0.0, value(select(constant, 0, below)))


def _polynomial(
    name: str,
    slope: Callable[..., Any],
    *parameters: float,
    on: Draw | Fixed = _X,
    integers: bool = False,
) -> None:
    """A polynomial in its last operand; slope(n, n - 1, *parameters, x) -> its derivative."""

    def partial(*operands: Any) -> Any:
        n, *rest, _ = operands
        return _degree_below(n, lambda below: slope(n, below, *rest))

    fixed = tuple(constant_number(value) for value in parameters)
    reasons = (COUNT, *(PARAMETER for _ in parameters))
    also = [(constant_number(0), *fixed, on)]
    if not integers:
        also += [
            (
                constant_number(2.5),
                *fixed,
                between(*((0.2, 0.7) if "_sh_" in name else (-0.4, 0.6))),
            ),
            (constant_number(3.0), *fixed, draw(2, low=-0.5, high=0.5, dtype=complex)),
        ]
    row(name, *reasons, partial, on=(constant_number(4), *fixed, on), also=tuple(also))


_polynomial("eval_legendre", lambda n, k, x: 0.5 * (n + 1) * call("eval_jacobi", k, 1.0, 1.0, x))
_polynomial(
    "eval_sh_legendre",
    lambda n, k, x: (n + 1) * call("eval_jacobi", k, 1.0, 1.0, 2 * x - 1),
)
_polynomial("eval_chebyt", lambda n, k, x: n * call("eval_chebyu", k, x))
_polynomial("eval_chebyu", lambda n, k, x: 2 * call("eval_gegenbauer", k, 2.0, x))
_polynomial("eval_chebyc", lambda n, k, x: n * call("eval_chebys", k, x))
_polynomial("eval_chebys", lambda n, k, x: call("eval_gegenbauer", k, 2.0, 0.5 * x))
_polynomial("eval_sh_chebyt", lambda n, k, x: 2 * n * call("eval_sh_chebyu", k, x))
_polynomial("eval_sh_chebyu", lambda n, k, x: 4 * call("eval_gegenbauer", k, 2.0, 2 * x - 1))
_polynomial(
    "eval_gegenbauer",
    lambda n, k, a, x: 2 * a * call("eval_gegenbauer", k, shifted(a, 1), x),
    1.3,
)
_polynomial(
    "eval_jacobi",
    lambda n, k, a, b, x: (
        0.5 * (n + a + b + 1) * call("eval_jacobi", k, shifted(a, 1), shifted(b, 1), x)
    ),
    0.7,
    1.3,
)
_polynomial(
    "eval_sh_jacobi",
    lambda n, k, p, q, x: n * call("eval_sh_jacobi", k, shifted(p, 2), shifted(q, 1), x),
    2.2,
    1.3,
)
_polynomial("eval_laguerre", lambda n, k, x: -call("eval_genlaguerre", k, 1.0, x))
_polynomial(
    "eval_genlaguerre",
    lambda n, k, a, x: -call("eval_genlaguerre", k, shifted(a, 1), x),
    0.7,
)
_polynomial("eval_hermite", lambda n, k, x: 2 * n * call("eval_hermite", k, x), integers=True)
_polynomial("eval_hermitenorm", lambda n, k, x: n * call("eval_hermitenorm", k, x), integers=True)


def _legendre_function_slope(m: Any, v: Any, x: Any, y: Any) -> Any:
    """(x^2 - 1) P' = v x P - (v + m) P of order v - 1."""
    below = call("lpmv", m, shifted(v, -1), x)
    return (v * x * y - (v + m) * below) / (np.square(x) - 1)


row(
    "lpmv",
    ORDER,
    ORDER,
    _legendre_function_slope,
    on=(constant_number(1.0), constant_number(3.0), _X),
)
