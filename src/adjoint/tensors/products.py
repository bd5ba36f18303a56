"""Tensor products of spaces: x (x) y as an array, and the product inner product."""

from __future__ import annotations

from math import prod
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.signatures.checked import checked_class
from adjoint.spaces.elements.members import Mismatch
from adjoint.spaces.elements.values import describe
from adjoint.spaces.euclidean import array_mismatch
from adjoint.spaces.space import Space
from adjoint.tensors.bases import along


@checked_class
@final
class TensorProduct(Space):
    """The tensor product X (x) Y (x) ... of spaces (E.1.82).

    Args:
        factors: two spaces or more. A dual may be one of them: Y (x) X' is the space of linear maps
            X -> Y, whose elements are their matrices.

    Elements are real arrays of shape (X.dimension, Y.dimension, ...): components in the products of
    the basis vectors. For Euclidean vectors x (x) y is the matrix xy'. The inner product is the one
    with <x (x) y, x' (x) y'> = <x, x'> <y, y'>.

    Raises:
        ArgumentError: there are fewer than two factors.
        ArgumentTypeError: a factor is no space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> space = TensorProduct(Euclidean(2), Euclidean(3))
        >>> space.product(np.array([1.0, 10.0]), np.array([1.0, 2.0, 3.0]))
        array([[ 1.,  2.,  3.],
               [10., 20., 30.]])
    """

    def __init__(self, *factors: Space) -> None:
        for factor in factors:
            if not isinstance(factor, Space):
                raise ArgumentTypeError(
                    f"TensorProduct takes spaces. Got {describe(factor)}. "
                    "adjoint.spaces.infer(value) gives the space of an array."
                )
        if len(factors) < 2:
            raise ArgumentError(
                f"TensorProduct takes two spaces or more. Got {len(factors)}. "
                "One space is its own tensor product."
            )
        self.factors: Final = factors
        self.shape: Final = tuple(factor.dimension for factor in factors)
        self.dtype: Final = np.result_type(*(factor._real_dtype for factor in factors))
        # (the Gram matrix, its inverse) of each factor; None where it is the identity.
        grams = [None if factor._orthonormal else factor._gram() for factor in factors]
        self._grams: Final = tuple(
            None if gram is None else (gram, np.linalg.inv(gram)) for gram in grams
        )

    def product(self, *vectors: Any) -> Any:
        """x (x) y (x) ..., one vector of each factor; an array of shape `shape`.

        Args:
            vectors: as many as there are factors, in order.

        Returns:
            A real array of shape `shape`, with one axis for the coordinates of each factor.

        Raises:
            ArgumentError: there are more vectors, or fewer, than factors.
            MembershipError, SpaceMismatchError: one is no element of its factor.
        """
        if len(vectors) != len(self.factors):
            raise ArgumentError(
                f"{self!r} has {len(self.factors)} factors. Got {len(vectors)} vectors. "
                "Give one vector of each factor."
            )
        outer_product: Any = None
        for number, (factor, vector) in enumerate(zip(self.factors, vectors, strict=True)):
            factor.check(vector, f"vectors[{number}]")
            coordinates = factor._coordinates(vector)
            outer_product = (
                coordinates
                if outer_product is None
                else np.tensordot(outer_product, coordinates, axes=0)
            )
        return outer_product

    @property
    def dimension(self) -> int:
        """The product of the dimensions."""
        return prod(self.shape)

    @property
    def ambient(self) -> Space:
        """This space: every array of its shape is an element."""
        return self

    @property
    def _real_dtype(self) -> np.dtype[Any]:
        return self.dtype

    @property
    def _orthonormal(self) -> bool:
        return all(gram is None for gram in self._grams)

    @property
    def _full(self) -> bool:
        return True

    def _key(self) -> tuple[Any, ...]:
        return self.factors

    def __repr__(self) -> str:
        return f"TensorProduct({', '.join(map(repr, self.factors))})"

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        return array_mismatch(self, x, self.shape, self.dtype)

    def _zero(self) -> Any:
        return np.zeros(self.shape, self.dtype)

    def _pair(self, components: Any, x: Any) -> Any:
        return np.sum(components * x)

    def _riesz(self, x: Any) -> Any:
        for axis, gram in enumerate(self._grams):
            if gram is not None:
                x = along(x, gram[0], axis)
        return x

    def _represent(self, components: Any) -> Any:
        for axis, gram in enumerate(self._grams):
            if gram is not None:
                components = along(components, gram[1], axis)
        return components

    def _restrict(self, components: Any) -> Any:
        return components

    def _coordinates(self, x: Any) -> Any:
        return np.reshape(x, (self.dimension,))

    def _from_coordinates(self, coordinates: Any) -> Any:
        return np.reshape(coordinates, self.shape)
