"""NumPy's differences, integrals, polynomials and filters, made of simpler functions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.capture.numpy.indexing.indexing import reshape_plain
from adjoint.capture.numpy.linalg.products import matmul
from adjoint.capture.numpy.making.values import astype
from adjoint.capture.numpy.reducing.reduce import diff, maximum_over, sum_
from adjoint.capture.numpy.shaping.shape import concatenate, moveaxis, ravelled, reshaped
from adjoint.capture.numpy.table import as_array, as_operand, implements, normal_axis, perform
from adjoint.primitives.elementwise.conversion import STOP_GRADIENT

# --- differences and integrals --------------------------------------------------------------------


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral by the trapezium rule."""
    y = as_array(y)
    if x is None:
        width = dx
    else:
        x = as_array(x)
        width = diff(x, axis=0 if x.ndim == 1 else axis)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[axis] = width.shape[0]
            width = reshape_plain(width, tuple(shape))
    lead = (slice(None),) * normal_axis(axis, y.ndim)
    ends = y[(*lead, slice(1, None))] + y[(*lead, slice(None, -1))]
    return sum_(width * ends / 2.0, axis)  # which may have more axes than y, if x has


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in the flattened array."""
    flat = ravelled(as_array(ary))
    parts = [flat[1:] - flat[:-1]]
    for name, value in (("to_end", to_end), ("to_begin", to_begin)):
        if value is None:
            continue
        value = as_array(value)
        if not np.can_cast(value.dtype, flat.dtype, "same_kind"):
            raise TypeError(
                f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
            )
        part = astype(ravelled(value), flat.dtype)
        parts = [*parts, part] if name == "to_end" else [part, *parts]
    return concatenate(parts) if len(parts) > 1 else parts[0]


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones at the ends."""
    f = as_array(f)
    axes = np.lib.array_utils.normalize_axis_tuple(
        tuple(range(f.ndim)) if axis is None else axis, f.ndim
    )
    steps = _spacings(f, varargs, axes)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if f.dtype.kind in "iu":
        f = astype(f, float)
    if any(f.shape[n] < edge_order + 1 for n in axes):
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least "
            "(edge_order + 1) elements are required."
        )
    slopes = [_slopes(f, h, n, edge_order) for h, n in zip(steps, axes, strict=True)]
    return slopes[0] if len(slopes) == 1 else tuple(slopes)


def _spacings(f: Any, given: tuple[Any, ...], axes: tuple[int, ...]) -> list[Any]:
    """The spacing along each axis: a number, or the differences of coordinates."""
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and np.ndim(given[0]) == 0:
        return [given[0]] * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    spacings = []
    for value, axis in zip(given, axes, strict=True):
        value = as_operand(value)
        if np.ndim(value) == 0:
            spacings.append(value)
            continue
        if np.ndim(value) != 1:
            raise ValueError("distances must be either scalars or 1d")
        if value.shape[0] != f.shape[axis]:
            raise ValueError(
                "when 1d, distances must match the length of the corresponding dimension"
            )
        value = astype(value, float) if value.dtype.kind in "iu" else value
        spacings.append(value[1:] - value[:-1])
    return spacings


def _slopes(f: Any, step: Any, axis: int, edge_order: int) -> Any:
    rows = moveaxis(f, axis, 0)
    if np.ndim(step) == 0:
        inner = (rows[2:] - rows[:-2]) / (2.0 * step)
        first, second, before, last = step, step, step, step
    else:
        h = reshape_plain(step, (step.shape[0], *(1,) * (f.ndim - 1)))
        behind, ahead = h[:-1], h[1:]
        inner = (
            -ahead / (behind * (behind + ahead)) * rows[:-2]
            + (ahead - behind) / (behind * ahead) * rows[1:-1]
            + behind / (ahead * (behind + ahead)) * rows[2:]
        )
        first, second, before, last = h[:1], h[1:2], h[-2:-1], h[-1:]
    if edge_order == 1:
        ends = (rows[1:2] - rows[:1]) / first, (rows[-1:] - rows[-2:-1]) / last
    else:
        ends = (
            -(2.0 * first + second) / (first * (first + second)) * rows[:1]
            + (first + second) / (first * second) * rows[1:2]
            - first / (second * (first + second)) * rows[2:3],
            last / (before * (before + last)) * rows[-3:-2]
            - (before + last) / (before * last) * rows[-2:-1]
            + (2.0 * last + before) / (last * (before + last)) * rows[-1:],
        )
    result = concatenate([ends[0], inner, ends[1]])
    return astype(moveaxis(result, 0, axis), f.dtype, copy=False)


# --- polynomials and filters ----------------------------------------------------------------------


_MODES = {"valid": 0, "same": 1, "full": 2}


def _mode(mode: Any) -> int:
    """How much of a convolution is wanted, as NumPy counts it."""
    if isinstance(mode, str):
        if mode not in _MODES:
            raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
        return _MODES[mode]
    number = operator.index(mode)
    if not 0 <= number <= 2:
        raise ValueError(f"integer mode must be 0, 1, or 2 (got {number})")
    return number


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """The discrete convolution of two sequences."""
    a, v = as_array(a), as_array(v)
    a, v = (reshape_plain(row, (1,)) if row.ndim == 0 else row for row in (a, v))
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array")
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    if m == 0:
        raise ValueError("v cannot be empty")
    mode = _mode(mode)
    places = np.arange(n + m - 1)[:, None] - np.arange(m)
    middle = matmul(a[places[m - 1 : n]], v)
    if not mode or m == 1:
        return middle
    # Where the two overlap in part, what is outside is left out: zero times NaN would be NaN.
    places = np.delete(places, slice(m - 1, n), 0)
    products = a[np.clip(places, 0, n - 1)] * v
    products = np.where((places >= 0) & (places < n), products, products.dtype.type(0))
    ends = sum_(products, 1, products.dtype)
    full = concatenate([ends[: m - 1], middle, ends[m - 1 :]])
    return full if mode == 2 else full[(m - 1) // 2 : (m - 1) // 2 + n]


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """The cross-correlation of two sequences."""
    a, v = as_array(a), as_array(v)
    if not a.ndim or not v.ndim:
        raise ValueError("object of too small depth for desired array")
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError("object too deep for desired array")
    v = np.conjugate(v) if v.dtype.kind == "c" else v
    if v.shape[0] > a.shape[0]:  # the longer first, and the result backwards
        return convolve(v, a[::-1], mode)[::-1]
    return convolve(a, v[::-1], mode)


# --- sums of exponentials -------------------------------------------------------------------------


def log_sum_exp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    """scipy.special.logsumexp: log(sum(b exp(a))) without overflow, and the sum's sign if asked."""
    a = _inexact(a)
    if b is None:
        top = _top(a, axis)
        terms = np.exp(a - top)
    else:
        a, b = np.broadcast_arrays(a, as_operand(b))
        top = _top(np.where(np.equal(b, 0), -np.inf, np.real(a)), axis)
        terms = a - top
        if terms.dtype.kind == "f":  # what has no weight may be as large as it likes
            terms = np.minimum(terms, np.log(np.finfo(terms.dtype).max) - 1)
        terms = np.exp(terms)
    total = sum_(terms if b is None else b * terms, axis, keepdims=keepdims)
    shift = top if keepdims else reshaped(top, np.shape(total))
    if return_sign:
        return np.log(np.abs(total)) + shift, np.sign(total)
    return np.log(total) + shift


def _inexact(a: Any) -> Any:
    """Whole numbers and truths as floating-point ones, as SciPy takes them."""
    a = as_operand(a)
    return a if np.result_type(a).kind in "fc" else 1.0 * as_array(a).astype(np.float64)


def softmax(x: Any, axis: Any = None) -> Any:
    """scipy.special.softmax."""
    x = _inexact(x)
    terms = np.exp(x - _top(x, axis))
    return terms / sum_(terms, axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """scipy.special.log_softmax."""
    return _inexact(x) - log_sum_exp(x, axis, keepdims=True)


def _top(a: Any, axis: Any) -> Any:
    """The largest entries, as constants (they cancel); 0 where they are infinite.

    Of complex numbers, the largest real part: so the phase of a sum stays within a turn.
    """
    top = maximum_over(np.real(a), axis, keepdims=True)
    return perform(STOP_GRADIENT, np.where(np.isfinite(top), top, top.dtype.type(0)))


SCIPY = {"logsumexp": log_sum_exp, "softmax": softmax, "log_softmax": log_softmax}
