"""What the tests of remembered calls compare with: plain NumPy, and differences."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad

X = np.array([0.7, 1.3, -0.4])


def slope_by_differences(function: Any, x: Any) -> Any:
    """The gradient by central differences."""
    slopes = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        slopes[place] = (function(x + step) - function(x - step)) / 2e-6
    return slopes


def agrees(function: Any, x: Any = X) -> None:
    """Value and gradient are those of plain NumPy, and under `ad.jit` at each of some calls."""
    value, slope = ad.value_and_grad(function)(x)
    np.testing.assert_allclose(value, function(x), rtol=1e-12)
    np.testing.assert_allclose(slope, slope_by_differences(function, x), rtol=1e-5, atol=1e-7)
    jitted = ad.jit(ad.grad(function))
    for point in (x, x, 1.1 * x):
        expected = slope_by_differences(function, point)
        np.testing.assert_allclose(jitted(point), expected, rtol=1e-5, atol=1e-7)
