"""Linear maps as sums of maps of rank one, and the orthonormal such sum: singular values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.base.errors import ArgumentError
from adjoint.base.signatures.checked import checked
from adjoint.maps.constructors import rank_one, zero
from adjoint.maps.duality import require_map
from adjoint.maps.linear_map import LinearMap
from adjoint.spaces import Covector, Space
from adjoint.spaces.dual_basis import dual_basis


@checked
def finite_rank(
    vectors: Sequence[Any], images: Sequence[Any], domain: Space, codomain: Space
) -> LinearMap:
    """The map u -> sum_i <v_i, u> y_i (E.1.33); with covectors w_i, u -> sum_i w_i(u) y_i.

    Its adjoint swaps the roles, v -> sum_i <y_i, v> v_i.

    Args:
        vectors: v_1, ..., v_r: elements of the domain, or covectors on it, as you like for each.
        images: y_1, ..., y_r: elements of the codomain.
        domain: X.
        codomain: Y.

    Returns:
        A `LinearMap` from the domain to the codomain, of rank r at most.

    Raises:
        ArgumentError: there are not as many vectors as images.
        MembershipError, SpaceMismatchError: one of them is no element of its space.
        ArgumentTypeError: vectors or images are no list or tuple, or a space is none.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> v, y = np.array([1.0, 2.0]), np.array([1.0, 10.0])
        >>> finite_rank([v, v], [y, y], Euclidean(2), Euclidean(2)).matrix()
        array([[ 2.,  4.],
               [20., 40.]])
    """
    vectors, images = list(vectors), list(images)
    if len(vectors) != len(images):
        raise ArgumentError(
            f"finite_rank takes as many vectors as images. Got {len(vectors)} and {len(images)}. "
            "Term i is <vectors[i], u> images[i]."
        )
    terms = [
        rank_one(_covector(vector, domain, index), image, codomain)
        for index, (vector, image) in enumerate(zip(vectors, images, strict=True))
    ]
    if not terms:
        return zero(domain, codomain)

    def apply(u: Any) -> Any:
        total = terms[0]._apply(u)
        for term in terms[1:]:
            total = codomain._add(total, term._apply(u))
        return total

    def pull(components: Any) -> Any:
        total = terms[0]._require_transpose()(components)
        for term in terms[1:]:
            total = domain._add(total, term._require_transpose()(components))
        return total

    return LinearMap(domain, codomain, apply, pull, name="finite_rank")


def _covector(vector: Any, domain: Space, index: int) -> Any:
    if domain.dual.contains(vector):  # on a dual space, covectors are plain vectors
        components = domain._components_of(vector)
    else:
        domain.check(vector, f"vectors[{index}]")
        components = domain._riesz(vector)
    return Covector(domain, domain._sealed(components))


@checked
def rank_one_terms(
    linear_map: LinearMap, basis: Sequence[Any] | None = None
) -> list[tuple[Any, Any]]:
    """Any map as a sum of rank-one maps: pairs (b^i, D b_i) with D u = sum_i b^i(u) D b_i (E.1.33).

    Every u is sum_i b^i(u) b_i, in a basis b_i with dual basis b^i, and D is linear: the columns of
    a matrix are the y_i of a sum like this (E.1.36). `singular_values` gives the sum with as few
    terms as there can be.

    Args:
        linear_map: D.
        basis: of its domain; `domain.basis()` unless told.

    Returns:
        A list of pairs (covector on the domain, element of the codomain), as many as the domain has
        dimensions.

    Raises:
        ArgumentError: the elements are no basis.
        ArgumentTypeError: this is no linear map.
        MembershipError, SpaceMismatchError: one of them is no element of the domain.

    Example:
        >>> import numpy as np
        >>> from adjoint.maps import from_matrix
        >>> from adjoint.spaces import Euclidean
        >>> D = from_matrix(
        ...     np.array([[1.0, 2.0], [3.0, 4.0]]), Euclidean(2), Euclidean(2)
        ... )
        >>> [(w.components, y) for w, y in rank_one_terms(D)]
        [(array([1., 0.]), array([1., 3.])), (array([0., 1.]), array([2., 4.]))]
    """
    require_map(linear_map)
    domain = linear_map.domain
    vectors = domain.basis() if basis is None else list(basis)
    covectors = dual_basis(domain, None if basis is None else vectors)
    return [(w, linear_map(b)) for w, b in zip(covectors, vectors, strict=True)]


@dataclass(frozen=True)
class SingularValueDecomposition:
    """D u = sum_i s_i <v_i, u> y_i with orthonormal v_i and orthonormal y_i, and s_i falling.

    D v_i = s_i y_i and D.H y_i = s_i v_i.

    Attributes:
        linear_map: D.
        values: the singular values, an array of shape (min(m, n),), none negative.
        vectors: v_1, v_2, ... in the domain, orthonormal under its inner product.
        images: y_1, y_2, ... in the codomain, orthonormal under its inner product.

    Example:
        >>> import numpy as np
        >>> from adjoint.maps import from_matrix
        >>> from adjoint.spaces import Euclidean
        >>> D = from_matrix(np.diag([3.0, 4.0]), Euclidean(2), Euclidean(2))
        >>> found = singular_values(D)
        >>> isinstance(found, SingularValueDecomposition), found.values
        (True, array([4., 3.]))
    """

    linear_map: LinearMap
    values: Any
    vectors: tuple[Any, ...]
    images: tuple[Any, ...]

    @property
    def rank(self) -> int:
        """How many singular values are not zero up to rounding, as numpy.linalg.matrix_rank.

        Rounding is that of the space with the lower precision.
        """
        if not self.values.size:
            return 0
        spaces = self.linear_map.domain, self.linear_map.codomain
        eps = max(np.finfo(space._real_dtype).eps for space in spaces)
        smallest = self.values[0] * max(space.dimension for space in spaces) * eps
        return int(np.count_nonzero(self.values > smallest))

    @property
    def norm(self) -> float:
        """The largest |D u| / |u|, in the norms of the two spaces."""
        return float(self.values[0]) if self.values.size else 0.0

    def map(self, rank: int | None = None) -> LinearMap:
        """The sum of the first `rank` terms; all that are not zero unless told.

        Of all maps of that rank it is the one nearest to D, in the norms of the two spaces (Eckart
        and Young, 1936).

        Args:
            rank: from 0 to the number of singular values.

        Returns:
            A `LinearMap` from the domain of D to its codomain, of that rank.

        Raises:
            ArgumentError: the rank is no number from 0 to the number of terms.
        """
        count: Any = self.rank if rank is None else rank
        if not (isinstance(count, (int, np.integer)) and 0 <= count <= self.values.size):
            raise ArgumentError(
                f"rank must lie between 0 and {self.values.size}, the number of terms. Got {rank}."
            )
        domain, codomain = self.linear_map.domain, self.linear_map.codomain
        scaled = zip(self.values[:count], self.images[:count], strict=True)
        images = [codomain._scale(float(value), y) for value, y in scaled]
        return finite_rank(self.vectors[:count], images, domain, codomain)


def singular_values(linear_map: LinearMap) -> SingularValueDecomposition:
    """The singular value decomposition of a map under the inner products of its two spaces.

    It is the finite-rank form (E.1.33) with orthonormal v_i and y_i. In bases with Gram matrices
    G_X = K K' and G_Y = L L', the matrix of the map between orthonormal bases is L' A K^-T, whose
    ordinary decomposition gives this one.

    Args:
        linear_map: D, which is written out as a matrix.

    Returns:
        A `SingularValueDecomposition`: singular values in falling order, and the orthonormal
        elements of both spaces that belong to them.

    Raises:
        ArgumentTypeError: this is no linear map.
        ArgumentError: its matrix holds NaN or infinity.

    Example:
        >>> import numpy as np
        >>> from adjoint.maps import embedding
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> weighted = Weighted(Euclidean(2), np.array([1.0, 4.0]))
        >>> # x, seen under another inner product
        >>> singular_values(embedding(weighted)).values
        array([1. , 0.5])
    """
    require_map(linear_map)
    domain, codomain = linear_map.domain, linear_map.codomain
    matrix = linear_map.matrix()
    if not np.all(np.isfinite(matrix)):
        raise ArgumentError(
            f"Only a map without NaN and infinity has singular values. Got such in the matrix of "
            f"{linear_map!r}. np.isfinite(map.matrix()) shows where."
        )
    inner_in, inner_out = _gram_factor(domain), _gram_factor(codomain)
    # Rows of A K^-T = (K^-1 A')'.
    middle = np.linalg.solve(inner_in, matrix.T).T
    left, values, right = np.linalg.svd(inner_out.T @ middle, full_matrices=False)
    vectors = np.linalg.solve(inner_in.T, right.T)  # (n, r): columns are coordinates of the v_i
    images = np.linalg.solve(inner_out.T, left)  # (m, r)
    return SingularValueDecomposition(
        linear_map,
        values,
        tuple(domain.from_coordinates(column) for column in vectors.T),
        tuple(codomain.from_coordinates(column) for column in images.T),
    )


def _gram_factor(space: Space) -> Any:
    return np.eye(space.dimension) if space._orthonormal else np.linalg.cholesky(space._gram())
