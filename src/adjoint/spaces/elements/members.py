"""What the spaces are made of: private members, which trust their arguments.

They work on raw components, and run on traced arrays too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import AdjointError
from adjoint.spaces.elements.values import describe


class Mismatch(NamedTuple):
    """Why a value is not an element: the space and the place in the tree, what came, what to do."""

    error: type[AdjointError]
    expected: Any
    actual: Any
    advice: str
    path: str = ""

    def message(self, argument: str) -> str:
        """The three sentences of the error."""
        return (
            f"{argument}{self.path} must be an element of {self.expected!r}. "
            f"Got {describe(self.actual)}. {self.advice}"
        )


class SpaceMembers(ABC):
    """What a space must say of itself, and what follows where it says no more."""

    __slots__ = ()

    ambient: Any

    @abstractmethod
    def _key(self) -> tuple[Any, ...]:
        """The parameters, for equality and hash."""

    @abstractmethod
    def _why_not(self, x: Any, deep: bool) -> Mismatch | None:
        """Why x, no stray covector, is no element. Entries are looked at only if deep."""

    @abstractmethod
    def _restrict(self, components: Any) -> Any: ...

    @abstractmethod
    def _coordinates(self, x: Any) -> Any: ...

    @abstractmethod
    def _from_coordinates(self, coordinates: Any) -> Any: ...

    # --- what holds for a real subspace of the ambient arrays, under their inner product ---------

    @property
    def _real_dtype(self) -> np.dtype[Any]:
        """The dtype of coordinates."""
        dtype: np.dtype[Any] = self.ambient._real_dtype
        return dtype

    @property
    def _complex(self) -> bool:
        """Whether elements may be multiplied by complex numbers."""
        return False

    @property
    def _orthonormal(self) -> bool:
        """Whether the basis is orthonormal, so that the Riesz map is the identity."""
        return False

    @property
    def _full(self) -> bool:
        """Whether `restrict` is the identity: no constraint ties the entries of an element."""
        return False

    def _zero(self) -> Any:
        return self.ambient._zero()

    def _pair(self, components: Any, x: Any) -> Any:
        """The real scalar w(x), w being the covector with these components."""
        return self.ambient._pair(components, x)

    def _riesz(self, x: Any) -> Any:
        """The components of <x, .>."""
        return x

    def _represent(self, components: Any) -> Any:
        """The x whose <x, .> has these components."""
        return components

    # --- what differs only in duals, and in products that hold some ------------------------------

    def _zero_components(self) -> Any:
        return self._zero()

    def _component_coordinates(self, components: Any) -> Any:
        return self._coordinates(components)

    def _components_from_coordinates(self, coordinates: Any) -> Any:
        return self._from_coordinates(coordinates)

    def _components_of(self, covector: Any) -> Any:
        """The raw components of an element of `self.dual`."""
        return covector.components
