"""What the minimisers ask of their arguments, and of where they are called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from adjoint.base.errors import ArgumentTypeError, DroppedDerivativeError, ValueNeededError
from adjoint.capture import current
from adjoint.spaces.elements.values import describe

P = ParamSpec("P")
R = TypeVar("R")


def check_args(args: Any) -> None:
    """ArgumentTypeError unless args is a tuple or a list: an array would be taken row by row."""
    if not isinstance(args, (tuple, list)):
        raise ArgumentTypeError(
            f"args must be a tuple of the further arguments. Got {describe(args)}. "
            "One argument a is given as args=(a,)."
        )


def asks_to_stop(answer: Any) -> bool:
    """Whether a callback returned True, of Python or of NumPy."""
    return isinstance(answer, (bool, np.bool_)) and bool(answer)


def points_to_argmin(minimiser: Callable[P, R]) -> Callable[P, R]:
    """A minimiser whose error, where its derivative is asked for, names what has one."""

    @functools.wraps(minimiser)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        inside = current() is not None
        try:
            return minimiser(*args, **kwargs)
        except (DroppedDerivativeError, ValueNeededError) as error:
            if not inside:
                raise
            raise type(error)(
                f"{minimiser.__name__} was called inside of a function that is differentiated or "
                "batched, with arrays that depend on its arguments. Its iterations have no "
                "derivative and no batches: ad.implicit.argmin(function, x0, *args) has both. "
                "ad.stop_gradient around what is passed on says that none is wanted."
            ) from error

    return run
