"""Ranges and windows of traced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad


def test_a_range_moves_with_its_start_and_step() -> None:
    slopes = ad.grad(lambda a, h: np.arange(a, 3.0, h).sum(), (0, 1))(0.5, 0.7)
    np.testing.assert_allclose(slopes, (4.0, 6.0))
    assert ad.grad(lambda a: np.arange(0.0, a).sum())(2.5) == 0.0


@pytest.mark.parametrize("arguments", [(3.5,), (1.5, 4.0), (4.0, 1.0, -0.8), (2.0, 1.0)])
def test_ranges(arguments: Any) -> None:
    found = ad.jit(lambda *a: np.arange(*a))(*arguments)
    np.testing.assert_allclose(found, np.arange(*arguments))
    single = [np.float32(a) for a in arguments]
    assert ad.jit(lambda *a: np.arange(*a))(*single).dtype == np.arange(*single).dtype


def test_the_length_of_a_range_is_not_known_for_many() -> None:
    with pytest.raises(ad.errors.ValueNeededError):
        ad.vmap(lambda a: np.arange(a, 3.0))(np.array([0.5, 1.5]))


def test_windows() -> None:
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        window = getattr(np, name)
        found = ad.jit(lambda n, w=window: w(n))(5)
        np.testing.assert_array_equal(found, window(5))
        with pytest.raises(ad.errors.DroppedDerivativeError, match=name):
            ad.grad(lambda s, w=window: w(s).sum())(5.0)


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_kaiser(count: int) -> None:
    found = ad.jit(lambda beta: np.kaiser(count, beta))(4.0)
    np.testing.assert_allclose(found, np.kaiser(count, 4.0))
    slope = ad.grad(lambda beta: np.kaiser(count, beta).sum())(4.0)
    step = 1e-6
    difference = np.kaiser(count, 4.0 + step).sum() - np.kaiser(count, 4.0 - step).sum()
    np.testing.assert_allclose(slope, difference / (2 * step), atol=1e-8)


def test_i0_takes_real_numbers() -> None:
    with pytest.raises(TypeError, match="complex"):
        ad.jit(np.i0)(np.array([1j]))


def test_an_iterator_that_is_too_short() -> None:
    def taken(x: Any, count: int) -> Any:
        return np.fromiter((u for u in x), float, count)

    point = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(ad.jit(lambda x: taken(x, 2))(point), [1.0, 2.0])
    with pytest.raises(ValueError, match="too short"):
        ad.jit(lambda x: taken(x, 4))(point)


def test_numbers_taken_apart() -> None:
    values = np.array([0.3, -5.0, 0.0, 1e-310, np.inf])
    mantissas, exponents = ad.jit(np.frexp)(values)
    expected = np.frexp(values)
    np.testing.assert_array_equal(mantissas, expected[0])
    np.testing.assert_array_equal(exponents[:4], expected[1][:4])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(ad.jit(np.spacing)(values), np.spacing(values))
    together = lambda x: np.ldexp(*np.frexp(x)).sum()  # noqa: E731
    np.testing.assert_array_equal(ad.grad(together)(values[:2]), 1.0)
