"""Linear subspaces given by elements that span them, or as the range or kernel of a map."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol, final

import numpy as np

from adjoint.base.errors import ArgumentError, ArgumentTypeError, MembershipError
from adjoint.base.pytrees import leaves
from adjoint.base.signatures.checked import checked_class
from adjoint.spaces.elements.members import Mismatch
from adjoint.spaces.elements.values import describe
from adjoint.spaces.space import Dual, Space

# Directions whose singular value is smaller than this many roundings of the largest are none.
_ROUNDINGS: Final = 64
# What coordinates of a few hundred elements may add up to, in roundings of the largest; or of 1
# where that is smaller, so that the difference of two elements is one.
_MEMBERSHIP: Final = 4096


class _Map(Protocol):
    """What is needed of a linear map (which stands on a higher floor)."""

    @property
    def domain(self) -> Space: ...
    @property
    def codomain(self) -> Space: ...
    def matrix(self) -> Any: ...


@checked_class
@final
class Span(Space):
    """The linear span of some elements of a space, under the inner product of that space.

    Args:
        elements: elements of `space`, which need not be independent.
        space: a space whose basis is orthonormal: Euclidean, one of matrices, or a product of such.

    Elements are elements of `space` that lie in the span to rounding: up to 4096 roundings of their
    largest coordinate, or of 1 where that is smaller. `restrict` is the orthogonal
    projection onto it. The basis is orthonormal: the left singular vectors of the coordinates of
    the given elements. The same elements in the same order make equal spaces.

    Raises:
        ArgumentError, ArgumentTypeError: the space has weights, is a dual, or is no space; an
            element holds NaN or infinity.
        MembershipError: an element is not one of the space.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> plane = Span(
        ...     [np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 2.0])], Euclidean(3)
        ... )
        >>> plane.dimension, plane.contains(np.array([2.0, 2.0, 5.0]))
        (2, True)
        >>> np.round(plane.restrict(np.array([1.0, 0.0, 3.0])), 12)
        array([0.5, 0.5, 3. ])
    """

    def __init__(self, elements: Iterable[Any], space: Space) -> None:
        _require_plain(space)
        held = list(elements)
        for index, element in enumerate(held):
            space.check(element, f"elements[{index}]")
        columns = [space._coordinates(element) for element in held]
        matrix = np.stack(columns, axis=1) if columns else np.zeros((space.dimension, 0))
        self.space: Final = space
        self._frame: Any = _orthonormal_frame(matrix, space, complement=False)

    @classmethod
    def range(cls, linear_map: _Map) -> Span:
        """The range of a linear map, a subspace of its codomain.

        Args:
            linear_map: D.

        Returns:
            A `Span` of as many dimensions as the rank of D.

        Raises:
            ArgumentTypeError: this is no linear map.

        Example:
            >>> import numpy as np
            >>> from adjoint.maps import from_matrix
            >>> from adjoint.spaces import Euclidean
            >>> ones = from_matrix(np.ones((3, 2)), Euclidean(2), Euclidean(3))
            >>> Span.range(ones).contains(np.ones(3)), Span.range(ones).dimension
            (True, 1)
        """
        _require_map(linear_map)
        return cls._of(linear_map.codomain, linear_map.matrix(), complement=False)

    @classmethod
    def kernel(cls, linear_map: _Map) -> Span:
        """The kernel of a linear map, a subspace of its domain.

        Args:
            linear_map: D.

        Returns:
            A `Span` of the dimensions of the domain that the rank of D leaves; zero of them where D
            is one-to-one.

        Raises:
            ArgumentTypeError: this is no linear map.

        Example:
            >>> import numpy as np
            >>> from adjoint.maps import from_matrix
            >>> from adjoint.spaces import Euclidean
            >>> total = from_matrix(np.ones((1, 3)), Euclidean(3), Euclidean(1))
            >>> np.round(Span.kernel(total).restrict(np.array([3.0, 0.0, 0.0])), 12)
            array([ 2., -1., -1.])
        """
        _require_map(linear_map)
        return cls._of(linear_map.domain, linear_map.matrix().T, complement=True)

    @classmethod
    def _of(cls, space: Space, matrix: Any, complement: bool) -> Span:
        span = cls((), space)
        span._frame = _orthonormal_frame(matrix, space, complement)
        return span

    @property
    def dimension(self) -> int:
        """The dimension over the reals."""
        return int(self._frame.shape[1])

    @property
    def ambient(self) -> Space:
        """The ambient space of the space that this is a part of."""
        return self.space.ambient

    @property
    def _component_space(self) -> Space:
        return self.space._component_space

    @property
    def _real_dtype(self) -> np.dtype[Any]:
        return self.space._real_dtype

    @property
    def _orthonormal(self) -> bool:
        return True

    def _key(self) -> tuple[Any, ...]:
        return self.space, self._frame.shape, self._frame.tobytes()

    def __repr__(self) -> str:
        return f"Span({self.dimension} of {self.space!r})"

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        mismatch = self.space._why_not(x, deep)
        if mismatch is not None or not deep:
            return (
                mismatch if mismatch is None or mismatch.path else mismatch._replace(expected=self)
            )
        coordinates = self.space._coordinates(x)
        if not isinstance(coordinates, np.ndarray):
            return None  # entries of a traced array cannot be inspected
        rest = np.abs(coordinates - self._frame @ (self._frame.T @ coordinates))
        largest = np.max(np.abs(coordinates), initial=1)
        # Written so that NaN passes: it is an element's right to be NaN.
        if np.any(rest > _MEMBERSHIP * _precision(x) * largest):
            advice = "It does not lie in the span: space.restrict(x) is its orthogonal projection."
            return Mismatch(MembershipError, self, x, advice)
        return None

    def _zero(self) -> Any:
        return self.space._zero()

    def _zero_components(self) -> Any:
        return self.space._zero_components()

    def _pair(self, components: Any, x: Any) -> Any:
        return self.space._pair(components, x)

    def _riesz(self, x: Any) -> Any:
        return self.space._riesz(x)

    def _represent(self, components: Any) -> Any:
        return self.space._represent(components)

    def _restrict(self, components: Any) -> Any:
        inner = self.space._component_coordinates(self.space._restrict(components))
        projected = self._frame @ (self._frame.T @ inner)
        return self.space._components_from_coordinates(projected)

    def _coordinates(self, x: Any) -> Any:
        return self._frame.T @ self.space._coordinates(x)

    def _from_coordinates(self, coordinates: Any) -> Any:
        return self.space._from_coordinates(self._frame @ coordinates)

    def _component_coordinates(self, components: Any) -> Any:
        return self._frame.T @ self.space._component_coordinates(components)

    def _components_from_coordinates(self, coordinates: Any) -> Any:
        return self.space._components_from_coordinates(self._frame @ coordinates)


def _precision(x: Any) -> float:
    """The rounding of the least precise array in a tree."""
    dtypes = [getattr(leaf, "dtype", np.dtype(float)) for leaf in leaves(x)]
    return float(max(np.finfo(dtype).eps for dtype in dtypes))


def _orthonormal_frame(matrix: Any, space: Space, complement: bool) -> Any:
    """Orthonormal columns that span those of the matrix, or their orthogonal complement."""
    if not np.all(np.isfinite(matrix)):
        raise ArgumentError(
            f"A span or kernel in {space!r} was asked of numbers among which are NaN or infinity. "
            "np.isfinite shows where they are."
        )
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=complement)
    tolerance = _ROUNDINGS * np.finfo(left.dtype).eps * np.max(sizes, initial=0)
    rank = int(np.sum(sizes > tolerance))
    frame = np.array(left[:, rank:] if complement else left[:, :rank], space._real_dtype, order="C")
    frame.setflags(write=False)
    return frame


def _require_plain(space: Any) -> None:
    if not isinstance(space, Space):
        raise ArgumentTypeError(
            f"Span takes elements and the space that they lie in. Got {describe(space)} for the "
            "space. Euclidean(shape) is the space of arrays of that shape."
        )
    if isinstance(space, Dual):
        raise ArgumentError(
            f"Span takes a space of vectors. Got {space!r}. A span of covectors is that of their "
            "representatives, space.represent(covector)."
        )
    if not space._orthonormal:
        raise ArgumentError(
            "Span takes a space whose basis is orthonormal, so that its projections are. "
            f"Got {space!r}. Weighted(Span(elements, plain space), weight) weights the span."
        )


def _require_map(given: Any) -> None:
    if not hasattr(given, "codomain"):
        raise ArgumentTypeError(
            f"The range and the kernel are those of a LinearMap. Got {describe(given)}. "
            "adjoint.maps.from_matrix makes one of a matrix and two spaces."
        )
