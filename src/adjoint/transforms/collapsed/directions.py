"""The directions in which a value moves, many at a time, without the zeros that are known.

A set of directions is numbered along axes: the standard basis of arrays of shape (20, 4), by two
axes of lengths 20 and 4. How a value moves in all of them is an array of its own shape with one
axis more in front. An axis of the set need not be counted there: it may *run along* an axis of the
value, in which case the value moves in direction i at its entries i of that axis alone. So the
standard basis itself is an array of ones, whose axes run along those of the input; whatever is
done entry by entry, or particle by particle, leaves it so, and no zero is ever multiplied. Where
axes are mixed (a sum, a product of matrices), they are counted from then on.

How a value moves may be a sum of *parts* that run along different axes: the differences x_i - x_j
of all pairs of particles move with i along their first axis, and with j along their second.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.arrays import real_dtype
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import scale
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.hardness import hard
from adjoint.primitives.structure.gathering import IOTA
from adjoint.primitives.structure.moving import (
    FILL,
    permute,
    reshape,
    sum_axes,
)
from adjoint.program import Builder

MOST_PARTS: Final = 4  # each is multiplied with each

AxisRun = int | None


class DirectionSet(NamedTuple):
    """Directions, and what their second derivatives count for.

    lengths: of the axes that number them. sign: 1 or -1.
    """

    lengths: tuple[int, ...]
    sign: int = 1


class Directions(NamedTuple):
    """How a value moves in all directions of a set.

    rows: an array of the value's shape for each direction that is counted. runs: for each axis of
    the set, the axis of the value that it runs along; None where it is counted.
    """

    rows: Expression
    runs: tuple[AxisRun, ...]


def standard_directions(builder: Builder, shape: tuple[int, ...], dtype: Any) -> Directions:
    """How an array moves along the standard basis of arrays of its shape: ones, along its axes.

    Axes of length 1 are counted, which takes no more numbers: a reshape would lay two of them along
    the same axis.
    """
    rows = bind(FILL, builder=builder, shape=(1, *shape), dtype=np.dtype(dtype), value=1)
    return Directions(rows, tuple(n if length != 1 else None for n, length in enumerate(shape)))


def counted_lengths(lengths: Sequence[int], runs: Sequence[AxisRun]) -> tuple[int, ...]:
    """The lengths of the axes of a set that are counted."""
    return tuple(n for n, run in zip(lengths, runs, strict=True) if run is None)


def count_axis(moved: Directions, lengths: Sequence[int], place: int) -> Directions:
    """Count an axis of the set that ran along one of the value: now its zeros are written out."""
    run = moved.runs[place]
    if run is None:
        return moved
    rows, size = moved.rows, lengths[place]
    shape = rows.shape[1:]
    ahead = prod(counted_lengths(lengths[:place], moved.runs[:place]))
    after = prod(counted_lengths(lengths[place + 1 :], moved.runs[place + 1 :]))
    wide = reshape(rows, (ahead, 1, after, *shape))
    along = tuple(size if axis == run else 1 for axis in range(len(shape)))
    unit = reshape(unit_matrix(rows.builder, size, rows.dtype), (size, 1, *along))
    spread = scale(hard(unit), wide)
    runs = tuple(None if n == place else axis for n, axis in enumerate(moved.runs))
    return Directions(reshape(spread, (ahead * size * after, *shape)), runs)


def count_axes(moved: Directions, lengths: Sequence[int], places: Sequence[int]) -> Directions:
    """Count several axes of the set."""
    for place in places:
        moved = count_axis(moved, lengths, place)
    return moved


def count_all(moved: Directions, lengths: Sequence[int]) -> Directions:
    """Count all axes of the set."""
    return count_axes(moved, lengths, range(len(lengths)))


def unit_matrix(builder: Builder, size: int, dtype: np.dtype[Any]) -> Expression:
    """The unit matrix."""
    numbers: Any = bind(IOTA, builder=builder, length=size)
    columns: Any = reshape(numbers, (size, 1))
    return cast(np.equal(columns, numbers), real_dtype(dtype))


def take_out(moved: Directions, lengths: Sequence[int], summed: Sequence[int]) -> Directions:
    """Sum over axes of the value; those of them that axes of the set run along are counted instead.

    Of the entries along such an axis each moves in one direction alone, so that a sum over them has
    as many directions. No zero is added.
    """
    rows, shape = moved.rows, moved.rows.shape[1:]
    counted = counted_lengths(lengths, moved.runs)
    split = reshape(rows, (*counted, *shape))
    numbers = iter(range(len(counted)))
    lead: list[int] = []
    runs: list[AxisRun] = []
    for run in moved.runs:
        if run is None:
            lead.append(next(numbers))
            runs.append(None)
        elif run in summed:
            lead.append(len(counted) + run)
            runs.append(None)
        else:
            runs.append(run - sum(axis < run for axis in summed))
    kept = [len(counted) + axis for axis in range(len(shape)) if axis not in summed]
    mixed = [axis for axis in range(split.ndim) if axis not in lead and axis not in kept]
    ordered = permute(split, (*lead, *kept, *mixed))
    total = sum_axes(ordered, tuple(range(len(lead) + len(kept), split.ndim)))
    count = prod(split.shape[axis] for axis in lead)
    result = tuple(shape[axis - len(counted)] for axis in kept)
    return Directions(reshape(total, (count, *result)), tuple(runs))


def added(first: Directions, second: Directions, lengths: Sequence[int]) -> Directions:
    """The sum of two, counted where their axes run otherwise."""
    apart = [n for n, (a, b) in enumerate(zip(first.runs, second.runs, strict=True)) if a != b]
    one, other = count_axes(first, lengths, apart), count_axes(second, lengths, apart)
    total: Any = one.rows + other.rows
    return Directions(total, one.runs)


def joined(parts: Sequence[Directions], lengths: Sequence[int]) -> Directions:
    """All parts as one."""
    first, *rest = parts
    for part in rest:
        first = added(first, part, lengths)
    return first


def merged(parts: Sequence[Directions], lengths: Sequence[int]) -> list[Directions]:
    """The same sum in as few parts as cost nothing: of one kind, or counted anyway."""
    for place in range(len(lengths)):
        runs = {part.runs[place] for part in parts}
        if None in runs and len(runs) > 1:
            parts = [count_axis(part, lengths, place) for part in parts]
    alike: dict[tuple[AxisRun, ...], Directions] = {}
    for part in parts:
        had = alike.get(part.runs)
        alike[part.runs] = part if had is None else added(had, part, lengths)
    apart = list(alike.values())
    return apart if len(apart) <= MOST_PARTS else [joined(apart, lengths)]
