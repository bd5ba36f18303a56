"""Rules for the direction of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.base.signatures.checked import checked
from adjoint.calculus.optimize.result import Iterate

# (here, the iterate before or None) -> a tangent at here.
DirectionRule = Callable[[Iterate, Iterate | None], Any]


@checked
def steepest_descent(here: Iterate, previous: Iterate | None) -> Any:
    """The direction in which f falls fastest for its length: -∇f(x), in the space at x (E.1.42).

    A rule for directions is a function of the iterate and the one before it (None at the start).

    Args:
        here: the iterate to go on from.
        previous: the one before it, which this rule does not look at.

    Returns:
        A tangent at `here.x`, an element of `here.space`.

    Raises:
        ArgumentTypeError: `here` is no `Iterate`.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.optimize.descend(lambda x: x @ x, np.ones(2), direction=steepest_descent).x
        array([0., 0.])
    """
    return here.space._scale(-1.0, here.gradient)
