"""A space under an inner product that is given by functions, which are trusted."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, final

from adjoint.spaces.inner_products.same_elements import SameElements
from adjoint.spaces.space import Space

Function = Callable[[Any], Any]


@final
class OperatorWeighted(SameElements):
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
        >>> space = OperatorWeighted(
        ...     Euclidean(2), lambda x: 2 * x, lambda c: c / 2, "twice"
        ... )
        >>> float(space.inner(np.ones(2), np.ones(2)))
        4.0
    """

    def __init__(self, base: Space, riesz: Function, represent: Function, key: Hashable) -> None:
        self.base = base
        self._riesz_function: Final = riesz
        self._represent_function: Final = represent
        self._name: Final = key

    def _key(self) -> tuple[Any, ...]:
        return self.base, self._name

    def __repr__(self) -> str:
        return f"OperatorWeighted({self.base!r})"

    def _riesz(self, x: Any) -> Any:
        return self._riesz_function(x)

    def _represent(self, components: Any) -> Any:
        return self._represent_function(components)
