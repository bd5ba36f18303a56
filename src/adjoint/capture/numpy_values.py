"""NumPy's functions that choose, make, copy and compare arrays."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from adjoint.base.errors import DTypeError, UnsupportedFunctionError
from adjoint.capture.numpy_shape import stack
from adjoint.capture.table import any_traced, as_operand, implements, perform
from adjoint.capture.traced import Traced, concrete, from_array, is_known, unwrap
from adjoint.capture.views import copy_of, maybe_alias
from adjoint.primitives.conversion import CAST
from adjoint.primitives.selection import SELECT


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


for _function in (
    np.nonzero,
    np.flatnonzero,
    np.argwhere,
    np.argsort,
    np.searchsorted,
    np.digitize,
    np.unique,
):
    implements(_function)(_integer_result(_function))


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Return a sorted copy of an array."""
    a = as_operand(a)
    order = np.argsort(concrete(a), axis)
    return np.take_along_axis(a, order, axis)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Take values from the input array by matching 1d index and data slices."""
    if axis is None:
        return arr.reshape(-1)[indices]
    axis %= arr.ndim
    places: list[Any] = []
    for n in range(arr.ndim):
        shape = tuple(-1 if m == n else 1 for m in range(arr.ndim))
        places.append(indices if n == axis else np.arange(arr.shape[n]).reshape(shape))
    return arr[tuple(places)]


@implements(np.clip)
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Any:
    """Clip (limit) the values in an array."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    a = as_operand(a)
    if low is not None:
        a = np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


@implements(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Evenly round to the given number of decimals."""
    return np.rint(a) if decimals == 0 else np.rint(a * 10.0**decimals) / 10.0**decimals


@implements(np.fix)
def fix(x: Any) -> Any:
    """Round to nearest integer towards zero."""
    return np.trunc(x)


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """Return the normalized sinc function."""
    # Near 0 its series, for the derivatives of sin(y) / y cancel there; ten terms are enough for
    # derivatives of high order too.
    y = np.pi * x
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
    result = np.arctan2(z.imag, z.real)
    return np.degrees(result) if deg else result


@implements(np.nan_to_num)
def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Replace NaN with zero and infinity with large finite numbers."""
    if not copy:
        raise UnsupportedFunctionError(
            "numpy.nan_to_num on traced arrays does not support its argument 'copy' as False yet."
        )
    info = np.finfo(x.dtype)
    high, low = (info.max if posinf is None else posinf), (info.min if neginf is None else neginf)
    x = np.where(np.isnan(x), x.dtype.type(nan), x)
    x = np.where(x == np.inf, x.dtype.type(high), x)
    return np.where(x == -np.inf, x.dtype.type(low), x)


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """One-dimensional linear interpolation for monotonically increasing sample points."""
    if period is not None:
        raise UnsupportedFunctionError(
            "numpy.interp with a period is not supported on traced arrays yet."
        )
    x, xp, fp = as_operand(x), as_operand(xp), as_operand(fp)
    place = np.clip(np.searchsorted(concrete(xp), concrete(x), side="right"), 1, len(xp) - 1)
    x0, x1, f0, f1 = xp[place - 1], xp[place], fp[place - 1], fp[place]
    inside = f0 + (f1 - f0) / (x1 - x0) * (x - x0)
    inside = np.where(x < xp[0], fp[0] if left is None else left, inside)
    return np.where(x > xp[-1], fp[-1] if right is None else right, inside)


# --- making ---------------------------------------------------------------------------------------


def _like(value: Any) -> Any:
    def make(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **_: Any
    ) -> Any:
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
    shape = a.shape if shape is None else shape
    return full(shape, fill_value, dtype or a.dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None, **_: Any) -> Any:
    """np.full with a traced value."""
    if type(fill_value) is Traced and not is_known(fill_value):
        wide = np.broadcast_to(fill_value, shape)
        return copy(wide if dtype is None else astype(wide, dtype))
    return from_array(np.full(shape, unwrap(fill_value), dtype))


@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """A copy: the same value under a name of its own, with no memory shared."""
    if type(a) is not Traced:
        return from_array(np.array(a))
    return copy_of(a)


@implements(np.asarray, np.asanyarray, np.ascontiguousarray)
def asarray(a: Any, dtype: Any = None, order: Any = None, **_: Any) -> Any:
    """Arrays of traced scalars, as NumPy makes arrays of numbers."""
    if isinstance(a, (list, tuple)):
        if not any_traced(a):
            return np.asarray(_known_parts(a), dtype)
        a = stack([asarray(each) for each in a])
    elif type(a) is not Traced:
        return np.asarray(a, dtype)
    return a if dtype is None or np.dtype(dtype) == a.dtype else astype(a, dtype)


def laid_out(a: Traced) -> Traced:
    """np.ascontiguousarray and the like: the array itself, or a copy where it lies otherwise."""
    if is_known(a):
        array = np.ascontiguousarray(unwrap(a))
        return a if array is unwrap(a) else from_array(array)
    return maybe_alias(a, copy_of(a))  # type: ignore[no-any-return]


def _known_parts(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_known_parts(each) for each in value]
    return unwrap(value)


def array(a: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0, **_: Any) -> Any:
    """np.array of what may hold traced values."""
    result = asarray(a, dtype)
    if copy and type(result) is Traced and result is a:
        result = _copy(result)
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
    return a if dtype == a.dtype and not copy else perform(CAST, a, dtype=dtype)


implements(np.astype)(lambda x, dtype, /, *, copy=True, **_: astype(x, dtype, copy=copy))

# --- asking ---------------------------------------------------------------------------------------

implements(np.shape)(lambda a: a.shape if type(a) is Traced else as_operand(a).shape)
implements(np.ndim)(lambda a: a.ndim if type(a) is Traced else as_operand(a).ndim)
implements(np.iscomplexobj)(lambda x: x.dtype.kind == "c")
implements(np.isrealobj)(lambda x: x.dtype.kind != "c")
implements(np.result_type)(lambda *args: np.result_type(*(_dtype_of(a) for a in args)))
implements(np.isreal)(lambda x: x.imag == 0)


@implements(np.size)
def size(a: Any, axis: Any = None) -> int:
    """Return the number of elements along a given axis."""
    return a.size if axis is None else a.shape[axis]  # type: ignore[no-any-return]


def _dtype_of(value: Any) -> Any:
    return value.dtype if type(value) is Traced else value


@implements(np.isclose)
def isclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    """Returns a boolean array where two arrays are element-wise equal within a tolerance."""
    return np.isclose(concrete(a), concrete(b), rtol, atol, equal_nan)


@implements(np.allclose)
def allclose(
    a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Returns True if two arrays are element-wise equal within a tolerance."""
    return bool(np.allclose(concrete(a), concrete(b), rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """True if two arrays have the same shape and elements, False otherwise."""
    return bool(np.array_equal(concrete(a1), concrete(a2), equal_nan))


@implements(np.may_share_memory, np.shares_memory)
def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether arrays share memory is not known."""
    raise UnsupportedFunctionError("numpy.shares_memory is not supported on traced arrays.")


@implements(np.array_repr, np.array_str, np.array2string)
def text(a: Any, *args: Any, **kwargs: Any) -> str:
    """Return the string representation of an array."""
    return np.array_str(np.asarray(concrete(a)), *args, **kwargs)


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Copies values from one array to another, broadcasting as necessary."""
    if type(dst) is not Traced:
        raise UnsupportedFunctionError(
            "np.copyto writes traced values into an array that was made outside of the function; "
            "make it inside, or copy it first."
        )
    dst[...] = src if where is True else np.where(where, src, dst)
