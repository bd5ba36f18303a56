"""Arrays whose entries are vertices, one or a lane of them.

Where a function is vectorised over many points, and what it computes at one of them does not depend
on another, one graph serves them all: its vertices are vectors with a lane for each point. One axis
of an array is then that of the lanes, and its entries are counted without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

NOTHING: Final = -1  # in place of a vertex: this entry does not vary
Vertices = np.ndarray[Any, np.dtype[np.int64]]


class NotSeparable(Exception):
    """No graph of numbers, or of lanes of them, stands for the program."""


@dataclass(frozen=True)
class Entries:
    """The vertices of an array.

    vertices: their numbers, in the shape of the array without the axis of the lanes. lanes: which
    axis that is; None where the array is the same at all points.
    """

    vertices: Vertices
    lanes: int | None

    def spread(self, count: int) -> Vertices:
        """The vertices in the shape of the array, the same in each lane."""
        if self.lanes is None:
            return self.vertices
        whole: Vertices = np.repeat(np.expand_dims(self.vertices, self.lanes), count, self.lanes)
        return whole

    def numbers(self, count: int) -> Vertices:
        """The number of the lane of each entry; -1 for all if there are none."""
        if self.lanes is None:
            return np.full(self.vertices.shape, -1)
        shape = self.spread(count).shape
        along = [1] * len(shape)
        along[self.lanes] = count
        return np.broadcast_to(np.arange(count).reshape(along), shape)


def moved(move: Callable[..., Any], operands: Sequence[Entries], count: int) -> Entries:
    """The entries of a result whose entries are some of those of the operands.

    move: what takes them there, on arrays of anything.

    Raises:
        NotSeparable: lanes are taken apart, or meet what has none.
    """
    vertices = move(*(x.spread(count) for x in operands))
    numbers = np.asarray(move(*(x.numbers(count) for x in operands)))
    return _gathered(np.asarray(vertices), numbers, count)


def _gathered(vertices: Vertices, numbers: Vertices, count: int) -> Entries:
    """Entries from the vertex and the lane of each; NotSeparable where lanes are taken apart.

    An axis of the first few lanes is none of the lanes: all of them lie along that.
    """
    if numbers.size == 0 or (numbers == -1).all():
        return Entries(vertices, None)
    for axis, length in enumerate(numbers.shape):
        if length != count:
            continue
        along = [1] * numbers.ndim
        along[axis] = length
        fits = (numbers == np.arange(length).reshape(along)) | (vertices == NOTHING)
        if fits.all() and (vertices == np.take(vertices, [0], axis)).all():
            return Entries(np.take(vertices, 0, axis), axis)
    raise NotSeparable


def aligned(operand: Entries, ndim: int, lanes: int | None) -> Vertices:
    """The vertices of an operand of an elementwise function, ready to be broadcast.

    ndim, lanes: the number of axes of the result, and which of them is that of the lanes; the
    vertices come without it.

    Raises:
        NotSeparable: it has its lanes elsewhere, or varies by itself where the lanes are.
    """
    lead = ndim - operand.vertices.ndim - (operand.lanes is not None)
    vertices = operand.vertices
    if lanes is None:
        if operand.lanes is not None:
            raise NotSeparable
        return vertices
    if operand.lanes is not None:
        if operand.lanes + lead != lanes:
            raise NotSeparable
    elif lanes >= lead:
        if vertices.shape[lanes - lead] != 1 and (vertices != NOTHING).any():
            raise NotSeparable
        vertices = np.take(vertices, 0, lanes - lead)
    before = lead - (operand.lanes is None and lanes < lead)
    return np.reshape(vertices, (1,) * before + vertices.shape)
