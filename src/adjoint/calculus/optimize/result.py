"""What a descent goes through, and what it ends with."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from adjoint.spaces import Space


class Reason(Enum):
    """Why a descent ended; the value is the reason in words.

    Example:
        >>> Reason.ITERATIONS.value
        'the number of iterations reached its limit'
    """

    GRADIENT = "the norm of the gradient fell below the tolerance"
    ITERATIONS = "the number of iterations reached its limit"
    NO_PROGRESS = "no step lowers the value or the gradient any further"
    NO_DESCENT = "the rule for directions gave one in which the value does not fall"
    NOT_FINITE = "a step led to a value or a gradient that is not finite"
    CALLBACK = "the callback asked to stop"


class Step(NamedTuple):
    """One entry of the history: value and norm of the gradient at an iterate, and how it was got.

    Args:
        value: of the function, at the iterate.
        gradient_norm: there, in the space of the tangents.
        length: the factor of the direction that led here; 0 for the start.
        evaluations: of the function with its gradient, so far.

    Example:
        >>> Step(1.0, 0.5, 0.25, 3).length
        0.25
    """

    value: float
    gradient_norm: float
    length: float
    evaluations: int


@dataclass(frozen=True, eq=False, slots=True)
class Iterate:
    """A point of a descent: what a rule for directions and a callback are given.

    Attributes:
        number: 0 for the start.
        x, value, gradient, gradient_norm: where it is, and what f is there.
        space: of the tangents at x; `gradient` is one of its elements, and `gradient_norm` is its
            norm.
        direction, length: the tangent at the point before, and its factor, that led here; None and
            0 for the start.
        evaluations: of the function with its gradient, so far.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> iterates = []
        >>> _ = ad.optimize.descend(lambda x: x @ x, np.ones(2), callback=iterates.append)
        >>> iterates[0].number, iterates[0].x
        (0, array([1., 1.]))
    """

    number: int
    x: Any
    value: float
    gradient: Any
    gradient_norm: float
    space: Space
    direction: Any
    length: float
    evaluations: int


@dataclass(frozen=True, eq=False, repr=False)
class Descent:
    """The result of `descend`.

    Attributes:
        x: where it ended, in the structure of the start.
        value, gradient, gradient_norm: there.
        iterations: steps taken.
        evaluations: of the function with its gradient.
        reason: why it ended.
        history: a `Step` for the start and for every iteration.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.optimize.descend(lambda x: x @ x, np.ones(2))
        <Descent: converged after 1 iteration (3 evaluations) at value 0,
        gradient norm 0; the norm of the gradient fell below the tolerance>
    """

    x: Any
    value: float
    gradient: Any
    gradient_norm: float
    iterations: int
    evaluations: int
    reason: Reason
    history: tuple[Step, ...] = field(default=())

    @property
    def converged(self) -> bool:
        """Whether the norm of the gradient fell below the tolerance."""
        return self.reason is Reason.GRADIENT

    def __repr__(self) -> str:
        how = "converged" if self.converged else "stopped"
        steps = "1 iteration" if self.iterations == 1 else f"{self.iterations} iterations"
        return (
            f"<Descent: {how} after {steps} ({self.evaluations} evaluations) at value "
            f"{self.value:.6g}, gradient norm {self.gradient_norm:.3g}; {self.reason.value}>"
        )
