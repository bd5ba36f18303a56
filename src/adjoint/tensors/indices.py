"""The indices of tensors: the spaces that they are over, and their orders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError, SpaceMismatchError
from adjoint.spaces import Dual, Space
from adjoint.spaces.elements.values import describe


def spaces_of(spaces: Any, argument: str) -> tuple[Space, ...]:
    """The spaces of indices, as they are given: a space of vectors for each."""
    if isinstance(spaces, Space) or not isinstance(spaces, Iterable):
        raise ArgumentTypeError(
            f"{argument} is a tuple of spaces, one for each index. Got {describe(spaces)}. "
            f"Write {argument}=(space,)."
        )
    checked_spaces = tuple(spaces)
    for space in checked_spaces:
        if not isinstance(space, Space) or isinstance(space, Dual):
            raise ArgumentTypeError(
                f"{argument} are spaces of vectors. Got {space!r}. "
                "An index over a dual is one of the other variance over the space itself."
            )
    return checked_spaces


def without(spaces: tuple[Space, ...], index: int) -> tuple[Space, ...]:
    """All spaces but that of one index."""
    index %= len(spaces)
    return spaces[:index] + spaces[index + 1 :]


def _sign(order: tuple[int, ...]) -> int:
    """1 for an even permutation, -1 for an odd one: the parity of the number of inversions."""
    pairs = ((i, j) for j in range(len(order)) for i in range(j))
    return -1 if sum(order[i] > order[j] for i, j in pairs) % 2 else 1


def order_of(tensor: Any, variance: str, count: int, order: Sequence[int] | None) -> Sequence[int]:
    """An order of the indices of one variance, as it is given: each number once."""
    if order is None:
        return range(count)
    if sorted(order) != list(range(count)):
        raise ArgumentError(
            f"{tensor._summary()} has {count} {variance} indices. Got the order {order!r}. "
            f"Give each number from 0 to {count - 1} once: indices of different variance "
            "cannot change places; lowered() and raised() change the variance."
        )
    return order


def averaged(tensor: Any, signed: bool) -> Any:
    """The mean of a tensor over all orders of its inputs (outputs, where there are none)."""
    spaces = tensor.inputs or tensor.outputs
    if len(set(spaces)) > 1:
        raise SpaceMismatchError(
            f"Only indices over one space change places. {tensor._summary()} has some over "
            f"{', '.join(map(repr, dict.fromkeys(spaces)))}."
        )
    count = len(spaces)
    first = tensor.batch + (len(tensor.outputs) if tensor.inputs else 0)
    total: Any = 0.0
    for order in permutations(range(count)):
        axes = list(range(tensor.batch + tensor.order))
        axes[first : first + count] = [first + number for number in order]
        term = np.transpose(tensor.components, axes)
        total = total + (_sign(order) * term if signed else term)
    return tensor._with(total / factorial(count))
