"""Fourier transforms: what NumPy refuses, `out=`, and the edges of the spectrum of real arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import same_values

X = np.array([0.5, 2.0, -1.0, 3.0])
Z = X + 1j * X[::-1]


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (lambda x: np.fft.fft(x, 0), X),
        (lambda x: np.fft.fft(x, norm="whole"), X),
        (lambda x: np.fft.rfft(x), Z),
        (lambda x: np.fft.fft(x, axis=1), X),
        (lambda x: np.fft.fft2(x), X),
        (lambda x: np.fft.fftn(x, (2, 2), (0,)), X),
        (lambda x: np.fft.irfft(x), Z[:1]),
        (lambda x: np.fft.fft(np.float64(1.0) * x[0]), X),
    ],
)
def test_what_numpy_refuses(function: Any, argument: Any) -> None:
    with pytest.raises((ValueError, TypeError, IndexError)) as expected:
        function(argument)
    builtin = next(e for e in (IndexError, ValueError, TypeError) if isinstance(expected.value, e))
    with pytest.raises(builtin):
        ad.jit(function)(argument)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_adjoints_of_real_transforms(n: int, norm: Any) -> None:
    """<A u, w> = <u, A^H w> under Re<., .>, at both ends of the spectrum, n even and odd."""
    rng = np.random.default_rng(n)
    u = rng.normal(size=n)
    w = rng.normal(size=n // 2 + 1) + 1j * rng.normal(size=n // 2 + 1)
    spectrum = lambda x: np.fft.rfft(x, norm=norm)  # noqa: E731
    signal = lambda x: np.fft.irfft(x, n, norm=norm)  # noqa: E731
    _, pull = ad.vjp(spectrum, u)
    np.testing.assert_allclose(np.vdot(w, spectrum(u)).real, np.vdot(pull(w), u))
    _, pull = ad.vjp(signal, w)
    np.testing.assert_allclose(signal(w) @ u, np.vdot(pull(u), w).real)


def test_single_precision_is_kept() -> None:
    single = X.astype(np.float32)
    same_values(ad.jit(np.fft.rfft)(single), np.fft.rfft(single), 1e-6)
    assert ad.jit(np.fft.fft)(X.astype(np.float16)).dtype == np.complex64


def test_out() -> None:
    def into(x: Any) -> Any:
        out = np.zeros(4, complex)
        result = np.fft.fft(x, out=out)
        return out + 0 * result

    same_values(ad.jit(into)(X), np.fft.fft(X))
    outside = np.zeros(4, complex)
    _also = [outside]
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="outside"):
        ad.jit(lambda x: np.fft.fft(x, out=outside))(X)
    with pytest.raises(ValueError, match="wrong shape"):
        ad.jit(lambda x: np.fft.fft(x, out=np.zeros(3, complex)))(X)


def test_lengths_without_axes_are_deprecated_as_in_numpy() -> None:
    with pytest.warns(DeprecationWarning, match="axes"):
        found = ad.jit(lambda x: np.fft.fftn(x, (2,)))(X)
    same_values(found, np.fft.fft(X, 2))


def test_a_convolution_by_transforms() -> None:
    """The gradient of a circular convolution is one with the kernel reversed."""
    kernel = np.array([1.0, 0.5, 0.0, 0.25])
    weights = np.array([1.0, -1.0, 2.0, 0.0])

    def loss(x: Any) -> Any:
        return weights @ np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(kernel), 4)

    expected = [sum(weights[(j + k) % 4] * kernel[k] for k in range(4)) for j in range(4)]
    np.testing.assert_allclose(ad.grad(loss)(X), expected)
