"""How coordinates lie among the ambient arrays: an injective linear map E, with its transpose.

E takes the n coordinates of an element to the N real coordinates of the array that it is. A
covector w has the coordinates d = E' a, where a are its components: w(e_i) for each basis vector.
Of all components with the same d, those that are an element themselves are taken: a = E K^-1 d,
with K = E' E, the plain inner products of the basis vectors. So K^-1 E' gives coordinates, and
E K^-1 E' is the orthogonal projection.

All of them run on traced arrays too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import ArgumentError
from adjoint.spaces import opaque
from adjoint.spaces.inner_products.weights import SparseWeight

# Matrices of up to this many entries are dense, whatever they hold.
_SMALL: Final = 1 << 18
# Larger ones are sparse where at most one entry in so many is not zero.
_SPARSITY: Final = 10
# What rounding may leave of products of basis vectors that are orthonormal.
_ROUNDINGS: Final = 16


class Embedding(ABC):
    """The map E from coordinates, shape (count,), to ambient coordinates, shape (size,)."""

    count: int
    size: int
    orthonormal: bool  # K = 1

    @abstractmethod
    def lift(self, coordinates: Any) -> Any:
        """E c, the ambient coordinates of the element with these coordinates."""

    @abstractmethod
    def pull(self, components: Any) -> Any:
        """E' a, the coordinates of the covector with these components."""

    @abstractmethod
    def solve(self, ambient: Any) -> Any:
        """K^-1 E' a, the coordinates of the element with these ambient coordinates."""

    @abstractmethod
    def spread(self, coordinates: Any) -> Any:
        """E K^-1 d, the components of the covector with these coordinates."""

    @abstractmethod
    def project(self, components: Any) -> Any:
        """E K^-1 E' a, the components of the same covector on this space."""

    @abstractmethod
    def gram(self) -> Any:
        """K, dense, shape (count, count)."""


@final
class TrivialEmbedding(Embedding):
    """Coordinates are the ambient ones."""

    orthonormal = True

    def __init__(self, count: int) -> None:
        self.count = self.size = count

    def lift(self, coordinates: Any) -> Any:
        """The same numbers."""
        return coordinates

    def pull(self, components: Any) -> Any:
        """The same numbers."""
        return components

    def solve(self, ambient: Any) -> Any:
        """The same numbers."""
        return ambient

    def spread(self, coordinates: Any) -> Any:
        """The same numbers."""
        return coordinates

    def project(self, components: Any) -> Any:
        """The same numbers."""
        return components

    def gram(self) -> Any:
        """The identity."""
        return np.eye(self.count)


@final
class DenseEmbedding(Embedding):
    """E as a dense matrix, with its pseudo-inverse.

    Raises:
        ArgumentError: the columns are dependent; the message has their number and the rank.
    """

    def __init__(self, matrix: Any) -> None:
        self.size, self.count = matrix.shape
        self._matrix: Final = matrix
        products = matrix.T @ matrix
        squares = np.diagonal(products)
        if np.all(squares > 0) and np.array_equal(products, np.diag(squares)):
            # Orthogonal columns: no digit is lost, and what is simple stays so.
            self._inverse: Any = np.ascontiguousarray((matrix / squares).T)
            self._projection: Any = (matrix, self._inverse)
        else:
            lengths = np.sqrt(squares)
            _require_independent(_rank(matrix / np.where(lengths > 0, lengths, 1)), self.count)
            frame, triangle = np.linalg.qr(matrix)
            self._inverse = np.linalg.solve(triangle, frame.T)
            self._projection = (frame, np.ascontiguousarray(frame.T))
        allowed = _ROUNDINGS * np.finfo(matrix.dtype).eps
        self.orthonormal = bool(np.all(np.abs(products - np.eye(self.count)) <= allowed))

    def lift(self, coordinates: Any) -> Any:
        """E c."""
        return np.matmul(self._matrix, coordinates)

    def pull(self, components: Any) -> Any:
        """E' a."""
        return np.matmul(self._matrix.T, components)

    def solve(self, ambient: Any) -> Any:
        """K^-1 E' a."""
        return np.matmul(self._inverse, ambient)

    def spread(self, coordinates: Any) -> Any:
        """E K^-1 d."""
        return np.matmul(self._inverse.T, coordinates)

    def project(self, components: Any) -> Any:
        """E K^-1 E' a."""
        outward, inward = self._projection
        return np.matmul(outward, np.matmul(inward, components))

    def gram(self) -> Any:
        """E' E."""
        return self._matrix.T @ self._matrix


@final
class SparseEmbedding(Embedding):
    """E as a sparse matrix; K is factorised when it is first solved with.

    Raises:
        ArgumentError: a column is zero.
        NotPositiveDefiniteError: when K is factorised, if the columns are dependent.
    """

    def __init__(self, matrix: Any) -> None:
        self.size, self.count = matrix.shape
        self._matrix: Final = matrix
        self._transposed: Final = matrix.T.tocsr()
        products = self._transposed @ matrix
        squares = products.diagonal()
        _require_independent(int(np.count_nonzero(squares)), self.count)
        self._squares: Final = squares if _is_diagonal(products) else None
        self._products: Final = SparseWeight(products, matrix.dtype)
        allowed = _ROUNDINGS * np.finfo(matrix.dtype).eps
        self.orthonormal = self._squares is not None and bool(np.all(abs(squares - 1) <= allowed))
        if self._squares is None:
            self._over_products(squares)  # raises now where columns are dependent
        # One linear operation each on traced arrays, which SciPy's products do not take.
        self._lift: Final = _whole(self._lift_plain, self._pull_plain)
        self._pull: Final = _whole(self._pull_plain, self._lift_plain)
        self._solve: Final = _whole(self._solve_plain, self._spread_plain)
        self._spread: Final = _whole(self._spread_plain, self._solve_plain)
        self._project: Final = _whole(self._project_plain, self._project_plain)

    def lift(self, coordinates: Any) -> Any:
        """E c."""
        return self._lift(coordinates)

    def pull(self, components: Any) -> Any:
        """E' a."""
        return self._pull(components)

    def solve(self, ambient: Any) -> Any:
        """K^-1 E' a."""
        return self._solve(ambient)

    def spread(self, coordinates: Any) -> Any:
        """E K^-1 d."""
        return self._spread(coordinates)

    def project(self, components: Any) -> Any:
        """E K^-1 E' a."""
        return self._project(components)

    def gram(self) -> Any:
        """E' E, made dense."""
        return (self._transposed @ self._matrix).toarray()

    def _over_products(self, numbers: Any) -> Any:
        """K^-1 times a vector."""
        return self._products.solve(numbers) if self._squares is None else numbers / self._squares

    def _lift_plain(self, coordinates: Any) -> Any:
        return self._matrix @ coordinates

    def _pull_plain(self, components: Any) -> Any:
        return self._transposed @ components

    def _solve_plain(self, ambient: Any) -> Any:
        return self._over_products(self._transposed @ ambient)

    def _spread_plain(self, coordinates: Any) -> Any:
        return self._matrix @ self._over_products(coordinates)

    def _project_plain(self, components: Any) -> Any:
        return self._spread_plain(self._pull_plain(components))


def embedding_of(columns: Iterable[Any], size: int, count: int, dtype: np.dtype[Any]) -> Embedding:
    """The embedding with these columns, each of shape (size,): dense or sparse.

    Raises:
        ArgumentError, NotPositiveDefiniteError: the columns are dependent.
    """
    places, entries = [], []
    for column in columns:
        rows = np.flatnonzero(column)
        places.append(rows)
        entries.append(np.asarray(column, dtype)[rows])
    stored = sum(map(len, places))
    if size * count > _SMALL and stored * _SPARSITY < size * count:
        from scipy.sparse import csc_array  # lazy: takes longer to import than adjoint

        ends = np.cumsum([0, *map(len, places)])
        parts = np.concatenate(entries), np.concatenate(places), ends
        return SparseEmbedding(csc_array(parts, shape=(size, count)))
    matrix = np.zeros((size, count), dtype)
    for number, (rows, values) in enumerate(zip(places, entries, strict=True)):
        matrix[rows, number] = values
    return DenseEmbedding(matrix)


def range_of(projector: Any) -> Embedding:
    """The embedding whose columns are an orthonormal basis of the range of a projection.

    Args:
        projector: an orthogonal projection, symmetric, shape (size, size).
    """
    values, vectors = np.linalg.eigh((projector + projector.T) / 2)
    return DenseEmbedding(np.ascontiguousarray(vectors[:, values > 0.5]))


def _whole(function: Callable[[Any], Any], transpose: Callable[[Any], Any]) -> Any:
    return opaque.LINEAR(function, transpose, "coordinates")


def _is_diagonal(matrix: Any) -> bool:
    coordinate = matrix.tocoo()
    return bool(np.all((coordinate.row == coordinate.col) | (coordinate.data == 0)))


def _rank(matrix: Any) -> int:
    return int(np.linalg.matrix_rank(matrix)) if np.all(np.isfinite(matrix)) else 0


def _require_independent(independent: int, count: int) -> None:
    if independent < count:
        raise ArgumentError(f"of the {count} basis vectors {independent} are independent")
