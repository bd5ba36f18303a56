"""Array types: shape and dtype, interned so that equal types are the same object.

A *weak* type is that of a Python scalar, which under NumPy's promotion rules (NEP 50) does not
widen an array.
"""

from __future__ import annotations

from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

Shape = tuple[int, ...]

_FRONT_LIMIT: Final = 8192


class ArrayType:
    """The type of an array: `shape`, `dtype`, and whether it is `weak` (a Python scalar).

    Build it with `array_type`, which returns the same object for the same type: types are compared
    by identity.
    """

    __slots__ = ("__weakref__", "dtype", "inexact", "ndim", "shape", "size", "weak")

    def __init__(self, shape: Shape, dtype: np.dtype[Any], weak: bool) -> None:
        self.shape = shape
        self.dtype = dtype
        self.weak = weak
        self.ndim = len(shape)
        size = 1
        for length in shape:
            size *= length
        self.size = size
        self.inexact = dtype.kind in "fc"

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.weak:
            return f"python {_PYTHON_NAMES[self.dtype.kind]}"
        return f"{short_dtype(self.dtype)}[{','.join(map(str, self.shape))}]"

    def __reduce__(self) -> tuple[Any, ...]:
        return array_type, (self.shape, self.dtype, self.weak)


_PYTHON_NAMES: Final = {"b": "bool", "i": "int", "f": "float", "c": "complex"}
# Two levels: a plain dict answers fast and is emptied when full; the weak one keeps identity while
# any user lives.
_front: dict[tuple[Shape, np.dtype[Any], bool], ArrayType] = {}
_living: WeakValueDictionary[tuple[Shape, np.dtype[Any], bool], ArrayType] = WeakValueDictionary()


def array_type(shape: Shape, dtype: Any, weak: bool = False) -> ArrayType:
    """The one `ArrayType` with this shape and dtype."""
    key = (shape, dtype, weak)
    known_type = _front.get(key)
    if known_type is not None:
        return known_type
    key = (tuple(int(length) for length in shape), np.dtype(dtype), weak)
    known_type = _living.get(key)
    if known_type is None:
        known_type = _living.setdefault(key, ArrayType(*key))
    if len(_front) >= _FRONT_LIMIT:
        _front.clear()
    _front[key] = known_type
    return known_type


_WEAK_TYPES: Final = {
    float: array_type((), np.dtype(float), True),
    int: array_type((), np.dtype(int), True),
    complex: array_type((), np.dtype(complex), True),
    bool: array_type((), np.dtype(bool)),
}


def type_of(value: Any) -> ArrayType:
    """The type of a concrete array, NumPy scalar or Python scalar."""
    weak = _WEAK_TYPES.get(type(value))
    if weak is not None:
        return weak
    if not isinstance(value, (np.ndarray, np.generic)):
        value = np.asarray(value)
    return array_type(value.shape, value.dtype)


def short_dtype(dtype: np.dtype[Any]) -> str:
    """`f8`, `i4`, `b1`: kind and bytes, as programs print them."""
    return f"{dtype.kind}{dtype.itemsize}"


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the real part: complex128 -> float64, and real dtypes unchanged."""
    return np.empty(0, dtype).real.dtype if dtype.kind == "c" else dtype


def numbers_of(value: Any) -> np.ndarray[Any, Any] | None:
    """The numbers of another library's array, as a pandas Series or a torch tensor holds them.

    None where they are none that a program can hold, where they would be computed first, and where
    the value refuses to be turned into an array.
    """
    if is_deferred(value) or not (hasattr(value, "__array__") or hasattr(value, "__dlpack__")):
        return None
    try:
        shares = not hasattr(value, "__array__")
        numbers = np.from_dlpack(value) if shares else np.asarray(value)
    except Exception:  # of the library's own
        return None
    return numbers if type(numbers) is np.ndarray and numbers.dtype.kind in "biufc" else None


def is_table(value: Any) -> bool:
    """Whether a value of another library has columns with names, whose order means nothing."""
    return hasattr(value, "columns")


def is_deferred(value: Any) -> bool:
    """Whether a value is an array that would be computed first, by its library's name."""
    return type(value).__module__.partition(".")[0] in _DEFERRED


_DEFERRED = frozenset({"dask", "adjoint"})  # ours would warn that a derivative is lost


def conversion_of(value: Any, name: str = "x") -> str | None:
    """How to make an array of another library's value, where there is a way: `x.to_numpy()`.

    name: what the value is called.
    """
    ways = ("compute", *_WAYS) if is_deferred(value) else (*_WAYS, "compute")
    for attribute, way in zip(ways, map(_WAYS.get, ways), strict=True):
        if hasattr(value, attribute):
            return (way or "{}.compute()").format(name)
    return None


_WAYS = {
    "to_numpy": "{}.to_numpy()",
    "detach": "{}.detach().numpy()",
    "filled": "{0}.filled(0.0) and {0}.mask",
    "unit": "{}.value",
    "to_dataarray": "{}.to_dataarray().to_numpy()",
    "__array__": "np.asarray({})",
    "__dlpack__": "np.from_dlpack({})",
}


def class_name(kind: type) -> str:
    """A class as a user would write it: `pandas.Series`, `float`."""
    home = kind.__module__
    return kind.__qualname__ if home == "builtins" else f"{home}.{kind.__qualname__}"


def is_numeric(value: Any) -> bool:
    """Whether the value is an array or scalar of numbers or booleans that a program can hold."""
    if type(value) in _WEAK_TYPES:
        return True
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc"
