"""Filters and correlations as machine code: SciPy's and NumPy's results, derivatives, loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from scipy import signal

import adjoint as ad
from adjoint.base.pytrees import leaves

RNG = np.random.default_rng(0)


def agree(function: Callable[..., Any], *arguments: Any, tolerance: float = 1e-12) -> None:
    """Values and derivatives in all arguments, of machine code and of NumPy."""

    def total(*x: Any) -> Any:
        result = function(*x)
        return np.sum(np.real(result) * np.cos(np.arange(result.size)).reshape(result.shape))

    places = tuple(range(len(arguments)))
    for derived in (function, ad.grad(total, places)):
        assert ad.program(derived, *arguments).native().left() == ()
        with ad.config(native=False):
            expected = ad.jit(derived)(*arguments)
        with ad.config(native=True):
            found = ad.jit(derived)(*arguments)
        for x, y in zip(*map(leaves, (found, expected)), strict=True):
            assert (x.dtype, x.shape) == (y.dtype, y.shape)
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * np.abs(y).max())


@pytest.mark.parametrize("shape", [(1,), (40,), (3, 9)])
@pytest.mark.parametrize("order", [0, 1, 4])
def test_recursive_filters(shape: tuple[int, ...], order: int) -> None:
    a = np.concatenate([[1.7], RNG.uniform(-0.2, 0.2, order)])
    agree(lambda b, a, x: signal.lfilter(b, a, x), RNG.normal(size=3), a, RNG.normal(size=shape))


def test_complex_and_single_filters() -> None:
    x, b = RNG.normal(size=12), np.array([1.0, 0.5])
    agree(lambda b, x: signal.lfilter(b, [1.0, 0.2 + 0.3j, 0.1], x), b + 0.1j, x + 1j)
    single = np.float32([2, 0.5, 0.3])
    agree(lambda a, x: signal.lfilter([1.0], a, x), single, np.float32(x), tolerance=1e-5)


@pytest.mark.parametrize(("n", "k"), [(5, 3), (40, 3), (40, 33), (100, 50), (3, 3), (90, 60)])
def test_convolutions(n: int, k: int) -> None:
    x, w = RNG.normal(size=n), RNG.normal(size=k)
    for mode in ("full", "same", "valid"):
        agree(lambda x, w, mode=mode: np.convolve(x, w, mode), x, w)
    agree(lambda x, w: np.correlate(x, w, "full"), x + 1j * x[::-1], w + 0.5j)


@pytest.mark.parametrize("window", [(2, 3), (6, 7), (9, 11), (1, 1)])
def test_images(window: tuple[int, int]) -> None:
    image, w = RNG.normal(size=(14, 12)), RNG.normal(size=window)
    agree(lambda x, w: signal.convolve2d(x, w, mode="valid"), image, w)


def test_a_loop_of_filters_is_machine_code() -> None:
    def smoothed(x: Any, w: Any, a: Any) -> Any:
        def step(k: Any, y: Any) -> Any:
            return np.tanh(signal.lfilter([0.3], a, np.convolve(y, w, "same")))

        return ad.fori_loop(0, 6, step, x)

    agree(smoothed, RNG.normal(size=20), np.array([0.2, 0.5, 0.2]), np.array([1.0, -0.4]))


def test_a_first_coefficient_of_zero_is_scipys_error() -> None:
    jitted = ad.jit(lambda a, x: signal.lfilter([1.0], a, x))
    x = np.ones(4)
    with ad.config(native=True):
        np.testing.assert_allclose(jitted(np.array([2.0, 1.0]), x), [0.5, 0.25, 0.375, 0.3125])
        with pytest.raises(ValueError, match=r"a\[0\]|filter"):
            jitted(np.array([0.0, 1.0]), x)
