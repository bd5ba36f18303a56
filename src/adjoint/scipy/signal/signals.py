"""`scipy.signal`: convolutions, digital filters, and what is linear in a signal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint.capture.numpy.table import as_array, as_operand, perform
from adjoint.capture.scipy.table import implements_scipy, refuses_scipy
from adjoint.primitives.structure.recurrences import RECURRENCE

# --- convolution ----------------------------------------------------------------------------------


def _centred(x: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """The middle of an array, of this shape along these axes."""
    index = [slice(None)] * x.ndim
    for axis in axes:
        start = (x.shape[axis] - shape[axis]) // 2
        index[axis] = slice(start, start + shape[axis])
    return x[tuple(index)]


def _cut(full: Any, one: Any, other: Any, axes: Sequence[int], mode: str) -> Any:
    if mode == "full":
        return full
    if mode == "same":
        return _centred(full, one.shape, axes)
    if mode != "valid":
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    bigger = [one.shape[axis] >= other.shape[axis] for axis in axes]
    if not all(bigger) and any(bigger):
        raise ValueError(
            "For 'valid' mode, one must be at least as large as the other in every dimension"
        )
    shape = [abs(a - b) + 1 for a, b in zip(one.shape, other.shape, strict=True)]
    return _centred(full, shape, axes)


@implements_scipy("signal", "fftconvolve", "oaconvolve")
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """The convolution along some axes, by Fourier transforms."""
    in1, in2 = as_array(in1), as_array(in2)
    if in1.ndim != in2.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    if not in1.ndim or not in1.size or not in2.size:
        return in1 * in2 if not in1.ndim else np.zeros(0)
    if axes is None:
        places = tuple(range(in1.ndim))
    else:
        given = axes if isinstance(axes, (tuple, list)) else (axes,)
        places = tuple(sorted(int(axis) % in1.ndim for axis in given))
    lengths = [in1.shape[axis] + in2.shape[axis] - 1 for axis in places]
    if in1.dtype.kind == "c" or in2.dtype.kind == "c":
        product: Any = np.fft.fftn(in1, lengths, places) * np.fft.fftn(in2, lengths, places)
        full: Any = np.fft.ifftn(product, lengths, places)
    else:
        product = np.fft.rfftn(in1, lengths, places) * np.fft.rfftn(in2, lengths, places)
        full = np.fft.irfftn(product, lengths, places)
    dtype = np.result_type(in1.dtype, in2.dtype, np.float32)
    return _cut(full if full.dtype == dtype else full.astype(dtype), in1, in2, places, mode)


@implements_scipy("signal")
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution: of sequences directly, of arrays with more axes by Fourier transforms."""
    in1, in2 = as_array(in1), as_array(in2)
    if in1.ndim == in2.ndim == 1 and method != "fft":
        return _cut(np.convolve(in1, in2, "full"), in1, in2, (0,), mode)
    return fftconvolve(in1, in2, mode)


def _turned(x: Any) -> Any:
    return np.conjugate(x[(slice(None, None, -1),) * x.ndim])


@implements_scipy("signal")
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The correlation."""
    in1, in2 = as_array(in1), as_array(in2)
    return convolve(in1, _turned(in2), mode, method)


_PADS: dict[str, Any] = {
    "symm": "symmetric",
    "symmetric": "symmetric",
    "wrap": "wrap",
    "circular": "wrap",
}


@implements_scipy("signal")
def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """The convolution of matrices; boundaries other than zeros by padding."""
    in1, in2 = as_array(in1), as_array(in2)
    if mode == "valid" or (boundary in ("fill", "pad") and fillvalue == 0):
        return fftconvolve(in1, in2, mode)
    width = [(size - 1, size - 1) for size in in2.shape]
    if boundary in _PADS:
        padded = np.pad(in1, width, mode=_PADS[boundary])
    else:
        padded = np.pad(in1, width, constant_values=fillvalue)
    full = fftconvolve(padded, in2, "valid")
    return _cut(full, in1, in2, (0, 1), mode)


@implements_scipy("signal")
def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """The correlation of matrices; its middle lies half a kernel from the corner."""
    in1, in2 = as_array(in1), as_array(in2)
    if mode != "same":
        return convolve2d(in1, _turned(in2), mode, boundary, fillvalue)
    full = convolve2d(in1, _turned(in2), "full", boundary, fillvalue)
    rows, columns = (
        slice(size // 2, size // 2 + whole)
        for size, whole in zip(in2.shape, in1.shape, strict=True)
    )
    return full[rows, columns]


# --- digital filters ------------------------------------------------------------------------------


def _delayed(x: Any, by: int) -> Any:
    """x later by some places along the last axis, zeros first; as long as it is."""
    by = min(by, x.shape[-1])
    if not by:
        return x
    empty = np.zeros((*x.shape[:-1], by), x.dtype)
    return np.concatenate([empty, x[..., : x.shape[-1] - by]], axis=-1)


def _filtered(b: Any, a: Any, x: Any, state: Any) -> tuple[Any, Any]:
    """Along the last axis, from a state (as SciPy has it), and the state after."""
    order = max(b.shape[0], a.shape[0]) - 1
    total: Any = 0.0
    for k in range(b.shape[0]):
        total = total + b[k] * _delayed(x, k)
    count = x.shape[-1]
    if state is not None and order:
        ahead = min(order, count)
        rest = np.zeros((*np.shape(state)[:-1], count - ahead))
        total = total + a[0] * np.concatenate([state[..., :ahead], rest], axis=-1)
    y = perform(RECURRENCE, a, total)
    return y, _after(b / a[0], a / a[0], x, y, state, order)


def _after(b: Any, a: Any, x: Any, y: Any, state: Any, order: int) -> Any:
    """z_i = sum_{k > i} b_k x[n + i - k] - a_k y[n + i - k], n samples ended."""
    count, places = x.shape[-1], []
    for i in range(order):
        total: Any = np.zeros(x.shape[:-1])
        for k in range(i + 1, order + 1):
            place = count + i - k
            if place >= 0:
                if k < b.shape[0]:
                    total = total + b[k] * x[..., place]
                if k < a.shape[0]:
                    total = total - a[k] * y[..., place]
        if state is not None and i + count < order:
            total = total + state[..., i + count]
        places.append(total)
    if not places:
        return np.zeros((*x.shape[:-1], 0))
    return np.stack(places, axis=-1)


def _coefficients(*arrays: Any) -> list[Any]:
    rows = [np.atleast_1d(as_array(array)) for array in arrays]
    dtype = np.result_type(*(row.dtype for row in rows), np.float32)
    return [row if row.dtype == dtype else row.astype(dtype) for row in rows]


@implements_scipy("signal")
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """A rational filter along one axis; linear in x, and differentiable in b and a."""
    b, a, x = _coefficients(b, a, x)
    x = np.moveaxis(x, axis, -1)
    state = None if zi is None else np.moveaxis(as_array(zi), axis, -1)
    y, after = _filtered(b, a, x, state)
    y = np.moveaxis(y, -1, axis)
    return y if zi is None else (y, np.moveaxis(after, -1, axis))


@implements_scipy("signal")
def lfilter_zi(b: Any, a: Any) -> Any:
    """The state of a filter whose input has always been 1."""
    b, a = _coefficients(b, a)
    b, a = b / a[0], a / a[0]
    size = max(b.shape[0], a.shape[0])
    b, a = (
        np.concatenate([coefficients, np.zeros(size - coefficients.shape[0])])
        for coefficients in (b, a)
    )
    unit = np.eye(size - 1)
    # The transpose of the companion matrix of a, subtracted from the identity.
    matrix = unit - np.eye(size - 1, k=1) + np.outer(a[1:], unit[0])
    return np.linalg.solve(matrix, b[1:] - a[1:] * b[0])


@implements_scipy("signal")
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """The state of a filter after outputs y and inputs x, the latest ones first.

    SciPy divides by a[0] where that is not 1, from which no slope in a[0] would follow at 1.
    """
    b, a, y = _coefficients(b, a, y)
    (x,) = _coefficients(np.zeros(0, y.dtype) if x is None else x)
    order = max(b.shape[0], a.shape[0]) - 1
    b, a = b / a[0], a / a[0]
    dtype = np.result_type(b.dtype, y.dtype, x.dtype)

    def weighted(coefficients: Any, samples: Any, first: int) -> Any:
        count = max(0, min(coefficients.shape[0] - first, samples.shape[0]))
        return np.sum(coefficients[first : first + count] * samples[:count])

    places = [weighted(b, x, m + 1) - weighted(a, y, m + 1) for m in range(order)]
    return np.stack(places).astype(dtype) if places else np.zeros(0, dtype)


@implements_scipy("signal")
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """A cascade of filters of second order, from states if they are given."""
    sos, states = as_array(sos), []
    for row in range(sos.shape[0]):
        b, a = sos[row, :3], sos[row, 3:]
        if zi is None:
            x = lfilter(b, a, x, axis)
        else:
            x, state = lfilter(b, a, x, axis, as_array(zi)[row])
            states.append(state)
    return x if zi is None else (x, np.stack(states))


@implements_scipy("signal")
def upfirdn(
    h: Any,
    x: Any,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: float = 0,
) -> Any:
    """A filter between putting samples in and taking some out: y_m is a sum of h_k x_j."""
    h, x, up, down = as_array(h), np.moveaxis(as_array(x), axis, 0), int(up), int(down)
    dtype = np.result_type(h.dtype, x.dtype, np.float32)
    count, taps = x.shape[0], -(-h.shape[0] // up)
    places = down * np.arange(((count - 1) * up + h.shape[0] - 1) // down + 1)
    samples = (places // up)[:, None] - np.arange(taps)
    weights = np.concatenate([h, np.zeros(taps * up - h.shape[0], dtype)]).astype(dtype)
    weights = weights[(places % up)[:, None] + up * np.arange(taps)]
    wide = _beyond(x.astype(dtype), max(taps, samples.max() - count + 2), mode, cval)
    before = (wide.shape[0] - count) // 2
    y = np.einsum("mt,mt...->m...", weights, wide[samples + before])
    return np.moveaxis(y, 0, axis)


def _beyond(x: Any, reach: int, mode: str, cval: Any) -> Any:
    """A signal with what SciPy takes to be before and behind it, which is affine in the signal."""
    from scipy import signal  # slow to import, and here already

    count, flat = x.shape[0], np.reshape(x, (x.shape[0], -1))
    one = np.zeros(reach)
    ends = []
    for place, part in ((reach - 1, slice(0, reach - 1)), (0, slice(count, count + reach - 1))):
        one[:] = np.arange(reach) == place
        ask = partial(signal.upfirdn, one, axis=0, mode=mode, cval=cval)
        rest = ask(np.zeros(count))[part]
        matrix = ask(np.eye(count))[part] - rest[:, None]
        ends.append((matrix @ flat + rest[:, None]).astype(x.dtype))
    return np.reshape(np.concatenate([ends[0], flat, ends[1]]), (-1, *x.shape[1:]))


# --- linear in the signal -------------------------------------------------------------------------


@implements_scipy("signal")
def sawtooth(t: Any, width: Any = 1) -> Any:
    """A sawtooth of period 2 pi, rising over `width` of it."""
    phase = np.mod(as_operand(t), 2 * np.pi)
    rising = phase < width * 2 * np.pi
    up = phase / np.where(np.equal(width, 0), 1.0, np.pi * width) - 1
    down = (np.pi * (width + 1) - phase) / np.where(np.equal(width, 1), 1.0, np.pi * (1 - width))
    outside = np.logical_or(np.less(width, 0), np.greater(width, 1))
    return np.where(outside, np.nan, np.where(rising, up, down))


refuses_scipy(
    "signal",
    "the places and widths of peaks are looked for in compiled code; use ad.stop_gradient(x) to "
    "find them, and take the values there, x[peaks]",
    *("find_peaks_cwt", "peak_prominences", "peak_widths"),
)
refuses_scipy("signal", "it is compiled; scipy.signal.medfilt gives the same", "medfilt2d")
