"""NumPy's functions that sort numbers which lie one after the other in memory.

Each dtype has a table of C functions, among which those of `np.argsort` are, one for each kind of
sorting. They take numbers, places and a count, and need nothing of Python's. The table comes of
NumPy's C-API, of which this version (2) is known; functions that lie elsewhere than in NumPy's own
library, or do not sort, are not called.
"""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import Any, Final

import numpy as np

from adjoint.executors.native.machine.symbols import address_of, define

_PREFIX: Final = "argsort."
_ABI: Final = 0x02000000  # the version of NumPy's C-API of which places are known here
_VERSION_AT, _TABLE_AT = 0, 365  # of PyArray_GetNDArrayCVersion and PyDataType_GetArrFuncs
_ARGSORT_AT: Final = 36  # of the first of three functions among those of a dtype
KINDS: Final = {"quicksort": 0, "stable": 2}  # which of the three; the middle one NumPy leaves
_KNOWN: Final = frozenset(("b1", *(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8))))
_INEXACT: Final = frozenset(("f4", "f8", "c8", "c16"))
_TRIAL: Final = 40  # numbers, with ties


def argsort_function(dtype: np.dtype[Any], kind: str) -> str | None:
    """The symbol of `int f(numbers, places, count, nothing)`; None where there is none.

    It puts the places in the order of the numbers there, and says by a number below 0 that there
    was no memory.
    """
    name = dtype.str[1:]
    if not dtype.isnative or name not in _KNOWN | _INEXACT:
        return None
    symbol = f"{_PREFIX}{name}.{kind}"
    if address_of(symbol) is not None:
        return symbol
    address = _address(name, kind)
    return None if address is None else define(symbol, address)


def provide(symbol: str) -> None:
    """Define a symbol, if it is that of a function which this NumPy has."""
    if symbol.startswith(_PREFIX):
        name, _, kind = symbol.removeprefix(_PREFIX).partition(".")
        argsort_function(np.dtype(name), kind)


@cache
def _address(name: str, kind: str) -> int | None:
    table = _functions_of(np.dtype(name))
    if table is None:
        return None
    address = ctypes.c_void_p.from_address(table + 8 * (_ARGSORT_AT + KINDS[kind])).value
    if address is None or not _is_numpys(address) or not _sorts(address, np.dtype(name), kind):
        return None
    return address


def _functions_of(dtype: np.dtype[Any]) -> int | None:
    """Where the functions of a dtype are; None in a NumPy that is not known."""
    interface = _interface()
    if interface is None:
        return None
    address = ctypes.c_void_p.from_address(interface + 8 * _TABLE_AT).value
    if address is None or not _is_numpys(address):
        return None
    function = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(address)
    table = function(dtype)
    return None if table is None else int(table)


@cache
def _interface() -> int | None:
    """The table of NumPy's C-API."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    try:
        capsule: Any = _library()._ARRAY_API
    except (ImportError, AttributeError):
        return None
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    table = int(pointer(capsule, None))
    address = ctypes.c_void_p.from_address(table + 8 * _VERSION_AT).value
    if address is None or not _is_numpys(address):
        return None
    version = ctypes.PYFUNCTYPE(ctypes.c_uint)(address)()
    return table if version == _ABI else None


def _library() -> Any:
    return importlib.import_module("numpy._core._multiarray_umath")  # NumPy 1 has it elsewhere


class _LibraryAddress(ctypes.Structure):
    """What `dladdr` says of an address."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("start", ctypes.c_void_p),
    )


def _is_numpys(address: int) -> bool:
    """Whether a function lies in NumPy's library; where nobody can say so, it is taken for it."""
    try:
        find = ctypes.CDLL(None).dladdr
    except (AttributeError, OSError, TypeError):
        return True
    place = _LibraryAddress()
    known = find(ctypes.c_void_p(address), ctypes.byref(place))
    return bool(known) and (place.file or b"").decode(errors="replace") == _library().__file__


def _sorts(address: int, dtype: np.dtype[Any], kind: Any) -> bool:
    """Whether a function puts some numbers in the order in which NumPy puts them."""
    numbers = np.random.default_rng(0).integers(0, 9, _TRIAL).astype(dtype)
    places = np.arange(_TRIAL)
    sort = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_ssize_t, ctypes.c_void_p)
    failed = sort(address)(numbers.ctypes.data, places.ctypes.data, _TRIAL, None)
    return not failed and np.array_equal(places, np.argsort(numbers, kind=kind))
