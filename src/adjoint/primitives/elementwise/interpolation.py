"""A number on the line through two points, by the steps of `np.interp`, infinities included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.primitives.elementwise.accuracy.formulas import Formula, choose, formula
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.samples import draw, sample


class _FiveNumbers:
    """What stands for a ufunc of five numbers, whose dtypes are those of a sum of them."""

    nin = 5

    @staticmethod
    def resolve_dtypes(dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
        """The dtype of all, for each of them and for the result."""
        *given, _ = dtypes
        result = given[0]
        for dtype in given[1:]:
            result = np.add.resolve_dtypes((result, dtype, None))[2]
        return (np.dtype(result),) * (len(given) + 1)


def _slope(x0: Any, x1: Any, f0: Any, f1: Any) -> Any:
    return (f1 - f0) / (x1 - x0)


def _slope_of_parts(x0: Any, x1: Any, f0: Any, f1: Any) -> Any:
    return (f1 - f0) * (1.0 / (x1 - x0))


def _value(slope_of: Callable[..., Any]) -> Callable[..., Any]:
    def value(x: Any, x0: Any, x1: Any, f0: Any, f1: Any) -> Any:
        slope = slope_of(x0, x1, f0, f1)
        near, far = slope * (x - x0) + f0, slope * (x - x1) + f1
        # Where infinities leave nothing on one side, NumPy tries the other.
        far = choose(np.isnan(far), choose(np.equal(f0, f1), f0, far), far)
        inside = choose(np.isnan(near), far, near)
        ends = choose(np.equal(x, x1), f1, choose(np.equal(x, x0), f0, inside))
        return choose(np.isnan(x), x, ends)

    return value


def _weights(x: Any, x0: Any, x1: Any) -> tuple[Any, Any]:
    """The share of each point; that of one infinitely far away comes of the other's."""
    width = x1 - x0
    first, second = (x1 - x) / width, (x - x0) / width
    return (
        select(np.isnan(first), 1.0 - second, first),
        select(np.isnan(second), 1.0 - first, second),
    )


def _partials(slope_of: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    # f = f0 + s (x - x0) with s = (f1 - f0) / (x1 - x0): df/dx0 = -s w0, df/dx1 = -s w1
    return (
        lambda x, x0, x1, f0, f1, y: slope_of(x0, x1, f0, f1),
        lambda x, x0, x1, f0, f1, y: -slope_of(x0, x1, f0, f1) * _weights(x, x0, x1)[0],
        lambda x, x0, x1, f0, f1, y: -slope_of(x0, x1, f0, f1) * _weights(x, x0, x1)[1],
        lambda x, x0, x1, f0, f1, y: _weights(x, x0, x1)[0],
        lambda x, x0, x1, f0, f1, y: _weights(x, x0, x1)[1],
    )


def _declared(name: str, slope_of: Callable[..., Any]) -> Formula:
    return formula(
        name,
        _value(slope_of),
        *_partials(slope_of),
        samples=(
            sample(
                draw(3, low=0.1, high=0.9),
                draw(3, low=-2.0, high=0.0),
                draw(low=1.0, high=2.0),
                draw(3),
                draw(2, 3),
            ),
        ),
        like=_FiveNumbers(),
    )


ON_LINE = _declared("on_line", _slope)
# Of complex numbers NumPy multiplies both parts by the reciprocal of the width.
PART_ON_LINE = _declared("part_on_line", _slope_of_parts)
