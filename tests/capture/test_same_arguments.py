"""One array that is passed as two arguments is one: `x is y` holds, as in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.array([0.7, 1.3])


def told(x: Any, y: Any) -> Any:
    return np.sum(x) * (1.0 if x is y else 2.0) + (0.0 if x is not y else 1.0)


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "of one": lambda x, y: ad.value_and_grad(told)(x, y)[0],
    "of both": lambda x, y: ad.value_and_grad(told, argnums=(0, 1))(x, y)[0],
    "jit": ad.jit(told),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_array_twice(way: str) -> None:
    for _ in range(4):
        np.testing.assert_allclose(WAYS[way](X, X), 3.0)
        np.testing.assert_allclose(WAYS[way](X, X.copy()), 4.0)


def test_views_are_others() -> None:
    def function(x: Any) -> Any:
        return x * (1.0 if x[:] is x else 2.0)

    np.testing.assert_allclose(ad.jit(function)(X), 2 * X)
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(function(x)))(X), [2.0, 2.0])
