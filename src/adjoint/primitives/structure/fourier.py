"""Discrete Fourier transforms along one axis: linear, each the adjoint of another one.

Under Re<x, y>, y_k = sum_j x_j w^{jk} has the adjoint x_j = sum_k y_k conj(w)^{jk}: the inverse
transform without its factor 1/n. Of a real x only the coefficients k <= n/2 are kept, as the others
are their conjugates: what a sum over all of them counts twice, the inner entries, `rfft` counts
once. `inner` is the factor that puts that right: 2 or 1/2 on all but coefficients 0 and, for even
n, n/2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import DTypeError, ShapeError
from adjoint.primitives.declaration import ITSELF, Joint, Primitive
from adjoint.primitives.expression import bind
from adjoint.primitives.samples import draw, sample

ADJOINT_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
_numpy: Any = np.fft
_COMPLEX = {"f": np.complex64, "d": np.complex128, "F": np.complex64, "D": np.complex128}


def _precision(x: ArrayType) -> np.dtype[Any]:
    if x.dtype.char not in _COMPLEX:
        raise DTypeError(f"a Fourier transform takes single or double precision, got {x}.")
    return np.dtype(_COMPLEX[x.dtype.char])


def _length(x: ArrayType, axis: int) -> int:
    if not x.shape[axis]:
        raise ShapeError("Invalid number of FFT data points (0) specified.")
    return x.shape[axis]


def _fft_type(x: ArrayType, axis: int, norm: str, inverse: bool) -> ArrayType:
    _length(x, axis)
    return array_type(x.shape, _precision(x))


FFT: Primitive = Primitive(
    "fft",
    infer=_fft_type,
    evaluate=lambda x, axis, norm, inverse: (_numpy.ifft if inverse else _numpy.fft)(
        x, None, axis, norm
    ),
    linear=Joint(),
    derivative=ITSELF,
    transpose=lambda cotangents, operands, axis, norm, inverse: (
        bind(FFT, cotangents[0], axis=axis, norm=ADJOINT_NORM[norm], inverse=not inverse),
    ),
    batch=lambda operands, batched, size, axis, norm, inverse: bind(
        FFT, operands[0], axis=axis + 1, norm=norm, inverse=inverse
    ),
    samples=(
        sample(draw(5, dtype=complex), axis=0, norm="backward", inverse=False),
        sample(draw(2, 4, dtype=complex), axis=1, norm="backward", inverse=True),
        sample(draw(4, 2, dtype=np.complex64), axis=0, norm="ortho", inverse=False),
        sample(draw(3, dtype=complex), axis=0, norm="forward", inverse=True),
    ),
)


def _weighted(x: Any, n: int, axis: int, inner: float) -> Any:
    """Half a spectrum with its inner coefficients multiplied by a factor."""
    if inner == 1.0:
        return x
    result = np.array(x)
    result[(*(slice(None),) * axis, slice(1, (n + 1) // 2))] *= inner
    return result


def _rfft(x: Any, axis: int, norm: str, inner: float) -> Any:
    return _weighted(_numpy.rfft(x, None, axis, norm), np.shape(x)[axis], axis, inner)


def _rfft_type(x: ArrayType, axis: int, norm: str, inner: float) -> ArrayType:
    if x.dtype.kind != "f":
        raise DTypeError(f"rfft takes real arrays, got {x}.")
    half = _length(x, axis) // 2 + 1
    return array_type((*x.shape[:axis], half, *x.shape[axis + 1 :]), _precision(x))


RFFT: Primitive = Primitive(
    "rfft",
    infer=_rfft_type,
    evaluate=_rfft,
    linear=Joint(),
    derivative=ITSELF,
    transpose=lambda cotangents, operands, axis, norm, inner: (
        bind(
            IRFFT,
            cotangents[0],
            n=operands[0].shape[axis],
            axis=axis,
            norm=ADJOINT_NORM[norm],
            inner=inner / 2,
        ),
    ),
    batch=lambda operands, batched, size, axis, norm, inner: bind(
        RFFT, operands[0], axis=axis + 1, norm=norm, inner=inner
    ),
    samples=(
        sample(draw(4), axis=0, norm="backward", inner=1.0),
        sample(draw(5), axis=0, norm="ortho", inner=1.0),
        sample(draw(2, 5), axis=1, norm="forward", inner=2.0),
        sample(draw(6, 2, dtype=np.float32), axis=0, norm="ortho", inner=1.0),
        sample(draw(1), axis=0, norm="backward", inner=1.0),
    ),
)


def _irfft(x: Any, n: int, axis: int, norm: str, inner: float) -> Any:
    return _numpy.irfft(_weighted(x, n, axis, inner), n, axis, norm)


def _irfft_type(x: ArrayType, n: int, axis: int, norm: str, inner: float) -> ArrayType:
    if n < 1 or x.shape[axis] != n // 2 + 1:
        raise ShapeError(f"irfft: {x.shape[axis]} coefficients are no spectrum of {n} numbers.")
    real = _precision(x).type(0).real.dtype
    return array_type((*x.shape[:axis], n, *x.shape[axis + 1 :]), real)


IRFFT: Primitive = Primitive(
    "irfft",
    infer=_irfft_type,
    evaluate=_irfft,
    linear=Joint(),
    derivative=ITSELF,
    transpose=lambda cotangents, operands, n, axis, norm, inner: (
        bind(RFFT, cotangents[0], axis=axis, norm=ADJOINT_NORM[norm], inner=2 * inner),
    ),
    batch=lambda operands, batched, size, n, axis, norm, inner: bind(
        IRFFT, operands[0], n=n, axis=axis + 1, norm=norm, inner=inner
    ),
    samples=(
        sample(draw(3, dtype=complex), n=4, axis=0, norm="backward", inner=1.0),
        sample(draw(3, dtype=complex), n=5, axis=0, norm="ortho", inner=1.0),
        sample(draw(3, 2, dtype=complex), n=5, axis=0, norm="forward", inner=0.5),
        sample(draw(2, 3, dtype=np.complex64), n=4, axis=1, norm="backward", inner=1.0),
        sample(draw(1, dtype=complex), n=1, axis=0, norm="backward", inner=1.0),
    ),
)
