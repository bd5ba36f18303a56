"""What Taylor mode does with coefficients: it adds them up, and integrates them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import real_dtype
from adjoint.primitives.expression import Expression

Coefficients = Sequence[Expression | None]


class Antiderivative:
    """The coefficients of y from those of its derivative: y_k = (dy/dt)_{k-1} / k.

    slopes: the series of the derivatives; None for zero. nodes: what computes them, in order.
    """

    def __init__(self, slopes: Sequence[Any], nodes: Sequence[Any]) -> None:
        self.slopes = slopes
        needed = {slope for slope in slopes if slope is not None}
        live = []
        for node in reversed(nodes):
            if not needed.isdisjoint(node.results):
                needed.update(node.needs)
                live.append(node)
        self.live = live[::-1]

    def __call__(self, k: int) -> Coefficients:
        """Coefficient k."""
        for node in self.live:  # in order, so that a long rule is no deep recursion
            node.extend(k - 1)
        slopes = [None if slope is None else slope[k - 1] for slope in self.slopes]
        return [None if x is None else (x / k if k > 1 else x) for x in slopes]


def narrow(dtype: np.dtype[Any], result: np.dtype[Any]) -> np.dtype[Any]:
    """A factor's dtype in a product of this dtype: complex only if it is."""
    return result if dtype.kind == "c" else real_dtype(result)


def total_of(x: Expression | None, y: Expression | None) -> Expression | None:
    """The sum of two coefficients, of which either may be structurally zero."""
    if x is None or y is None:
        return x if y is None else y
    total: Expression = x + y
    return total


def present(value: Any) -> Any:
    """A value that is there by construction."""
    assert value is not None
    return value
