"""A function along a curve that starts in a direction: what line searches look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.manifolds import Manifold
from adjoint.spaces import Space, TangentBundle

# Of the central difference that finds the velocity of a retraction: its error is the square.
_RELATIVE_STEP: Final = 1e-4


class Trial(NamedTuple):
    """A point of a ray: its factor, where that is, value and slope, components of df there."""

    length: float
    x: Any
    value: float
    slope: float
    components: Any

    @property
    def finite(self) -> bool:
        """Whether value and slope are finite numbers."""
        return bool(np.isfinite(self.value) and np.isfinite(self.slope))


class Ray:
    """t -> f(x moved along t d), by value and slope."""

    def __init__(
        self,
        evaluate: Callable[[Any], tuple[float, Any]],
        bundle: Space | TangentBundle,
        start: Trial,
        direction: Any,
        space: Space,
    ) -> None:
        self.start: Final = start
        self._evaluate = evaluate
        self._bundle = bundle
        self._direction = direction
        self._space = space

    @property
    def noise(self) -> float:
        """Differences of values that a few dozen roundings explain."""
        return 64 * float(np.finfo(self._space._real_dtype).eps) * abs(self.start.value)

    def at(self, length: float) -> Trial:
        """The point with this factor; its value is NaN where the function cannot be evaluated.

        Trial points may lie where the function overflows, is undefined, or where matrices are
        singular: floating-point warnings and arithmetic errors are part of a search.
        """
        x = None
        try:
            with np.errstate(all="ignore"):
                x = self._moved(length)
                if isinstance(self._bundle, Manifold) and not self._bundle.contains(x):
                    return Trial(length, x, np.nan, np.nan, None)
                value, components = self._evaluate(x)
                return Trial(length, x, value, self._slope(length, x, components), components)
        except (ArithmeticError, np.linalg.LinAlgError):
            return Trial(length, x, np.nan, np.nan, None)

    def _slope(self, length: float, x: Any, components: Any) -> float:
        """The derivative of the value by the length."""
        if not isinstance(self._bundle, Manifold):
            return float(self._space._pair(components, self._direction))
        # Without the part that is normal at x, which would multiply the error of the difference.
        space = self._bundle._tangent_space(x)
        step = _RELATIVE_STEP * length
        velocity = pytrees.tree_map(
            lambda ahead, behind: (ahead - behind) / (2 * step),
            self._moved(length + step),
            self._moved(length - step),
        )
        return float(space._pair(space._restrict(components), velocity))

    def _moved(self, length: float) -> Any:
        space, bundle = self._space, self._bundle
        tangent = space._scale(length, self._direction)
        if isinstance(bundle, Space):
            return space._add(self.start.x, tangent)
        return bundle._moved(self.start.x, tangent)
