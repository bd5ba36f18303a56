"""Calls of the user's function as NumPy runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base import pytrees


def plain_value(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The value, without warnings of NaNs; the arguments are copies, which it may change."""
    with np.errstate(all="ignore"):
        return function(*map(copied, args))


def copied(tree: Any) -> Any:
    """The same with arrays of its own."""
    return pytrees.tree_map(lambda x: x.copy() if isinstance(x, np.ndarray) else x, tree)
