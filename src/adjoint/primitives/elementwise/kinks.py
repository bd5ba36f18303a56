"""Functions with kinks or steps: |x|, sign, maximum, minimum, rounding.

At a kink the derivative is a convex combination of the one-sided ones: the weight `kink` of the
right-hand derivative is a setting, 1/2 unless changed (`ad.config(kink=...)`). So |x| has
derivative 0 at 0, and a tie of maximum is shared equally.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import real_dtype
from adjoint.base.settings import settings
from adjoint.primitives.declaration import Primitive
from adjoint.primitives.elementwise.conversion import cast, conjugate, real
from adjoint.primitives.elementwise.declaring import elementwise, scale, weigh
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.expression import bind
from adjoint.primitives.identities import same_as
from adjoint.primitives.samples import Fixed, draw, sample
from adjoint.primitives.typing_rules import ufunc_types


def _absolute_partial(x: Any) -> Any:
    """sign(x), and at 0 the combination (1 - kink)(-1) + kink (+1)."""
    at_zero = 2 * settings().kink - 1
    return np.sign(x) if at_zero == 0 else select(np.equal(x, 0), at_zero, np.sign(x))


def _absolute_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    (x,), (tangent,), (result,) = operands, tangents, results
    if x.dtype.kind != "c":
        return (weigh(_absolute_partial(x), tangent, result.type),)
    # d|z|[u] = Re(conj(z) u) / |z|, and 0 at 0, where np.sign(z) = z / |z| is 0. There it has no
    # second derivative, as no norm has.
    size = np.absolute(x)
    kind = size.dtype.type
    nowhere = select(np.equal(size, 0), kind(np.nan), kind(0))
    direction = same_as(np.sign(x), x / (size + nowhere))
    return (real(scale(conjugate(direction), tangent)),)


ABSOLUTE: Primitive = Primitive(
    "absolute",
    infer=lambda x: ufunc_types(np.absolute, x),
    evaluate=np.absolute,
    linear=None,
    derivative=_absolute_derivative,
    batch=lambda operands, batched, size: bind(ABSOLUTE, operands[0]),
    samples=(
        sample(draw(3, low=0.5)),
        sample(draw(3, low=-2, high=-0.5)),
        sample(draw(2, dtype=complex)),
    ),
    ufunc=np.absolute,
)

elementwise(np.fabs, lambda x, result: _absolute_partial(x), samples=(sample(draw(3)),))


def _sign_derivative(tangents: Any, operands: Any, results: Any) -> Any:
    (x,), (tangent,), (result,) = operands, tangents, results
    if x.dtype.kind != "c":
        return (None,)
    # s = z / |z|: ds[u] = (u - s Re(conj(s) u)) / |z|, the part of u across z; 0 at the jump, z =
    # 0.
    along = cast(real(scale(conjugate(result), tangent)), x.dtype)
    across = tangent - scale(result, along)
    size = np.absolute(x)
    return (scale(select(np.equal(size, 0), 0.0, np.reciprocal(size)), across),)


SIGN: Primitive = Primitive(
    "sign",
    infer=lambda x: ufunc_types(np.sign, x),
    evaluate=np.sign,
    linear=None,
    derivative=_sign_derivative,
    batch=lambda operands, batched, size: bind(SIGN, operands[0]),
    samples=(sample(draw(3, low=0.1, high=0.4)), sample(draw(2, dtype=complex))),
    ufunc=np.sign,
)

for _step in (np.floor, np.ceil, np.trunc, np.rint):
    # Constant between their steps; at a step both one-sided derivatives of the pieces are 0.
    elementwise(_step, lambda x, result: 0.0, samples=(sample(draw(3, low=0.1, high=0.4)),))


_TIE_FREE = (
    sample(Fixed([0.3, -1.2, 0.9]), Fixed([0.7, -1.6, -0.4])),
    sample(Fixed([[0.3, -1.2, 0.9], [1.5, 0.1, -0.8]]), Fixed([0.5, -0.6, 0.2])),
)


def _choice(ufunc: Any, compare: Any, right_is_first: bool, nan_wins: bool) -> Primitive:
    """maximum and minimum: each operand has derivative 1 where it is the one returned.

    nan_wins: whether NaN is returned against a number, as by maximum, or the number, as by fmax.
    """

    def share(x: Any, y: Any, result: Any, weight: float, *sides: int) -> Any:
        """`weight` at a tie; else the first of `sides` where x is returned, else the second."""
        number = real_dtype(result.dtype).type
        lone = x if nan_wins else y
        wins = compare(x, y) | np.not_equal(lone, lone)
        return select(np.equal(x, y), number(weight), select(wins, *map(number, sides)))

    def weight() -> float:
        # Moving x to the right of a tie makes x the maximum, and leaves y the minimum.
        return settings().kink if right_is_first else 1 - settings().kink

    return elementwise(
        ufunc,
        lambda x, y, result: share(x, y, result, weight(), 1, 0),
        lambda x, y, result: share(x, y, result, 1 - weight(), 0, 1),
        samples=_TIE_FREE,
    )


_choice(np.maximum, np.greater, right_is_first=True, nan_wins=True)
_choice(np.minimum, np.less, right_is_first=False, nan_wins=True)
_choice(np.fmax, np.greater, right_is_first=True, nan_wins=False)
_choice(np.fmin, np.less, right_is_first=False, nan_wins=False)

elementwise(
    np.copysign,
    lambda x, y, result: np.sign(x) * np.sign(result),
    lambda x, y, result: 0.0,
    samples=(sample(draw(3, low=0.5), draw(3)),),
)
elementwise(
    np.heaviside,
    lambda x, y, result: 0.0,
    lambda x, y, result: cast(np.equal(x, 0), result.dtype),
    samples=(sample(draw(3, low=0.5), draw(3)),),
)
elementwise(
    np.remainder,
    lambda x, y, result: 1,
    lambda x, y, result: -np.floor_divide(x, y),  # floor(x / y) rounds up at 1 / 0.1
    samples=(sample(draw(3, low=1.1, high=1.7), draw(3, low=0.91, high=0.99)),),
)
elementwise(
    np.fmod,
    lambda x, y, result: 1,
    lambda x, y, result: -np.rint((x - result) / y),
    samples=(sample(draw(3, low=1.1, high=1.7), draw(3, low=0.91, high=0.99)),),
)
elementwise(
    np.floor_divide,
    lambda x, y, result: 0.0,
    lambda x, y, result: 0.0,
    samples=(sample(draw(3, low=1.1, high=1.7), draw(3, low=0.91, high=0.99)),),
)
