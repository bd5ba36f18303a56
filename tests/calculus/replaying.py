"""Functions that are called again and again, between which something changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad

X = np.array([0.7, -1.3, 2.1])


def by_differences(function: Callable[..., Any], x: Any, *rest: Any) -> Any:
    """The gradient of NumPy's own values."""
    slopes = []
    for place in range(len(x)):
        step = np.zeros(len(x))
        step[place] = 1e-6
        slopes.append((function(x + step, *rest) - function(x - step, *rest)) / 2e-6)
    return np.array(slopes)


def in_sequence(function: Callable[..., Any], *changes: Callable[[], Any]) -> None:
    """As NumPy before, between and after changes, with jitted functions that outlive them."""
    jitted, gradient = ad.jit(ad.value_and_grad(function)), ad.value_and_grad(function)
    for change in (lambda: None, *changes, *changes[:1]):
        change()
        for scale in (1.0, 1.1, 0.9, 1.2):
            point = scale * X
            expected, slopes = function(point), by_differences(function, point)
            for found in (gradient(point), jitted(point), ad.value_and_grad(function)(point)):
                assert np.isclose(found[0], expected, rtol=1e-12), (found[0], expected)
                np.testing.assert_allclose(found[1], slopes, rtol=1e-5, atol=1e-6)
