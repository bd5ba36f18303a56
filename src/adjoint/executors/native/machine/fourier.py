"""The inner loops of NumPy's Fourier transforms, which are ufuncs of rows since its version 2."""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import Any, Final

import numpy as np

from adjoint.executors.native.machine.symbols import address_of
from adjoint.executors.native.machine.ufuncs import loop_pointers

_PREFIX: Final = "fourier."
_MODULE: Final = "numpy.fft._pocketfft_umath"
_SIGNATURES: Final = frozenset(("(n),()->(m)", "(m),()->(n)"))
_LETTERS: Final = frozenset("fdFD")
_TRIAL: Final = 6


def loop_dtypes(
    name: str, dtype: np.dtype[Any], result: np.dtype[Any], plain: bool
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of rows, factors and results of the loop that NumPy chooses for these.

    plain: whether the factor is Python's 1; single precision may then be computed in double. No
    dtypes where there is no such loop.
    """
    ufunc = _ufunc(name)
    if ufunc is None or not dtype.isnative or dtype.char not in _LETTERS:
        return ()
    factor = int if plain else np.zeros(0, dtype).real.dtype
    try:
        dtypes: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes((dtype, factor, result))
    except TypeError:
        return ()
    return dtypes if fourier_loop(name, dtypes[0]) is not None else ()


def fourier_loop(name: str, dtype: np.dtype[Any]) -> str | None:
    """The symbol of the loop for rows of this dtype, and of its data.

    It takes a row, a factor, and a row for the result. None where there is no such loop.
    """
    symbol, ufunc = f"{_PREFIX}{name}.{dtype.char}", _ufunc(name)
    if ufunc is None or dtype.char not in _LETTERS:
        return None
    if address_of(symbol) is not None:
        return symbol
    for place, text in enumerate(ufunc.types):
        if text.startswith(dtype.char):
            letters = text.replace("->", "")
            return loop_pointers(symbol, ufunc, place) if _transforms(name, letters) else None
    return None


def provide(symbol: str) -> None:
    """Define a symbol, if it is that of a loop which this NumPy has."""
    if symbol.startswith(_PREFIX):
        name, _, letter = symbol.removeprefix(_PREFIX).rpartition(".")
        fourier_loop(name, np.dtype(letter))


def _ufunc(name: str) -> Any:
    try:
        ufunc = getattr(importlib.import_module(_MODULE), name)
    except (ImportError, AttributeError):
        return None
    known = isinstance(ufunc, np.ufunc) and (ufunc.nin, ufunc.nout) == (2, 1)
    return ufunc if known and ufunc.signature in _SIGNATURES else None


@cache
def _transforms(name: str, letters: str) -> bool:
    """Whether a loop, called as NumPy calls it, gives the bits of NumPy's transform."""
    ufunc, given_letter = _ufunc(name), letters[0]
    length = _TRIAL - 1 if name.endswith("odd") else _TRIAL
    half = length // 2 + 1
    count, result_length = (
        half if name == "irfft" else length,
        half if given_letter in "fd" else length,
    )
    numbers = np.random.default_rng(0).normal(size=(2, 2 * count))
    given = np.asarray(numbers, given_letter.lower())
    given = given.view(given_letter) if given_letter in "FD" else given[:, ::2]
    factor, result = np.array(0.3, letters[1]), np.empty((2, result_length), letters[2])
    expected = ufunc(given, factor, out=np.empty_like(result))
    place = [text.replace("->", "") for text in ufunc.types].index(letters)
    symbol = loop_pointers(f"{_PREFIX}trial", ufunc, place)
    address = None if symbol is None else address_of(symbol)
    if address is None:
        return False
    function, data = (ctypes.c_void_p * 2).from_address(address)
    places = (ctypes.c_void_p * 3)(*(x.ctypes.data for x in (given, factor, result)))
    counts = (ctypes.c_ssize_t * 3)(len(given), count, result_length)
    outer = (given.strides[0], 0, result.strides[0])
    steps = (ctypes.c_ssize_t * 5)(*outer, given.strides[1], result.strides[1])
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(function or 0)(places, counts, steps, data)
    return bool(result.tobytes() == expected.tobytes())
