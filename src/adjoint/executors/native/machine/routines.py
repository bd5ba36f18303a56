"""The functions of BLAS and LAPACK that this process has.

They are those that SciPy exports for compiled extensions, or else those of the library that NumPy
comes with.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from adjoint.executors.native.machine.symbols import define

_PREFIX: Final = "blas."  # of the symbols, which go on with the name and the bits
_DECLARED: Final = re.compile(r"@blas\.(\w+)\.(32|64) = external global i8")


@dataclass(frozen=True, slots=True)
class Routine:
    """A BLAS or LAPACK function: its symbol, and how many bits its integers have.

    The symbol tells the bits too, so that code is never given a function with integers of others.
    """

    symbol: str
    integer_bits: int


def arguments(letters: Sequence[str], others: Sequence[str]) -> str:
    """The arguments of a call in LLVM's language: letters, and what is passed behind them.

    Compilers of Fortran pass the length of each text after all arguments, and may use the place.
    """
    lengths = ["i64 1"] * len(letters)
    return ", ".join([*(f"ptr {one}" for one in (*letters, *others)), *lengths])


def with_public_names(text: str) -> tuple[str, dict[str, int]]:
    """The text of a module that calls routines by the names by which a linker knows them.

    Returns:
        The text, and the names with the bits of their integers: `dgetrf_`, or, as is the custom for
        64 bits, `dgetrf_64_`.
    """
    names = {}
    for name, bits in dict.fromkeys(_DECLARED.findall(text)):
        public = f"{name}_" if bits == "32" else f"{name}_64_"
        names[public] = int(bits)
        text = text.replace(f"@{_PREFIX}{name}.{bits}", f"@{public}")
    return text, names


def provide(symbol: str) -> None:
    """Define a symbol, if it is that of a routine which some library has."""
    if symbol.startswith(_PREFIX):
        routine(symbol.removeprefix(_PREFIX).partition(".")[0])


@cache
def routine(name: str) -> Routine | None:
    """The function of this name, such as `dgemm` or `dgetrf`; None when no library has it."""
    for library in ("cython_blas", "cython_lapack"):
        function = _exported(f"scipy.linalg.{library}", name)
        if function is not None:
            return function
    return _bundled(name)


def _exported(module: str, name: str) -> Routine | None:
    """What a Cython module of SciPy exports under a name."""
    try:
        capsule = importlib.import_module(module).__pyx_capi__[name]
    except (ImportError, AttributeError, KeyError):
        return None
    # Prototypes of our own: those of `ctypes.pythonapi` are shared with everybody.
    signature = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
        ("PyCapsule_GetName", ctypes.pythonapi)
    )
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    text = signature(capsule)
    if text is None or b"int *" not in text or b"long" in text or b"64" in text:
        return None  # integers of a size that is not known
    address = pointer(capsule, text)
    return None if address is None else _routine(name, int(address), 32)


def _bundled(name: str) -> Routine | None:
    """The function in the library that a wheel of NumPy brings along, with 64-bit integers."""
    try:
        extension = importlib.import_module("numpy._core._multiarray_umath")
        function = getattr(ctypes.CDLL(str(extension.__file__)), f"scipy_{name}_64_")
    except (ImportError, OSError, AttributeError):
        return None
    address = ctypes.cast(function, ctypes.c_void_p).value
    return None if address is None else _routine(name, address, 64)


def _routine(name: str, address: int, integer_bits: int) -> Routine:
    return Routine(define(f"{_PREFIX}{name}.{integer_bits}", address), integer_bits)
