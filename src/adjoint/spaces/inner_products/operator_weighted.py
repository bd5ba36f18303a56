"""A space under an inner product that is given by functions, which are trusted."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, final

import numpy as np

from adjoint.spaces.space import Mismatch, Space

Function = Callable[[Any], Any]


@final
class OperatorWeighted(Space):
    """The space `base` under <x, y> = (riesz x)(y).

    `Weighted` with a map tries the map on random elements; here the functions are trusted, because
    whoever builds the space (a manifold, a pulled-back metric) knows them to be right.

    Args:
        base: the space whose elements, basis and covectors these are; its own inner product is
            not used.
        riesz: element -> components of <x, .>; self-adjoint and positive.
        represent: its inverse.
        key: what tells this inner product from others on the base.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean
        >>> space = OperatorWeighted(Euclidean(2), lambda x: 2 * x, lambda c: c / 2, "twice")
        >>> float(space.inner(np.ones(2), np.ones(2)))
        4.0
    """

    def __init__(self, base: Space, riesz: Function, represent: Function, key: Hashable) -> None:
        self.base: Final = base
        self._riesz_function: Final = riesz
        self._represent_function: Final = represent
        self._name: Final = key

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

    def _key(self) -> tuple[Any, ...]:
        return self.base, self._name

    def __repr__(self) -> str:
        return f"OperatorWeighted({self.base!r})"

    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        found = self.base._why_not(x, deep)
        if found is not None and not found.path:
            return found._replace(expected=self)
        return found

    def _zero(self) -> Any:
        return self.base._zero()

    def _zero_components(self) -> Any:
        return self.base._zero_components()

    def _pair(self, components: Any, x: Any) -> Any:
        return self.base._pair(components, x)

    def _riesz(self, x: Any) -> Any:
        return self._riesz_function(x)

    def _represent(self, components: Any) -> Any:
        return self._represent_function(components)

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
