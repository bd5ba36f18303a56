"""Inner products that depend on the point: a space of tangents at every point."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, final

from adjoint.base.errors import ArgumentTypeError
from adjoint.base.pytrees import tree_map
from adjoint.base.signatures.checked import checked_class
from adjoint.spaces.elements.values import describe
from adjoint.spaces.space import Space


class TangentBundle(ABC):
    """A rule that gives, at every point x, the inner-product space of the tangents at x.

    It stands where a space may stand (`ad.grad(f, space=...)`) and is resolved at the point of
    evaluation. `Metric` is one on a vector space; manifolds are others.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean, Metric, Weighted
        >>> hyperbolic = Metric(lambda x: Weighted(Euclidean(2), 1 / x[1] ** 2))
        >>> isinstance(hyperbolic, TangentBundle), isinstance(hyperbolic, Space)
        (True, False)
    """

    @abstractmethod
    def at(self, x: Any, argument: str = "x") -> Space:
        """The space of the tangents at x.

        Args:
            x: a point.
            argument: what to call x in the message.

        Returns:
            A `Space` whose elements have the shape of x.

        Raises:
            MembershipError: x is no point of the bundle.
        """

    def _moved(self, x: Any, u: Any) -> Any:
        """The point that is reached from x along the tangent u: the sum, where points add."""
        return tree_map(operator.add, x, u)


@checked_class
@final
class Metric(TangentBundle):
    """A Riemannian metric on a vector space: the inner product at x is that of `at(x)` (E.1.43).

    The gradient in it at x is W(x)^-1 times the plain one, where W(x) is the weight at x; with the
    Fisher information for W this is the natural gradient (Amari 1998).

    Args:
        at: a function of a point, that returns a space which contains the point.
        name: for the repr.

    The function sees concrete arrays only: a gradient in a metric cannot be differentiated again.

    Raises:
        ArgumentTypeError: `at` is no function; or, when it is called, it returns no space.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> hyperbolic = Metric(lambda x: Weighted(Euclidean(2), 1 / x[1] ** 2))
        >>> ad.grad(lambda x: x[0] + x[1], space=hyperbolic)(np.array([0.0, 2.0]))
        array([4., 4.])
    """

    def __init__(self, at: Callable[[Any], Space], name: str | None = None) -> None:
        given: Any = at
        if isinstance(given, Space) or not callable(given):
            raise ArgumentTypeError(
                f"Metric takes a function from points to spaces. Got {describe(given)}. "
                "A space whose inner product does not depend on the point is given as it is."
            )
        self._at: Final = at
        self.name: Final = name or getattr(at, "__name__", "at")

    def __repr__(self) -> str:
        return f"Metric({self.name})"

    def at(self, x: Any, argument: str = "x") -> Space:
        """The space at x.

        Args:
            x: a point.
            argument: what to call x in the message.

        Returns:
            The `Space` that the function of the metric gives at x, which holds x.

        Raises:
            ArgumentTypeError: the function that was given returned no space.
            MembershipError: x is not an element of that space.
            NotDifferentiableError: x is traced, or holds integers.
            NotPositiveDefiniteError: the inner product that the function gives is none.
        """
        space = self._at(x)
        if not isinstance(space, Space):
            raise ArgumentTypeError(
                f"The function of {self!r} must return a space. Got {describe(space)}. "
                "adjoint.spaces.Weighted(Euclidean(n), W) makes one of a matrix W."
            )
        space.check(x, argument)
        return space
