"""The functions of single numbers that SciPy exports for compiled extensions.

They are what the inner loops of its ufuncs call (`ufuncs.py`) for each number, without what a loop
does besides: clearing the floating-point flags takes longer than most of them. Their C signatures
are the names of the capsules in which they come. They run without Python's lock.
"""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import Any, Final

import numpy as np

from adjoint.executors.native.machine.symbols import define

PREFIX: Final = "ufunc.kernel."
_MODULE: Final = "scipy.special.cython_special"
_SEVERAL: Final = 4  # operands at most
_TRIALS: Final = 48


@cache
def kernel(name: str, ufunc: np.ufunc) -> str | None:
    """The symbol of the function of doubles that a ufunc calls, named as the ufunc.

    It takes the numbers and an `int` that is 0. None where there is none of this very signature,
    or where it gives other bits than the ufunc does.
    """
    if ufunc.nout != 1 or not 1 <= ufunc.nin <= _SEVERAL:
        return None
    if f"{'d' * ufunc.nin}->d" not in ufunc.types:
        return None
    address = _address(ufunc.__name__, ufunc.nin)
    if address is None or not _agrees(address, ufunc):
        return None
    return define(f"{PREFIX}{name}", address)


def _address(name: str, count: int) -> int | None:
    try:
        exported: dict[str, Any] = importlib.import_module(_MODULE).__pyx_capi__
    except (ImportError, AttributeError):
        return None
    wanted = f"double ({'double, ' * count}int __pyx_skip_dispatch)".encode()
    signature = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
        ("PyCapsule_GetName", ctypes.pythonapi)
    )
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    for key in (name, *(f"__pyx_fuse_{place}{name}" for place in range(_SEVERAL))):
        capsule = exported.get(key)
        if capsule is not None and signature(capsule) == wanted:
            return int(pointer(capsule, wanted))
    return None


def _agrees(address: int, ufunc: np.ufunc) -> bool:
    """Whether it gives the bits of the ufunc, for numbers of usual size and some others."""
    function = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * ufunc.nin, ctypes.c_int)(
        address
    )
    generator = np.random.default_rng(0)
    columns = [generator.uniform(0.05, 3.0, _TRIALS) for _ in range(ufunc.nin)]
    columns[-1][::4] = generator.uniform(0.01, 0.99, _TRIALS // 4)
    if ufunc.nin == 1:  # of several some have no end
        columns[0][1::4] = generator.normal(size=_TRIALS // 4) * 12
        columns[0][:5] = 0.0, -0.0, np.inf, -np.inf, np.nan
    with np.errstate(all="ignore"):
        expected = ufunc(*columns)
        values = [function(*numbers, 0) for numbers in zip(*columns, strict=True)]
    alike = np.array(values).view(np.int64) == expected.view(np.int64)
    return bool(np.all(alike | (np.isnan(values) & np.isnan(expected))))
