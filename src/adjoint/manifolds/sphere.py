"""The unit sphere."""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import ArgumentError
from adjoint.manifolds.manifold import off, require_real
from adjoint.manifolds.tangents import EmbeddedManifold
from adjoint.spaces import Euclidean


@final
class Sphere(EmbeddedManifold):
    """The unit sphere {x : sum x² = 1} in the arrays of a shape, under the inner product of these.

    Args:
        shape: an integer or a tuple; `Sphere(n)` lies in R^n and has dimension n - 1.
        dtype: a real floating dtype.

    The tangents at x are the u with sum x u = 0. `retract` divides x + u by its norm; `exponential`
    follows the great circle.

    Raises:
        ArgumentError, ArgumentTypeError: the shape or the dtype makes no sense.

    Example:
        The gradient of the Rayleigh quotient is (A - f(x)) x times two.

        >>> import numpy as np
        >>> import adjoint as ad
        >>> A = np.diag([1.0, 2.0, 3.0])
        >>> ad.grad(lambda x: x @ A @ x, space=Sphere(3))(
        ...     np.array([0.6, 0.8, 0.0])
        ... ).round(3)
        array([-0.768,  0.576,  0.   ])
    """

    def __init__(self, shape: int | tuple[int, ...], dtype: Any = float) -> None:
        self._ambient: Final = Euclidean(shape, dtype)
        require_real("The sphere", self._ambient)
        if self._ambient.size == 0 or self._ambient.shape == ():
            raise ArgumentError(
                f"The sphere lies in arrays with entries. Got the shape {self._ambient.shape}. "
                "Sphere(n) is the sphere of dimension n - 1 in R^n."
            )

    @property
    def ambient(self) -> Euclidean:
        """The arrays of the shape."""
        return self._ambient

    @property
    def dimension(self) -> int:
        """One less than the number of entries."""
        return self._ambient.size - 1

    def _key(self) -> tuple[Any, ...]:
        return (self._ambient,)

    def __repr__(self) -> str:
        shape = self._ambient.shape
        return f"Sphere({shape[0] if len(shape) == 1 else shape})"

    def _fault(self, x: Any) -> str | None:
        square = np.sum(x * x)
        return f"Its norm is {np.sqrt(square):.6g}: divide by it." if off(x, square, 1) else None

    def _project(self, x: Any, v: Any) -> Any:
        return v - x * np.sum(x * v)

    # The reflection H = 1 - v v' / (1 + |x_0|) with v = x ± e_0 maps x to ∓e_0, so it maps the
    # tangents at x to the arrays with first entry zero, and keeps lengths.

    def _reflect(self, x: Any, flat: Any) -> Any:
        entries = np.reshape(x, (-1,))
        first = np.zeros(self._ambient.size, self._ambient.dtype)
        first[0] = 1
        v = entries + np.where(entries[0] >= 0, first, -first)
        return flat - v * (np.sum(v * flat) / (1 + np.abs(entries[0])))

    def _tangent_coordinates(self, x: Any, u: Any) -> Any:
        return self._reflect(x, np.reshape(u, (-1,)))[1:]

    def _tangent_from_coordinates(self, x: Any, coordinates: Any) -> Any:
        padded = np.concatenate([np.zeros(1, self._ambient.dtype), coordinates])
        return np.reshape(self._reflect(x, padded), self._ambient.shape)

    def _retract(self, x: Any, u: Any) -> Any:
        moved = x + u
        return moved / np.sqrt(np.sum(moved * moved))

    def _exponential(self, x: Any, u: Any) -> Any:
        angle = np.sqrt(np.sum(u * u))
        # sinc(t) = sin(pi t) / (pi t), which is 1 at 0. The sum is divided by its norm, which
        # differs from 1 by rounding, lest roundings add up over many steps.
        moved = np.cos(angle) * x + np.sinc(angle / np.pi) * u
        return moved / np.sqrt(np.sum(moved * moved))

    def _random(self, generator: np.random.Generator) -> Any:
        draw = generator.standard_normal(self._ambient.shape)
        return (draw / np.sqrt(np.sum(draw * draw))).astype(self._ambient.dtype)
