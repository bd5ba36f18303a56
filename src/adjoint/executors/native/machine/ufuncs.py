"""The inner loops of NumPy's and SciPy's ufuncs, which compute what those compute, to the bit.

A ufunc has a table of C functions, one for each list of dtypes, that NumPy calls without Python's
lock. Machine code calls the same functions for a few numbers at a time. It refers to one by a
symbol, which tells the primitive and the dtypes, so that another process finds its own.

Nothing of the table's layout is taken on trust: its fields are compared with what Python says of
the ufunc, once for each, and a first function is tried.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from adjoint.executors.native.machine.kernels import PREFIX, kernel
from adjoint.executors.native.machine.symbols import address_of, define
from adjoint.primitives.declaration import PRIMITIVES
from adjoint.primitives.special.declaring import MODULE, errors_are_ignored
from adjoint.primitives.typing_rules import LateUfunc, resolve

_PREFIX: Final = "ufunc."
_OF_SCIPY: Final = f"{_PREFIX}scipy."
_OF_NUMPY: Final = f"{_PREFIX}numpy."

# SciPy has this one within a function of Python, which only chooses between ufuncs.
_WITHIN: Final = {"zeta": LateUfunc(f"{MODULE}._ufuncs", "_zeta"), "exponent": np.frexp}
# Primitives that are a later result of a ufunc.
_LATER: Final = {"exponent": 1}

# Distributions of Boost, whose errors are exceptions and warnings of Python in the midst of it.
_IN_PYTHON: Final = (
    *("_beta_", "_cauchy_", "_skewnorm_", "_invgauss_", "_landau_"),
    *("_ncx2_", "_nct_", "_ncf_", "_binom_", "_nbinom_"),
)


class _Head(ctypes.Structure):
    """The first fields of NumPy's PyUFuncObject, after those of every object."""

    _fields_ = (
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_void_p),
        ("types", ctypes.c_void_p),
    )


class _LoopPointers(ctypes.Structure):
    """What a symbol stands for: a loop, and what it is given at each call."""

    _fields_ = (("function", ctypes.c_void_p), ("data", ctypes.c_void_p))


# Code refers to them for as long as the process lives.
_pointers: Final[list[tuple[_LoopPointers, Any]]] = []


def ufunc_of(name: str) -> Any:
    """The ufunc of a primitive, or what stands for it; None where it has none."""
    late = _unresolved(name)
    try:
        return None if late is None else resolve(late)
    except (ImportError, AttributeError):  # of another SciPy
        return None


def _unresolved(name: str) -> Any:
    primitive = PRIMITIVES.get(name)
    if primitive is None or primitive.ufunc is not None:
        return None if primitive is None else primitive.ufunc
    known = primitive.evaluate  # of those with several results it is the ufunc
    return known if isinstance(known, LateUfunc) else _WITHIN.get(name)


def result_of(name: str, place: int) -> int:
    """Which of the results of its ufunc a result of a primitive is."""
    return _LATER.get(name, place)


def inner_loop(name: str, dtypes: Sequence[np.dtype[Any]]) -> str | None:
    """The symbol of the loop of a primitive for these dtypes, those of the results too.

    It is that of two pointers: the function, and its data. None where there is no such loop.
    """
    ufunc = ufunc_of(name)
    if not _is_called(name, ufunc) or len(dtypes) != ufunc.nin + ufunc.nout:
        return None
    for place, text in enumerate(ufunc.types):
        letters = text.replace("->", "")
        if all(np.dtype(x) == dtype for x, dtype in zip(letters, dtypes, strict=True)):
            if name in _DEPRECATED and not _INTEGERS & set(letters):
                return None
            return _defined(name, ufunc, place, letters)
    return None


def number_function(name: str, dtypes: Sequence[np.dtype[Any]]) -> str | None:
    """The symbol of a function of SciPy's for single doubles; None where only a loop is right."""
    silent = is_special(name) and name not in _TRUNCATING | _DEPRECATED
    if not silent or any(dtype != np.float64 for dtype in dtypes):
        return None
    ufunc = ufunc_of(name)
    return kernel(name, ufunc) if _is_called(name, ufunc) else None


def provide(symbol: str) -> None:
    """Define a symbol, if it is that of a loop which this process has."""
    if symbol == IGNORED:
        define(IGNORED, id(errors_are_ignored))
    if not symbol.startswith(_PREFIX) or address_of(symbol) is not None:
        return
    if symbol.startswith(PREFIX):
        number_function(symbol.removeprefix(PREFIX), ())
        return
    name, _, letters = symbol.removeprefix(_PREFIX).partition(".")[2].rpartition(".")
    if name in PRIMITIVES:
        inner_loop(name, [np.dtype(x) for x in letters])


def is_of_scipy(symbol: str) -> bool:
    """Whether a symbol is that of a loop of SciPy's, which reports errors in its own way."""
    return symbol.startswith((_OF_SCIPY, PREFIX))


def is_special(name: str) -> bool:
    """Whether a primitive is a function of SciPy's."""
    late = _unresolved(name)
    return isinstance(late, LateUfunc) and late.module.startswith(MODULE)


def truncated(name: str) -> tuple[int, ...]:
    """The operands that a function of SciPy cuts to integers, with a warning of Python's."""
    if name not in _TRUNCATING:
        return ()
    places = [text.partition("->")[0] for text in resolve(PRIMITIVES[name].ufunc).types]
    return tuple(
        place for place, letters in enumerate(zip(*places, strict=True)) if _INTEGERS & set(letters)
    )


_INTEGERS: Final = frozenset("ilqp")
# Where no operand is an integer, SciPy warns in any case.
_DEPRECATED: Final = frozenset(("bdtr", "bdtrc", "bdtri"))
_TRUNCATING: Final = frozenset(
    (
        *("yn", "kn", "expn", "smirnov", "smirnovi", "_smirnovp", "_smirnovc", "_smirnovci"),
        *("nbdtr", "nbdtrc", "nbdtri", "pdtri"),
    )
)


def _is_called(name: str, ufunc: Any) -> bool:
    return (
        isinstance(ufunc, np.ufunc) and ufunc.signature is None and not name.startswith(_IN_PYTHON)
    )


def _defined(name: str, ufunc: np.ufunc, place: int, letters: str) -> str | None:
    home = _OF_SCIPY if is_special(name) else _OF_NUMPY
    symbol = f"{home}{name}.{letters}"
    return loop_pointers(symbol, ufunc, place) if address_of(symbol) is None else symbol


def loop_pointers(symbol: str, ufunc: np.ufunc, place: int) -> str | None:
    """Let a symbol stand for one of the loops of a ufunc; None where its table is unknown."""
    head = _head(ufunc) if _is_as_known() else None
    if head is None:
        return None
    entry = _LoopPointers(
        ctypes.c_void_p.from_address(head.functions + 8 * place).value,
        ctypes.c_void_p.from_address(head.data + 8 * place).value if head.data else None,
    )
    if not entry.function:
        return None
    _pointers.append((entry, ufunc))
    return define(symbol, ctypes.addressof(entry))


def _head(ufunc: np.ufunc) -> _Head | None:
    """The fields of a ufunc; None where they are not what Python says of it."""
    head = _Head.from_address(id(ufunc) + object.__basicsize__)
    counts = (head.nin, head.nout, head.nargs, head.ntypes)
    if counts != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes) or not head.functions:
        return None
    if not head.name or not head.types:
        return None
    numbers = bytes(np.dtype(x).num for text in ufunc.types for x in text.replace("->", ""))
    same = ctypes.string_at(head.types, len(numbers)) == numbers
    named = ctypes.string_at(head.name) == ufunc.__name__.encode()
    return head if same and named else None


@cache
def _is_as_known() -> bool:
    """Whether a loop, called as NumPy calls it, computes what it should."""
    head = _head(np.subtract)
    if head is None or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    place = np.subtract.types.index("dd->d")
    loop = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(
        ctypes.c_void_p.from_address(head.functions + 8 * place).value or 0
    )
    one, other, result = (ctypes.c_double * 2)(3, 8), (ctypes.c_double * 2)(1, 2), None
    result = (ctypes.c_double * 2)()
    places = (ctypes.c_void_p * 3)(*map(ctypes.addressof, (one, other, result)))
    counts, steps = (ctypes.c_int64 * 1)(2), (ctypes.c_int64 * 3)(8, 8, 8)
    data = ctypes.c_void_p.from_address(head.data + 8 * place).value if head.data else None
    loop(places, counts, steps, data)
    return list(result) == [2.0, 6.0]


# --- errors of SciPy ------------------------------------------------------------------------------

# A function of Python's without arguments: whether SciPy's functions keep quiet about errors, as
# they do unless asked. Where not, SciPy itself must run, to warn or to raise.
IGNORED: Final = "scipy.errors_are_ignored"
define(IGNORED, id(errors_are_ignored))
