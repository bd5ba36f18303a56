"""An inner product whose matrix is only ever applied: its inverse by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    NotConvergedError,
    NotPositiveDefiniteError,
)
from adjoint.base.signatures.checked import checked_class
from adjoint.spaces.elements.values import describe
from adjoint.spaces.space import Space

Function = Callable[[Any], Any]


@checked_class
@final
class ConjugateGradient:
    """A self-adjoint positive operator on a space, with its inverse by conjugate gradients.

    It is a weight: `Weighted(space, ConjugateGradient(space, operator))` solves iteratively where a
    Riesz representative is asked for (Hestenes and Stiefel 1952), and never forms a matrix.

    Args:
        space: the space that the operator acts on, under its own inner product.
        operator: a function or a LinearMap of elements to elements, or a SciPy sparse or dense
            matrix that acts on coordinates. A matrix is not copied: do not write into it.
        preconditioner: about its inverse, self-adjoint and positive too, given in the same ways.
        tolerance: the norm of the residual, relative to that of the right-hand side, at which it
            stops; unless told, eps^(2/3), which is 4e-11 in double precision.
        iterations: how many steps it may take; unless told, ten for each dimension.

    Two are equal if they have the same operator, preconditioner and numbers.

    Raises:
        ArgumentError, ArgumentTypeError: an argument makes no sense.
        NotConvergedError: from `inverse`, when the tolerance is not reached.
        NotPositiveDefiniteError: from `inverse`, when a direction shows that the operator (or the
            preconditioner) is not positive.

    Example:
        >>> import numpy as np
        >>> from adjoint.spaces import Euclidean, Weighted
        >>> plain = Euclidean(3)
        >>> space = Weighted(plain, ConjugateGradient(plain, lambda x: 2 * x + np.sum(x)))
        >>> np.round(space.represent(space.covector(np.array([5.0, 5.0, 7.0]))), 9)
        array([0.8, 0.8, 1.8])
    """

    def __init__(
        self,
        space: Space,
        operator: Any,
        preconditioner: Any = None,
        tolerance: float | None = None,
        iterations: int | None = None,
    ) -> None:
        if not isinstance(space, Space):
            raise ArgumentTypeError(
                f"ConjugateGradient takes the space that its operator acts on. Got "
                f"{describe(space)}. Euclidean(shape) is the space of arrays of that shape."
            )
        eps = float(np.finfo(space._real_dtype).eps)
        self.space: Final = space
        self.operator: Final = operator
        self.preconditioner: Final = preconditioner
        self.tolerance: Final = eps ** (2 / 3) if tolerance is None else float(tolerance)
        default = max(100, 10 * space.dimension)
        self.iterations: Final = default if iterations is None else int(iterations)
        if not (eps < self.tolerance < 1 and self.iterations > 0):
            raise ArgumentError(
                f"ConjugateGradient takes a tolerance between {eps:.2g} and 1 and a positive "
                f"number of iterations. Got {self.tolerance} and {self.iterations}. "
                "Leave them out to have them chosen."
            )
        self._multiply: Final = _function(operator, space, "operator")
        self._precondition: Final = (
            None if preconditioner is None else _function(preconditioner, space, "preconditioner")
        )

    @property
    def domain(self) -> Space:
        """The space."""
        return self.space

    @property
    def codomain(self) -> Space:
        """The space."""
        return self.space

    def __repr__(self) -> str:
        return f"ConjugateGradient({self.space!r}, tolerance={self.tolerance:.3g})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ConjugateGradient)
            and self.operator is other.operator
            and self.preconditioner is other.preconditioner
            and self.space == other.space
            and (self.tolerance, self.iterations) == (other.tolerance, other.iterations)
        )

    def __hash__(self) -> int:
        return hash((self.space, id(self.operator), self.tolerance, self.iterations))

    def __call__(self, x: Any) -> Any:
        """The operator applied to an element."""
        return self._multiply(x)

    def inverse(self, b: Any) -> Any:
        """The x with A x = b, to the tolerance.

        Args:
            b: an element of the space.

        Returns:
            An element of the space.

        Raises:
            NotConvergedError: the tolerance was not reached; the message has the numbers.
            NotPositiveDefiniteError: the operator or the preconditioner is not positive.
        """
        space = self.space
        largest = float(np.max(np.abs(space._coordinates(b)), initial=0))
        if not np.isfinite(largest):
            return space._scale(np.nan, b)  # what a direct solver makes of it
        if largest == 0:
            return space._zero()
        # Of size 1, so that no square overflows or vanishes (nor the factor itself).
        largest = max(largest, float(np.finfo(space._real_dtype).tiny))
        return space._scale(largest, self._solve(space._scale(1 / largest, b)))

    def _solve(self, b: Any) -> Any:
        space, inner = self.space, self.space._inner
        size = error = float(space._norm(b))
        goal = self.tolerance * size
        x, residual = space._scale(0.0, b), b
        step = slope = None
        for iteration in range(self.iterations + 1):
            if error <= goal:
                # The recurrence drifts from the residual it stands for: start again if it did.
                residual, step = self._minus(b, self._multiply(x)), None
                error = float(space._norm(residual))
                if error <= goal:
                    return x
            if iteration == self.iterations:
                break
            guess = residual if self._precondition is None else self._precondition(residual)
            new_slope = self._positive(inner(residual, guess), "preconditioner")
            if step is None or slope is None:
                step = guess
            else:
                step = space._add(guess, space._scale(new_slope / slope, step))
            image = self._multiply(step)
            length = new_slope / self._positive(inner(step, image), "operator")
            x = space._add(x, space._scale(length, step))
            residual = self._minus(residual, space._scale(length, image))
            slope, error = new_slope, float(space._norm(residual))
        raise NotConvergedError(
            f"Conjugate gradients on {space!r} did not converge. After {self.iterations} "
            f"iterations the residual is {error / size:.3g} of the right-hand side, and "
            f"{self.tolerance:.3g} was asked for. Give a preconditioner, a larger tolerance or "
            "more iterations."
        )

    def _minus(self, x: Any, y: Any) -> Any:
        return self.space._add(x, self.space._scale(-1, y))

    def _positive(self, product: Any, name: str) -> float:
        number = float(product)
        if number > 0:
            return number
        raise NotPositiveDefiniteError(
            f"Conjugate gradients need a positive {name}. Found <x, A x> = {number:.3g} for an x "
            f"that is not zero. The {name} is not positive definite, or not self-adjoint."
        )


def _function(operator: Any, space: Space, name: str) -> Function:
    if callable(operator):
        applied: Function = operator
        return applied
    if getattr(operator, "shape", None) == (space.dimension, space.dimension):
        return lambda x: space._from_coordinates(operator @ space._coordinates(x))
    raise ArgumentTypeError(
        f"The {name} of a ConjugateGradient is a function on elements, or a matrix on coordinates. "
        f"Got {describe(operator)}. For {space!r} a matrix has {space.dimension} rows and columns."
    )
