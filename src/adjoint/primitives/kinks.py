"""Functions with kinks or steps: |x|, sign, maximum, minimum, rounding.

At a kink the derivative is a convex combination of the one-sided ones: the weight `kink` of the right-hand derivative is a setting,
1/2 unless changed (`ad.config(kink=...)`). So |x| has derivative 0 at 0, and a tie of maximum is shared equally.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.settings import settings
from adjoint.primitives.conversion import conjugate
from adjoint.primitives.declaration import NONLINEAR, TAYLOR_LATER, Primitive
from adjoint.primitives.elementwise import elementwise, scale, weigh
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.selection import select
from adjoint.primitives.typing_rules import ufunc_types


def _absolute_partial(x: Any) -> Any:
    """sign(x), and at 0 the combination (1 - kink)(-1) + kink (+1)."""
    at_zero = 2 * settings().kink - 1
    return np.sign(x) if at_zero == 0 else select(np.equal(x, 0), at_zero, np.sign(x))


def _absolute_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    (x,), (tangent,), (result,) = operands, tangents, results
    if x.dtype.kind != "c":
        return (weigh(_absolute_partial(x), tangent, result.type),)
    # d|z|[u] = Re(conj(z) u) / |z|, and 0 at 0: np.sign is z / |z| there.
    return (np.real(scale(conjugate(np.sign(x)), tangent)),)




ABSOLUTE = Primitive(
    "absolute",
    infer=lambda x: ufunc_types(np.absolute, x),
    evaluate=np.absolute,
    linear=None,
    derivative=_absolute_derivative,
    transpose=NONLINEAR,
    batch=lambda operands, batched, size: bind(ABSOLUTE, operands[0]),
    taylor=TAYLOR_LATER,
    samples=(
        sample(draw(3, low=0.5)),
        sample(draw(3, low=-2, high=-0.5)),
        sample(draw(2, dtype=complex)),
    ),
    ufunc=np.absolute,
)

elementwise(np.fabs, lambda x, result: _absolute_partial(x), samples=(sample(draw(3)),))

for _step in (np.sign, np.floor, np.ceil, np.trunc, np.rint):
    # Constant between their steps; at a step both one-sided derivatives of the pieces are 0.
    elementwise(_step, lambda x, result: 0.0, samples=(sample(draw(3, low=0.1, high=0.4)),))


def _first_wins(compare: Any, weight: float, x: Any, y: Any) -> Any:
    """1 where the comparison chooses x, `weight` at a tie, 0 elsewhere; NaN counts as a tie with itself."""
    return select(np.equal(x, y), weight, select(compare(x, y), 1.0, select(_is_nan(x), 1.0, 0.0)))


def _is_nan(x: Any) -> Any:
    return np.not_equal(x, x)


def _choice(ufunc: Any, compare: Any, right_is_first: bool) -> Primitive:
    """maximum and minimum: each operand has derivative 1 where it is the one returned."""

    def weight() -> float:
        # Moving x to the right of a tie makes x the maximum, and leaves y the minimum.
        return settings().kink if right_is_first else 1 - settings().kink

    return elementwise(
        ufunc,
        lambda x, y, result: _first_wins(compare, weight(), x, y),
        lambda x, y, result: 1 - _first_wins(compare, weight(), x, y),
        samples=(sample(draw(3), draw(3)), sample(draw(2, 3), draw(3))),
    )


_choice(np.maximum, np.greater, True)
_choice(np.minimum, np.less, False)
_choice(np.fmax, np.greater, True)
_choice(np.fmin, np.less, False)

elementwise(
    np.copysign,
    lambda x, y, result: np.sign(x) * np.sign(result),
    lambda x, y, result: 0.0,
    samples=(sample(draw(3, low=0.5), draw(3)),),
)
elementwise(
    np.heaviside,
    lambda x, y, result: 0.0,
    lambda x, y, result: select(np.equal(x, 0), 1.0, 0.0),
    samples=(sample(draw(3, low=0.5), draw(3)),),
)
elementwise(
    np.remainder,
    lambda x, y, result: 1,
    lambda x, y, result: -np.floor(x / y),
    samples=(sample(draw(3, low=1.1, high=1.9), draw(3, low=0.91, high=0.99)),),
)
elementwise(
    np.fmod,
    lambda x, y, result: 1,
    lambda x, y, result: -np.trunc(x / y),
    samples=(sample(draw(3, low=1.1, high=1.9), draw(3, low=0.91, high=0.99)),),
)
elementwise(
    np.floor_divide,
    lambda x, y, result: 0.0,
    lambda x, y, result: 0.0,
    samples=(sample(draw(3, low=1.1, high=1.9), draw(3, low=0.91, high=0.99)),),
)
