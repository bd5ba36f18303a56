"""Indices that differ from round to round: numbers computed from the round, or read from a table.

A slice becomes a gather, and a write one at indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.primitives.declaration import Primitive
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD, GATHER_SET, IOTA
from adjoint.primitives.structure.moving import broadcast_to, reshape
from adjoint.primitives.structure.slicing import INCREMENT, UPDATE, take
from adjoint.program import Builder, Literal

_AT_INDICES = {UPDATE: GATHER_SET, INCREMENT: GATHER_ADD}


def affine(numbers: Sequence[int]) -> int | None:
    """The step of an arithmetic progression; None for other numbers."""
    step = numbers[1] - numbers[0]
    steady = all(number == numbers[0] + step * place for place, number in enumerate(numbers))
    return step if steady else None


def rows(numbers: Sequence[int], step: int) -> tuple[int, int, int]:
    """The entry of an index that names the rows of a progression."""
    return numbers[0], numbers[-1] + (1 if step > 0 else -1), step


def read(x: Expression, index: Any, number: Callable[[int], Expression | None]) -> Expression:
    """x[index], where the number at an axis, or the start of a slice, may be computed."""
    last = max(axis for axis in range(len(index)) if number(axis) is not None) + 1
    gathered = bind(GATHER, x, *_arrays(x.builder, index, last, number))
    rest = index[last:]
    if all(entry == (0, size, 1) for entry, size in zip(rest, x.shape[last:], strict=True)):
        return gathered  # type: ignore[no-any-return]
    lead = gathered.ndim - x.ndim + last
    return take(gathered, (*((0, size, 1) for size in gathered.shape[:lead]), *rest))


def write(
    primitive: Primitive, x: Expression, value: Expression, index: Any, number: Callable[[int], Any]
) -> Expression:
    """The array with something written to, or added to, x[index]."""
    sizes = zip(index, x.shape, strict=True)
    parts = [axis for axis, (entry, size) in enumerate(sizes) if entry != (0, size, 1)]
    arrays = _arrays(x.builder, index, parts[-1] + 1, number)
    return bind(_AT_INDICES[primitive], x, value, *arrays)  # type: ignore[no-any-return]


def _arrays(
    builder: Builder, index: Any, count: int, number: Callable[[int], Expression | None]
) -> list[Expression]:
    """Index arrays of one shape for the first axes."""
    shape = tuple(len(range(*entry)) for entry in index[:count] if not isinstance(entry, int))
    index_arrays = []
    passed = 0
    for axis, entry in enumerate(index[:count]):
        start: Any = number(axis)
        if isinstance(entry, int):
            if start is None:
                start = Expression(builder, Literal(np.int64(entry)))
        else:
            steps = bind(IOTA, builder=builder, length=len(range(*entry)))
            if entry[2] != 1:
                steps = steps * entry[2]
            start = steps + (entry[0] if start is None else start)
            passed += 1
            start = reshape(start, (*start.shape, *(1,) * (len(shape) - passed)))
        index_arrays.append(broadcast_to(start, shape))
    return index_arrays
