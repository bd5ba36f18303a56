"""Running sums, first places and searches as machine code: NumPy's results, to the bit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import adjoint as ad
from tests.executors.native.comparing import is_lowerable

SHAPES = ((5,), (37,), (1,), (3, 20), (2, 3, 12))


def both(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """The results on NumPy and of machine code, to which nothing is left."""
    with np.errstate(all="ignore"):
        assert is_lowerable(ad.program(function, *arguments).program)
    results = []
    for native in (False, True):
        with ad.config(native=native), np.errstate(all="ignore"):
            results.append(ad.jit(function)(*arguments))
    return results


def same(function: Callable[..., Any], *arguments: Any) -> None:
    expected, found = map(np.asarray, both(function, *arguments))
    np.testing.assert_array_equal(found, expected, strict=True)
    if expected.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    values = np.random.default_rng(seed).normal(size=shape) * 9
    return np.abs(values).astype(dtype) if dtype[0] in "u?" else values.astype(dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i4", "u1"])
def test_running_sums(dtype: str) -> None:
    for shape in SHAPES[:: 1 if dtype == "f8" else 2]:
        x = numbers(shape, dtype)
        for axis in range(len(shape)):
            same(lambda x, axis=axis: np.cumsum(x, axis, dtype=x.dtype)[..., ::-1], x)
            if dtype in ("f8", "c16"):  # whose transpose runs backwards
                total = lambda x, axis=axis: np.sum(np.cumsum(x, axis).real ** 2)  # noqa: E731
                expected, found = both(ad.grad(total), x)
                np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_running_sums_begin_with_a_zero_as_it_is() -> None:
    for x in (np.full(3, -0.0), np.full(20, -0.0), np.array([np.inf, -np.inf] * 8)):
        same(np.cumsum, x)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
def test_running_products_are_made_in_the_order_of_numpy(dtype: str) -> None:
    for shape in ((5,), (37,), (3, 20), (2, 12, 3)):
        x = (numbers(shape, dtype) * 0.1 + (1 + 0.1j if dtype == "c16" else 1)).astype(dtype)
        for axis in range(len(shape)):
            function = lambda x, axis=axis: np.cumprod(x, axis)[..., ::-1]  # noqa: E731
            _, found = both(function, x)
            assert found.dtype == function(x).dtype
            if dtype != "c16":
                np.testing.assert_array_equal(found, function(x))
            total = lambda x, axis=axis: np.sum(np.cumprod(x, axis).real ** 2)  # noqa: E731
            if dtype in ("f8", "c16"):
                expected, found = both(ad.value_and_grad(total), x)
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_steps_of_products_that_are_read_stay() -> None:
    def function(x: Any) -> Any:
        pairs = np.concatenate([x[:1], x[1:] * x[:-1]])
        return np.concatenate([pairs[:2], pairs[2:] * pairs[:-2]]) + pairs

    x = numbers((4,), "f8")
    expected, found = both(function, x)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    halves = lambda x: np.concatenate([x[:2], x[2:] * x[:-2]])  # noqa: E731
    same(lambda x: halves(x) * 2.0, x)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u8", "?"])
def test_first_places(dtype: str) -> None:
    for shape in SHAPES[:: 1 if dtype == "f8" else 2]:
        x = np.round(numbers(shape, dtype) / 4).astype(dtype)
        for axis in range(len(shape)):
            for function in (np.argmax, np.argmin):
                same(lambda x, f=function, axis=axis: f(x, axis) * 2, x)
                if dtype[0] == "f":
                    y = x.copy()
                    y.flat[2::3], y.flat[1::3] = np.nan, np.inf
                    same(lambda x, f=function, axis=axis: f(x, axis) * 2, y)


def test_long_rows_are_left_to_numpy() -> None:
    for axis, is_left in ((1, True), (0, False)):
        program = ad.program(lambda x, axis=axis: np.argmax(x, axis), np.zeros((4, 10_000))).program
        assert is_lowerable(program) is not is_left


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_searches(count: int) -> None:
    table = np.sort(np.round(numbers((count,), "f8") / 3))
    wanted = np.round(numbers((4, 5), "f8", 1) / 3)
    for side in ("left", "right"):
        function = lambda a, v, side=side: np.searchsorted(a, v, side) * 2  # noqa: E731
        same(function, table, wanted)
        same(function, table.astype("i4"), wanted - 0.5)
        wanted[0, :2] = np.nan, np.inf
        same(function, np.append(table, np.nan), wanted.astype("f4"))
    rows = np.stack([table, table + 1.0])
    same(ad.vmap(lambda a, v: np.searchsorted(a, v)), rows, wanted[:2])


def test_within_loops_and_their_derivatives() -> None:
    def function(x: Any) -> Any:
        def body(k: Any, y: Any) -> Any:
            return y * 0.9 + np.cumsum(y) * 0.1 + np.interp(y[np.argmax(y)] * 0.1, TABLE, TABLE**2)

        return np.sum(ad.fori_loop(0, 12, body, x))

    x = numbers((9,), "f8") / 9
    for wanted in (function, ad.grad(function), lambda x: ad.jvp(ad.grad(function), (x,), (x,))[1]):
        expected, found = both(wanted, x)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


TABLE = np.linspace(-3.0, 3.0, 40)


def test_counts_of_zero_are_for_numpy_to_warn_of() -> None:
    function = ad.jit(lambda x: np.nanmean(x, 1) * 2.0)
    x = np.array([[1.0, np.nan], [3.0, 4.0]])
    with ad.config(native=True):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(function(x), [2.0, 7.0])
        with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
            found = function(np.full((2, 2), np.nan))
    assert np.isnan(found).all()
