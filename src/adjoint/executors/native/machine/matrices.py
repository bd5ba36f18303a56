"""The inner loops of NumPy's functions of matrices, which are ufuncs of stacks of them.

They call the LAPACK that NumPy has, without Python's lock. Where it fails they give NaN, and raise
the flag of invalid operations, by which NumPy knows.
"""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import Any, Final

import numpy as np

from adjoint.executors.native.machine.symbols import address_of
from adjoint.executors.native.machine.ufuncs import loop_pointers

_PREFIX: Final = "matrices."
_MODULE: Final = "numpy.linalg._umath_linalg"
_SIGNATURES: Final = {
    "eigvalsh_lo": "(m,m)->(m)",
    "eigvalsh_up": "(m,m)->(m)",
    "eigh_lo": "(m,m)->(m),(m,m)",
    "eigh_up": "(m,m)->(m),(m,m)",
    "eigvals": "(m,m)->(m)",
    "eig": "(m,m)->(m),(m,m)",
    "svd": "(m,n)->(p)",
    "svd_s": "(m,n)->(m,p),(p),(p,n)",
    "svd_f": "(m,n)->(m,m),(p),(n,n)",
    "qr_r_raw": "(m,n)->(p)",
    "qr_reduced": "(m,n),(k)->(m,k)",
    "qr_complete": "(m,n),(n)->(m,m)",
    "lstsq": "(m,n),(m,nrhs),()->(n,nrhs),(nrhs),(),(p)",
}


def lengths_of(name: str, rows: int, columns: int, columns_beside: int = 0) -> tuple[int, ...]:
    """The lengths that NumPy hands to a function of matrices with so many rows and columns.

    columns_beside: of the right-hand sides, where there are some.
    """
    if name == "lstsq":
        return rows, columns, columns_beside, min(rows, columns)
    if name.startswith("eig"):
        return (rows,)
    return (rows, columns) if name == "qr_complete" else (rows, columns, min(rows, columns))


def matrix_loop(name: str, letter: str) -> str | None:
    """The symbol of the loop, and of its data, for matrices of doubles or of complex ones.

    It takes matrices (and for Q a row for each), and memory for each result. That for R writes into
    the matrices too. None where there is no such loop.
    """
    symbol, ufunc = f"{_PREFIX}{name}.{letter}", _ufunc(name)
    if ufunc is None or letter not in ("d", "D"):
        return None
    if address_of(symbol) is not None:
        return symbol
    place = next((n for n, text in enumerate(ufunc.types) if text.startswith(letter)), None)
    if place is None or not _computes(name, letter, place):
        return None
    return loop_pointers(symbol, ufunc, place)


def has_loop(name: str, dtype: np.dtype[Any]) -> bool:
    """Whether there is such a loop for matrices of this dtype, with casts before and after."""
    return matrix_loop(name, "D" if dtype.kind == "c" else "d") is not None


def provide(symbol: str) -> None:
    """Define a symbol, if it is that of a loop which this NumPy has."""
    if symbol.startswith(_PREFIX):
        name, _, letter = symbol.removeprefix(_PREFIX).rpartition(".")
        matrix_loop(name, letter)


def _ufunc(name: str) -> Any:
    try:
        ufunc = getattr(importlib.import_module(_MODULE), name)
    except (ImportError, AttributeError):
        return None
    known = isinstance(ufunc, np.ufunc) and ufunc.signature == _SIGNATURES.get(name)
    return ufunc if known else None


@cache
def _computes(name: str, letter: str, place: int) -> bool:
    """Whether a loop, called as NumPy calls it, gives the bits of NumPy's function."""
    ufunc, shape = _ufunc(name), (2, 3, 3 if name.startswith("eig") else 2)
    numbers = np.random.default_rng(0).normal(size=(2, *shape))
    given = numbers[0] + (1j * numbers[1] if letter == "D" else 0)
    operands = [given, given[:, 0].copy()][: ufunc.nin]
    if name == "lstsq":
        operands = [given, given[::-1].copy(), np.full(2, 1e-3)]
    seen = [x.copy() for x in operands]
    outputs = ufunc(*seen, signature=ufunc.types[place])
    expected = [*seen, *(outputs if isinstance(outputs, tuple) else (outputs,))]
    arrays = [*operands, *map(np.empty_like, expected[len(operands) :])]
    symbol = loop_pointers(f"{_PREFIX}trial", ufunc, place)
    address = None if symbol is None else address_of(symbol)
    if address is None:
        return False
    function, data = (ctypes.c_void_p * 2).from_address(address)
    places = (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))
    lengths = lengths_of(name, *shape[1:], columns_beside=shape[2])
    counts = (ctypes.c_ssize_t * (1 + len(lengths)))(2, *lengths)
    inner = [step for x in arrays for step in x.strides[1:]]
    steps = (ctypes.c_ssize_t * (len(arrays) + len(inner)))(*(x.strides[0] for x in arrays), *inner)
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(function or 0)(places, counts, steps, data)
    return all(
        one.tobytes() == other.tobytes() for one, other in zip(arrays, expected, strict=True)
    )
