"""NumPy's functions that make arrays from numbers, ranges and windows, and take numbers apart."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np

from adjoint.base.errors import DroppedDerivativeError
from adjoint.capture.numpy.making.values import array, astype
from adjoint.capture.numpy.operations.ufuncs import COMPOSED
from adjoint.capture.numpy.table import as_array, as_operand, implements, perform, strong
from adjoint.capture.recording.exits.escape import carries_derivative
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced
from adjoint.capture.recording.values.valued import beside, users_code
from adjoint.primitives import find_special
from adjoint.primitives.elementwise.floating import EXPONENT


@implements(np.arange)
def arange(
    start: Any, stop: Any = None, step: Any = None, dtype: Any = None, **arguments: Any
) -> Any:
    """Evenly spaced numbers: values decide how many, which move with the start and the step."""
    parts = (start, stop, step)
    if not any(type(part) is Traced and part.type.inexact for part in parts):
        return np.arange(*_plain(parts), dtype=dtype, **arguments)
    known = np.arange(*_plain(parts))
    first = 0 if stop is None else as_operand(start)
    result = first + (1 if step is None else as_operand(step)) * np.arange(len(known))
    return astype(as_array(result), known.dtype if dtype is None else dtype)


def _plain(parts: Any) -> list[Any]:
    values = [concrete(part) for part in parts]
    while values[-1] is None:
        values.pop()
    return values


@implements(np.fromiter)
def fromiter(iter: Any, dtype: Any, count: int = -1, **_: Any) -> Any:
    """An array of the numbers that an iterator gives."""
    with users_code():
        values = list(iter)
        if count >= 0:
            if len(values) < count:
                raise ValueError(
                    f"iterator too short: Expected {count} but iterator had only {len(values)} "
                    "items."
                )
            values = values[:count]
        return beside(partial(np.fromiter, dtype=dtype), partial(array, dtype=dtype), (values,), {})


# --- windows --------------------------------------------------------------------------------------


def _window(original: Any) -> Any:
    def window(M: Any) -> Any:
        if carries_derivative(M):
            raise DroppedDerivativeError(
                f"numpy.{original.__name__} takes a number of points; that of a traced "
                f"{M.type} would lose its derivative. Make it an integer: int(M)."
            )
        return original(concrete(M))

    return window


for _function in (np.bartlett, np.blackman, np.hamming, np.hanning):
    implements(_function)(_window(_function))


@implements(np.kaiser)
def kaiser(M: Any, beta: Any) -> Any:
    """The Kaiser window of M points, differentiable in its shape beta."""
    count = operator.index(M) if not isinstance(M, float) else int(np.ceil(M))
    if count <= 1:
        return np.ones(max(count, 0))
    beta = astype(strong(beta), float)
    half = (M - 1) / 2.0
    heights = np.sqrt(1 - ((np.arange(count) - half) / half) ** 2.0)
    return i0(beta * heights) / i0(beta)


@implements(np.i0)
def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind, of order 0."""
    from scipy import special  # loaded when first needed: importing adjoint must stay quick

    x = as_array(strong(x))
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    x = x if x.dtype.kind == "f" else astype(x, float)
    find_special(special.i0)
    return special.i0(x)


# --- numbers taken apart --------------------------------------------------------------------------


def _frexp(x: Any) -> Any:
    x = strong(x)
    exponent = perform(EXPONENT, x)
    return np.ldexp(x, -exponent), exponent


COMPOSED[np.frexp] = _frexp
