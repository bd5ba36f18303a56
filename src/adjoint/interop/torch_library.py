"""PyTorch, as far as it is needed here: imported late; arrays on their way to it and back."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.errors import ArgumentTypeError, DTypeError, MissingPackageError


@cache
def torch_module() -> Any:
    """The module.

    Raises:
        MissingPackageError: it is not there.
    """
    try:
        return import_module("torch")
    except ImportError as error:
        raise MissingPackageError(
            f"The bridge to PyTorch needs PyTorch, which cannot be imported: {error}. Install it: "
            "pip install torch."
        ) from error


def to_torch(array: Any, device: Any = None) -> Any:
    """A copy of a NumPy array as a tensor.

    Raises:
        DTypeError: PyTorch has no such numbers.
    """
    own = np.array(array)
    try:
        tensor = torch_module().from_numpy(own)
    except (TypeError, ValueError):
        raise DTypeError(
            f"PyTorch has no numbers of dtype {own.dtype}. Convert with .astype."
        ) from None
    return tensor if device is None else tensor.to(device)


def to_numpy(tensor: Any) -> Any:
    """The array of a tensor, to be read only: it may share memory with the tensor.

    Raises:
        DTypeError: NumPy has no such numbers.
        ArgumentTypeError: it is no array in memory, as a sparse tensor.
    """
    if tensor.layout is not torch_module().strided:
        kind = str(tensor.layout).removeprefix("torch.")
        raise ArgumentTypeError(
            f"NumPy has no arrays of the layout {kind} of a tensor. Convert with .to_dense()."
        )
    memory = tensor.detach().cpu().resolve_conj().resolve_neg()
    try:
        array = memory.numpy().view()
    except TypeError:
        name = str(tensor.dtype).removeprefix("torch.")
        raise DTypeError(
            f"NumPy has no numbers of dtype {name}. Convert with .float() or .to(torch.complex64)."
        ) from None
    array.flags.writeable = False
    return array
