"""What a manifold is: points in an ambient space, and a space of tangents at each."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NoReturn, final

import numpy as np

from adjoint.base.errors import ArgumentTypeError, MembershipError
from adjoint.base.pytrees import tree_map
from adjoint.base.signatures.checked import Seed, generator_of
from adjoint.spaces import Euclidean, Space, TangentBundle
from adjoint.spaces.elements.values import copied, describe

# Deviations of a point from its manifold that a few dozen roundings can explain.
ROUNDINGS = 256


class Manifold(TangentBundle):
    """A Riemannian manifold, of real arrays or of trees of them.

    It stands wherever a space of tangents may stand: `ad.grad(f, space=manifold)` is the Riemannian
    gradient, the tangent g at x with <g, u>_x = ∂f(x)[u] for all tangents u (E.1.37), and
    `ad.optimize.descend` moves along retractions. Points may be traced arrays, whose entries are
    then not looked at.

    Example:
        >>> from adjoint.manifolds import Sphere
        >>> isinstance(Sphere(3), Manifold), Sphere(3).dimension
        (True, 2)
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The dimension of the manifold and of its tangent spaces."""

    @property
    @abstractmethod
    def ambient(self) -> Space:
        """The space of all arrays of the shape of a point."""

    @abstractmethod
    def _key(self) -> tuple[Any, ...]: ...

    @abstractmethod
    def _why_not(self, x: Any) -> tuple[str, Any, str] | None:
        """Why x is no point: the place in the tree, what is there, and what to do."""

    @abstractmethod
    def _tangent_space(self, x: Any) -> Space: ...

    @abstractmethod
    def _retract(self, x: Any, u: Any) -> Any: ...

    @abstractmethod
    def _exponential(self, x: Any, u: Any) -> Any: ...

    @abstractmethod
    def _random(self, generator: np.random.Generator) -> Any: ...

    # --- points ----------------------------------------------------------------------------------

    @final
    def contains(self, x: Any) -> bool:
        """Whether x is a point of the manifold, to rounding.

        Args:
            x: anything.

        Returns:
            True or False; no error, whatever x is.
        """
        return self._why_not(x) is None

    @final
    def check(self, x: Any, argument: str = "x") -> None:
        """Raise unless x is a point of the manifold.

        Args:
            x: anything.
            argument: what to call x in the message.

        Raises:
            MembershipError: x has another shape, structure or dtype, or lies off the manifold.
        """
        mismatch = self._why_not(x)
        if mismatch is not None:
            path, value, advice = mismatch
            raise MembershipError(
                f"{argument} must be a point of {self!r}. Got {describe(value)}"
                f"{' at ' + argument + path if path else ''}. {advice}"
            )

    @final
    def random(self, seed: Seed) -> Any:
        """A random point; the same seed gives the same point.

        Args:
            seed: what `np.random.default_rng` takes; a generator moves on.

        Returns:
            A point, of the shape and dtype of the points.

        Raises:
            ArgumentTypeError: the seed is nothing that `np.random.default_rng` takes.
        """
        return self._random(generator_of(seed))

    # --- tangents --------------------------------------------------------------------------------

    @final
    def tangent_space(self, x: Any) -> Space:
        """The inner-product space of the tangents at x: arrays of the ambient space.

        Args:
            x: a point of the manifold.

        Returns:
            A `Space` whose elements have the shape of x.

        Raises:
            MembershipError: x is no point of the manifold.
        """
        return self.at(x)

    @final
    def at(self, x: Any, argument: str = "x") -> Space:
        """The tangent space at x, as `tangent_space`.

        Args:
            x: a point of the manifold.
            argument: what to call x in the message.

        Returns:
            The `Space` of the tangents at x.

        Raises:
            MembershipError: x is no point of the manifold.
        """
        self.check(x, argument)
        # The space is that of the point as it is now, whatever is written into the array later.
        return self._tangent_space(tree_map(lambda leaf: copied(leaf, writeable=False), x))

    @final
    def retract(self, x: Any, u: Any) -> Any:
        """A point that x moves to along the tangent u: x + u to first order, and cheap.

        Args:
            x: a point of the manifold.
            u: a tangent at x, an element of `tangent_space(x)`.

        Returns:
            A point of the manifold; x itself for u = 0.

        Raises:
            MembershipError: x is no point of the manifold, or u no tangent at x.
        """
        self.tangent_space(x).check(u, "u")
        return self._retract(x, u)

    @final
    def exponential(self, x: Any, u: Any) -> Any:
        """The point that the geodesic from x with velocity u reaches at time 1.

        Args:
            x: a point of the manifold.
            u: a tangent at x, an element of `tangent_space(x)`.

        Returns:
            A point of the manifold; x itself for u = 0.

        Raises:
            MembershipError: x is no point of the manifold, or u no tangent at x.
        """
        self.tangent_space(x).check(u, "u")
        return self._exponential(x, u)

    def _moved(self, x: Any, u: Any) -> Any:
        return self._retract(x, u)

    @final
    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Manifold)
            and type(self) is type(other)
            and self._key() == other._key()
        )

    @final
    def __hash__(self) -> int:
        return hash((type(self), self._key()))


class ArrayManifold(Manifold):
    """A manifold whose points are single arrays."""

    @property
    @abstractmethod
    def ambient(self) -> Euclidean:
        """The space of all arrays of the shape of a point."""

    @abstractmethod
    def _fault(self, x: Any) -> str | None:
        """Why the concrete array x, of the right shape and dtype, is no point; what to do."""

    @final
    def _why_not(self, x: Any) -> tuple[str, Any, str] | None:
        mismatch = self.ambient._mismatch(x)
        if mismatch is not None:
            return "", x, mismatch.advice
        fault = self._fault(x) if isinstance(x, np.ndarray) else None
        return None if fault is None else ("", x, fault)


def require_real(manifold: str, ambient: Euclidean) -> None:
    """ArgumentTypeError for a complex dtype."""
    if ambient.dtype.kind == "c":
        refuse(f"{manifold} is a manifold of real arrays. Got the dtype {ambient.dtype}.")


def refuse(what: str) -> NoReturn:
    """ArgumentTypeError for an argument of a manifold."""
    raise ArgumentTypeError(f"{what} Use float32 or float64.")


def point_key(x: Any) -> Any:
    """What tells points apart: the entries of a concrete array, the identity of a traced one."""
    return (x.dtype.str, x.tobytes()) if isinstance(x, np.ndarray) else id(x)


def off(x: Any, computed: Any, expected: Any) -> bool:
    """Whether two arrays differ by more than rounding, relative to the largest entry, or to 1."""
    error = np.max(np.abs(computed - expected), initial=0)
    scale = max(1.0, float(np.max(np.abs(expected), initial=0)))
    return not bool(error <= ROUNDINGS * np.finfo(x.dtype).eps * scale)
