"""Arrays of other libraries that NumPy takes by DLPack alone."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentTypeError

_IN_MEMORY: Final = (1, 3)  # kinds of devices that NumPy can read: the host's memory, pinned or not


def offers_dlpack(value: Any) -> bool:
    """Whether a value is such an array: what has `__array__` is taken by that."""
    kind = type(value)
    return hasattr(kind, "__dlpack__") and not hasattr(kind, "__array__")


def speaks_dlpack(value: Any) -> bool:
    """Whether a value is an array that speaks DLPack, be it with `__array__` as PyTorch's."""
    return hasattr(type(value), "__dlpack__")


def is_in_memory(value: Any) -> bool:
    """Whether an array that speaks DLPack lies where NumPy can read it."""
    kind, _ = value.__dlpack_device__()
    return int(kind) in _IN_MEMORY


def from_dlpack(value: Any) -> np.ndarray[Any, Any]:
    """NumPy's array of the same memory.

    Raises:
        ArgumentTypeError: it lies on a device, or is of a kind that NumPy has not.
    """
    name = type(value).__qualname__
    if not is_in_memory(value):
        raise ArgumentTypeError(
            f"The {name} lies on a device, whose memory NumPy cannot read. Put it where programs "
            "run, by ad.device_put(x, 'gpu'), or copy it to the host first."
        )
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"NumPy cannot take the {name}: {error}. Convert it to one of NumPy's types first."
        ) from error


def arrived(tree: Any) -> Any:
    """A tree with NumPy's arrays in the place of such arrays; itself where there are none."""
    if not any(map(offers_dlpack, pytrees.leaves(tree))):
        return tree
    return pytrees.tree_map(lambda x: from_dlpack(x) if offers_dlpack(x) else x, tree)
