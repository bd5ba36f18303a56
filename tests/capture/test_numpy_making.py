"""Ranges and windows of traced numbers."""

from __future__ import annotations

import warnings
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
    together = lambda x: np.ldexp(*np.frexp(x)).sum()  # noqa: E731
    np.testing.assert_array_equal(ad.grad(together)(values[:2]), 1.0)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "f2", "f4", "f8"])
def test_distances_to_neighbours_are_numpys_with_its_warnings(dtype: str, native: bool) -> None:
    values = np.array([1, 3, 0, 100, 127]).astype(dtype)
    if dtype[0] != "u":
        values = np.concatenate([values, -values])
    if dtype[0] == "f":
        odd = np.array([np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype)
        values = np.concatenate([values, odd, -odd])
    with ad.config(native=native):
        jitted = ad.jit(np.spacing)
        jitted(np.ones_like(values))
        told = []
        for function in (np.spacing, jitted):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = function(values)
            told.append((result.dtype, result.tobytes(), {str(each.message) for each in caught}))
    assert told[0] == told[1]
    if dtype == "f8":  # a step function
        np.testing.assert_array_equal(ad.grad(lambda x: np.sum(np.spacing(x)))(values[:8]), 0.0)


def test_an_array_of_numbers_is_one_record() -> None:
    program = ad.program(lambda x: np.array([x[0] * 2.0, 1.0, x[1]]), np.ones(2)).program
    assert [each.primitive.name for each in program.equations][-1] == "stack"
    assert "reshape" not in str(program)


@pytest.mark.parametrize(
    "make",
    [
        lambda x, t: np.array([x[0], t, 1, True]),
        lambda x, t: np.array([t, 2]),
        lambda x, t: np.array([np.float32(0.5), t]),
        lambda x, t: np.array([[x[0], t], [1.0, x[1]]]),
        lambda x, t: np.array([x, x * 2.0, [t, 3.0]]),
        lambda x, t: np.array([x[0], 1j]),
        lambda x, t: np.array([x[0], t], dtype=np.float32),
        lambda x, t: np.array([x[:0], x[1:1]]),
        lambda x, t: np.asarray((x.astype(np.float32)[0], np.float16(1.5))),
        lambda x, t: np.array([np.asarray(t), x[1]]),
    ],
)
def test_arrays_of_numbers(make: Any) -> None:
    x, t = np.array([0.3, -0.7]), 1.25
    expected = make(x, t)
    for native in (False, True):
        with ad.config(native=native):
            np.testing.assert_array_equal(ad.jit(make)(x, t), expected, strict=True)

    def scalar(x: Any, t: Any) -> Any:
        return np.sum(np.real(make(x, t)) ** 2)

    slopes = ad.grad(scalar, (0, 1))(x, t)
    step = 0.125  # the difference of a square is its derivative
    by_t = (scalar(x, t + step) - scalar(x, t - step)) / (2 * step)
    np.testing.assert_allclose(slopes[1], by_t, rtol=1e-6)
    many = ad.vmap(make, (0, None))(np.stack([x, 2 * x]), t)
    np.testing.assert_array_equal(many[0], expected)
    np.testing.assert_array_equal(many[1], make(2 * x, t))


def test_more_numbers_than_machine_code_looks_up_one_by_one() -> None:
    def function(x: Any) -> Any:
        return np.sum(np.array([x[k % 3] * x[(k + 1) % 3] for k in range(200)]) ** 2)

    x = np.array([0.3, -0.7, 1.1])
    with ad.config(native=False):
        expected = ad.grad(function)(x)
    with ad.config(native=True):
        np.testing.assert_allclose(ad.grad(function)(x), expected, rtol=1e-13)
