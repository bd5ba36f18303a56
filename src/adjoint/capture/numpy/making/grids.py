"""NumPy's functions of grids: evenly spaced numbers, coordinates, and interpolation between."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from adjoint.capture.numpy.indexing.indexing import reshape_plain
from adjoint.capture.numpy.making.values import astype
from adjoint.capture.numpy.reducing.sorting import argsort, searchsorted
from adjoint.capture.numpy.shaping.shape import (
    broadcast_to,
    concatenate,
    expand_dims,
    moveaxis,
    ravelled,
    reshaped,
    spread,
)
from adjoint.capture.numpy.table import any_traced, as_array, as_operand, implements, perform
from adjoint.capture.recording.effects.value_errors import suppose
from adjoint.capture.recording.tracing.traced import is_known, unwrap
from adjoint.primitives.declaration import UFUNCS, Primitive
from adjoint.primitives.elementwise.conversion import STOP_GRADIENT
from adjoint.primitives.elementwise.interpolation import ON_LINE, PART_ON_LINE

# --- spaced numbers -------------------------------------------------------------------------------


def _check_device(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"Device not understood. Only 'cpu' is allowed, but received: {device}")


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Evenly spaced numbers, differentiable in both ends."""
    if not any_traced((start, stop)):
        plain: Any = np.linspace
        return plain(start, stop, num, endpoint, retstep, dtype, axis, device=device)
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    _check_device(device)
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
        whole = np.issubdtype(dtype, np.integer)
        result = astype(np.floor(result) if whole else result, dtype)
    return (result, delta / steps if steps > 0 else np.nan) if retstep else result


@implements(np.logspace)
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Powers of the base with evenly spaced exponents."""
    if np.ndim(base):
        start, stop, base = (as_array(end) for end in (start, stop, base))
        rank = max(start.ndim, stop.ndim, base.ndim)
        start, stop, base = (
            reshape_plain(end, (1,) * (rank - end.ndim) + end.shape) for end in (start, stop, base)
        )
        base = expand_dims(base, axis)
    result = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return result if dtype is None else astype(result, dtype)


@implements(np.geomspace)
def geomspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Numbers evenly spaced in their logarithms; on a circle or a spiral where they are complex."""
    start, stop = as_array(start), as_array(stop)
    if any(is_known(end) and np.any(unwrap(end) == 0) for end in (start, stop)):
        raise ValueError("Geometric sequence cannot include zero")
    for end in (start, stop):
        suppose(end != 0)
    inner = np.result_type(start.dtype, stop.dtype, 1.0, np.zeros((), dtype))
    start, stop = astype(start, inner), astype(stop, inner)
    # The result is the same whatever the sign is; it only keeps clear of the cut of the logarithm.
    sign = perform(STOP_GRADIENT, start / np.abs(start))
    first, last = start / sign, stop / sign
    result = logspace(np.log10(first), np.log10(last), num, endpoint, dtype=inner)
    rows = [result[:0]]
    if num > 0:  # the ends themselves, without rounding
        shape = np.shape(result[0])
        both = endpoint and num > 1
        rows = [spread(first, shape)[None], result[1 : -1 if both else None]]
        rows += [spread(last, shape)[None]] if both else []
    result = concatenate(rows) * sign
    result = moveaxis(result, 0, axis) if axis else result
    return result if dtype is None else astype(result, dtype)


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
    grids = []
    for place, x in zip(order, axes, strict=True):
        own = tuple(x.shape[0] if n == place else 1 for n in range(len(axes)))
        if copy:
            wide = reshape_plain(x, own)
            grids.append((wide if sparse else spread(wide, tuple(shape))).astype(x.dtype))
        else:
            wide = reshaped(x, own)
            grids.append(wide if sparse else broadcast_to(wide, tuple(shape)))
    return tuple(grids)


# --- interpolation --------------------------------------------------------------------------------


@implements(np.interp)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """One-dimensional linear interpolation for monotonically increasing sample points."""
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    for name, operand in (("x", x), ("xp", xp)):
        if operand.dtype.kind == "c":
            raise TypeError(f"Cannot cast {name} from {operand.dtype!r} to dtype('float64')")
    fp = astype(fp, np.complex128 if fp.dtype.kind == "c" else float)
    x, xp = astype(x, float), astype(xp, float)
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    if period is not None:
        x, xp, fp = _repeated(x, xp, fp, period)
        left = right = None
    if not xp.shape[0]:
        raise ValueError("array of sample points is empty")
    ends = [_end(value, fp, at) for value, at in ((left, 0), (right, -1))]
    if fp.dtype.kind != "c":
        return _lines(UFUNCS[ON_LINE], x, xp, fp, ends)
    real, imaginary = (
        _lines(UFUNCS[PART_ON_LINE], x, xp, part(fp), [part(end) for end in ends])
        for part in (np.real, np.imag)
    )
    if xp.shape[0] > 1:  # what is not a number has one part only
        imaginary = np.where(np.isnan(x), 0.0, imaginary)
    return real + 1j * imaginary


def _lines(on_line: Primitive, x: Any, xp: Any, fp: Any, ends: Any) -> Any:
    """The line through the points beside each x, and the values beyond both ends."""
    if xp.shape[0] == 1:
        inside = spread(fp[0], x.shape)
    else:
        place = np.clip(searchsorted(xp, x, "right"), 1, xp.shape[0] - 1)
        inside = perform(on_line, x, xp[place - 1], xp[place], fp[place - 1], fp[place])
    return np.where(x > xp[-1], ends[1], np.where(x < xp[0], ends[0], inside))


def _end(value: Any, fp: Any, at: int) -> Any:
    """The value beyond one end: that of the last point, unless another is given."""
    if value is None:
        return fp[at]
    value = as_array(value)
    if value.dtype.kind == "c" and fp.dtype.kind != "c":
        raise TypeError("must be real number, not complex")
    return astype(value, fp.dtype)


def _repeated(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Points of one period in order, with a point of the periods before and after."""
    if is_known(period) and unwrap(period) == 0:
        raise ValueError("period must be a non-zero value")
    period = np.abs(period)
    x, xp = x % period, xp % period
    order = argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concatenate([fp[-1:], fp, fp[:1]])
