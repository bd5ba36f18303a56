"""NumPy's functions that choose, make, copy and compare arrays."""

from __future__ import annotations

import operator
from math import factorial
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import type_of
from adjoint.base.errors import DTypeError, ShapeError, UnsupportedFunctionError
from adjoint.capture.numpy.table import (
    any_traced,
    as_array,
    as_operand,
    implements,
    normal_axis,
    perform,
    promoting,
    stored,
)
from adjoint.capture.recording.memory.views import as_cell, cell_of, copy_of, maybe_alias, overwrite
from adjoint.capture.recording.tracing.applying import asked, concrete
from adjoint.capture.recording.tracing.trace import is_guarded, note_effect
from adjoint.capture.recording.tracing.traced import Traced, from_array, is_cell, is_known, unwrap
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.structure.slicing import STACK
from adjoint.primitives.structure.sorting import ARGSORT
from adjoint.primitives.typing_rules import promoted


@implements(np.where)
def where(condition: Any, *choices: Any) -> Any:
    """Return elements chosen from x or y depending on condition."""
    if not choices:
        return np.nonzero(concrete(condition))
    if len(choices) != 2:
        raise ValueError("either both or neither of x and y should be given")
    condition = as_operand(condition)
    if getattr(condition, "dtype", None) != np.bool_:
        condition = condition != 0
    return perform(SELECT, condition, *map(as_operand, choices))


def _integer_result(function: Any) -> Any:
    """A function whose result is integers that depend on values.

    Computed from the values so far.
    """

    def ours(*args: Any, **kwargs: Any) -> Any:
        return function(*map(concrete, args), **{name: concrete(v) for name, v in kwargs.items()})

    return ours


for _function in (np.nonzero, np.flatnonzero, np.argwhere):
    implements(_function)(_integer_result(_function))


def sorted_places(a: Any, axis: int, **order: Any) -> Any:
    """The places of the entries along an axis, in the order of their values.

    order: the arguments of NumPy's sorting functions that say which; it refuses those that it does
    not know, or not together.
    """
    given = {
        name: value
        for name, value in order.items()
        if value is not None and value is not np._NoValue
    }
    np.argsort(_FEW, **given)
    return perform(ARGSORT, a, axis=axis, given=tuple(sorted(given.items())))


_FEW: Final = np.zeros(2)


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **others: Any) -> Any:
    """Return a sorted copy of an array."""
    a = as_array(a)
    if axis is None:
        a, axis = np.reshape(a, (a.size,)), 0
    axis = normal_axis(axis, a.ndim)
    return take_along_axis(a, sorted_places(a, axis, kind=kind, order=order, **others), axis)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Take values from the input array by matching 1d index and data slices."""
    arr, indices = as_array(arr), as_array(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        return np.reshape(arr, -1)[indices]
    axis = normal_axis(axis, arr.ndim)
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if indices.ndim != arr.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    places: list[Any] = []
    for n in range(arr.ndim):
        shape = tuple(-1 if m == n else 1 for m in range(arr.ndim))
        places.append(indices if n == axis else np.arange(arr.shape[n]).reshape(shape))
    return arr[tuple(places)]


@implements(np.clip)
def clip(
    a: Any,
    a_min: Any = np._NoValue,
    a_max: Any = np._NoValue,
    out: Any = None,
    *,
    min: Any = np._NoValue,
    max: Any = np._NoValue,
    **kwargs: Any,
) -> Any:
    """Clip (limit) the values in an array."""
    if a_min is np._NoValue and a_max is np._NoValue:
        a_min, a_max = (None if bound is np._NoValue else bound for bound in (min, max))
    elif a_min is np._NoValue or a_max is np._NoValue:
        missing = "a_min" if a_min is np._NoValue else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: {missing!r}")
    elif min is not np._NoValue or max is not np._NoValue:
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is "
            "forbidden."
        )
    return clipped(a, a_min, a_max, out, **kwargs)


def clipped(a: Any, low: Any = None, high: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """a.clip(low, high); None is no bound."""
    a = as_array(a)
    if a.dtype.kind in "iu":  # a Python bound that the dtype cannot hold is none
        info = np.iinfo(a.dtype)
        low = None if type(low) is int and low <= info.min else low
        high = None if type(high) is int and high >= info.max else high
    if out is not None:
        kwargs["out"] = out
    if low is None and high is None:
        return np.positive(a, **kwargs)
    if low is None or high is None:
        one, bound = (np.minimum, high) if low is None else (np.maximum, low)
        return one(a, as_operand(bound), **kwargs)
    bounds = [bound if type(bound) is Traced else as_operand(bound) for bound in (low, high)]
    dtype = promoted(*(x.type if type(x) is Traced else type_of(x) for x in (a, *bounds)))
    a = a if a.dtype == dtype else a.astype(dtype)
    inner = {name: value for name, value in kwargs.items() if name not in ("out", "where")}
    return np.minimum(np.maximum(a, as_operand(low), **inner), as_operand(high), **kwargs)


@implements(np.round, np.around)
def round_(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Evenly round to the given number of decimals."""
    a, decimals = as_array(a), operator.index(decimals)
    if a.dtype.kind in "iu" and decimals >= 0:
        return stored("numpy.round", a.astype(a.dtype), out)
    if a.dtype.kind == "b" and decimals:
        raise DTypeError("numpy.round takes no decimals of booleans.")
    if not decimals:
        result = np.rint(a)
    elif decimals > 0:
        result = np.rint(a * 10.0**decimals) / 10.0**decimals
    else:
        result = np.rint(a / 10.0**-decimals) * 10.0**-decimals
    if a.dtype.kind in "iu":
        result = astype(result, a.dtype)
    return stored("numpy.round", result, out)


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    """Round to nearest integer towards zero."""
    return np.trunc(as_operand(x), out=out)


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """Return the normalized sinc function."""
    # Near 0 its series, for the derivatives of sin(y) / y cancel there; ten terms are enough for
    # derivatives of high order too.
    y = np.pi * as_array(x)
    small: Any = True
    for part in (y.real, y.imag) if y.dtype.kind == "c" else (y,):
        small = small & (part > -1) & (part < 1)
    square = np.square(np.where(small, y, 0))
    series: Any = 0.0
    for k in range(10, -1, -1):
        series = (-1) ** k / factorial(2 * k + 1) + square * series
    y = np.where(small, 1, y)
    return np.where(small, series, np.sin(y) / y)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """Return the angle of the complex argument."""
    z = as_array(z)
    result = np.arctan2(z.imag, z.real) if z.dtype.kind == "c" else np.arctan2(0, z)
    return result * (180 / np.pi) if deg else result


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Replace NaN with zero and infinity with large finite numbers."""
    if not copy and type(x) is not Traced:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    a = as_array(x)
    if a.dtype.kind not in "fc":
        return a.astype(a.dtype) if copy else x
    bounds = np.finfo(a.dtype)
    high, low = bounds.max if posinf is None else posinf, bounds.min if neginf is None else neginf

    def replaced(part: Any) -> Any:
        result = part
        tests = (np.isnan(part), part == np.inf, part == -np.inf)
        for test, number in zip(tests, (nan, high, low), strict=True):
            number = astype(as_array(number), part.dtype)
            if np.broadcast_shapes(np.shape(number), part.shape) != part.shape:
                raise ShapeError(
                    f"could not broadcast input array from shape {np.shape(number)} into shape "
                    f"{part.shape}"
                )
            result = perform(SELECT, test, number, result)
        return result

    result = replaced(a.real) + 1j * replaced(a.imag) if a.dtype.kind == "c" else replaced(a)
    if copy or not a.ndim:
        return result
    return overwrite(x, result, "numpy.nan_to_num")


# --- making ---------------------------------------------------------------------------------------


def _like(value: Any) -> Any:
    def make(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any
    ) -> Any:
        a = as_array(a)
        return from_array(np.full(a.shape if shape is None else shape, value, dtype or a.dtype))

    return make


implements(np.zeros_like)(_like(0))
implements(np.ones_like)(_like(1))
implements(np.empty_like)(_like(0))


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    **_: Any,
) -> Any:
    """Return a full array with the same shape and type as a given array."""
    a = as_array(a)
    return full(a.shape if shape is None else shape, fill_value, dtype or a.dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **_: Any) -> Any:
    """np.full with a traced value."""
    if type(fill_value) is Traced and not is_known(fill_value):
        wide = np.broadcast_to(fill_value, shape)
        return copy(wide if dtype is None else astype(wide, dtype))
    filled: Any = np.full(shape, unwrap(fill_value), dtype, order)  # type: ignore[call-overload]
    return from_array(filled)


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """A copy: the same value under a name of its own, with no memory shared."""
    a = as_array(a)
    if type(a) is Traced:
        return copy_of(a)
    return from_array(np.array(a, order=order))  # type: ignore[call-overload]


@implements(np.asarray, np.asanyarray)
def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    device: Any = None,
    copy: Any = None,
    like: Any = None,
) -> Any:
    """Arrays of traced scalars, as NumPy makes arrays of numbers."""
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')
    if copy is False and (
        type(a) is not Traced or a.type.weak or (dtype is not None and np.dtype(dtype) != a.dtype)
    ):
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if isinstance(a, (list, tuple)):
        if not any_traced(a):
            return np.asarray(_known_parts(a), dtype)
        a = _stacked(a)
    elif type(a) is not Traced:
        return np.asarray(a, dtype)
    if dtype is not None and np.dtype(dtype) != a.dtype:
        return astype(a, dtype)
    if copies(copy):
        return copy_of(a)
    scalar = a._value is None and not a.ndim and not is_known(a) and not is_cell(a)
    return cell_of(a) if scalar else a


_ENTRIES = frozenset({Traced, float, int, complex, bool, np.float64})  # taken as they are


def _stacked(values: Any) -> Any:
    """The array whose rows or entries these are: one record, however many they are."""
    parts = [value if type(value) in _ENTRIES else asarray(value) for value in values]
    shapes = {part.shape if type(part) in (Traced, np.ndarray) else () for part in parts}
    if len(shapes) > 1:
        raise ShapeError("all input arrays must have the same shape")
    return perform(STACK, *parts, axis=0)


@implements(np.ascontiguousarray)
def contiguous(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """An array of at least one axis, in C order."""
    result = as_array(asarray(a, dtype))
    if not result.ndim:
        return np.reshape(result, (1,))
    return laid_out(result) if type(result) is Traced and result is a else result


def laid_out(a: Traced) -> Traced:
    """np.ascontiguousarray and the like: the array itself, or a copy where it lies otherwise."""
    if is_known(a):
        array = np.asarray(unwrap(a), order="C")
        return a if array is unwrap(a) else from_array(array)
    return maybe_alias(a, copy_of(a))  # type: ignore[no-any-return]


def _known_parts(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_known_parts(part) for part in value]
    return unwrap(value)


def copies(copy: Any) -> bool:
    """Whether `copy=` asks for a copy, and not for one where it is needed."""
    return copy is not np._CopyMode.IF_NEEDED and bool(copy)


def array(a: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0, **_: Any) -> Any:
    """np.array of what may hold traced values."""
    result = asarray(a, dtype)
    if copies(copy) and type(result) is Traced and result is a:
        result = _copy(result)
    if result is not a and type(result) is Traced and not result.ndim:
        result = as_cell(result)  # an array of no axes, which is no scalar
    missing = ndmin - np.ndim(result)
    return np.reshape(result, (1,) * missing + result.shape) if missing > 0 else result


_copy = copy


def astype(
    a: Any,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    """a.astype(dtype)."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "biufc":
        raise DTypeError(
            f"A traced array cannot be made one of dtype {dtype}; only booleans, integers, floats "
            "and complex numbers can be computed with."
        )
    if not np.can_cast(a.dtype, dtype, casting=casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast array data from {a.dtype!r} to {dtype!r} according to the rule "
            f"{casting!r}"
        )
    if a.dtype.kind == "c" and dtype.kind in "biuf":
        note_effect("NumPy warns that it discards the imaginary part")
    return a if dtype == a.dtype and not copy else perform(CAST, a, dtype=dtype)


implements(np.astype)(lambda x, dtype, /, *, copy=True, **_: astype(x, dtype, copy=copy))

# --- asking ---------------------------------------------------------------------------------------

implements(np.shape)(lambda a: a.shape if type(a) is Traced else as_operand(a).shape)
implements(np.ndim)(lambda a: a.ndim if type(a) is Traced else as_operand(a).ndim)
implements(np.iscomplexobj)(lambda x: as_array(x).dtype.kind == "c")
implements(np.isrealobj)(lambda x: as_array(x).dtype.kind != "c")
implements(np.result_type)(lambda *args: np.result_type(*(_dtype_of(a) for a in args)))
implements(np.isreal)(lambda x: as_array(x).imag == 0)


@implements(np.size)
def size(a: Any, axis: Any = None) -> int:
    """Return the number of elements along a given axis."""
    return np.size(np.broadcast_to(0, np.shape(a)), axis)


def _dtype_of(value: Any) -> Any:
    return promoting(value) if type(value) is Traced else value


@implements(np.isclose)
def isclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    """Returns a boolean array where two arrays are element-wise equal within a tolerance."""
    a, b = as_array(a), as_array(b)
    finite = np.isfinite(a) & np.isfinite(b)
    distance = np.abs(np.where(finite, a, 0) - np.where(finite, b, 0))
    close = (distance <= atol + rtol * np.abs(np.where(finite, b, 0))) & finite | (a == b)
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


@implements(np.allclose)
def allclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Returns True if two arrays are element-wise equal within a tolerance."""
    if is_guarded():
        return bool(asked(np.all(isclose(a, b, rtol, atol, equal_nan)), "bool"))
    return bool(np.allclose(asked(a), asked(b), rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """True if two arrays have the same shape and elements, False otherwise."""
    if is_guarded() and np.shape(a1) == np.shape(a2) and not equal_nan:
        return bool(asked(np.all(as_array(a1) == as_array(a2)), "bool"))
    return bool(np.array_equal(asked(a1), asked(a2), equal_nan))


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Copies values from one array to another, broadcasting as necessary."""
    if type(dst) is not Traced:
        raise UnsupportedFunctionError(
            "np.copyto writes traced values into an array that was made outside of the function; "
            "make it inside, or copy it first."
        )
    dst[...] = src if where is True else np.where(where, src, dst)
