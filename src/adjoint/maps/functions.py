"""The functions that linear maps consist of, put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.spaces.elements.values import is_complex_scalar, weak_scalar
from adjoint.spaces.space import Space

Function = Callable[[Any], Any]


def scaling(space: Space, factor: Any) -> Function:
    """Multiplication by a number."""
    return lambda element: space._scale(factor, element)


def conjugate(factor: Any) -> Any:
    """The conjugate of a number."""
    return weak_scalar(np.conj(factor)) if is_complex_scalar(factor) else factor


def composed(outer: Function, inner: Function) -> Function:
    """One function after another."""
    return lambda argument: outer(inner(argument))


def added(space: Space, one: Function, two: Function) -> Function:
    """The sum of two functions."""
    return lambda argument: space._add(one(argument), two(argument))
