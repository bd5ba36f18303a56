"""A space in another basis, and the change-of-basis matrices between them (E.1.80)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError, SpaceMismatchError
from adjoint.base.signatures.checked import checked_class
from adjoint.spaces.elements.covector import Covector
from adjoint.spaces.elements.values import describe
from adjoint.spaces.inner_products.same_elements import SameElements
from adjoint.spaces.space import Space


@checked_class
@final
class InBasis(SameElements):
    """The same vectors and the same inner product in another basis: e'_j = sum_i C_ij e_i (E.1.80).

    Args:
        space: a space; e_1, ..., e_n is its `basis()`.
        matrix: C, real, of shape (n, n) and regular: the columns are the new basis vectors in the
            old coordinates. It is copied, and its values must be known: not under capture.

    Elements, covectors and inner products are those of `space`; coordinates are C^-1 times the old
    ones, coordinates of covectors (in the dual basis) C' times the old ones, and `gram()` is C'WC.
    A basis of a basis is one basis: `InBasis(InBasis(X, C), D)` equals `InBasis(X, C @ D)`.

    Raises:
        ArgumentError: the matrix has the wrong shape, or is singular.
        ArgumentTypeError: the first argument is no space, or the matrix is not one of real numbers.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> space = InBasis(Euclidean(2), np.array([[2.0, 1.0], [0.0, 1.0]]))
        >>> space.coordinates(np.array([3.0, 1.0]))
        array([1., 1.])
        >>> space.gram()
        array([[4., 2.],
               [2., 2.]])
    """

    def __init__(self, space: Space, matrix: Any) -> None:
        if not isinstance(space, Space):
            raise ArgumentTypeError(
                f"InBasis takes a space and a matrix. Got {describe(space)} for the space. "
                "Euclidean(shape) is the space of arrays of that shape."
            )
        change = _checked(matrix, space)
        if isinstance(space, InBasis):
            change, space = space.matrix @ change, space.base
        self.base = space
        self.matrix: Final[Any] = change
        self._inverse: Final = np.linalg.inv(change)
        self.matrix.setflags(write=False)
        self._inverse.setflags(write=False)

    def _key(self) -> tuple[Any, ...]:
        return self.base, self.matrix.tobytes()

    def __repr__(self) -> str:
        return f"InBasis({self.base!r}, {self.matrix.tolist()!r})"

    def _coordinates(self, x: Any) -> Any:
        return self._inverse @ self.base._coordinates(x)

    def _from_coordinates(self, coordinates: Any) -> Any:
        return self.base._from_coordinates(self.matrix @ coordinates)

    def _component_coordinates(self, components: Any) -> Any:
        return self.matrix.T @ self.base._component_coordinates(components)

    def _components_from_coordinates(self, coordinates: Any) -> Any:
        return self.base._components_from_coordinates(self._inverse.T @ coordinates)


Change = tuple[Space, Any, Any]  # the space in its new basis, C, and C^-1


def changes(spaces: tuple[Space, ...], matrix: Any) -> dict[Space, Change]:
    """For each space whose basis changes, what it becomes and the matrices C and C^-1.

    Args:
        spaces: those that a tensor has indices over.
        matrix: C, where they are all one space; or a mapping from some of the spaces to theirs.
    """
    different = tuple(dict.fromkeys(spaces))
    if not isinstance(matrix, Mapping):
        if len(different) > 1:
            raise SpaceMismatchError(
                f"One change-of-basis matrix was given for a tensor over {len(different)} spaces: "
                f"{', '.join(map(repr, different))}. Give a dict from spaces to matrices."
            )
        matrix = dict.fromkeys(different, matrix)
    for space in matrix:
        if space not in different:
            raise SpaceMismatchError(
                f"A change of basis was given for {space!r}, over which the tensor has no index. "
                f"Its indices are over {', '.join(map(repr, different)) or 'no space'}."
            )
    by_space: dict[Space, Change] = {}
    for space, given in matrix.items():
        change = _checked(given, space)
        by_space[space] = (InBasis(space, change), change, np.linalg.inv(change))
    return by_space


def own_basis(space: Space) -> Change | None:
    """The change that brings a space back to its own basis; None where it is in it."""
    if not isinstance(space, InBasis):
        return None
    return space.base, space._inverse, space.matrix


def in_basis_of(space: Space, covector: Any) -> Any:
    """A covector on X in any basis as one on X in the basis that the space has."""
    if isinstance(covector, Covector) and _basis_free(covector.space) == _basis_free(space):
        return Covector(space, covector.components)
    return covector


def _basis_free(space: Space) -> Space:
    return space.base if isinstance(space, InBasis) else space


def along(array: Any, matrix: Any, axis: int) -> Any:
    """sum_i matrix[j, i] array[..., i, ...]: a matrix applied along one axis."""
    return np.moveaxis(np.tensordot(array, matrix, axes=((axis,), (1,))), -1, axis)


def _checked(matrix: Any, space: Space) -> Any:
    """C as a fresh array, once it is known to be a regular matrix of the right size."""
    given = np.asarray(matrix)
    size = space.dimension
    if given.dtype.kind not in "iuf":
        raise ArgumentTypeError(
            f"A change of basis is a matrix of real numbers. Got {describe(matrix)}. "
            "Coordinates are real: a complex space has two for each entry."
        )
    if given.shape != (size, size):
        raise ArgumentError(
            f"A change of basis of {space!r} has shape {(size, size)}. Got {describe(matrix)}. "
            "Its columns are the new basis vectors in the old coordinates."
        )
    change = np.array(given, np.result_type(space._real_dtype, np.float32))
    rank = 0
    if size and np.all(np.isfinite(change)):
        lengths = np.max(np.abs(change), axis=0)  # units may differ by any factor
        rank = int(np.linalg.matrix_rank(change / np.where(lengths > 0, lengths, 1)))
    if rank < size:
        raise ArgumentError(
            f"A change of basis must be a regular matrix. This one, of {space!r}, has rank {rank} "
            f"of {size}. Its columns must be linearly independent."
        )
    return change
