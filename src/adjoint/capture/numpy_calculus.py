"""NumPy's functions of grids, differences, polynomials and statistics, made of simpler ones."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
from adjoint.capture.indexing import permute_plain, reshape_plain
from adjoint.capture.numpy_products import matmul
from adjoint.capture.numpy_reduce import maximum_over, mean, sum_
from adjoint.capture.numpy_shape import concatenate, diagonal, moveaxis, ravelled, reshaped, spread
from adjoint.capture.numpy_values import astype, sort
from adjoint.capture.table import as_array, as_operand, implements, normal_axis, perform, strong
from adjoint.capture.traced import concrete
from adjoint.primitives.conversion import STOP_GRADIENT

# --- grids ----------------------------------------------------------------------------------------


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Evenly spaced numbers, differentiable in both ends."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = as_operand(start) * 1.0, as_operand(stop) * 1.0
    steps = num - 1 if endpoint else num
    delta = stop - start
    shape = np.shape(delta)
    places = np.arange(num).astype(delta.dtype).reshape(-1, *(1,) * len(shape))
    result = start + places * (delta / max(steps, 1))
    if endpoint and num > 1:  # the last is the end itself, without rounding
        last = np.arange(num).reshape(places.shape) == num - 1
        result = np.where(last, stop, result)
    if axis:
        result = moveaxis(result, 0, axis)
    if dtype is not None:
        result = astype(result, dtype)
    return (result, delta / steps if steps > 0 else delta * np.nan) if retstep else result


@implements(np.geomspace)
def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    """Numbers evenly spaced in their logarithms, between positive ends."""
    return np.exp(linspace(np.log(start), np.log(stop), num, endpoint))


@implements(np.logspace)
def logspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0) -> Any:
    """Powers of the base with evenly spaced exponents."""
    return np.power(base, linspace(start, stop, num, endpoint))


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinate arrays."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    axes = [ravelled(as_operand(x)) for x in xi]
    order = list(range(len(axes)))
    if indexing == "xy" and len(axes) > 1:
        order[:2] = [1, 0]
    shape = [0] * len(axes)
    for place, x in zip(order, axes, strict=True):
        shape[place] = x.shape[0]
    found = []
    for place, x in zip(order, axes, strict=True):
        own = tuple(x.shape[0] if n == place else 1 for n in range(len(axes)))
        wide = reshape_plain(x, own)
        found.append(np.positive(wide if sparse else spread(wide, tuple(shape))))
    return tuple(found)


# --- differences and integrals --------------------------------------------------------------------


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezium rule."""
    y = as_operand(y)
    axis = normal_axis(axis, y.ndim)
    lead = (slice(None),) * axis
    if x is None:
        width = dx
    else:
        x = as_operand(x)
        if np.ndim(x) == 1:
            width = x[1:] - x[:-1]
            width = reshape_plain(width, (*width.shape, *(1,) * (y.ndim - axis - 1)))
        else:
            width = x[(*lead, slice(1, None))] - x[(*lead, slice(None, -1))]
    ends = y[(*lead, slice(1, None))] + y[(*lead, slice(None, -1))]
    return sum_(width * ends / 2.0, axis)


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in the flattened array."""
    flat = ravelled(as_operand(ary))
    parts = [part for part in (to_begin, flat[1:] - flat[:-1], to_end) if part is not None]
    return concatenate([astype(ravelled(as_array(part)), flat.dtype) for part in parts])


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones at the ends."""
    f = as_operand(f)
    axes = tuple(range(f.ndim)) if axis is None else tuple(np.atleast_1d(axis).tolist())
    axes = tuple(normal_axis(each, f.ndim) for each in axes)
    steps = varargs or (1.0,)
    if len(steps) == 1:
        steps = steps * len(axes)
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order != 1:
        raise UnsupportedFunctionError(
            "numpy.gradient on traced arrays does not support its argument 'edge_order' yet."
        )
    found = [_slopes(f, as_operand(h), axis) for h, axis in zip(steps, axes, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _slopes(f: Any, step: Any, axis: int) -> Any:
    if f.shape[axis] < 2:
        raise ValueError("Shape of array too small to calculate a numerical gradient.")
    lead = (slice(None),) * axis

    def part(a: Any, start: int | None, stop: int | None) -> Any:
        return a[(*lead, slice(start, stop))]

    if np.ndim(step) == 0:
        inner = (part(f, 2, None) - part(f, None, -2)) / (2.0 * step)
        h_first = h_last = step
    else:
        shape = (-1, *(1,) * (f.ndim - axis - 1))
        h = step[1:] - step[:-1]
        h = reshaped(h, (h.shape[0], *shape[1:]))
        behind, ahead = h[:-1], h[1:]
        inner = (
            -ahead / (behind * (behind + ahead)) * part(f, None, -2)
            + (ahead - behind) / (behind * ahead) * part(f, 1, -1)
            + behind / (ahead * (behind + ahead)) * part(f, 2, None)
        )
        h_first, h_last = h[:1], h[-1:]
    first = (part(f, 1, 2) - part(f, 0, 1)) / h_first
    last = (part(f, -1, None) - part(f, -2, -1)) / h_last
    result = concatenate([first, inner, last], axis)
    return astype(result, f.dtype, copy=False) if f.dtype.kind in "fc" else result


# --- polynomials and filters ----------------------------------------------------------------------


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Horner's rule, highest power first."""
    p, x = as_operand(p), strong(x)
    result = x * 0
    for place in range(p.shape[0]):
        result = result * x + p[place]
    return result


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The discrete convolution of two sequences."""
    a, v = as_operand(a), as_operand(v)
    a, v = (reshape_plain(each, (1,)) if np.ndim(each) == 0 else each for each in (a, v))
    if np.ndim(a) != 1 or np.ndim(v) != 1:
        raise ValueError("object too deep for desired array")
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    if m == 0:
        raise ValueError("v cannot be empty")
    ends = np.zeros(m - 1, a.dtype)
    wide = concatenate([ends, a, ends])
    windows = wide[np.arange(n + m - 1)[:, None] + np.arange(m)[::-1]]
    full = matmul(windows, v)
    if mode == "full":
        return full
    if mode == "same":
        return full[(m - 1) // 2 : (m - 1) // 2 + n]
    if mode == "valid":
        return full[m - 1 : n]
    raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The cross-correlation of two sequences, the first at least as long as the second."""
    a, v = as_operand(a), as_operand(v)
    if np.size(v) > np.size(a):
        raise UnsupportedFunctionError(
            "numpy.correlate on traced arrays takes the longer sequence first."
        )
    return convolve(a, np.conjugate(v[::-1]), mode)


# --- statistics -----------------------------------------------------------------------------------


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """The weighted mean."""
    a = as_operand(a)
    if weights is None:
        found = mean(a, axis, keepdims=keepdims)
        total = found * 0 + a.size / max(np.size(found), 1)
    else:
        w = as_operand(weights)
        if np.shape(w) != a.shape:
            if not isinstance(axis, (int, np.integer)) or np.ndim(w) != 1:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            axis = normal_axis(axis, a.ndim)
            if w.shape[0] != a.shape[axis]:
                raise ValueError("Shape of weights must be consistent with shape of a along axis.")
            w = reshape_plain(w, (w.shape[0], *(1,) * (a.ndim - axis - 1)))
            w = spread(w, a.shape)
        total = sum_(w, axis, keepdims=keepdims)
        found = sum_(a * w, axis, keepdims=keepdims) / total
    return (found, total) if returned else found


@implements(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Any:
    """The covariance matrix of variables in rows."""
    if fweights is not None or aweights is not None:
        raise UnsupportedFunctionError(
            "numpy.cov on traced arrays does not support its arguments 'fweights' and 'aweights' "
            "yet."
        )
    rows = _variables(m, rowvar)
    if y is not None:
        rows = concatenate([rows, _variables(y, rowvar)])
    count = rows.shape[1]
    ddof = (0 if bias else 1) if ddof is None else ddof
    off = rows - mean(rows, 1, keepdims=True)
    result = matmul(off, np.conjugate(off.T)) / (count - ddof)
    return reshaped(result, ()) if result.shape == (1, 1) else result


def _variables(m: Any, rowvar: bool) -> Any:
    m = as_operand(m)
    if np.ndim(m) > 2:
        raise ValueError("m has more than 2 dimensions")
    m = astype(m, np.result_type(m.dtype, float))
    if np.ndim(m) < 2:
        return reshape_plain(m, (1, m.size))
    return m if rowvar or m.shape[0] == 1 else permute_plain(m, (1, 0))


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """The matrix of correlation coefficients."""
    c = cov(x, y, rowvar)
    if np.ndim(c) == 0:
        return c / c
    deviations = np.sqrt(diagonal(c).real)
    return c / deviations[:, None] / deviations[None, :]


@implements(np.median)
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    """The middle of the sorted values, or the mean of the middle two; NaN if there is one."""
    return _quantiles("median", a, 0.5, axis, out, keepdims)


@implements(np.quantile)
def quantile(a: Any, q: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """Values below which given fractions lie, interpolated linearly."""
    return _quantiles("quantile", a, q, axis, out, keepdims)


@implements(np.percentile)
def percentile(a: Any, q: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    """Values below which given percentages lie, interpolated linearly."""
    return _quantiles("percentile", a, np.true_divide(concrete(q), 100), axis, out, keepdims)


def _quantiles(name: str, a: Any, q: Any, axis: Any, out: Any, keepdims: Any) -> Any:
    if out is not None:
        raise UnsupportedFunctionError(
            f"numpy.{name} on traced arrays does not support its argument 'out' yet."
        )
    a, q = as_operand(a), np.asarray(concrete(q))
    if a.dtype.kind in "iub":
        a = a * 1.0
    axes = tuple(range(a.ndim)) if axis is None else tuple(np.atleast_1d(axis).tolist())
    axes = tuple(sorted(normal_axis(each, a.ndim) for each in axes))
    rest = tuple(n for n in range(a.ndim) if n not in axes)
    kept = tuple(a.shape[n] for n in rest)
    count = a.size // max(int(np.prod(kept)), 1)
    if count == 0 or np.any((q < 0) | (q > 1)):
        raise ValueError("Quantiles must be in the range [0, 1], of at least one value")
    rows = sort(reshape_plain(permute_plain(a, (*axes, *rest)), (count, *kept)), 0)
    place = q * (count - 1)
    low = np.floor(place).astype(int)
    high = np.minimum(low + 1, count - 1)
    share = np.asarray(place - low, q.dtype if q.ndim else a.dtype).reshape(
        (*q.shape, *(1,) * len(kept))
    )[()]
    result = rows[low] + (rows[high] - rows[low]) * share
    if count:  # NaN sorts last
        result = np.where(np.isnan(rows[-1]), rows[-1], result)
    if keepdims and keepdims is not np._NoValue:
        shape = tuple(1 if n in axes else length for n, length in enumerate(a.shape))
        result = reshaped(result, (*q.shape, *shape))
    return result


def _without_nan(reduce: Any, neutral: float) -> Any:
    def function(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
        a = as_operand(a)
        return reduce(np.where(np.isnan(a), a.dtype.type(neutral), a), axis, keepdims=keepdims)

    return function


nansum = implements(np.nansum)(_without_nan(sum_, 0.0))


@implements(np.nanmean)
def nanmean(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """The mean of the entries that are numbers."""
    a = as_operand(a)
    count = sum_(~np.isnan(a), axis, keepdims=keepdims)
    return nansum(a, axis, keepdims=keepdims) / astype(strong(count), a.dtype)


def log_sum_exp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    """scipy.special.logsumexp: log(sum(b exp(a))) without overflow."""
    if return_sign:
        raise UnsupportedFunctionError(
            "scipy.special.logsumexp on traced arrays does not support 'return_sign' yet."
        )
    a = as_operand(a)
    top = _top(a, axis)
    terms = np.exp(a - top)
    total = sum_(terms if b is None else b * terms, axis, keepdims=keepdims)
    return np.log(total) + (top if keepdims else reshaped(top, np.shape(total)))


def softmax(x: Any, axis: Any = None) -> Any:
    """scipy.special.softmax."""
    terms = np.exp(as_operand(x) - _top(as_operand(x), axis))
    return terms / sum_(terms, axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """scipy.special.log_softmax."""
    return as_operand(x) - log_sum_exp(x, axis, keepdims=True)


def _top(a: Any, axis: Any) -> Any:
    """The largest entries, as constants (they cancel); 0 where they are infinite."""
    top = maximum_over(a, axis, keepdims=True)
    return perform(STOP_GRADIENT, np.where(np.isfinite(top), top, top.dtype.type(0)))


SCIPY = {"logsumexp": log_sum_exp, "softmax": softmax, "log_softmax": log_softmax}
