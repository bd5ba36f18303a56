"""Ufuncs on traced arrays beyond the plain call of a primitive.

Their arguments, powers, and those that are composed; their methods are in `ufunc_methods.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from adjoint.base.errors import DTypeError, ShapeError, UnsupportedFunctionError
from adjoint.capture.numpy.indexing.selected import Selected
from adjoint.capture.numpy.linalg.products import matmul, vecdot
from adjoint.capture.numpy.making.values import clipped
from adjoint.capture.numpy.shaping.shape import moveaxis
from adjoint.capture.numpy.table import (
    any_traced,
    as_array,
    as_operand,
    full_name,
    normal_axis,
    perform,
    refused,
    strong,
    unwrap_all,
    wrap_list,
)
from adjoint.capture.recording.memory.views import as_cell, overwrite, own_memory
from adjoint.capture.recording.tracing.applying import apply, apply_one
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.traced import Traced, is_cell
from adjoint.capture.recording.values.containers import Filled
from adjoint.capture.recording.values.recipes import has_recipes
from adjoint.capture.recording.values.valued import beside, recording_for, refusing, writing
from adjoint.primitives import UFUNCS, find_special
from adjoint.primitives.elementwise.arithmetic import INTEGER_POWER, POWER, SQUARE
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.program import operation

METHODS: dict[str, Callable[..., Any]] = {}
_PYTHON_TYPES = {"f": float, "i": int, "c": complex, "b": bool}


def power(base: Any, exponent: Any) -> Any:
    """base ** exponent: an integer exponent is part of the program, a float is data."""
    if type(exponent) is int and exponent == 2 and type(base) is Traced:
        return apply_one(SQUARE.bare, base)
    if (
        isinstance(exponent, (int, np.integer))
        and not isinstance(exponent, bool)
        and type(base) is Traced
    ):
        if isinstance(exponent, np.integer):
            # A NumPy integer counts in promotions: float32 ** int64 is float64.
            dtype = np.result_type(_promoted(base), exponent.dtype)
            base = base if base.dtype == dtype else base.astype(dtype)
        if exponent == 2:
            return apply_one(SQUARE.bare, base)
        return apply(operation(INTEGER_POWER, exponent=int(exponent)), (base,))
    if isinstance(exponent, float) and type(base) is Traced and base.dtype.kind in "fc":
        if exponent == 0.5:
            return np.sqrt(base)
        if exponent == 2.0:
            return np.square(base)
    return apply(POWER.bare, (base, exponent))


def _positive(x: Any) -> Any:
    if type(x) is not Traced:
        return +x
    if x.dtype.kind == "b":
        raise DTypeError("numpy.positive is not defined for booleans.")
    return x.copy()


def _float_power(x: Any, y: Any) -> Any:
    """The power in double precision at least."""
    wide = np.float_power.resolve_dtypes((_promoted(x), _promoted(y), None))[0]
    return power(*(as_array(operand).astype(wide) for operand in (x, y)))


def _modf(x: Any) -> Any:
    x = strong(x)
    dtype = np.modf(np.zeros(0, x.dtype))[0].dtype
    x = x if x.dtype == dtype else x.astype(dtype)
    whole, infinite = np.trunc(x), np.isinf(x)
    finite = np.where(infinite, x.dtype.type(0), x)
    rest = finite - np.trunc(finite)  # of an infinity it is a zero of its sign
    return np.where(infinite, np.copysign(x.dtype.type(0), x), rest), whole


def _matvec(a: Any, b: Any) -> Any:
    return matmul(a, as_array(b)[..., None])[..., 0]


def _vecmat(a: Any, b: Any) -> Any:
    return matmul(np.conjugate(as_array(a))[..., None, :], b)[..., 0, :]


COMPOSED: dict[Any, Callable[..., Any]] = {
    np.power: power,
    np.float_power: _float_power,
    np.matmul: matmul,
    np.vecdot: vecdot,
    np.matvec: _matvec,
    np.vecmat: _vecmat,
    np.positive: _positive,
    np.divmod: lambda x, y: (x // y, x % y),
    np.modf: _modf,
}


def ufunc(function: Any, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """A ufunc, or a method of one, of traced arrays."""
    kinds = {*map(type, inputs)}
    if Selected in kinds or Filled in kinds:
        return NotImplemented  # it is asked next
    outputs = kwargs.pop("out", None)
    if not any_traced((*inputs, *kwargs.values(), outputs)):
        return _of_known(function, method, inputs, kwargs, outputs)
    if method == "__call__" and outputs is None and not kwargs:
        return beside(function, _ours_of(function), inputs, {})
    targets = outputs if isinstance(outputs, tuple) else (outputs,)
    written = [target for target in targets if type(target) is Traced]
    if method == "at" and type(inputs[0]) is Traced:
        written = [inputs[0]]

    def ours(*inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__":
            return called(function, inputs, kwargs.pop("out", None), **kwargs)
        return METHODS[method](function, *inputs, out=kwargs.pop("out", None), **kwargs)

    if outputs is not None:
        kwargs["out"] = outputs
    theirs = _theirs(function, method, kwargs)
    if any(isinstance(target, np.ndarray) for target in targets):
        with refusing(), recording_for(inputs, kwargs):
            return ours(*inputs, **kwargs)  # refused, before NumPy has written
    if written:
        return writing(written, theirs, ours, inputs, kwargs)
    return beside(theirs, ours, inputs, kwargs)


@lru_cache(maxsize=1024)
def _ours_of(function: Any) -> Callable[..., Any]:
    """How a plain call of a ufunc is recorded."""
    if function is np.matmul:
        return lambda *inputs: hooks.matmul(*inputs)  # filled in when all is imported
    primitive = UFUNCS.get(function) or find_special(function)
    if primitive is not None and function not in COMPOSED:
        bare = primitive.bare
        return lambda *inputs: apply(bare, inputs)
    return has_recipes(lambda *inputs: called(function, inputs))


def _theirs(function: Any, method: str, kwargs: dict[str, Any]) -> Callable[..., Any]:
    """NumPy's own; entries that `where` leaves out, which it leaves undefined, are zeros."""
    theirs: Callable[..., Any] = getattr(function, method)
    if method != "__call__" or kwargs.get("where", True) is True:
        return theirs

    def defined(*inputs: Any, where: Any, out: Any = None, **kwargs: Any) -> Any:
        result = theirs(*inputs, where=where, out=out, **kwargs)
        if out is None or out is Ellipsis:
            for part in result if isinstance(result, tuple) else (result,):
                if isinstance(part, np.ndarray):
                    np.copyto(part, 0, where=np.logical_not(where))
        return result

    return defined


def _of_known(function: Any, method: str, inputs: Any, kwargs: dict[str, Any], outputs: Any) -> Any:
    """A ufunc of arrays that are all known: NumPy's own."""
    plain = {name: unwrap_all(value) for name, value in kwargs.items()}
    if method == "at" and type(inputs[0]) is Traced:
        own_memory(inputs[0])
    if outputs is not None:
        targets = outputs if isinstance(outputs, tuple) else (outputs,)
        plain["out"] = tuple(own_memory(t) if type(t) is Traced else t for t in targets)
        if outputs is Ellipsis:
            plain["out"] = outputs
    result = getattr(function, method)(*map(unwrap_all, inputs), **plain)
    if outputs is None or outputs is Ellipsis:
        return wrap_list(result)
    results = result if isinstance(result, tuple) else (result,)
    results_there = tuple(
        wrap_list(r) if t is None else t for r, t in zip(results, targets, strict=True)
    )
    return results_there if isinstance(result, tuple) else results_there[0]


def called(
    function: Any,
    inputs: Any,
    outputs: Any = None,
    *,
    where: Any = True,
    dtype: Any = None,
    signature: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
    **axes: Any,
) -> Any:
    """A ufunc called, with all the arguments that NumPy's take.

    Entries that `where` leaves out and that have no `out` are not defined in NumPy; here they
    are zeros.
    """
    inputs = [as_operand(operand) for operand in inputs]
    targets = outputs if isinstance(outputs, tuple) else (outputs,) * function.nout
    if (
        dtype is not None
        or signature is not None
        or casting != "same_kind"
        or any(target is not None and target is not Ellipsis for target in targets)
    ):
        loop = _loop(function, inputs, targets, dtype, signature, casting)
        inputs = [_cast(operand, to) for operand, to in zip(inputs, loop, strict=False)]
        results = _tuple(_over_axes(function, inputs, axes))
        results = [_cast(r, to) for r, to in zip(results, loop[function.nin :], strict=True)]
    else:
        results = list(_tuple(_over_axes(function, inputs, axes)))
    if function.signature is not None and where is not True:
        raise TypeError(f"{full_name(function)} takes no 'where'")
    stored_results = [
        _put(function, result, target, where)
        for result, target in zip(results, targets, strict=True)
    ]
    return stored_results[0] if function.nout == 1 else tuple(stored_results)


def _tuple(value: Any) -> Any:
    return value if isinstance(value, tuple) else (value,)


def _promoted(value: Any) -> Any:
    """What an operand is in NumPy's promotion of dtypes: Python's numbers are weak."""
    if type(value) is Traced:
        return _PYTHON_TYPES[value.dtype.kind] if value.type.weak else value.dtype
    if type(value) in (float, int, complex):
        return type(value)
    return np.asarray(value).dtype


def _loop(
    function: Any, inputs: Any, targets: Any, dtype: Any, signature: Any, casting: str
) -> tuple[Any, ...]:
    """The dtypes that NumPy would compute in; its own error where there is no such loop."""
    if dtype is not None:
        if signature is not None:
            raise TypeError("cannot specify both 'signature' and 'dtype'")
        signature = (*[None] * function.nin, *[np.dtype(dtype)] * function.nout)
    if signature is None:
        signature = (None,) * function.nargs
    wanted = [
        target.dtype if isinstance(target, (Traced, np.ndarray)) else None for target in targets
    ]
    given = [_promoted(operand) for operand in inputs]
    dtypes = function.resolve_dtypes((*given, *wanted), signature=signature, casting=casting)
    return dtypes  # type: ignore[no-any-return]


def _cast(value: Any, dtype: Any) -> Any:
    if type(value) is not Traced:
        return np.asarray(value, dtype)[()]
    return value if value.dtype == dtype and not value.type.weak else value.astype(dtype)


def _put(function: Any, result: Any, target: Any, where: Any) -> Any:
    """A result under a mask, put where `out=` says, as NumPy does."""
    name = full_name(function)
    if target is not None and target is not Ellipsis and type(target) is not Traced:
        raise UnsupportedFunctionError(
            f"{name} would write traced values into an array that was made outside "
            f"of the function (out=). Make it inside the function, or leave out= away."
        )
    if type(target) is Traced and not target.ndim and not is_cell(target):
        raise TypeError(f"{name}: out must be an array, and is a number.")
    if where is not True:
        mask = as_array(where)
        if mask.dtype.kind != "b":
            raise DTypeError(
                f"{name}: `where` must be boolean, and is of dtype {mask.dtype}; casting it is "
                "not safe."
            )
        if type(target) is Traced:
            shape = np.broadcast_shapes(mask.shape, np.shape(result))
            if np.broadcast_shapes(shape, target.shape) != target.shape:
                raise ShapeError(
                    f"non-broadcastable output operand with shape {target.shape} doesn't match "
                    f"the broadcast shape {shape}"
                )
        past = target if type(target) is Traced else result.dtype.type(0)
        result = perform(SELECT, mask, result, past)
    if target is Ellipsis:
        return as_cell(result)
    return result if target is None else overwrite(target, result, f"out= of {function.__name__}")


def call(function: Any, inputs: Any) -> Any:
    """A ufunc called plainly."""
    ours = COMPOSED.get(function)
    if ours is None and function.__name__ == "clip":  # what x.clip() of NumPy's arrays calls
        ours = clipped
    if ours is not None:
        return ours(*inputs)
    primitive = UFUNCS.get(function) or find_special(function)
    if primitive is None:
        raise refused(function)
    return apply(primitive.bare, inputs)


# --- generalised ufuncs: products along axes ------------------------------------------------------


def _over_axes(function: Any, inputs: Any, options: dict[str, Any]) -> Any:
    """A ufunc; where it is generalised, along the axes that `axes`, `axis` and `keepdims` name."""
    named = "keepdims" in options
    keepdims = options.pop("keepdims", False)
    axes, axis = (options.pop(name, None) for name in ("axes", "axis"))
    if options:
        raise TypeError(f"{function.__name__}() got an unexpected keyword argument {min(options)}")
    if axes is axis is None and not named:
        return call(function, inputs)
    if function.signature is None:
        raise TypeError(f"{function.__name__}() takes no axes: it works entry by entry.")
    cores = [len(part.split(",")) if part else 0 for part in _cores(function.signature)]
    simple = cores[-1] == 0 and set(cores[:-1]) == {1}
    if named and not simple:
        raise TypeError(f"{function.__name__} does not support keepdims: its signature forbids it.")
    if axis is not None:
        if axes is not None:
            raise TypeError("cannot specify both 'axis' and 'axes'")
        if not simple:
            raise TypeError(
                f"{function.__name__}: axis can only be used with a single shared core dimension"
            )
        axes = [(axis,), (axis,), (axis,) if keepdims else ()]
    return _moved(function, [as_array(operand) for operand in inputs], axes, cores, keepdims)


def _cores(signature: str) -> list[str]:
    left, _, right = signature.partition("->")
    return [part.strip("()") for part in (*left.split("),"), right)]


def _moved(function: Any, inputs: Any, axes: Any, cores: list[int], keepdims: bool) -> Any:
    """A generalised ufunc of operands whose core axes were moved last, and the result's back."""
    if axes is None:
        axes = [(-1,), (-1,), (-1,) if keepdims else ()]
    if not isinstance(axes, list):
        raise TypeError("axes should be a list")
    named = [axis if isinstance(axis, tuple) else (axis,) for axis in axes]
    core = 1 if keepdims else cores[-1]
    if function is np.matmul:
        core -= sum(np.ndim(x) == 1 for x in inputs)
    if len(named) == len(inputs) and cores[-1] == 0:
        named.append((-1,) if keepdims else ())
    if len(named) != len(inputs) + 1:
        raise ValueError("axes should be a list with an entry for all inputs and outputs")
    for number, entry in enumerate(named):
        last = number == len(inputs)
        expected = core if last else min(cores[number], np.ndim(inputs[number]))
        if len(entry) != expected:
            raise ValueError(f"axes item {number} should be a tuple with {expected} entries")
    operands = [
        moveaxis(x, entry, tuple(range(-len(entry), 0)))
        for x, entry in zip(inputs, named, strict=False)
    ]
    result = call(function, operands)
    result = result[..., None] if keepdims else result
    place = named[-1]
    for axis in place:
        normal_axis(axis, np.ndim(result))
    return moveaxis(result, tuple(range(-len(place), 0)), place) if place else result
