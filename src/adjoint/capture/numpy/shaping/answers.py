"""NumPy's functions whose results carry no derivative: truth, counts, types, text.

What can be recorded is, so that it works for the many values of `vmap` too; the rest is asked of
the values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.numpy.table import as_array, implements, stored
from adjoint.capture.recording.memory.views import depends_on_layout
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced, is_cell, is_known, unwrap, value_of

_function: Any


def of_values(function: Any) -> Any:
    """A function that is asked of the values so far."""

    def ours(*args: Any, **kwargs: Any) -> Any:
        plain = {name: _concrete_all(value) for name, value in kwargs.items()}
        return function(*map(_concrete_all, args), **plain)

    return ours


def _concrete_all(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_concrete_all, value))
    return unwrap(value) if is_known(value) else concrete(value)


for _function in (
    np.array2string,
    np.array_equiv,
    np.array_repr,
    np.array_str,
    np.base_repr,
    np.binary_repr,
    np.format_float_positional,
    np.format_float_scientific,
    np.info,
    np.min_scalar_type,
    np.packbits,
    np.unpackbits,
):
    implements(_function)(of_values(_function))


def of_shapes(function: Any) -> Any:
    """A function that looks at shapes and dtypes alone."""

    def ours(*args: Any, **kwargs: Any) -> Any:
        plain = {name: _stand_in(value) for name, value in kwargs.items()}
        return function(*map(_stand_in, args), **plain)

    return ours


def _stand_in(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_stand_in, value))
    return np.empty(value.shape, value.dtype) if type(value) is Traced else value


for _function in (
    np.can_cast,
    np.common_type,
    np.diag_indices_from,
    np.einsum_path,
    np.tril_indices_from,
    np.triu_indices_from,
):
    implements(_function)(of_shapes(_function))


def of_memory(function: Any) -> Any:
    """A function that looks at where arrays lie in memory: the values lie as NumPy's would."""

    def ours(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_in_memory, args), **{n: _in_memory(x) for n, x in kwargs.items()})

    return ours


def _in_memory(value: Any) -> Any:
    if type(value) is not Traced:
        return value
    array = value_of(value)
    if array is None:
        raise UnsupportedFunctionError(
            "Where an array lies in memory was asked for in a function that runs for many arrays "
            "at once (inside vmap, or in the body of a loop), each of which lies in its own way."
        )
    depends_on_layout(value)
    return array


for _function in (np.isfortran, np.may_share_memory, np.shares_memory):
    implements(_function)(of_memory(_function))


# Sizes and shapes: NumPy's own, of the integers that are traced.
for _function in (
    np.broadcast_shapes,
    np.diag_indices,
    np.empty,
    np.eye,
    np.identity,
    np.indices,
    np.mask_indices,
    np.ones,
    np.tri,
    np.tril_indices,
    np.triu_indices,
    np.zeros,
):
    implements(_function)(of_values(_function))


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    """Where an imaginary part is not zero."""
    x = as_array(x)
    return x.imag != 0 if x.dtype.kind == "c" else np.zeros(x.shape, bool)[()]


def _infinite(bound: float) -> Any:
    def function(x: Any, out: Any = None) -> Any:
        x = as_array(x)
        if x.dtype.kind == "c":
            raise TypeError(
                "This operation is not supported for complex128 values because it "
                "would be ambiguous."
            )
        return stored("numpy.isposinf", x == bound, out)

    return function


implements(np.isposinf)(_infinite(np.inf))
implements(np.isneginf)(_infinite(-np.inf))


@implements(np.isscalar)
def isscalar(element: Any) -> bool:
    """Whether it is a number, and no array."""
    return element.ndim == 0 and not is_cell(element)


@implements(np.iterable)
def iterable(y: Any) -> bool:
    """Whether it has entries to go through."""
    return not isinstance(y, Traced) or y.ndim > 0
