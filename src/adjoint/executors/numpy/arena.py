"""Memory that is kept between runs, shared by all programs and threads, and bounded."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType

LIMIT: Final = 1 << 28  # bytes kept at most while no program runs


class Arena:
    """Arrays handed out and taken back. What is handed out belongs to one run alone."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.kept = 0
        self._free: dict[ArrayType, list[np.ndarray[Any, Any]]] = {}
        self._lock = threading.Lock()

    def take(self, types: Sequence[ArrayType]) -> list[np.ndarray[Any, Any]]:
        """Arrays of these types, holding anything."""
        taken = []
        with self._lock:
            for type_ in types:
                waiting = self._free.get(type_)
                if waiting:
                    array = waiting.pop()
                    self.kept -= array.nbytes
                else:
                    array = np.empty(type_.shape, type_.dtype)
                taken.append(array)
        return taken

    def give(self, types: Sequence[ArrayType], arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Take arrays back, as long as there is room for them."""
        with self._lock:
            for type_, array in zip(types, arrays, strict=True):
                if self.kept + array.nbytes > self.limit:
                    # Shapes that no longer come by would otherwise stay for ever.
                    self._free.clear()
                    self.kept = 0
                if array.nbytes <= self.limit:
                    self._free.setdefault(type_, []).append(array)
                    self.kept += array.nbytes


ARENA: Final = Arena()
