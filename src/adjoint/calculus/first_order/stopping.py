"""Cutting derivatives."""

from __future__ import annotations

from adjoint.base import pytrees
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.derived import Result
from adjoint.capture import Traced, apply
from adjoint.primitives.elementwise.conversion import STOP_GRADIENT


@named
def stop_gradient(tree: Result) -> Result:
    """The same values, with no derivative: a constant as far as differentiation goes.

    Args:
        tree: an array, a number, or a pytree of such.

    Returns:
        The tree, with the structure, values, shapes and dtypes that it had.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> float(ad.grad(lambda x: x * ad.stop_gradient(x))(3.0))
        3.0
    """
    stopped: Result = pytrees.tree_map(
        lambda leaf: apply(STOP_GRADIENT.bare, (leaf,)) if type(leaf) is Traced else leaf, tree
    )
    return stopped
