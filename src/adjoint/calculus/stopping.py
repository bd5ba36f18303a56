"""Cutting derivatives."""

from __future__ import annotations

from typing import Any

from adjoint.base import pytrees
from adjoint.capture import Traced, apply
from adjoint.primitives.elementwise.conversion import STOP_GRADIENT


def stop_gradient(tree: Any) -> Any:
    """The same values, with no derivative: a constant as far as differentiation goes.

    Args:
        tree: an array, a number, or a pytree of such.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> float(ad.grad(lambda x: x * ad.stop_gradient(x))(3.0))
        3.0
    """
    return pytrees.tree_map(
        lambda leaf: apply(STOP_GRADIENT.bare, (leaf,)) if type(leaf) is Traced else leaf, tree
    )
