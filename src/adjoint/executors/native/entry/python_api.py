"""What machine code must know of CPython and NumPy: functions, objects, and where fields lie.

Code refers to them by names, which are the same in each process: functions of Python's C-API by
their own, and what no library has under a name by one that is defined here.

Nothing of it is taken on trust: every offset and every entry of NumPy's tables that is used is
tried on objects whose contents are known, once a process. Where something differs, there is no
native code.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from adjoint.base.errors import NativeUnavailableError, TapeOverflowError
from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.machine.symbols import define

# Offsets in bytes. All are checked by `python_api`.
OBJECT_TYPE: Final = 8
NUMBER_VALUE: Final = 16  # of Python's float and complex, and of NumPy's scalars
TUPLE_SIZE: Final = 16
TUPLE_ITEMS: Final = tuple.__basicsize__  # after the size, and from 3.14 on after the hash
ARRAY_DATA: Final = 16
ARRAY_NDIM: Final = 24
ARRAY_SHAPE: Final = 32
ARRAY_DTYPE: Final = 56
ARRAY_FLAGS: Final = 64

# Bits of the flags of an array.
CONTIGUOUS: Final = 0x1
ALIGNED: Final = 0x100
WRITEABLE: Final = 0x400

_DTYPES: Final = (
    *("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"),
    *("f4", "f8", "c8", "c16"),
)
_PYTHON_FUNCTIONS: Final = (
    "Py_IncRef",
    "Py_DecRef",
    "PyTuple_New",
    "PyLong_AsLongLongAndOverflow",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyErr_CheckSignals",
    "PyErr_SetObject",
    "PyErr_Occurred",
    "PyObject_CallNoArgs",
    "PyLong_FromLongLong",
)
# Places in the tables of NumPy's C-API, which are the same in all of NumPy 2.
_ABI_VERSION, _ARRAY_TYPE, _NEW_FROM_DESCR, _EQUIVALENT = 0, 2, 94, 182
_CLEAR_ERRORS, _GET_ERRORS = 27, 28
_TP_ALLOC: Final = 47  # the slot number of Py_tp_alloc, part of Python's stable ABI
_OBJECTS: Final = {
    "None": None,
    "True": True,
    "numpy.True": np.True_,
    "numpy.False": np.False_,
    "TapeOverflowError": TapeOverflowError,
}


@dataclass(frozen=True, slots=True)
class Scalar:
    """NumPy's scalars of one dtype. Symbols of the dtype, the scalar type, and its tp_alloc."""

    dtype: str
    type: str
    allocate: str


@dataclass(frozen=True, slots=True)
class PythonApi:
    """Symbols, which are defined for as long as the process lives.

    functions: by their names in C. types: by the Python type. scalars: by the dtype. objects: None,
    NumPy's truth values, and others, by a name.
    reads_mxcsr: whether the floating-point status is that of x86-64; elsewhere NumPy is asked.
    """

    functions: Mapping[str, str]
    types: Mapping[type, str]
    scalars: Mapping[np.dtype[Any], Scalar]
    objects: Mapping[str, str]
    reads_mxcsr: bool

    def scalar(self, dtype: np.dtype[Any]) -> Scalar:
        """The facts of a dtype; an error where native code does not know such numbers."""
        facts = self.scalars.get(dtype)
        if facts is None:
            raise NativeUnavailableError(f"native code knows no numbers of dtype {dtype}")
        return facts


@cache
def python_api() -> PythonApi:
    """The symbols, after all that is assumed has been checked."""
    _check_platform()
    _check_objects()
    _check_arrays()
    addresses = {name: _address(getattr(ctypes.pythonapi, name)) for name in _PYTHON_FUNCTIONS}
    addresses |= _numpy_functions()
    allocating = {dtype: _allocating(dtype) for dtype in map(np.dtype, _DTYPES)}
    types = (bool, int, float, complex, np.ndarray)
    return PythonApi(
        {name: define(name, address) for name, address in addresses.items()},
        {type_: define(f"python.{type_.__name__}", id(type_)) for type_ in types},
        {
            dtype: Scalar(
                define(f"numpy.dtype.{dtype.name}", id(dtype)),
                define(f"numpy.scalar.{dtype.name}", id(dtype.type)),
                define(f"numpy.allocate.{dtype.name}", address),
            )
            for dtype, address in allocating.items()
        },
        {name: define(f"python.object.{name}", id(value)) for name, value in _OBJECTS.items()},
        platform.machine().lower() in {"x86_64", "amd64"},
    )


def pointer(module: Module, symbol: str) -> str:
    """What a symbol stands for, as an LLVM constant."""
    return module.declare(symbol, f"@{symbol} = external global i8")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise NativeUnavailableError(
            f"native code cannot be made for this Python ({what}): use the executor 'numpy'"
        )


def _check_platform() -> None:
    _require(ctypes.sizeof(ctypes.c_void_p) == 8, "its pointers do not have 64 bits")
    _require(np.lib.NumpyVersion(np.__version__) >= "2.0.0", f"NumPy is {np.__version__}")


def _word(place: int) -> int:
    return ctypes.c_int64.from_address(place).value


def _check_objects() -> None:
    """Types, tuples, and where numbers keep their value."""
    items = (3.5, 1.5 - 2.5j, (), None, "text")
    for item in (*items, np.float64(1), np.zeros(2), items):
        _require(_word(id(item) + OBJECT_TYPE) == id(type(item)), "objects have another layout")
    here = id(items)
    addresses = [_word(here + TUPLE_ITEMS + 8 * place) for place in range(len(items))]
    same = _word(here + TUPLE_SIZE) == len(items) and addresses == [id(item) for item in items]
    _require(same, "tuples have another layout")
    numbers = [np.dtype(code).type(1) for code in _DTYPES]
    numbers += [np.float64(-2.5), np.complex64(1 - 3j), np.complex128(2 - 4j)]
    for number in (3.5, 1.5 - 2.5j, *numbers):
        content = np.asarray(number).tobytes()
        enough = type(number).__basicsize__ >= NUMBER_VALUE + len(content)
        same = enough and ctypes.string_at(id(number) + NUMBER_VALUE, len(content)) == content
        _require(same, f"{type(number).__name__} has another layout")


def _check_arrays() -> None:
    whole = np.arange(24.0).reshape(2, 3, 4)
    frozen = np.arange(6, dtype=np.int32).reshape(2, 3)
    frozen.flags.writeable = False
    shifted = np.zeros(25, np.uint8)[1:].view(np.float64)
    arrays = [whole, whole.T, whole[1, ::2], frozen, shifted, np.zeros((0, 3)), np.array(2.5)]
    for array in arrays:
        here = id(array)
        flags = ctypes.c_int32.from_address(here + ARRAY_FLAGS).value
        ndim = ctypes.c_int32.from_address(here + ARRAY_NDIM).value
        same = (
            _word(here + ARRAY_DATA) == array.ctypes.data
            and _word(here + ARRAY_DTYPE) == id(array.dtype)
            and ndim == array.ndim
            and flags == array.flags.num
            and bool(flags & CONTIGUOUS) == array.flags.c_contiguous
            and bool(flags & ALIGNED) == array.flags.aligned
            and bool(flags & WRITEABLE) == array.flags.writeable
        )
        _require(same, "arrays have another layout")
        lengths = [_word(_word(here + ARRAY_SHAPE) + 8 * axis) for axis in range(ndim)]
        _require(lengths == list(array.shape), "arrays have another layout")


def _address(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    _require(address is not None, "a function of its C-API has no address")
    return address or 0


def _table(name: str) -> Callable[[int], int]:
    """Entry by entry, a table of NumPy's C-API."""
    # Prototypes of our own: those of `ctypes.pythonapi` are shared with everybody.
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    capsule = getattr(np._core._multiarray_umath, name, None)  # type: ignore[attr-defined]
    _require(capsule is not None, f"NumPy has no {name}")
    start = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, None)
    return lambda place: _word(start + 8 * place)


def _numpy_functions() -> dict[str, int]:
    arrays, ufuncs = _table("_ARRAY_API"), _table("_UFUNC_API")
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(arrays(_ABI_VERSION))() >> 24
    _require(version == 2 and arrays(_ARRAY_TYPE) == id(np.ndarray), "NumPy has another C-API")
    functions = {
        "PyArray_NewFromDescr": arrays(_NEW_FROM_DESCR),
        "PyArray_EquivTypes": arrays(_EQUIVALENT),
        "PyUFunc_clearfperr": ufuncs(_CLEAR_ERRORS),
        "PyUFunc_getfperr": ufuncs(_GET_ERRORS),
    }
    equivalent = ctypes.PYFUNCTYPE(ctypes.c_ubyte, ctypes.py_object, ctypes.py_object)(
        functions["PyArray_EquivTypes"]
    )
    real = np.dtype(float)
    answers = [equivalent(real, other) for other in (real, real.newbyteorder(), np.dtype("i8"))]
    _require(answers == [1, 0, 0], "NumPy has another C-API")
    _check_creation(functions["PyArray_NewFromDescr"])
    clear = ctypes.PYFUNCTYPE(None)(functions["PyUFunc_clearfperr"])
    clear()
    _require(ctypes.PYFUNCTYPE(ctypes.c_int)(functions["PyUFunc_getfperr"])() == 0, "no status")
    return functions


def _check_creation(address: int) -> None:
    python_object, pointer = ctypes.py_object, ctypes.c_void_p
    create = ctypes.PYFUNCTYPE(
        python_object, pointer, pointer, ctypes.c_int, pointer, pointer, pointer, ctypes.c_int,
        pointer,
    )(address)  # fmt: skip
    shape = (ctypes.c_int64 * 2)(3, 5)
    dtype = np.dtype(np.float32)
    keep = ctypes.PYFUNCTYPE(None, python_object)(("Py_IncRef", ctypes.pythonapi))
    keep(dtype)  # the function takes over one reference
    array = create(id(np.ndarray), id(dtype), 2, ctypes.addressof(shape), None, None, 0, None)
    same = type(array) is np.ndarray and array.shape == (3, 5) and array.dtype is dtype
    _require(same and array.flags.owndata and array.flags.carray, "NumPy has another C-API")


def _allocating(dtype: np.dtype[Any]) -> int:
    """Where the function lies that makes scalars of a dtype."""
    slot = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    allocate = slot(("PyType_GetSlot", ctypes.pythonapi))(id(dtype.type), _TP_ALLOC)
    number = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(allocate)(
        id(dtype.type), 0
    )
    _require(type(number) is dtype.type and number == 0, f"{dtype} scalars are made otherwise")
    return int(allocate)
