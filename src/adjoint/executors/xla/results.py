"""Results of XLA in the memory of the processor: whether they are finite, and whose they are."""

from __future__ import annotations

import ctypes
from cmath import isfinite
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

LARGE: Final = 1 << 16  # bytes from which a result is not copied


def are_surely_finite(arrays: Iterable[Any]) -> bool:
    """Whether all numbers are finite, by one pass; False also where their squares overflow.

    A sum of squares is infinite or NaN if any of them is.
    """
    for array in arrays:
        if array.dtype.kind not in "fc":
            continue
        axes = array.ndim
        total = array.dot(array) if axes == 1 else np.vdot(array, array) if axes else array[()]
        if not isfinite(total):
            return False
    return True


def is_finite(array: Any) -> bool:
    """Whether all numbers of an array are finite."""
    numbers = np.asarray(array)
    return numbers.dtype.kind not in "fc" or bool(np.isfinite(numbers).all())


def owned(
    views: Iterable[Any], results: Sequence[Any], given: Iterable[Iterable[Any]]
) -> tuple[Any, ...]:
    """NumPy's arrays and scalars of results, each with memory that nothing else refers to.

    views: the results as NumPy's arrays, of whichever memory. given: the arguments, in groups,
    which results may share their memory with.
    """
    taken: set[int | None] | None = None
    arrays = []
    for view, result in zip(views, results, strict=True):
        if not view.ndim:
            arrays.append(view[()])
            continue
        place = None if view.nbytes < LARGE else _address(result)
        if place is None:
            arrays.append(view.copy())
            continue
        if taken is None:
            taken = {
                x.ctypes.data if type(x) is np.ndarray else _address(x)
                for x in chain.from_iterable(given)
            }
        if place in taken:
            arrays.append(view.copy())
            continue
        taken.add(place)
        memory = (ctypes.c_char * view.nbytes).from_address(place)
        memory.keeper = result  # the memory lives as long as this
        arrays.append(np.frombuffer(memory, view.dtype).reshape(view.shape))
    return tuple(arrays)


def _address(array: Any) -> int | None:
    """Where an array of JAX's lies in the memory of the processor; None if it does not."""
    if not hasattr(array, "devices") or next(iter(array.devices())).platform != "cpu":
        return None
    address: int = array.unsafe_buffer_pointer()
    return address
