"""Piecewise linear functions on grids, tensor products of axes that need not be uniform."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import cached_property, reduce
from itertools import product
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.spaces.euclidean import Euclidean, as_inexact_dtype
from adjoint.spaces.functions.discretisation import (
    Discretisation,
    as_values,
    diagonal_matrix,
    sealed,
    sealed_sparse,
    separate,
)


class Boundary(Enum):
    """What functions do at both ends of an axis.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Functions
        >>> Functions.grid(np.linspace(0, 1, 5), boundary=Boundary.ZERO).points
        array([0.25, 0.5 , 0.75])
    """

    FREE = "any value: what a gradient in H1 does there is have no normal derivative (Neumann)"
    ZERO = "they are zero there, and an element holds the values in between (Dirichlet)"
    PERIODIC = "the last point is the first one again, and an element does not hold it twice"


@final
class _Axis:
    """The points of one axis, and the matrices of piecewise linear functions of one variable."""

    def __init__(self, points: Any, boundary: Boundary, name: str) -> None:
        if not isinstance(boundary, Boundary):
            raise ArgumentTypeError(
                f"boundary must be one of Boundary, or a tuple with one for each axis. "
                f"Got {boundary!r}. Boundary.FREE is what it is unless told."
            )
        self.points: Final = sealed(points, name)
        self.boundary: Final = boundary
        needed = 3 if boundary is Boundary.ZERO else 2
        if self.points.ndim != 1 or len(self.points) < needed:
            raise ArgumentError(
                f"{name} must be a vector of {needed} points or more ({boundary.name} boundary). "
                f"Got shape {self.points.shape}. A grid of two variables takes two such vectors."
            )
        self.widths: Final = np.diff(self.points)
        if not np.all(self.widths > 0):
            raise ArgumentError(
                f"{name} must increase. Got a step of {np.min(self.widths):.3g}. np.unique sorts "
                "points and drops repeated ones."
            )

    @property
    def held(self) -> slice:
        """Which of the points an element holds a value for."""
        match self.boundary:
            case Boundary.FREE:
                return slice(None)
            case Boundary.ZERO:
                return slice(1, -1)
            case Boundary.PERIODIC:
                return slice(None, -1)

    def _assemble(self, same: Any, other: Any) -> Any:
        """The matrix of [[same, other], [other, same]] on each cell, over the values held."""
        from scipy.sparse import coo_array  # lazy: takes longer to import than all of adjoint

        count = len(self.points)
        places = np.arange(count)
        if self.boundary is Boundary.PERIODIC:
            places[-1] = 0
        left, right = places[:-1], places[1:]
        rows = np.concatenate([left, right, left, right])
        columns = np.concatenate([left, right, right, left])
        entries = np.concatenate([same, same, other, other])
        whole = coo_array((entries, (rows, columns)), shape=(count, count)).tocsc()
        return whole[self.held, self.held]

    @cached_property
    def mass(self) -> Any:
        """The integrals of products of hat functions."""
        return self._assemble(self.widths / 3, self.widths / 6)

    @cached_property
    def stiffness(self) -> Any:
        """The integrals of products of their derivatives."""
        return self._assemble(1 / self.widths, -1 / self.widths)

    @cached_property
    def integrals(self) -> Any:
        """The integrals of the hat functions."""
        halves = np.zeros(len(self.points))
        halves[:-1] += self.widths / 2
        halves[1:] += self.widths / 2
        if self.boundary is Boundary.PERIODIC:
            halves[0] += halves[-1]
        return halves[self.held]

    def completed(self, values: Any, axis: int) -> Any:
        """The values at all points, from those that an element holds, along an axis of an array."""
        if self.boundary is Boundary.FREE:
            return values
        first = values[(slice(None),) * axis + (slice(0, 1),)]
        if self.boundary is Boundary.PERIODIC:
            return np.concatenate([values, first], axis=axis)
        nothing = np.zeros_like(first)
        return np.concatenate([nothing, values, nothing], axis=axis)

    def locate(self, points: Any, name: str) -> tuple[Any, Any]:
        """The cell of each point, and how far into it the point lies, from 0 to 1."""
        low, high = self.points[0], self.points[-1]
        if self.boundary is Boundary.PERIODIC:
            points = low + np.mod(points - low, high - low)
        elif np.any((points < low) | (points > high)):
            raise ArgumentError(
                f"{name} must lie on the grid, between {low:.6g} and {high:.6g}. Got a point "
                "outside. np.clip(points, low, high) moves such points to the boundary."
            )
        cells = np.searchsorted(self.points, points, side="right") - 1
        cells = np.clip(cells, 0, len(self.widths) - 1)
        return cells, (points - self.points[cells]) / self.widths[cells]


@final
class Grid(Discretisation):
    """Continuous functions that are linear in each variable on each cell of a grid."""

    def __init__(self, axes: tuple[Any, ...], boundary: Any, lumped: bool, dtype: Any) -> None:
        if not axes:
            raise ArgumentError(
                "A grid takes the points along each axis, one vector for each variable. Got none. "
                "Functions.grid(np.linspace(0, 1, 11)) is a grid on [0, 1]."
            )
        boundaries = boundary if isinstance(boundary, tuple) else (boundary,) * len(axes)
        if len(boundaries) != len(axes):
            raise ArgumentError(
                f"boundary must be one, or a tuple with one for each of the {len(axes)} axes. "
                f"Got {len(boundaries)}. Boundary.FREE is what it is unless told."
            )
        pairs = enumerate(zip(axes, boundaries, strict=True))
        self._axes: Final = [_Axis(axis, kind, f"axes[{index}]") for index, (axis, kind) in pairs]
        self.lumped: Final = bool(lumped)
        held = [axis.points[axis.held] for axis in self._axes]
        self.base = Euclidean(tuple(map(len, held)), as_inexact_dtype(dtype))
        self.coordinates = tuple(np.meshgrid(*held, indexing="ij"))
        self.integrals = reduce(np.multiply.outer, [axis.integrals for axis in self._axes])

    def _key(self) -> tuple[Any, ...]:
        axes = [(axis.points.tobytes(), axis.boundary) for axis in self._axes]
        return self.base, self.lumped, *axes

    def __repr__(self) -> str:
        lumped = "lumped " if self.lumped else ""
        return f"a {lumped}grid of {'x'.join(map(str, self.base.shape))}"

    def interpolate(self, function: Callable[..., Any]) -> Any:
        """The values at the points of the grid that an element holds."""
        return as_values(function(*self.coordinates), self.base.shape, self.base.dtype)

    def evaluate(self, element: Any, points: Any) -> Any:
        """The values of the piecewise linear function, by interpolation in the cell."""
        count = len(self._axes)
        coordinates = separate(points, count)
        for axis, description in enumerate(self._axes):
            element = description.completed(element, axis)
        places = [axis.locate(x, "points") for axis, x in zip(self._axes, coordinates, strict=True)]
        total: Any = 0.0
        for corner in product((0, 1), repeat=count):
            index = tuple(cells + side for (cells, _), side in zip(places, corner, strict=True))
            sides = zip(places, corner, strict=True)
            factors = [inside if side else 1 - inside for (_, inside), side in sides]
            total = total + element[index] * reduce(np.multiply, factors)
        return total

    def _masses(self) -> list[Any]:
        if self.lumped:
            return [diagonal_matrix(axis.integrals) for axis in self._axes]
        return [axis.mass for axis in self._axes]

    @cached_property
    def mass(self) -> Any:
        """The product of those of the axes; a diagonal where it is lumped."""
        return sealed_sparse(_tensor_product(self._masses()))

    @cached_property
    def stiffness(self) -> Any:
        """The sum over the variables of the products with one derivative."""
        masses = self._masses()
        terms = [
            _tensor_product([*masses[:index], axis.stiffness, *masses[index + 1 :]])
            for index, axis in enumerate(self._axes)
        ]
        return sealed_sparse(sum(terms[1:], start=terms[0]))


def _tensor_product(matrices: list[Any]) -> Any:
    from scipy.sparse import kron  # lazy: takes longer to import than all of adjoint

    return reduce(lambda one, two: kron(one, two, format="csc"), matrices)
