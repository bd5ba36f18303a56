"""`scipy.signal`: convolutions, digital filters, and what is linear in a signal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedFunctionError
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
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: Any = "odd",
    padlen: Any = None,
    method: str = "pad",
    irlen: Any = None,
) -> Any:
    """A filter run forwards and backwards over a signal that is extended at its ends."""
    if method != "pad" or padtype not in ("odd", None):
        raise UnsupportedFunctionError(
            "scipy.signal.filtfilt of traced values takes method='pad' and padtype 'odd' or None."
        )
    b, a, x = _coefficients(b, a, x)
    x = np.moveaxis(x, axis, -1)
    edge = 3 * max(b.shape[0], a.shape[0]) if padlen is None else int(padlen)
    edge = 0 if padtype is None else edge
    if x.shape[-1] <= edge:
        raise ValueError(
            f"The length of the input vector x must be greater than padlen, which is {edge}."
        )
    if edge:
        first = 2 * x[..., :1] - x[..., edge:0:-1]
        last = 2 * x[..., -1:] - x[..., -2 : -edge - 2 : -1]
        x = np.concatenate([first, x, last], axis=-1)
    state = lfilter_zi(b, a)
    for _ in range(2):
        x = _filtered(b, a, x, state * x[..., :1])[0][..., ::-1]
    x = x[..., edge : x.shape[-1] - edge] if edge else x
    return np.moveaxis(x, -1, axis)


@implements_scipy("signal")
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """A cascade of filters of second order."""
    if zi is not None:
        raise UnsupportedFunctionError(
            "scipy.signal.sosfilt of traced values does not take zi; filter with lfilter."
        )
    sos = as_array(sos)
    for row in range(sos.shape[0]):
        x = lfilter(sos[row, :3], sos[row, 3:], x, axis)
    return x


# --- linear in the signal -------------------------------------------------------------------------


@implements_scipy("signal")
def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    """The analytic signal."""
    x = np.moveaxis(as_array(x), axis, -1)
    if x.dtype.kind == "c":
        raise ValueError("x must be real.")
    count = x.shape[-1] if N is None else int(N)
    weight = np.zeros(count)
    weight[0] = 1
    weight[1 : (count + 1) // 2] = 2
    if count % 2 == 0:
        weight[count // 2] = 1
    return np.moveaxis(np.fft.ifft(np.fft.fft(x, count) * weight), -1, axis)


@implements_scipy("signal")
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """The signal without its mean, or without the line that fits it."""
    if np.any(np.asarray(bp)):
        raise UnsupportedFunctionError(
            "scipy.signal.detrend of traced values takes no break points; detrend the parts."
        )
    data = as_array(data)
    if type in ("constant", "c"):
        return data - np.mean(data, axis=axis, keepdims=True)
    if type not in ("linear", "l"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    x = np.moveaxis(data, axis, -1)
    count = x.shape[-1]
    basis = np.linalg.qr(np.stack([np.ones(count), np.arange(count) / count], axis=1))[0]
    return np.moveaxis(x - (x @ basis) @ basis.T, -1, axis)


@implements_scipy("signal")
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """A polynomial fitted in a window that moves; at the ends of the signal in one that stays."""
    from scipy import signal  # slow to import, and here already

    half = window_length // 2
    x = np.moveaxis(as_array(x), axis, -1)
    count = x.shape[-1]
    if window_length % 2 == 0:
        # An even window has no middle, and SciPy places it by rules of its own: its matrix.
        apply: Any = partial(signal.savgol_filter, deriv=deriv, delta=delta, axis=0, mode=mode)
        matrix = apply(np.eye(count), window_length, polyorder)
        rest = apply(np.zeros(count), window_length, polyorder, cval=cval)
        return np.moveaxis(x @ matrix.T + rest, -1, axis)
    pads: dict[str, Any] = {
        "mirror": "reflect",
        "nearest": "edge",
        "wrap": "wrap",
        "constant": "constant",
    }
    if mode != "interp":
        if mode not in pads:
            raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
        options: dict[str, Any] = {"constant_values": cval} if mode == "constant" else {}
        width = [(0, 0)] * (x.ndim - 1) + [(half, half)]
        x = np.pad(x, width, mode=pads[mode], **options)
    elif count < window_length:
        raise ValueError(
            "If mode is 'interp', window_length must be less than or equal to the size of x."
        )
    weights = signal.savgol_coeffs(window_length, polyorder, deriv, delta, use="dot")
    inner: Any = 0.0
    for k in range(window_length):
        inner = inner + weights[k] * x[..., k : x.shape[-1] - window_length + 1 + k]
    if mode == "interp":
        # On one window alone SciPy's filter is the fit there: its matrix.
        whole = signal.savgol_filter(
            np.eye(window_length), window_length, polyorder, deriv, delta, axis=0
        )
        first = x[..., :window_length] @ whole[:half].T
        last = x[..., count - window_length :] @ whole[window_length - half :].T
        inner = np.concatenate([first, inner, last], axis=-1)
    return np.moveaxis(inner, -1, axis)


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
    "its result jumps (indices of peaks, medians), or it is not among adjoint.scipy.signal; "
    "np.fft has derivatives",
    *("find_peaks", "medfilt", "medfilt2d", "argrelmax", "argrelmin", "peak_prominences", "wiener"),
)
