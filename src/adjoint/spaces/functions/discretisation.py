"""How arrays stand for functions: values at the nodes of a quadrature, coefficients in a basis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MissingStructureError,
    ShapeError,
)
from adjoint.spaces.elements.values import describe
from adjoint.spaces.euclidean import Euclidean, as_inexact_dtype

Function = Callable[..., Any]


class Discretisation(ABC):
    """A finite-dimensional space of functions: which function an array of coefficients stands for.

    It knows integrals and values, and nothing of the inner product that `Functions` chooses. What
    takes an element (`evaluate`) is linear in it, and written in NumPy functions that run on traced
    arrays too.
    """

    base: Euclidean  # the arrays
    coordinates: tuple[Any, ...]  # of the points, one array for each variable
    integrals: Any  # of the basis functions, an array of the shape of the elements

    @abstractmethod
    def _key(self) -> tuple[Any, ...]:
        """What tells this discretisation from others."""

    @abstractmethod
    def __repr__(self) -> str:
        """The kind and the size."""

    @abstractmethod
    def interpolate(self, function: Function) -> Any:
        """The element that stands for a function of the coordinates."""

    @abstractmethod
    def evaluate(self, element: Any, points: Any) -> Any:
        """The values of an element at points."""

    @property
    @abstractmethod
    def mass(self) -> Any:
        """The integrals of products of basis functions, a SciPy sparse or a dense matrix."""

    @property
    @abstractmethod
    def stiffness(self) -> Any:
        """The integrals of products of their derivatives, a SciPy sparse matrix."""

    @cached_property
    def _found_key(self) -> tuple[Any, ...]:
        return self._key()

    @final
    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Discretisation)
            and type(self) is type(other)
            and self._found_key == other._found_key
        )

    @final
    def __hash__(self) -> int:
        return hash((type(self), self._found_key))

    def _missing(self, asked: str, advice: str) -> MissingStructureError:
        return MissingStructureError(
            f"{asked} was asked of functions given by {self!r}, which say nothing of it. {advice}"
        )


@final
class QuadratureNodes(Discretisation):
    """Functions known by their values at the nodes of a quadrature."""

    def __init__(self, nodes: Any, weights: Any, dtype: Any) -> None:
        self.integrals = sealed(weights, "weights")
        shape = self.integrals.shape
        self.base = Euclidean(shape, as_inexact_dtype(dtype))
        self.coordinates = split_coordinates(nodes, shape)

    def _key(self) -> tuple[Any, ...]:
        return self.base, *(array.tobytes() for array in (*self.coordinates, self.integrals))

    def __repr__(self) -> str:
        return f"{self.base.size} quadrature nodes"

    def interpolate(self, function: Function) -> Any:
        """The values at the nodes."""
        return as_values(function(*self.coordinates), self.base.shape, self.base.dtype)

    def evaluate(self, element: Any, points: Any) -> Any:
        """Nothing is known between the nodes."""
        raise self._missing(
            "The value between the nodes", "Functions.grid and Functions.expansion know values."
        )

    @property
    def mass(self) -> Any:
        """The weights, on a diagonal."""
        return sealed_sparse(diagonal_matrix(self.integrals))

    @property
    def stiffness(self) -> Any:
        """Nothing is known of derivatives."""
        raise self._missing(
            "The stiffness matrix", "Functions.grid and Functions.elements have it."
        )


@final
class Expansion(Discretisation):
    """Functions known by their coefficients in a basis of functions of one variable, or of more."""

    def __init__(self, functions: Any, nodes: Any, weights: Any, dtype: Any) -> None:
        self.functions: Final = tuple(functions)
        if not self.functions:
            raise ArgumentError(
                "functions must be one function or more. Got none. "
                "Functions.quadrature takes values at nodes."
            )
        for index, function in enumerate(self.functions):
            if not callable(function):
                raise ArgumentTypeError(
                    f"functions[{index}] must be a function of the coordinates. "
                    f"Got {describe(function)}. Functions.quadrature takes values at nodes."
                )
        self._weights: Final = sealed(weights, "weights")
        self.base = Euclidean(len(self.functions), as_inexact_dtype(dtype))
        self.coordinates = split_coordinates(nodes, self._weights.shape)
        shape = self._weights.shape
        values = [
            as_values(function(*self.coordinates), shape, np.dtype(float))
            for function in self.functions
        ]
        self._table: Final = np.reshape(values, (len(values), -1))  # (functions, nodes)
        if self._table.dtype.kind == "c":
            raise ArgumentTypeError(
                "functions must have real values. Got complex ones at the nodes. The cosine and "
                "the sine take the place of an exponential; dtype=complex is for coefficients."
            )
        flat = self._weights.ravel()
        self.integrals = self._table @ flat
        self._mass: Final = (self._table * flat) @ self._table.T
        self._mass.setflags(write=False)

    def _key(self) -> tuple[Any, ...]:
        arrays = (*self.coordinates, self._weights)
        return self.base, self.functions, *(array.tobytes() for array in arrays)

    def __repr__(self) -> str:
        return f"an expansion in {self.base.size} functions"

    def interpolate(self, function: Function) -> Any:
        """The projection, orthogonal in L2."""
        values = as_values(function(*self.coordinates), self._weights.shape, self.base.dtype)
        return rounded(self._projector @ np.reshape(values, (-1,)), self.base.dtype)

    @cached_property
    def _projector(self) -> Any:
        return np.linalg.solve(self._mass, self._table * self._weights.ravel())

    def evaluate(self, element: Any, points: Any) -> Any:
        """The sum of coefficients times functions."""
        coordinates = separate(points, len(self.coordinates))
        total: Any = np.zeros(np.shape(coordinates[0]))[()]  # a function may return a number
        for index, function in enumerate(self.functions):
            total = total + element[index] * function(*coordinates)
        return total

    @property
    def mass(self) -> Any:
        """Dense, by the quadrature."""
        return self._mass

    @property
    def stiffness(self) -> Any:
        """Nothing is known of derivatives."""
        raise self._missing("The stiffness matrix", "space.under(matrix) takes any inner product.")


# --- shared with grids and finite elements --------------------------------------------------------


def sealed(array: Any, argument: str) -> Any:
    """A read-only array of real numbers."""
    numbers = np.array(array)
    if numbers.dtype.kind not in "iuf" or not np.all(np.isfinite(numbers)):
        raise ArgumentTypeError(
            f"{argument} must be finite real numbers. Got {describe(array)}. "
            "np.asarray(numbers, dtype=float) makes such an array."
        )
    numbers = numbers.astype(float)
    numbers.setflags(write=False)
    return numbers


def split_coordinates(points: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """One array for each variable: the points themselves for one, the first axis for more."""
    coordinates = sealed(points, "nodes")
    if coordinates.shape == shape:
        return (coordinates,)
    if coordinates.shape[1:] == shape and coordinates.shape[0]:
        return tuple(coordinates)
    raise ArgumentError(
        f"nodes must have the shape of weights, {shape}, for functions of one variable, or "
        f"(number of variables, *{shape}). Got {describe(points)}. "
        "np.stack([x, y]) makes nodes of two variables."
    )


def separate(points: Any, count: int) -> list[Any]:
    """The coordinates of points: the points themselves for one variable, the first axis for more.

    Raises:
        ArgumentError: there are too few coordinates, or too many.
    """
    if count > 1 and np.shape(points)[:1] != (count,):
        raise ArgumentError(
            f"points must have {count} coordinates each, along the first axis. "
            f"Got shape {np.shape(points)}. np.stack([x, y]) makes such an array."
        )
    coordinates = [points] if count == 1 else list(points)
    return [x if hasattr(x, "shape") else np.asarray(x, float) for x in coordinates]


def as_values(values: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """What a function returned, one value for each point, at the precision of the space.

    Raises:
        ArgumentTypeError: it is no array of numbers.
        ShapeError: it has another shape than the points.
    """
    values_at_points = values if hasattr(values, "shape") else np.asarray(values)
    if values_at_points.dtype.kind not in "iufc":
        raise ArgumentTypeError(
            f"The function must return numbers, one for each point. Got {describe(values)}. "
            "Write it in NumPy functions of the arrays of coordinates."
        )
    if values_at_points.shape not in ((), shape):
        raise ShapeError(
            f"The function must return an array of the shape of the coordinates, {shape}, or one "
            f"number. Got {describe(values)}. It is called once, with all points."
        )
    return rounded(values_at_points + np.zeros(shape), dtype)


def rounded(values: Any, dtype: np.dtype[Any]) -> Any:
    """The values at a lower precision, if that is all that keeps them from having this dtype."""
    return values.astype(dtype) if np.can_cast(values.dtype, dtype, "same_kind") else values


def sealed_sparse(matrix: Any) -> Any:
    """The SciPy sparse matrix, by columns and read-only."""
    compressed = matrix.tocsc()
    compressed.sort_indices()
    for array in (compressed.data, compressed.indices, compressed.indptr):
        array.setflags(write=False)
    return compressed


def diagonal_matrix(entries: Any) -> Any:
    """A SciPy sparse diagonal matrix."""
    from scipy.sparse import diags_array  # lazy: takes longer to import than all of adjoint

    return diags_array(np.ravel(entries), format="csc")
