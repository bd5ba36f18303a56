"""Spaces with the elements of another one: under another inner product, or in another basis."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.spaces.elements.members import Mismatch
from adjoint.spaces.space import Space


class SameElements(Space):
    """A space whose elements, basis and covectors are those of `base`.

    A subclass sets `base`, and says what differs: the Riesz map and its inverse, or coordinates.

    Example:
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> isinstance(Weighted(Euclidean(2), 3.0), SameElements)
        True
    """

    base: Space

    @property
    def dimension(self) -> int:
        """The dimension over the reals."""
        return self.base.dimension

    @property
    def ambient(self) -> Space:
        """The ambient space of the base."""
        return self.base.ambient

    @property
    def _real_dtype(self) -> np.dtype[Any]:
        return self.base._real_dtype

    @property
    def _complex(self) -> bool:
        return self.base._complex

    @property
    def _orthonormal(self) -> bool:
        return False

    @property
    def _full(self) -> bool:
        return self.base._full

    @property
    def _component_space(self) -> Space:
        return self.base._component_space

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        mismatch = self.base._why_not(x, deep)
        if mismatch is not None and not mismatch.path:
            return mismatch._replace(expected=self)
        return mismatch

    def _zero(self) -> Any:
        return self.base._zero()

    def _zero_components(self) -> Any:
        return self.base._zero_components()

    def _pair(self, components: Any, x: Any) -> Any:
        return self.base._pair(components, x)

    def _riesz(self, x: Any) -> Any:
        return self.base._riesz(x)

    def _represent(self, components: Any) -> Any:
        return self.base._represent(components)

    def _restrict(self, components: Any) -> Any:
        return self.base._restrict(components)

    def _coordinates(self, x: Any) -> Any:
        return self.base._coordinates(x)

    def _from_coordinates(self, coordinates: Any) -> Any:
        return self.base._from_coordinates(coordinates)

    def _component_coordinates(self, components: Any) -> Any:
        return self.base._component_coordinates(components)

    def _components_from_coordinates(self, coordinates: Any) -> Any:
        return self.base._components_from_coordinates(coordinates)
