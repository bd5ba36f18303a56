"""Guarded code: given arguments as it takes them, given up where it seldom has results.

It takes arrays that are contiguous and aligned, of the very types that it was made for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.executors.interface import GuardedExecutable

PATIENCE: Final = 8  # misses beyond the hits after which code is given up
PYTHON: Final = {"f": float, "c": complex, "i": int}


class Attempt:
    """A guarded executable, and how it has done.

    run: the executable's own. Whoever calls it takes 1 from `misses` for results, if it is not 0.
    misses: how much more often it returned None than not, lately.
    """

    __slots__ = ("executable", "misses", "run", "types")

    def __init__(self, types: Sequence[ArrayType], executable: GuardedExecutable) -> None:
        self.types = types
        self.executable = executable
        self.run: Callable[..., tuple[Any, ...] | None] = executable.run
        self.misses = 0

    def run_conforming(self, arguments: Sequence[Any]) -> tuple[Any, ...] | None:
        """After a miss: once more, with the arguments as they were compiled for."""
        changed = conforming(self.types, arguments)
        results = self.run(*changed) if changed is not None else None
        if results is None:
            self.misses += 1
        return results

    @property
    def fails_often(self) -> bool:
        """Whether it has missed so often that it is not worth the attempt."""
        return self.misses >= PATIENCE


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
