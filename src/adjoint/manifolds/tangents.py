"""Tangent spaces that inherit the inner product of the ambient space."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import MembershipError
from adjoint.manifolds.manifold import ROUNDINGS, ArrayManifold, point_key
from adjoint.spaces.elements.members import Mismatch
from adjoint.spaces.space import Space


class EmbeddedManifold(ArrayManifold):
    """A manifold whose tangents inherit the plain inner product of the ambient space."""

    @abstractmethod
    def _project(self, x: Any, v: Any) -> Any:
        """The tangent at x that is nearest to v: the orthogonal projection."""

    @abstractmethod
    def _tangent_coordinates(self, x: Any, u: Any) -> Any:
        """The coordinates of u in an orthonormal basis of the tangents at x."""

    @abstractmethod
    def _tangent_from_coordinates(self, x: Any, coordinates: Any) -> Any: ...

    @final
    def _tangent_space(self, x: Any) -> Space:
        return EmbeddedTangents(self, x)


@final
class EmbeddedTangents(Space):
    """The tangents of an embedded manifold at a point, a subspace of the ambient space.

    Elements are ambient arrays, tangent to rounding. `restrict` is the orthogonal projection, so
    the gradient is the projection of the ambient one. The basis is orthonormal, and depends on the
    point.

    Example:
        >>> import numpy as np
        >>> from adjoint.manifolds import Sphere
        >>> tangents = Sphere(3).tangent_space(np.array([0.0, 0.0, 1.0]))
        >>> tangents.dimension, tangents.contains(np.array([1.0, 2.0, 0.0]))
        (2, True)
    """

    def __init__(self, manifold: EmbeddedManifold, point: Any) -> None:
        self.manifold: Final = manifold
        self.point: Final = point

    @property
    def dimension(self) -> int:
        """The dimension of the manifold."""
        return self.manifold.dimension

    @property
    def ambient(self) -> Space:
        """The ambient space of the manifold."""
        return self.manifold.ambient

    @property
    def _orthonormal(self) -> bool:
        return True

    def _key(self) -> tuple[Any, ...]:
        return self.manifold, point_key(self.point)

    def __repr__(self) -> str:
        return f"<tangents of {self.manifold!r} at a point>"

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        mismatch = self.ambient._why_not(x, deep)
        concrete = isinstance(x, np.ndarray) and isinstance(self.point, np.ndarray)
        if mismatch is None and deep and concrete and self._leaves(x):
            advice = "It is not tangent at the point: space.restrict(x) is its tangent part."
            return Mismatch(MembershipError, self, x, advice)
        return mismatch if mismatch is None else mismatch._replace(expected=self)

    def _leaves(self, x: Any) -> bool:
        outside = x - self.manifold._project(self.point, x)
        # Written so that NaN passes: it is an element's right to be NaN.
        bound = ROUNDINGS * np.finfo(x.dtype).eps * np.max(np.abs(x), initial=0)
        return bool(np.max(np.abs(outside), initial=0) > bound)

    def _restrict(self, components: Any) -> Any:
        # Twice: where most of an array is normal, the rounding of the first projection leaves a
        # normal part that is large beside the small tangent one.
        project = self.manifold._project
        return project(self.point, project(self.point, components))

    def _coordinates(self, x: Any) -> Any:
        return self.manifold._tangent_coordinates(self.point, x)

    def _from_coordinates(self, coordinates: Any) -> Any:
        if coordinates.dtype != self._real_dtype:
            coordinates = coordinates.astype(self._real_dtype)
        return self.manifold._tangent_from_coordinates(self.point, coordinates)
