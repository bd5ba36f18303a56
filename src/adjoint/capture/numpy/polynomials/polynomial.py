"""Values of polynomials by their coefficients: numpy.polynomial.polynomial.polyval and its like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import polynomial

from adjoint.capture.numpy.polynomials.series import recurrence
from adjoint.capture.numpy.table import as_array, as_operand, implements
from adjoint.spaces.polynomials.bases import KINDS


def _rows(numbers: Any, points: Any, tensor: bool) -> Any:
    """Coefficients along the first axis, ready to be broadcast against points."""
    rows = as_array(numbers)
    rows = np.reshape(rows, rows.shape or (1,))
    rows = rows if rows.dtype.kind in "fc" else rows.astype(float)
    return np.reshape(rows, rows.shape + (1,) * np.ndim(points)) if tensor else rows


def _values(kind: Any) -> Callable[..., Any]:
    def values(x: Any, c: Any, tensor: bool = True) -> Any:
        points = as_operand(x)
        return recurrence(kind, _rows(c, points, tensor), points)

    return values


for _kind in KINDS:
    implements(_kind._val)(_values(_kind))


@implements(polynomial.polyvalfromroots)
def polyvalfromroots(x: Any, r: Any, tensor: bool = True) -> Any:
    """The product of x - r over the first axis of the roots r."""
    points = as_operand(x)
    if not tensor and np.ndim(points) >= np.ndim(r):
        raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return np.prod(points - _rows(r, points, tensor), axis=0)
