"""Partial results of chunks, combined two by two in an order that their number alone decides.

Those of n chunks are those of the first k, combined with those of the rest, where k is the largest
power of two below n. So sums have the same bits however many workers there are, and whoever is
first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

Results = tuple[Any, ...]
Bounds = tuple[int, int]  # the number of the first row, and that after the last


def together(combined: Sequence[str], one: Results, other: Results) -> Results:
    """Two partial results as one. combined: how, for each (see `RowMark`)."""
    triples = zip(combined, one, other, strict=True)
    return tuple([x if how == "either" else getattr(np, how)(x, y) for how, x, y in triples])


def first_half(count: int) -> int:
    """How many of so many chunks, two or more, are combined before the rest joins them."""
    return 1 << ((count - 1).bit_length() - 1)


def in_tree(combined: Sequence[str], results: Iterable[Results]) -> Results:
    """The results of all chunks, given one by one in order; few are held at a time."""
    levels: list[tuple[int, Results]] = []
    for total in results:
        level = 0
        while levels and levels[-1][0] == level:
            total = together(combined, levels.pop()[1], total)
            level += 1
        levels.append((level, total))
    _, total = levels.pop()
    while levels:
        total = together(combined, levels.pop()[1], total)
    return total
