"""Truncated power series, as the Taylor rules of primitives meet them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from adjoint.base.arrays import ArrayType
from adjoint.primitives.declaration import Primitive
from adjoint.primitives.expression import Expression
from adjoint.program import Program


class TruncatedSeries(Protocol):
    """The coefficients of x(t) = sum_k x_k t^k; `x[k]` is None where it is structurally zero.

    `x[0]` is always there. type: that of the value; constant: whether all other coefficients are
    structurally zero.
    """

    type: ArrayType

    def apply(self, primitive: Primitive, **params: Any) -> TruncatedSeries:
        """The series of a primitive applied to this one."""

    def run(self, program: Program, operands: Sequence[Any], k: int) -> Sequence[Any]:
        """Coefficient k of a program's results; operands are series, or expressions that stand."""

    @property
    def constant(self) -> bool:
        """Whether it does not vary with t."""

    def __getitem__(self, k: int) -> Any: ...


def convolve(
    product: Callable[[Any, Any], Expression],
    x: TruncatedSeries,
    y: TruncatedSeries,
    k: int,
    first: int,
    last: int,
) -> Expression | None:
    """The sum of product(x_j, y_{k-j}) over j = first, ..., last, or None if nothing is left.

    From 0 to k it is coefficient k of a bilinear product of two series (the Cauchy product).
    """
    total: Expression | None = None
    for j in range(first, last + 1):
        left, right = x[j], y[k - j]
        if left is not None and right is not None:
            term = product(left, right)
            total = term if total is None else total + term
    return total


def difference(x: Expression | None, y: Expression | None) -> Expression | None:
    """x - y, of which either may be structurally zero."""
    if y is None:
        return x
    remainder: Expression = -y if x is None else x - y
    return remainder
