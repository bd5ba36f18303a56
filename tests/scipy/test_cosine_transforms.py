"""Cosine and sine transforms are linear: their derivative is SciPy's transform of the direction."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import fft

import adjoint as ad


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_one_axis(name: str, kind: int) -> None:
    generator = np.random.default_rng(0)
    x, direction = generator.normal(size=(2, 2, 5))
    norms = (None, "ortho", "forward")
    for norm, orthogonal, n in itertools.product(norms, (None, True), (3, 7)):

        def f(x: Any, norm: Any = norm, orthogonal: Any = orthogonal, n: Any = n) -> Any:
            return getattr(fft, name)(x, kind, n, 1, norm, orthogonalize=orthogonal)

        value, slope = ad.jvp(f, (x,), (direction,))
        np.testing.assert_allclose(value, f(x), rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(slope, f(direction), rtol=1e-12, atol=1e-12)
        weights = generator.normal(size=value.shape)
        back = ad.vjp(f, x)[1](weights)[0]
        assert np.sum(back * direction) == pytest.approx(np.sum(weights * slope), rel=1e-10)


@pytest.mark.parametrize("name", ["dctn", "idctn", "dstn", "idstn"])
def test_several_axes(name: str) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4))
    transform = getattr(fft, name)
    for keywords in ({}, {"s": (4, 5)}, {"axes": 0}, {"norm": "ortho", "s": 3, "axes": 1}):
        slope = ad.jvp(lambda x, given=keywords: transform(x, **given), (x,), (x,))[1]
        np.testing.assert_allclose(slope, transform(x, **keywords), rtol=1e-12, atol=1e-12)


def test_complex_arrays_and_batches() -> None:
    x = np.random.default_rng(0).normal(size=(2, 4))
    z = x[0] + 1j * x[1]
    np.testing.assert_allclose(ad.jvp(fft.dct, (z,), (z,))[1], fft.dct(z), rtol=1e-13)
    np.testing.assert_allclose(ad.vmap(fft.dst)(x), fft.dst(x), rtol=1e-13)
    found = ad.grad(lambda x: np.sum(fft.dct(x, norm="ortho") ** 2))(x)
    np.testing.assert_allclose(found, 2 * x, rtol=1e-13)
