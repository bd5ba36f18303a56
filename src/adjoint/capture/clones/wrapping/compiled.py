"""Functions that numba has compiled, which keep the Python source that they were made of.

The source is entered in their place, if it gives what they give: both are asked, with the values
at hand. Nothing of numba is imported.
"""

from __future__ import annotations

import copy
import types
from typing import Any, Final

import numpy as np

from adjoint.base.errors import AdjointError, UnsupportedFunctionError
from adjoint.capture.clones.entering.users import is_users
from adjoint.capture.clones.stand_ins.classes import BUILTINS
from adjoint.capture.numpy.table import full_name
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import note_effect, note_entered
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.recording.values.valued import AFTER_ERROR, Unvalued, any_slot, plain, refuse

# How near values must be, relative to the largest entry; of numbers of 4 bytes the second.
_DOUBLE: Final = 1e-9
_SINGLE: Final = 1e-4


def source_of(value: Any) -> types.FunctionType | None:
    """The Python function that a compiled one was made of, if that is code which is entered."""
    if not (type(value).__module__ or "").startswith("numba."):
        return None
    source = getattr(value, "py_func", None)
    return source if type(source) is types.FunctionType and is_users(source) else None


class Sourced:
    """What is called in the place of a compiled function."""

    __slots__ = ("__wrapped__", "source")

    def __init__(self, compiled: Any, source: types.FunctionType) -> None:
        self.__wrapped__ = compiled
        self.source = source

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The compiled function's value, or for traced arguments what its source records."""
        try:
            values, named = plain(args), plain(kwargs)
        except Unvalued:
            raise self._refused(
                "was called where an array stands for many values (as inside vmap), so that it "
                "cannot be asked whether its Python source gives the same"
            ) from None
        if not any_slot(args) and not any_slot(kwargs):
            return self.__wrapped__(*values, **named)
        values, named = copy.deepcopy((values, named))  # which it may write into
        try:
            expected = self.__wrapped__(*values, **named)
        except Exception:  # its own, as without us
            note_effect(AFTER_ERROR)
            raise
        note_entered(self.source.__code__)
        try:
            result = hooks.rebind(self.source)(*args, **kwargs)
        except AdjointError:
            raise
        except Exception as error:
            raise self._refused(
                f"gives a value, and its Python source raised {type(error).__name__}: "
                f"{str(error).rstrip('.')}"
            ) from error
        if not _alike((expected, values, named), _values((result, args, kwargs))):
            raise self._refused("gives other values than its Python source")
        single = type(expected) is float and type(result) is not float
        return BUILTINS["float"](result) if single else result

    def _refused(self, what: str) -> UnsupportedFunctionError:
        refusal = UnsupportedFunctionError(
            f"{full_name(self.source)}, compiled by numba, {what}. Give its derivative with "
            "ad.primitive, or call its source, which is its attribute py_func, if that is meant."
        )
        refuse(refusal)
        return refusal

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)


def _values(result: Any) -> Any:
    try:
        return plain(result)
    except Unvalued:
        return Traced


def _alike(one: Any, other: Any) -> bool:
    """Whether values are the same but for rounding."""
    if isinstance(one, (tuple, list)):
        return (
            isinstance(other, (tuple, list))
            and len(one) == len(other)
            and all(map(_alike, one, other))
        )
    if isinstance(one, dict):
        return isinstance(other, dict) and all(
            [name in other and _alike(one[name], other[name]) for name in one]
        )
    if not isinstance(one, (np.ndarray, np.generic, int, float, complex)):
        return type(one) is type(other)
    if not isinstance(other, (np.ndarray, np.generic, int, float, complex)):
        return False
    return _near(np.asarray(one), np.asarray(other))


def _near(one: Any, other: Any) -> bool:
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return False
    if one.shape and one.dtype != other.dtype:
        return False
    kind = one.dtype
    if kind.kind not in "fc":
        return bool(np.array_equal(one, other))
    single = kind.itemsize < (8 if kind.kind == "f" else 16)
    digits = _SINGLE if single else _DOUBLE
    finite = np.abs(one[np.isfinite(one)])
    largest = float(np.max(finite, initial=0.0))
    return bool(np.allclose(other, one, rtol=digits, atol=digits * largest, equal_nan=True))
