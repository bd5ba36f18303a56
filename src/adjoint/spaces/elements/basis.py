"""Bases: sequences of elements, made when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, overload

import numpy as np


class _Coordinated(Protocol):
    """What a basis needs of its space (a protocol, so that this file stands below `space`)."""

    @property
    def dimension(self) -> int: ...
    @property
    def _real_dtype(self) -> np.dtype[Any]: ...
    def _from_coordinates(self, coordinates: Any) -> Any: ...


class Basis(Sequence[Any]):
    """The basis of a space; every element is made anew when it is asked for.

    Args:
        space: of which it is the basis.

    Example:
        >>> from adjoint.spaces import Euclidean
        >>> len(Euclidean((2, 3)).basis()), Euclidean(3).basis()[1]
        (6, array([0., 1., 0.]))
    """

    __slots__ = ("space",)

    def __init__(self, space: _Coordinated) -> None:
        self.space = space

    def __len__(self) -> int:
        return self.space.dimension

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        return self.space._from_coordinates(unit(self.space, index))

    def __repr__(self) -> str:
        return f"<basis of {self.space!r}: {len(self)} elements>"


def unit(space: _Coordinated, index: int) -> Any:
    """The coordinates of the basis vector with this index, shape (dimension,)."""
    coordinates = np.zeros(space.dimension, space._real_dtype)
    coordinates[index] = 1
    return coordinates
