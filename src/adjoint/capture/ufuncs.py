"""Ufuncs on traced arrays beyond the plain call of a primitive.

Their methods, arguments, powers, and those that are composed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import DTypeError, UnsupportedFunctionError
from adjoint.capture import protocols
from adjoint.capture.numpy_products import matmul, vecdot
from adjoint.capture.numpy_reduce import all_, any_, cumsum, maximum_over, minimum_over, prod, sum_
from adjoint.capture.numpy_writing import add_at
from adjoint.capture.table import any_traced, full_name, strong, unwrap_all, wrap_list
from adjoint.capture.traced import Traced, apply, apply_one
from adjoint.capture.views import overwrite, own_memory
from adjoint.primitives import UFUNCS, find_special
from adjoint.primitives.arithmetic import INTEGER_POWER, POWER, SQUARE
from adjoint.program import operation


def power(base: Any, exponent: Any) -> Any:
    """base ** exponent: an integer exponent is part of the program, a float is data."""
    if type(exponent) is int and exponent == 2 and type(base) is Traced:
        return apply_one(SQUARE.bare, base)
    if (
        isinstance(exponent, (int, np.integer))
        and not isinstance(exponent, bool)
        and type(base) is Traced
    ):
        if exponent == 2:
            return apply_one(SQUARE.bare, base)
        return apply(operation(INTEGER_POWER, exponent=int(exponent)), (base,))
    if (
        isinstance(exponent, float)
        and exponent == 0.5
        and type(base) is Traced
        and base.dtype.kind in "fc"
    ):
        return np.sqrt(base)
    return apply(POWER.bare, (base, exponent))


def _positive(x: Any) -> Any:
    if type(x) is not Traced:
        return +x
    if x.dtype.kind == "b":
        raise DTypeError("numpy.positive is not defined for booleans.")
    return x.copy()


def _float_power(x: Any, y: Any) -> Any:
    x = strong(x)
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    return power(x.astype(wide), y)


def _modf(x: Any) -> Any:
    x = strong(x)
    dtype = np.modf(np.zeros(0, x.dtype))[0].dtype
    x = x if x.dtype == dtype else x.astype(dtype)
    whole = np.trunc(x)
    return x - whole, whole


COMPOSED: dict[Any, Callable[..., Any]] = {
    np.power: power,
    np.float_power: _float_power,
    np.matmul: matmul,
    np.vecdot: vecdot,
    np.matvec: lambda a, b: matmul(a, b[..., None])[..., 0],
    np.vecmat: lambda a, b: matmul(np.conjugate(a)[..., None, :], b)[..., 0, :],
    np.positive: _positive,
    np.divmod: lambda x, y: (x // y, x % y),
    np.modf: _modf,
}
REDUCERS: dict[Any, Callable[..., Any]] = {
    np.add: sum_,
    np.multiply: prod,
    np.maximum: maximum_over,
    np.minimum: minimum_over,
    np.logical_and: all_,
    np.logical_or: any_,
}


def ufunc(function: Any, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """What `__array_ufunc__` does not do itself."""
    outputs = kwargs.pop("out", None)
    known = not (any_traced(inputs) or any_traced(kwargs.values()) or any_traced(outputs or ()))
    if known and outputs is None:
        if method == "at" and type(inputs[0]) is Traced:
            own_memory(inputs[0])
        return wrap_list(getattr(function, method)(*map(unwrap_all, inputs), **kwargs))
    if method == "at":
        return add_at(function, *inputs)
    result = _computed(function, method, inputs, kwargs)
    return result if outputs is None else _stored(function, result, outputs)


def _computed(function: Any, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
    if method == "reduce" and function in REDUCERS:
        options = {"axis": 0, **kwargs}
        places = dict(zip(("axis", "dtype", "out", "keepdims"), inputs[1:], strict=False))
        return REDUCERS[function](inputs[0], **{**options, **places})
    if method == "accumulate" and function is np.add:
        axis = inputs[1] if len(inputs) > 1 else kwargs.get("axis", 0)
        return cumsum(inputs[0], axis)
    if method == "outer" and len(inputs) == 2 and not kwargs:
        first = inputs[0]
        wide = np.reshape(first, (*np.shape(first), *(1,) * np.ndim(inputs[1])))
        return function(wide, inputs[1])
    if method != "__call__":
        raise UnsupportedFunctionError(
            f"{full_name(function)}.{method} is not supported on traced arrays yet."
        )
    mask, dtype = kwargs.pop("where", True), kwargs.pop("dtype", None)
    if mask is not True or set(kwargs) - {"casting", "order", "subok"}:
        raise UnsupportedFunctionError(
            f"{full_name(function)} on traced arrays does not support its arguments "
            f"{sorted({*kwargs, *(['where'] if mask is not True else [])})} yet."
        )
    result = call(function, inputs)
    return result if dtype is None else result.astype(dtype)


def call(function: Any, inputs: Any) -> Any:
    """A ufunc called plainly."""
    ours = COMPOSED.get(function)
    if ours is not None:
        return ours(*inputs)
    primitive = UFUNCS.get(function) or find_special(function)
    if primitive is None:
        raise UnsupportedFunctionError(
            f"{full_name(function)} is not supported on traced arrays yet. Write it with "
            f"functions that are, or give its "
            "derivative with ad.primitive."
        )
    return apply(primitive.bare, inputs)


def _stored(function: Any, result: Any, outputs: Any) -> Any:
    """Put results where `out=` says, as NumPy does."""
    (target,) = outputs
    if type(target) is not Traced:
        raise UnsupportedFunctionError(
            f"{full_name(function)} would write traced values into an array that was made outside "
            f"of the function (out=). "
            "Make it inside the function, or leave out= away."
        )
    return overwrite(target, result, f"out= of {function.__name__}")


protocols.UFUNC = ufunc
protocols.POWER = power
