"""Results of XLA in the memory of the processor: whether they are finite, and whose they are."""

from __future__ import annotations

import ctypes
from cmath import isfinite
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from adjoint.executors.xla.device_array import DeviceArray

LARGE: Final = 1 << 17  # bytes from which a result is not copied


def given_back_if_finite(results: Iterable[Any], stays: bool) -> list[Any] | None:
    """The same as `given_back`; None if a number is infinite or NaN, or its square overflows.

    A sum of squares is infinite or NaN if any of them is, and takes one pass.
    """
    arrays: list[Any] = []
    for result in results:
        view = np.asarray(result)
        axes = view.ndim
        if view.dtype.kind in "fc":
            total = view.dot(view) if axes == 1 else np.vdot(view, view) if axes else view[()]
            if not isfinite(total):
                return None
        if not axes:
            arrays.append(view[()])
        elif stays:
            arrays.append(DeviceArray(result))
        else:
            arrays.append(view if view.nbytes >= LARGE else view.copy())
    return arrays


def given_back(results: Iterable[Any], stays: bool) -> list[Any]:
    """Results as NumPy's arrays and numbers; large arrays share their memory, see `owned`.

    stays: whether they stay on the device, but for those without axes.
    """
    arrays: list[Any] = []
    for result in results:
        if stays and result.ndim:
            arrays.append(DeviceArray(result))
        else:
            view = np.asarray(result)
            arrays.append(view if view.nbytes >= LARGE else view.copy() if view.ndim else view[()])
    return arrays


def is_finite(array: Any) -> bool:
    """Whether all numbers of an array are finite."""
    numbers = np.asarray(array)
    return numbers.dtype.kind not in "fc" or bool(np.isfinite(numbers).all())


def owned(
    shared: Iterable[Any], results: Sequence[Any], given: Iterable[Iterable[Any]]
) -> list[Any]:
    """Arrays that nothing else refers to, of those that may share the memory of results.

    given: arguments, in groups, whose memory that may be as well.
    """
    taken = {
        x.ctypes.data if type(x) is np.ndarray else _address(x) for x in chain.from_iterable(given)
    }
    arrays = []
    for array, result in zip(shared, results, strict=True):
        if not array.ndim or array.nbytes < LARGE:
            arrays.append(array)
            continue
        place = _address(result)
        if place is None or place in taken:
            arrays.append(array.copy())
            continue
        taken.add(place)
        memory = (ctypes.c_char * array.nbytes).from_address(place)
        memory.keeper = result  # the memory lives as long as this
        arrays.append(np.frombuffer(memory, array.dtype).reshape(array.shape))
    return arrays


def _address(array: Any) -> int | None:
    """Where an array of JAX's lies in the memory of the processor; None if it does not."""
    if not hasattr(array, "devices") or next(iter(array.devices())).platform != "cpu":
        return None
    address: int = array.unsafe_buffer_pointer()
    return address
