"""Numbers of 64 bits on their way to the host and back: as pairs of words of 32 bits.

JAX converts what it hands to a function on the host, and what that returns, and does so in a thread
of XLA's, where its switch for double precision is off: numbers would be rounded to 32 bits without
a word. Each array has axes for its words, which come last.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np


def words(dtype: np.dtype[Any]) -> tuple[int, ...]:
    """The shape of a number as words of 32 bits; none where it travels as it is."""
    return {8: (2,), 16: (2, 2)}.get(dtype.itemsize if dtype.name != "complex64" else 4, ())


# --- on the host ----------------------------------------------------------------------------------


def packed(x: Any) -> Any:
    """An array of NumPy's as it travels."""
    shape = words(x.dtype)
    if not shape:
        return x
    return np.ascontiguousarray(x).reshape(-1).view(np.uint32).reshape(*x.shape, *shape)


def unpacked(x: Any, dtype: np.dtype[Any]) -> Any:
    """The array of NumPy's that has travelled, of this dtype."""
    array = np.ascontiguousarray(x).reshape(np.shape(x))
    shape = words(dtype)
    if not shape:
        return array
    whole = array.shape[: array.ndim - len(shape)]
    return array.reshape(-1).view(dtype).reshape(whole)


# --- on the device --------------------------------------------------------------------------------


def pack(x: Any) -> Any:
    """An array of JAX's as it travels."""
    if not words(x.dtype):
        return x
    if x.dtype.kind == "c":
        numpy = import_module("jax.numpy")
        x = numpy.stack([numpy.real(x), numpy.imag(x)], -1)
    return import_module("jax.lax").bitcast_convert_type(x, np.uint32)


def unpack(x: Any, dtype: np.dtype[Any]) -> Any:
    """The array of JAX's that has travelled, of this dtype."""
    if not words(dtype):
        return x
    lax = import_module("jax.lax")
    if dtype.kind == "c":
        x = lax.bitcast_convert_type(x, np.float64)
        return lax.complex(x[..., 0], x[..., 1])
    return lax.bitcast_convert_type(x, dtype)
