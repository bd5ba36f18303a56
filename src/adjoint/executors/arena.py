"""Memory that is kept between runs, shared by all programs and threads, and bounded.

What a program needs while it runs is taken and given back. What it returns is lent: a view of
memory that the arena keeps, and lends again once it holds the only reference to it. Machine code
takes its workspace as bytes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from adjoint.base.arrays import ArrayType
from adjoint.base.process.forking import hold_over_forks

LIMIT: Final = 1 << 28  # bytes kept at most while no program runs
MOST_LENT: Final = 4  # arrays of one type that may be out at once; further ones are plain
_ALIGNMENT: Final = 64  # of scratch memory: a cache line, and the widest vector
_PAGE: Final = 1 << 12
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def _references(arrays: list[np.ndarray[Any, Any]]) -> list[int]:
    """How often each array is referred to, counted from here."""
    return [sys.getrefcount(array) for array in arrays]


# What is counted for an array that only a list holds; it differs between versions of Python.
_IDLE: Final = _references([np.empty(1)])[0]


def _is_untouched(array: np.ndarray[Any, Any], type_: ArrayType) -> bool:
    """Whether an array is as it was made: who had a view of it has had its `base` as well."""
    flags = array.flags
    whole = flags.writeable and flags.c_contiguous and array.shape == type_.shape
    return bool(whole and array.dtype == type_.dtype)


def _new(type_: ArrayType) -> np.ndarray[Any, Any]:
    return np.empty(type_.shape, type_.dtype)


class Arena:
    """Arrays handed out and taken back. What is handed out belongs to one run alone."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.kept = 0
        self.lent = 0
        self._lent: dict[ArrayType, list[np.ndarray[Any, Any]]] = {}
        self._free: dict[ArrayType | int, list[np.ndarray[Any, Any]]] = {}
        # Whoever comes by while this thread is at work here (a signal handler, a finaliser) is
        # given new memory: what is counted here is not right at that moment.
        self._lock = threading.RLock()
        self._at_work = False

    def take(self, types: Sequence[ArrayType]) -> list[np.ndarray[Any, Any]]:
        """Arrays of these types, holding anything."""
        return self._for_all(self._take, types) or list(map(_new, types))

    def _take(self, type_: ArrayType) -> np.ndarray[Any, Any]:
        waiting = self._free.get(type_)
        if not waiting:
            return _new(type_)
        array = waiting.pop()
        self.kept -= array.nbytes
        return array

    def give(self, types: Sequence[ArrayType], arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Take arrays back, as long as there is room for them."""
        self._for_all(self._keep, zip(types, arrays, strict=True))

    def take_scratch(self, size: int) -> np.ndarray[Any, Any]:
        """An array of at least so many bytes beyond the first that lies at a multiple of 64.

        It holds anything. Sizes are rounded up, so that programs of about one size share memory.
        """
        step = max(_PAGE, 1 << max(0, size.bit_length() - 3))
        rounded = -(-(size + _ALIGNMENT) // step) * step
        taken = self._for_all(self._take_bytes, (rounded,))
        return taken[0] if taken else np.empty(rounded, np.uint8)

    def _take_bytes(self, size: int) -> np.ndarray[Any, Any]:
        waiting = self._free.get(size)
        if not waiting:
            return np.empty(size, np.uint8)
        self.kept -= size
        return waiting.pop()

    def give_scratch(self, array: np.ndarray[Any, Any]) -> None:
        """Take scratch memory back."""
        self._for_all(self._keep, ((array.nbytes, array),))

    def _for_all(
        self, work: Callable[[_Item], _Result], items: Iterable[_Item]
    ) -> list[_Result] | None:
        """What the work gives for each of them; None, and nothing is done, amid other work."""
        with self._lock:
            if self._at_work:
                return None
            self._at_work = True
            try:
                return list(map(work, items))
            finally:
                self._at_work = False

    def _keep(self, given: tuple[ArrayType | int, np.ndarray[Any, Any]]) -> None:
        key, array = given
        if self.kept + array.nbytes > self.limit:
            # Shapes that no longer come by would otherwise stay for ever.
            self._free.clear()
            self.kept = 0
        if array.nbytes <= self.limit:
            self._free.setdefault(key, []).append(array)
            self.kept += array.nbytes

    def lend(self, types: Sequence[ArrayType]) -> list[np.ndarray[Any, Any]]:
        """Arrays of these types that nothing else refers to, holding anything; not to be given."""
        return self._for_all(self._lend, types) or list(map(_new, types))

    def _lend(self, type_: ArrayType) -> np.ndarray[Any, Any]:
        known = self._lent.get(type_, [])
        for place, count in enumerate(_references(known)):
            if count == _IDLE:
                if _is_untouched(known[place], type_):
                    return known[place].view()
                self.lent -= known.pop(place).nbytes
                break
        memory = _new(type_)
        if len(known) >= MOST_LENT or memory.nbytes > self.limit:
            return memory
        if self.lent + memory.nbytes > self.limit:
            self._lent.clear()  # what is out lives on, and is let go when it comes back
            self.lent = 0
            known = []
        self._lent[type_] = [*known, memory]
        self.lent += memory.nbytes
        return memory.view()


ARENA: Final = Arena()
hold_over_forks(ARENA._lock)
