"""NumPy's discrete Fourier transforms, `numpy.fft` whole, from three linear primitives."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import DTypeError
from adjoint.capture.numpy.making.values import astype
from adjoint.capture.numpy.shaping.arranging import roll
from adjoint.capture.numpy.shaping.shape import concatenate
from adjoint.capture.numpy.table import as_array, implements, normal_axis, perform, stored
from adjoint.primitives.structure.fourier import ADJOINT_NORM, FFT, IRFFT, RFFT


def _norm(norm: Any) -> str:
    if norm not in (None, *ADJOINT_NORM):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return norm or "backward"


def _prepared(a: Any, n: Any, axis: Any) -> tuple[Any, int, int]:
    """The array in single or double precision, the number of points, and the axis."""
    a = as_array(a)
    axis = normal_axis(axis, a.ndim)
    n = a.shape[axis] if n is None else operator.index(n)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    if a.dtype.char not in "fdFD":
        a = astype(a, np.float32 if a.dtype == np.float16 else np.float64)
    return a, n, axis


def _fitted(a: Any, length: int, axis: int) -> Any:
    """The array cut, or filled with zeros, to a length along an axis."""
    have = a.shape[axis]
    if have > length:
        return a[(*(slice(None),) * axis, slice(length))]
    if have < length:
        missing = np.zeros((*a.shape[:axis], length - have, *a.shape[axis + 1 :]), a.dtype)
        return concatenate([a, missing], axis)
    return a


def _complex(name: str, inverse: bool) -> Callable[..., Any]:
    def transform(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
        norm = _norm(norm)
        a, n, axis = _prepared(a, n, axis)
        a = _fitted(a, n, axis)
        if a.dtype.kind != "c":
            a = astype(a, np.complex64 if a.dtype.char == "f" else np.complex128)
        result = perform(FFT, a, axis=axis, norm=norm, inverse=inverse)
        return stored(f"numpy.fft.{name}", result, out)

    transform.__name__ = name
    return transform


fft = implements(np.fft.fft)(_complex("fft", inverse=False))
ifft = implements(np.fft.ifft)(_complex("ifft", inverse=True))


@implements(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The coefficients 0 to n // 2 of a real array."""
    norm = _norm(norm)
    a, n, axis = _prepared(a, n, axis)
    if a.dtype.kind == "c":
        raise DTypeError("numpy.fft.rfft takes real arrays; numpy.fft.fft takes complex ones.")
    result = perform(RFFT, _fitted(a, n, axis), axis=axis, norm=norm, inner=1.0)
    return stored("numpy.fft.rfft", result, out)


@implements(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The real array of n entries whose coefficients begin with these."""
    norm, a = _norm(norm), as_array(a)
    n = (a.shape[normal_axis(axis, a.ndim)] - 1) * 2 if n is None else n
    a, n, axis = _prepared(a, n, axis)
    a = _fitted(a, n // 2 + 1, axis)
    if a.dtype.kind != "c":
        a = astype(a, np.complex64 if a.dtype.char == "f" else np.complex128)
    result = perform(IRFFT, a, n=n, axis=axis, norm=norm, inner=1.0)
    return stored("numpy.fft.irfft", result, out)


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The real spectrum of a signal that is Hermitian: a is its first half."""
    return irfft(np.conjugate(a), n, axis, ADJOINT_NORM[_norm(norm)], out)


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    """The first half of the Hermitian signal with a real spectrum."""
    result = np.conjugate(rfft(a, n, axis, ADJOINT_NORM[_norm(norm)]))
    return stored("numpy.fft.ihfft", result, out)


# --- several axes ---------------------------------------------------------------------------------


def _lengths(a: Any, s: Any, axes: Any, real_result: bool = False) -> tuple[list[int], list[int]]:
    """The number of points along each axis, as NumPy reads s and axes."""
    whole = s is None
    if whole:
        places = range(a.ndim) if axes is None else axes
        s = [a.shape[normal_axis(axis, a.ndim)] for axis in places]
    s = list(s)
    if axes is None:
        axes = range(-len(s), 0)
    axes = [normal_axis(axis, a.ndim) for axis in axes]
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if real_result and whole:
        s[-1] = (a.shape[axes[-1]] - 1) * 2
    lengths = [a.shape[axis] if n in (-1, None) else n for n, axis in zip(s, axes, strict=True)]
    return lengths, axes


def _over_axes(name: str, transform: Callable[..., Any], default: Any) -> Callable[..., Any]:
    def transforms(
        a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None
    ) -> Any:
        a = as_array(a)
        for n, axis in reversed(list(zip(*_lengths(a, s, axes), strict=True))):
            a = transform(a, n, axis, norm)
        return stored(f"numpy.fft.{name}", a, out)

    transforms.__name__ = name
    return transforms


def _real_over_axes(name: str, default: Any) -> Callable[..., Any]:
    def transforms(
        a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None
    ) -> Any:
        a = as_array(a)
        lengths, places = _lengths(a, s, axes)
        a = rfft(a, lengths[-1], places[-1], norm)
        for n, axis in reversed(list(zip(lengths[:-1], places[:-1], strict=True))):
            a = fft(a, n, axis, norm)
        return stored(f"numpy.fft.{name}", a, out)

    transforms.__name__ = name
    return transforms


def _to_real_over_axes(name: str, default: Any) -> Callable[..., Any]:
    def transforms(
        a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None
    ) -> Any:
        a = as_array(a)
        lengths, places = _lengths(a, s, axes, real_result=True)
        for n, axis in zip(lengths[:-1], places[:-1], strict=True):
            a = ifft(a, n, axis, norm)
        a = irfft(a, lengths[-1], places[-1], norm)
        return stored(f"numpy.fft.{name}", a, out)

    transforms.__name__ = name
    return transforms


implements(np.fft.fft2)(_over_axes("fft2", fft, (-2, -1)))
implements(np.fft.ifft2)(_over_axes("ifft2", ifft, (-2, -1)))
implements(np.fft.fftn)(_over_axes("fftn", fft, None))
implements(np.fft.ifftn)(_over_axes("ifftn", ifft, None))
implements(np.fft.rfft2)(_real_over_axes("rfft2", (-2, -1)))
implements(np.fft.rfftn)(_real_over_axes("rfftn", None))
implements(np.fft.irfft2)(_to_real_over_axes("irfft2", (-2, -1)))
implements(np.fft.irfftn)(_to_real_over_axes("irfftn", None))

# --- frequencies ----------------------------------------------------------------------------------


def _shifted(sign: int) -> Callable[..., Any]:
    def shift(x: Any, axes: Any = None) -> Any:
        x = as_array(x)
        places = range(x.ndim) if axes is None else np.atleast_1d(axes).tolist()
        places = [normal_axis(axis, x.ndim) for axis in places]
        halves = [sign * (x.shape[axis] // 2) for axis in places]
        return roll(x, halves, places) if places else x.copy()

    return shift


implements(np.fft.fftshift)(_shifted(1))
implements(np.fft.ifftshift)(_shifted(-1))


@implements(np.fft.fftfreq)
def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """The frequencies of n samples, d apart."""
    n = operator.index(n)
    places = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    return places * (1.0 / (n * as_array(d)))


@implements(np.fft.rfftfreq)
def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """The frequencies that rfft keeps, of n samples, d apart."""
    n = operator.index(n)
    return np.arange(n // 2 + 1) * (1.0 / (n * as_array(d)))
