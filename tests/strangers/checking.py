"""Gradients of trees of parameters, by differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree


def along(function: Callable[..., Any], parameters: Any, seed: int = 0) -> tuple[Any, float]:
    """A random direction in the space of the parameters, and the slope of a function along it."""
    rng = np.random.default_rng(seed)
    direction = optree.tree_map(lambda leaf: rng.normal(size=np.shape(leaf)), parameters)

    def moved(step: float) -> Any:
        return optree.tree_map(lambda leaf, by: leaf + step * by, parameters, direction)

    def slope(step: float) -> float:
        return float(function(moved(step)) - function(moved(-step))) / (2 * step)

    return direction, (4 * slope(5e-5) - slope(1e-4)) / 3


def agrees(function: Callable[..., Any], gradient: Any, parameters: Any) -> bool:
    """Whether a gradient gives the slopes of its function in some directions."""
    for seed in range(3):
        direction, slope = along(function, parameters, seed)
        products = optree.tree_map(lambda one, other: np.sum(one * other), gradient, direction)
        if not np.isclose(sum(optree.tree_leaves(products)), slope, rtol=1e-6, atol=1e-9):
            return False
    return True
