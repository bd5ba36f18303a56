"""NumPy's result and ours: one value, where both are of the same type, and a refusal where not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.errors import AdjointError, UnsupportedFunctionError
from adjoint.capture.recording.tracing.applying import apply_one
from adjoint.capture.recording.tracing.constants import rules_of
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.traced import (
    Traced,
    from_array,
    from_slot,
    is_known,
    postpone,
)
from adjoint.capture.recording.values.postponed import Postponed
from adjoint.primitives.elementwise.conversion import CAST, PYTHON_NUMBER
from adjoint.program import operation

_PLAIN: Final = frozenset({np.ndarray, np.memmap})
_PYTHON: Final = frozenset({float, int, complex, bool})


def agreed(expected: Any, result: Any, args: Sequence[Any]) -> Any:
    """Our result with NumPy's as its value; refused where they are of different types."""
    if type(expected) is Postponed:
        if _is_plainly(result, expected):
            postpone(result, expected)
            return result
        expected = expected.taken()
    kind = type(result)
    first = args[0] if args else None
    if type(expected) is np.ndarray and type(first) is Traced and first._value is expected:
        return first  # NumPy gives back what it was given
    if kind is Traced and result._state is None and result._value is None:
        type_, trace = type(expected), result._trace
        if trace is not None and (
            type_ is np.float64 or (type_ is np.ndarray and not _looks(expected))
        ):
            ours = trace.types[result._slot]  # the usual case of what follows
            if ours.dtype is expected.dtype and ours.shape == expected.shape and not ours.weak:
                result._value = expected
                return result
    if kind is Traced:
        return _agreed_array(expected, result, args)
    if isinstance(result, (tuple, list)) and type(expected) in (tuple, list, kind):
        if len(result) != len(expected):
            raise _differs(expected, result)
        parts = [agreed(e, r, args) for e, r in zip(expected, result, strict=True)]
        return getattr(kind, "_make", kind)(parts)
    if kind is type(expected) is np.ndarray and result.shape != expected.shape:
        return from_array(expected)
    return result


def _is_plainly(result: Any, expected: Postponed) -> bool:
    """Whether our result is a new array of the type that NumPy's will have."""
    if type(result) is not Traced or result._trace is None:
        return False
    if result._state is not None and result._state.base is not None:
        return False
    ours = result._trace.types[result._slot]
    return ours.dtype == expected.dtype and ours.shape == expected.shape and not ours.weak


def _looks(array: Any) -> bool:
    """Whether an array looks into the memory of another."""
    return array.base is not None


def _agreed_array(expected: Any, result: Traced, args: Sequence[Any]) -> Any:
    if is_known(result):
        return _lying(expected, result, args)
    if type(expected) is np.flatiter:
        result._value = expected
        return result
    result = _of_type(expected, result)
    if result._value is expected:
        return result
    if any(result is argument for argument in args):
        result = from_slot(result._trace, result._slot)  # type: ignore[arg-type]
    if type(expected) is np.ndarray:
        result = _sharing(expected, result, args)
    result._value = expected
    return result


def _lying(expected: Any, result: Traced, args: Sequence[Any]) -> Traced:
    """A known array that is new, in the order in memory that NumPy has given it."""
    value = result._value
    arrays = type(expected) is type(value) is np.ndarray
    if arrays and (value.shape, value.dtype) != (expected.shape, expected.dtype):
        return from_array(expected)
    new = arrays and expected.base is value.base is None
    differs = new and value.strides != expected.strides
    if differs and not any(result is argument for argument in args):
        result._value = np.empty_like(expected, value.dtype)
        np.copyto(result._value, value)
    return result


def _of_type(expected: Any, result: Traced) -> Traced:
    """The result with NumPy's dtype, or Python's type of number."""
    type_ = result.type
    if type(expected) in _PYTHON:
        if type_.dtype.kind == "u":  # Python has one type of whole numbers
            result = apply_one(operation(CAST, dtype=np.dtype(int)), result)
            type_ = result.type
        if not type_.weak and type_.dtype.kind in "fic":
            result = apply_one(PYTHON_NUMBER.bare, result)
            type_ = result.type
        if type_.shape or type_.dtype != np.dtype(type(expected)):
            raise _differs(expected, result)
        return result
    if getattr(expected, "shape", None) != type_.shape:
        raise _differs(expected, result)
    if expected.dtype != type_.dtype:
        if not _holds(type_.dtype, expected.dtype):
            raise _differs(expected, result)
        result = apply_one(operation(CAST, dtype=expected.dtype), result)
        type_ = result.type
    if isinstance(expected, np.ndarray) and type(expected) not in _PLAIN:
        raise rules_of(expected)
    if type_.weak:
        result = apply_one(operation(CAST, dtype=type_.dtype), result)
    return result


def _holds(dtype: Any, wanted: Any) -> bool:
    """Whether numbers of one dtype have all digits of another, in whichever order of bytes."""
    if dtype.newbyteorder("=") == wanted.newbyteorder("="):
        return True
    return dtype.kind == wanted.kind and dtype.kind in "fc" and dtype.itemsize > wanted.itemsize


def _sharing(expected: Any, result: Traced, args: Sequence[Any]) -> Traced:
    """The result as a view where NumPy's is one, and as a copy where it is none."""
    state = result._state
    base = None if state is None else state.base
    if base is not None:
        while base._state is not None and base._state.base is not None:
            base = base._state.base
        memory = base._value
        if memory is not None and not _shares(expected, memory):
            return from_slot(result._trace, result._slot)  # type: ignore[arg-type]
    elif expected.base is not None:
        for argument in args:
            if type(argument) is Traced and _shares(expected, argument._value):
                hooks.alias(argument, result)
    return result


def _shares(one: Any, other: Any) -> bool:
    return type(other) is np.ndarray and np.may_share_memory(one, other)


def _differs(expected: Any, result: Any) -> AdjointError:
    recorded = f"traced {result.type}" if type(result) is Traced else type(result).__name__
    dtype, shape = getattr(expected, "dtype", type(expected).__name__), np.shape(expected)
    return UnsupportedFunctionError(
        f"NumPy gives a {type(expected).__name__} of dtype {dtype} and shape {shape} here, and its "
        f"record would be a {recorded}. Write this operation in another way, or give it as a "
        "function of its own with ad.primitive."
    )
