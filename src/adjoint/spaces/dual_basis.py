"""Dual bases and reciprocal bases of any basis of a space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.signatures.checked import checked
from adjoint.spaces.elements.values import describe
from adjoint.spaces.space import Space


@checked
def dual_basis(space: Space, basis: Sequence[Any] | None = None) -> list[Any]:
    """The covectors b^i with b^i(b_j) = 1 if i = j, else 0: they read off coordinates.

    They form a basis of the dual space (E.1.80 and the footnote before it), and u = sum_i b^i(u)
    b_i for every u. No inner product is involved. When a basis changes by the matrix C, its dual
    basis changes by the inverse of C.

    Args:
        space: X, of dimension n.
        basis: n elements b_1, ..., b_n of X that are linearly independent; `space.basis()` unless
            told.

    Returns:
        n elements of `space.dual`.

    Raises:
        ArgumentError, ArgumentTypeError: the elements are no basis, or the space is none.
        MembershipError, SpaceMismatchError: one of them is no element of the space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> space = Euclidean(2)
        >>> b = [np.array([1.0, 0.0]), np.array([1.0, 1.0])]
        >>> [w.components for w in dual_basis(space, b)]
        [array([ 1., -1.]), array([0., 1.])]
    """
    rows = np.linalg.inv(basis_matrix(space, basis))
    return [space._as_covector(_components(space, row)) for row in rows]


@checked
def reciprocal_basis(space: Space, basis: Sequence[Any] | None = None) -> list[Any]:
    """The vectors r_i with <r_i, b_j> = 1 if i = j, else 0: the dual basis, by Riesz (E.1.30).

    An orthonormal basis is its own reciprocal basis.

    Args:
        space: X, of dimension n.
        basis: as for `dual_basis`.

    Returns:
        A list of n elements of the space, in the order of the basis.

    Raises:
        ArgumentError, ArgumentTypeError: the elements are no basis, or the space is none.
        MembershipError, SpaceMismatchError: one of them is no element of the space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> reciprocal_basis(Weighted(Euclidean(2), np.array([1.0, 4.0])))
        [array([1., 0.]), array([0.  , 0.25])]
    """
    return [space.represent(covector) for covector in dual_basis(space, basis)]


def basis_matrix(space: Space, basis: Sequence[Any] | None, argument: str = "basis") -> Any:
    """The coordinates of the vectors of a basis, as columns: shape (dimension, dimension).

    Raises:
        ArgumentError, ArgumentTypeError: the vectors are no basis, or the space is none.
        MembershipError, SpaceMismatchError: one of them is no element of the space.
    """
    if not isinstance(space, Space):
        raise ArgumentTypeError(
            f"A basis is one of a space. Got {describe(space)} for the space. "
            "adjoint.spaces.infer(vector) gives the space of a vector."
        )
    if basis is None:
        return np.eye(space.dimension)
    columns = []
    for index, vector in enumerate(basis):
        space.check(vector, f"{argument}[{index}]")
        columns.append(space._coordinates(vector))
    frame = np.stack(columns, axis=1) if columns else np.zeros((space.dimension, 0))
    independent = _rank(frame)
    if not frame.shape[0] == frame.shape[1] == independent:
        raise ArgumentError(
            f"{argument} must be a basis of {space!r}. Got {frame.shape[1]} elements, "
            f"{independent} of them independent. It takes {space.dimension}."
        )
    return frame


def _rank(frame: Any) -> int:
    """How many columns are independent, whatever their lengths; none where there is NaN."""
    if not frame.size or not np.all(np.isfinite(frame)):
        return 0
    largest = np.max(np.abs(frame), axis=0)
    return int(np.linalg.matrix_rank(frame / np.where(largest == 0, 1, largest)))


def _components(space: Space, coordinates: Any) -> Any:
    components = space._components_from_coordinates(coordinates.astype(space._real_dtype))
    return space._sealed(components)
