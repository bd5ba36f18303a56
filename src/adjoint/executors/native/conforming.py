"""Arguments as machine code takes them: contiguous, aligned, of the very types it was made for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType

PYTHON: Final = {"f": float, "c": complex, "i": int}


def conforming(types: Sequence[ArrayType], arguments: Sequence[Any]) -> list[Any] | None:
    """The arguments in the form that is compiled for; None if they have it already.

    Shapes and dtypes are known to be right.
    """
    converted = [
        _conforming(type_, argument) for type_, argument in zip(types, arguments, strict=True)
    ]
    if all(new is old for new, old in zip(converted, arguments, strict=True)):
        return None
    return converted


def _conforming(type_: ArrayType, argument: Any) -> Any:
    if type_.weak:
        # What one program returns to another (a residual) has become a NumPy scalar.
        kind = PYTHON[type_.dtype.kind]
        return argument if type(argument) is kind else kind(argument)
    if not type_.ndim:
        number = type_.dtype.type
        if type(argument) is number:
            return argument
        return number(argument[()] if isinstance(argument, np.ndarray) else argument)
    array = np.asarray(argument)
    if not array.flags.c_contiguous or not array.flags.aligned:
        return np.array(array, order="C")
    plain = np.dtype(array.dtype.str)
    # C's long and long long are two dtypes of the same numbers, of which one is known.
    return array if array.dtype is plain else array.view(plain)
