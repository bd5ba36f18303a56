"""Fourier transforms as matrices: the adjoint is the conjugate transpose, entry by entry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.arrays import array_type
from adjoint.primitives.structure.fourier import ADJOINT_NORM, FFT, IRFFT, RFFT


@pytest.mark.parametrize("norm", ADJOINT_NORM)
@pytest.mark.parametrize("inverse", [False, True])
def test_the_adjoint_of_a_complex_transform(norm: str, inverse: bool) -> None:
    n = 5
    matrix = FFT.evaluate(np.eye(n, dtype=complex), axis=0, norm=norm, inverse=inverse)
    back = FFT.evaluate(
        np.eye(n, dtype=complex), axis=0, norm=ADJOINT_NORM[norm], inverse=not inverse
    )
    np.testing.assert_allclose(back, matrix.conj().T, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
@pytest.mark.parametrize("norm", ADJOINT_NORM)
def test_the_adjoint_of_a_real_transform(n: int, norm: str) -> None:
    """Over the reals: the columns of rfft against those of its adjoint."""
    half = n // 2 + 1
    matrix = RFFT.evaluate(np.eye(n), axis=0, norm=norm, inner=1.0)
    real = np.vstack([matrix.real, matrix.imag])
    spectra = np.hstack([np.eye(half), 1j * np.eye(half)])
    other = ADJOINT_NORM[norm]
    back = IRFFT.evaluate(spectra, n=n, axis=0, norm=other, inner=0.5)
    np.testing.assert_allclose(back, real.T, atol=1e-14)


@pytest.mark.parametrize(
    ("primitive", "x", "arguments"),
    [
        (FFT, ((0,), complex), {"norm": "ortho", "inverse": False}),
        (FFT, ((3,), int), {"norm": "ortho", "inverse": False}),
        (RFFT, ((3,), complex), {"norm": "ortho", "inner": 1.0}),
        (IRFFT, ((3,), complex), {"n": 3, "norm": "ortho", "inner": 1.0}),
        (IRFFT, ((1,), complex), {"n": 0, "norm": "ortho", "inner": 1.0}),
    ],
)
def test_what_is_no_transform(primitive: Any, x: Any, arguments: Any) -> None:
    shape, dtype = x
    with pytest.raises((ad.errors.ShapeError, ad.errors.DTypeError)):
        primitive.infer(array_type(shape, np.dtype(dtype)), axis=0, **arguments)
