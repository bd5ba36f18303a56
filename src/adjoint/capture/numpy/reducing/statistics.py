"""NumPy's weighted means, covariances and correlations."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.errors import WeightsError
from adjoint.capture.numpy.indexing.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy.linalg.products import matmul
from adjoint.capture.numpy.making.values import astype
from adjoint.capture.numpy.reducing.reduce import mean, sum_
from adjoint.capture.numpy.shaping.shape import concatenate, diagonal, reshaped, spread
from adjoint.capture.numpy.table import as_array, implements, normal_axis
from adjoint.capture.recording.effects.value_errors import suppose
from adjoint.capture.recording.tracing.traced import is_known, unwrap


@implements(np.average)
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = np._NoValue,
) -> Any:
    """The weighted mean."""
    a = as_array(a)
    if axis is not None:
        axis = tuple(normal_axis(n, a.ndim) for n in (axis if np.iterable(axis) else (axis,)))
        if len(set(axis)) < len(axis):
            raise ValueError("repeated axis in `axis` argument")
    if weights is None:
        averages = mean(a, axis, keepdims=keepdims)
        total: Any = averages.dtype.type(a.size / np.size(averages))
    else:
        w = _weights(as_array(weights), a, axis)
        dtype = np.result_type(a.dtype, w.dtype, *([] if a.dtype.kind not in "biu" else ["f8"]))
        total = sum_(w, axis, dtype, keepdims=keepdims)
        if is_known(total) and np.any(unwrap(total) == 0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        suppose(total != 0)
        averages = sum_(astype(a, dtype) * astype(w, dtype), axis, keepdims=keepdims) / total
    if not returned:
        return averages
    return averages, spread(as_array(total), np.shape(averages)).copy()[()]


def _weights(w: Any, a: Any, axis: Any) -> Any:
    """Weights in a shape that broadcasts against the array's."""
    if w.shape == a.shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.shape != tuple(a.shape[n] for n in axis):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    w = permute_plain(w, tuple(int(n) for n in np.argsort(axis)))
    return reshape_plain(w, tuple(m if n in axis else 1 for n, m in enumerate(a.shape)))


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariance matrix of variables in rows."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m = as_array(m)
    given = [m] if y is None else [m, as_array(y)]
    if any(array.ndim > 2 for array in given):
        raise ValueError("m has more than 2 dimensions")
    if dtype is None:
        dtype = np.result_type(*(array.dtype for array in given), float)
    rows = _rows(m, dtype, not rowvar and m.ndim != 1)
    if rows.shape[0] == 0:
        return np.zeros((0, 0))
    if y is not None:
        more = _rows(given[1], dtype, False)
        more = permute_plain(more, (1, 0)) if not rowvar and more.shape[0] != 1 else more
        rows = concatenate([rows, more])
    ddof = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        factor: Any = rows.shape[1] - ddof
        off = rows - mean(rows, 1, keepdims=True)
        other = off
    else:
        w, factor = _weighting(rows.shape[1], fweights, aweights, ddof)
        off = rows - average(rows, 1, w, keepdims=True)
        other = off * w
    if not is_known(factor):
        inverse: Any = np.where(factor > 0, 1 / factor, np.inf)
    elif unwrap(factor) <= 0:
        inverse = np.inf
    else:
        inverse = 1 / factor
    result = matmul(off, np.conjugate(other.T))
    result = astype(result * inverse, result.dtype, copy=False)
    return reshaped(result, ()) if result.shape == (1, 1) else result


def _rows(a: Any, dtype: Any, turned: bool) -> Any:
    a = astype(reshape_plain(a, (1, a.size)) if a.ndim < 2 else a, dtype)
    return permute_plain(a, (1, 0)) if turned else a


def _weighting(count: int, fweights: Any, aweights: Any, ddof: Any) -> tuple[Any, Any]:
    """The weights of observations, and what their weighted squares are divided by."""
    frequencies = None if fweights is None else np.asarray(fweights, dtype=float)
    importance = None if aweights is None else astype(as_array(aweights), float)
    for name, weights in (("fweights", frequencies), ("aweights", importance)):
        if weights is None:
            continue
        if weights.ndim > 1:
            raise WeightsError(f"cannot handle multidimensional {name}")
        if weights.shape[0] != count:
            raise WeightsError(f"incompatible numbers of samples and {name}")
        if is_known(weights) and np.any(unwrap(weights) < 0):
            raise ValueError(f"{name} cannot be negative")
    if frequencies is not None and not np.all(frequencies == np.around(frequencies)):
        raise TypeError("fweights must be integer")
    if importance is None:
        w: Any = frequencies
    else:
        w = importance if frequencies is None else importance * frequencies
    total = sum_(w)
    if ddof == 0:
        return w, total
    if importance is None:
        return w, total - ddof
    return w, total - ddof * sum_(w * importance) / total


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: Any = True, *, dtype: Any = None) -> Any:
    """The matrix of correlation coefficients."""
    c = cov(x, y, rowvar, dtype=dtype)
    if np.ndim(c) == 0:
        return c / c
    deviations = np.sqrt(diagonal(c).real)
    return c / deviations[:, None] / deviations[None, :]
