"""Coordinates in which the inner product of a space is the plain one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from importlib import import_module
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import ArgumentError, NotPositiveDefiniteError
from adjoint.base.signatures.checked import checked_class
from adjoint.spaces.inner_products.weighted import Weighted
from adjoint.spaces.inner_products.weights import DiagonalWeight, SparseWeight
from adjoint.spaces.product import Product
from adjoint.spaces.space import Space

# A dense Gram matrix of this size takes 200 MB.
_LARGEST_DENSE: Final = 5000


@checked_class
@final
class OrthonormalCoordinates:
    """Coordinates z of the elements of a space with <x, y> = z·w: those in an orthonormal basis.

    With the Gram matrix G = L L' of the basis of the space, z = L' times the coordinates in that
    basis. Code that knows nothing of inner products, and takes x·y for <x, y>, is right when it
    works on z. L is: 1 where the basis is orthonormal; the square root of a diagonal; for a sparse
    weight the factors P' L D^1/2 that solving with it needs anyway; block by block in a product;
    the Cholesky factor of the dense Gram matrix otherwise.

    Args:
        space: whose inner product counts.

    Raises:
        NotPositiveDefiniteError: the inner product of the space is none.
        ArgumentError: the Gram matrix would have to be dense, and is too large.
        ArgumentTypeError: what is given is no space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> frame = OrthonormalCoordinates(Weighted(Euclidean(2), np.array([4.0, 9.0])))
        >>> frame.of(np.array([1.0, 1.0])), frame.element(np.array([2.0, 3.0]))
        (array([2., 3.]), array([1., 1.]))
    """

    def __init__(self, space: Space) -> None:
        self.space: Final = space
        self._factor: Final = _factor(space)

    def __repr__(self) -> str:
        return f"OrthonormalCoordinates({self.space!r})"

    @property
    def scales(self) -> Any:
        """The diagonal of L where it is diagonal: z_i is coordinate i times scale i. Else None.

        Shape (dimension,).
        """
        return self._factor.diagonal

    def of(self, x: Any) -> Any:
        """The orthonormal coordinates of an element, shape (dimension,).

        Args:
            x: an element of the space.

        Returns:
            A real array of shape (dimension,), whose plain length is the norm of x.

        Raises:
            MembershipError, SpaceMismatchError: x is not an element.
        """
        return self._factor.times_transposed(self.space.coordinates(x))

    def element(self, z: Any) -> Any:
        """The element with these orthonormal coordinates.

        Args:
            z: real numbers, shape (dimension,).

        Returns:
            An element: an array of the shape and dtype of the elements, or a tree of such for a
            product.

        Raises:
            ArgumentError, ArgumentTypeError: z has another shape, or holds no real numbers.
        """
        return self.space.from_coordinates(self._factor.solve_transposed(z))

    def of_covector(self, components: Any) -> Any:
        """The coordinates of a covector, from its raw components, in the dual of that basis.

        They are those of the vector that represents it, so plain gradients become right ones.

        Args:
            components: an array, or a pytree of arrays, of the shapes of an element.

        Returns:
            A real array of shape (dimension,).
        """
        space = self.space
        coordinates = space._component_coordinates(space._restrict(components))
        return self._factor.solve(np.asarray(coordinates))

    def rows(self, matrix: Any) -> Any:
        """A matrix that acts on coordinates in the basis of the space, made to act on z.

        Each row is a covector. Shape (m, dimension) to the same shape.

        Args:
            matrix: shape (m, dimension), dense or SciPy sparse.

        Returns:
            A real array of shape (m, dimension); a sparse one of a sparse one where L is diagonal.
        """
        if hasattr(matrix, "tocsr"):
            if self.scales is not None:
                return matrix.tocsr() @ import_module("scipy.sparse").diags_array(1 / self.scales)
            matrix = matrix.toarray()
        columns = [self._factor.solve(row) for row in np.asarray(matrix)]
        return np.stack(columns) if columns else np.zeros((0, self.space.dimension))


class _Factor(ABC):
    """L, with G = L L'."""

    diagonal: Any = None

    @abstractmethod
    def times_transposed(self, vector: Any) -> Any:
        """L' vector."""

    @abstractmethod
    def solve(self, vector: Any) -> Any:
        """L^-1 vector."""

    @abstractmethod
    def solve_transposed(self, vector: Any) -> Any:
        """L^-T vector."""


@final
class _DiagonalFactor(_Factor):
    def __init__(self, diagonal: Any) -> None:
        self.diagonal = diagonal

    def times_transposed(self, vector: Any) -> Any:
        return self.diagonal * vector

    def solve(self, vector: Any) -> Any:
        return vector / self.diagonal

    def solve_transposed(self, vector: Any) -> Any:
        return vector / self.diagonal


@final
class _Dense(_Factor):
    def __init__(self, gram: Any) -> None:
        try:
            self.lower = np.linalg.cholesky(gram)
        except np.linalg.LinAlgError:
            smallest = np.min(np.linalg.eigvalsh(gram))
            raise NotPositiveDefiniteError(
                "Orthonormal coordinates need a positive definite inner product. The Gram matrix "
                f"of this one has the eigenvalue {smallest:.3g}. Damp it: add a multiple of the "
                "identity."
            ) from None

    def times_transposed(self, vector: Any) -> Any:
        return self.lower.T @ vector

    def solve(self, vector: Any) -> Any:
        return self._triangular(vector, transposed=False)

    def solve_transposed(self, vector: Any) -> Any:
        return self._triangular(vector, transposed=True)

    def _triangular(self, vector: Any, transposed: bool) -> Any:
        from scipy.linalg import solve_triangular  # lazy: takes longer to import than adjoint

        return solve_triangular(self.lower, vector, lower=True, trans=1 if transposed else 0)


@final
class _Sparse(_Factor):
    """From P W P' = L D L', which the weight has factorised: G = (P' L D^1/2) (P' L D^1/2)'."""

    def __init__(self, weight: SparseWeight) -> None:
        factors = weight._factors
        self.order = np.argsort(factors.perm_c)  # (P x)[i] = x[order[i]]
        self.place = factors.perm_c
        self.roots = np.sqrt(factors.U.diagonal())
        self.lower = factors.L.tocsr()

    @cached_property
    def upper(self) -> Any:
        return self.lower.T.tocsr()

    def times_transposed(self, vector: Any) -> Any:
        return self.roots * (self.upper @ vector[self.order])

    def solve(self, vector: Any) -> Any:
        from scipy.sparse.linalg import spsolve_triangular  # lazy, as above

        solved = spsolve_triangular(self.lower, vector[self.order], lower=True, unit_diagonal=True)
        return solved / self.roots

    def solve_transposed(self, vector: Any) -> Any:
        from scipy.sparse.linalg import spsolve_triangular  # lazy, as above

        solved = spsolve_triangular(
            self.upper, vector / self.roots, lower=False, unit_diagonal=True
        )
        return solved[self.place]


@final
class _Blocks(_Factor):
    def __init__(self, factors: list[_Factor], sizes: list[int]) -> None:
        self.factors = factors
        self.ends = np.cumsum(sizes)[:-1]
        if all(factor.diagonal is not None for factor in factors):
            self.diagonal = np.concatenate([factor.diagonal for factor in factors])

    def times_transposed(self, vector: Any) -> Any:
        return self._by_factor("times_transposed", vector)

    def solve(self, vector: Any) -> Any:
        return self._by_factor("solve", vector)

    def solve_transposed(self, vector: Any) -> Any:
        return self._by_factor("solve_transposed", vector)

    def _by_factor(self, method: str, vector: Any) -> Any:
        pieces = zip(self.factors, np.split(vector, self.ends), strict=True)
        return np.concatenate([getattr(factor, method)(piece) for factor, piece in pieces])


def _factor(space: Space) -> _Factor:
    if space._orthonormal:
        return _DiagonalFactor(np.ones(space.dimension, space._real_dtype))
    if isinstance(space, Product) and space.spaces:
        sizes = [part.dimension for part in space.spaces]
        return _Blocks([_factor(part) for part in space.spaces], sizes)
    if isinstance(space, Weighted):
        if isinstance(space._weight, DiagonalWeight):
            ones = space._from_coordinates(np.ones(space.dimension, space._real_dtype))
            return _DiagonalFactor(np.sqrt(space._component_coordinates(space._riesz(ones))))
        if isinstance(space._weight, SparseWeight) and _acts_on_coordinates(space):
            return _Sparse(space._weight)
    if space.dimension > _LARGEST_DENSE:
        raise ArgumentError(
            f"Orthonormal coordinates of {space!r} need its Gram matrix, which is dense with "
            f"{space.dimension} rows. Give the inner product as a diagonal or as a sparse matrix, "
            "or use ad.optimize.descend, which needs no factor of it."
        )
    return _Dense(space._gram())


def _acts_on_coordinates(space: Weighted) -> bool:
    """Whether the matrix of the weight is the Gram matrix: it is not where entries are complex."""
    return bool(space._weight.given.shape[0] == space.dimension)
