"""`adjoint.numpy` whose makers return traced arrays, not NumPy's: what the official suite is given.

Every array of the suite is thus a slot of a trace; its values are computed when the suite asks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as _numpy

from adjoint.base.arrays import type_of
from adjoint.capture import Traced, current, from_slot
from adjoint.capture.numpy.array_api import NUMPY as _namespace
from adjoint.capture.recording.tracing.trace import Trace, enter, leave
from adjoint.capture.recording.tracing.traced import is_known, unwrap

__version__ = _numpy.__version__
_MAKERS = (
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
    "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
)  # fmt: skip


def begin() -> Trace:
    """Open a trace for the arrays of one test."""
    trace = Trace([], {}, ())
    enter(trace)
    return trace


end = leave


def traced(value: Any) -> Any:
    """An array as a slot of the trace that is open; arrays in a list or tuple too."""
    trace = current()
    if isinstance(value, (list, tuple)):
        return type(value)(traced(each) for each in value)
    if trace is None or not isinstance(value, (_numpy.ndarray, Traced)) or not is_known(value):
        return value
    array = unwrap(value)
    return from_slot(trace, trace.constant(array.copy(), type_of(array)))


def _making(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        return traced(function(*args, **kwargs))

    return make


def __getattr__(name: str) -> Any:
    value = getattr(_namespace, name)
    return _making(value) if name in _MAKERS else value


def __dir__() -> list[str]:
    return dir(_numpy)
